"""The files of a comparison."""

from __future__ import annotations

import html
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from experiment_support import FILES, read_summary
from overcast.experiments.comparisons.comparison import ComparisonResult
from overcast.experiments.comparisons.tuning import DEFAULT, Tuning
from overcast.experiments.comparisons.untuned import Untuned

STEPS = 40


def test_the_files_of_a_comparison(untuned_found: ComparisonResult, untuned_folder: Path) -> None:
    (outcome,) = untuned_found.outcomes
    assert {path.name for path in untuned_folder.iterdir()} == FILES
    curves = pq.read_table(untuned_folder / "curves.parquet").to_pandas()
    last = curves[(curves.step == STEPS) & (curves.name == DEFAULT) & (curves.setting == "hidden")]
    np.testing.assert_array_equal(last.regret.to_numpy(), Tuning(outcome).default("hidden").regret[:, -1])
    assert set(curves.experiment) == {"synthetic"}
    page = (untuned_folder / "report.html").read_text().replace("\u00a0", " ")
    assert untuned_found.tables == Untuned().tables([outcome])
    for table in untuned_found.tables:
        assert html.escape(table.title, quote=True) in page.replace("&#39;", "&#x27;")
        for row in table.rows:
            assert "".join(f"<td>{cell}</td>" for cell in row) in page


def test_verdicts_are_those_of_the_summary(untuned_found: ComparisonResult, untuned_folder: Path) -> None:
    assert untuned_found.verdicts == Untuned().verdicts(untuned_found.outcomes)
    assert read_summary(untuned_folder)["claims"] == [asdict(verdict) for verdict in untuned_found.verdicts]
