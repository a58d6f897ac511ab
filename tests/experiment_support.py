"""What tests of the experiments share: the command, lines made by hand, and checks of what a small run wrote."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import overcast as oc
from overcast import _storage
from overcast._check import Array
from overcast.cli import main
from overcast.environments import Environment
from overcast.experiments.engine.experiment import CURVES, Curve, Experiment
from overcast.experiments.engine.outcome import Line
from overcast.experiments.engine.run import NEEDED, part_files

Command = Callable[..., tuple[int, str, str]]
Finals = dict[tuple[str, int | None], list[float]]

STEPS, TRIALS = 30, 4
SMALL = ["--trials", str(TRIALS), "--steps", str(STEPS), "--workers", "1"]
BRIEF = ["--trials", "2", "--steps", "3", "--workers", "1"]
FILES = {"summary.json", "figure.png", "figure.pdf", "curves.parquet", "report.html", "parts"}


def command(*args: str | Path) -> tuple[int, str, str]:
    """Run the command in this process; return its exit code, and what it prints to either stream."""
    out, error = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        code = main([str(arg) for arg in args])
    return code, out.getvalue(), error.getvalue()


def line_of(curve: Curve, beta: float | None, regret: Array, expected_regret: Array | None = None) -> Line:
    """Return a line with these regrets, (trials, steps), and nothing else of note."""
    return Line(
        curve=curve,
        beta=beta,
        regret=regret,
        expected_regret=regret if expected_regret is None else expected_regret,
        clairvoyant_regret=regret,
        choices=np.zeros(regret.shape, dtype=np.intp),
        log_det=np.zeros(regret.shape),
    )


def keep_first_part(experiment: Experiment, folder: Path) -> Callable[[Experiment], bool]:
    """Keep a first part of the experiment in a folder; return a function that says whether another one finds it."""
    path = next(iter(part_files(experiment, folder)))
    _storage.write_arrays(path, {name: np.zeros((1, 1)) for name in NEEDED})

    def found(other: Experiment) -> bool:
        return _storage.read_arrays(next(iter(part_files(other, folder))), NEEDED) is not None

    return found


def reproduce_small(command: Command, name: str, out: Path) -> str:
    """Run the experiment at the small size without an error; return what the command printed."""
    code, text, error = command("reproduce", name, *SMALL, "--out", out)
    assert (code, error) == (0, "")
    return text


def read_summary(folder: Path) -> dict[str, Any]:
    found = json.loads((folder / "summary.json").read_text())
    assert isinstance(found, dict)
    return found


def final_regrets(folder: Path) -> Finals:
    """Return the regret after the last step by setting and samples, from the file of curves."""
    finals: Finals = {}
    for row in pq.read_table(folder / "curves.parquet").to_pylist():
        if row["step"] == STEPS:
            finals.setdefault((row["setting"], row["samples"]), []).append(row["regret"])
    return finals


def check_agreed_fields(summary: dict[str, Any], name: str) -> None:
    """Check the fields that the summary of every small run has."""
    assert summary["experiment"] == name
    assert (summary["trials"], summary["steps"], summary["seed"]) == (TRIALS, STEPS, 0)
    assert summary["seconds"] > 0
    assert set(summary["versions"]) == {"overcast", "python", "numpy", "scipy"}
    assert [claim["shown"] in ("yes", "in part", "open", "no") for claim in summary["claims"]] == [True] * 5
    assert "grid" not in summary


def check_variants(summary: dict[str, Any], finals: Finals) -> None:
    """Check that the summary has the seven variants at beta 1, each with the mean and error of its final regrets."""
    variants = summary["variants"]
    assert [(v["setting"], v["samples"]) for v in variants] == [(c.setting, c.samples) for c in CURVES]
    assert [variant["beta"] for variant in variants] == [1.0] * 7
    for variant in variants:
        final = np.array(finals[variant["setting"], variant["samples"]])
        assert len(final) == TRIALS
        assert variant["regret"]["mean"] == pytest.approx(final.mean())
        assert variant["regret"]["two_se"] == pytest.approx(2 * final.std(ddof=1) / np.sqrt(TRIALS))


def check_called(title: str, folder: Path, data: str) -> None:
    """Check that the page and the figure in it bear the title, and that the page names the data."""
    page = (folder / "report.html").read_text()
    assert f"<title>{title}" in page
    assert f"<h1>{title}</h1>" in page
    assert data in page
    # Text is drawn as outlines, each with a comment that says what it reads.
    assert f"<!-- {title}: mean of {TRIALS} trials" in page


def check_plain_simulation(env: Environment, finals: Finals) -> None:
    """Check that simulating each curve by itself leads to the same final regrets."""
    for curve in CURVES:
        model = oc.LinearModel(oc.features.Bilinear(), ridge=1.0)
        runs = oc.simulate(env, model, oc.UCB(1.0), curve.samples, STEPS, TRIALS, curve.setting)
        np.testing.assert_array_equal(finals[curve.setting, curve.samples], runs.regret[:, -1])


def check_old_parts(folder: Path, experiment: Experiment, same: Experiment, others: Sequence[Experiment]) -> None:
    """Check that a part of the experiment is found again by the same one, and by none of the others.

    All of the others but the last one have an environment that reads like that of the experiment.
    """
    found = keep_first_part(experiment, folder)
    assert found(same)
    for other in others:
        assert not found(other)
    assert {repr(other.env) for other in others[:-1]} == {repr(experiment.env)}


def check_tuned(tuned: dict[str, Any], untuned: dict[str, Any]) -> None:
    """Check the summary of a run over the betas 0.5, 1 and 5 against that of a run at beta 1."""
    assert [variant["beta"] for variant in tuned["grid"]] == [0.5, 1.0, 5.0] * 7
    plain = {(v["setting"], v["samples"]): v for v in untuned["variants"]}
    for variant in tuned["grid"]:
        if variant["beta"] == 1.0:
            assert variant["regret"] == plain[variant["setting"], variant["samples"]]["regret"]
    assert all(variant in tuned["grid"] for variant in tuned["variants"])
