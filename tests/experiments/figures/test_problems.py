"""Figure 1a, and the kernelised bandit: curves with a model or a theorem of their own, and panels of their own."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import overcast as oc
from overcast.cli import main
from overcast.experiments.engine.experiment import Experiment
from overcast.experiments.engine.outcome import Outcome
from overcast.experiments.figures.drawing import draw, notes
from overcast.experiments.figures.problems import kernel, synthetic
from overcast.experiments.figures.reproduce import reproduce


@pytest.fixture(scope="module")
def small() -> Experiment:
    return replace(kernel(), env=oc.environments.RKHS(k=8), trials=11, steps=15)  # two batches of the kernel model


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kernel")


@pytest.fixture(scope="module")
def outcome(small: Experiment, folder: Path) -> Outcome:
    return reproduce(small, folder, None, lambda: None).outcome


def test_curves_with_a_model_of_their_own_equal_a_plain_simulation(small: Experiment, outcome: Outcome) -> None:
    for line in outcome.lines[-3:]:
        policy = line.curve.policy or oc.UCB(line.beta)
        runs = oc.simulate(small.env, line.curve.model or small.model, policy, steps=15, trials=11)
        np.testing.assert_array_equal(line.regret, runs.regret)
        if line.beta is None:
            assert line.bound is not None
            np.testing.assert_array_equal(line.bound, runs.bound)


def test_the_files_name_every_curve_and_hold_the_bound(outcome: Outcome, folder: Path) -> None:
    variants = json.loads((folder / "summary.json").read_text())["variants"]
    assert [variant.get("name") for variant in variants] == [None] * 7 + ["Fourier", "mean plugged in", "theory"]
    theory = variants[-1]
    assert theory["beta"].startswith("Kernel(delta=0.05")
    assert theory["bound"]["mean"] > theory["regret"]["mean"]
    assert all("bound" not in variant for variant in variants[:-1])
    table = pq.read_table(folder / "curves.parquet")
    assert table.num_rows == 10 * 11 * 15
    assert set(table["name"].to_pylist()) == {"", "Fourier", "mean plugged in", "theory"}
    assert table["bound"].null_count == 9 * 11 * 15
    page = (folder / "report.html").read_text()
    for note in notes(outcome):
        assert note in page
    assert "MeanContext(" in page


def test_bounds_and_betas_survive_a_second_run(small: Experiment, outcome: Outcome, folder: Path) -> None:
    again = reproduce(small, folder, None, lambda: None).outcome
    for one, two in zip(outcome.lines, again.lines, strict=True):
        np.testing.assert_array_equal(one.regret, two.regret)
        assert (one.bound is None) == (two.bound is None)


def test_a_theorem_is_not_tuned(small: Experiment) -> None:
    parts = list(small.tuned_over((0.1, 1.0)).parts())
    assert len({part.key for part in parts}) == len(parts)
    assert {part.beta for part in parts if part.curve.name == "theory"} == {None}
    assert {part.beta for part in parts if part.curve.name == "Fourier"} == {0.1, 1.0}


def test_the_figure_has_a_panel_for_each_title(outcome: Outcome) -> None:
    figure = draw(outcome)
    titles = [ax.get_title() for ax in figure.axes]
    assert titles[-2:] == ["Why the distribution matters", "Theorem 3"]
    compared, theory = figure.axes[-2:]
    assert [line.get_label() for line in compared.lines] == [
        "hidden, expectation (β = 0.3)",
        "hidden, mean plugged in (β = 0.3)",
    ]
    assert theory.get_yscale() == "log"
    assert [line.get_label() for line in theory.lines][-1] == "bound of the theorem"


def test_notes_say_what_the_shortcut_costs(outcome: Outcome) -> None:
    plain, plugged = outcome.lines[6], outcome.lines[8]
    gap = (plugged.regret - plain.regret)[:, -1].mean()
    assert f"“hidden, mean plugged in” costs {gap:,.1f} ±" in notes(outcome)[1]
    assert "100% of the trials" in notes(outcome)[2]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--trials", "2", "--steps", "5", "--workers", "1", "--out", str(tmp_path)]
    assert main(["reproduce", "kernel", *arguments]) == 0
    assert "hidden, theory" in capsys.readouterr().out
    assert {"summary.json", "figure.png", "figure.pdf", "report.html", "curves.parquet"} <= {
        path.name for path in (tmp_path / "kernel").iterdir()
    }


def test_synthetic_is_at_paper_scale_with_the_beta_of_the_appendix() -> None:
    experiment = synthetic()
    assert (experiment.trials, experiment.steps) == (100, 1000)
    assert experiment.betas == {"exact": (2.0,), "observed": (2.0,), "hidden": (10.0,)}
    assert experiment.model.theory_ridge == 1.0
