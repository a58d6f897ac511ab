from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import overcast as oc
from untuned import told
from untuned.judge import JUDGING_SEED
from untuned.problems import Problem, family, known
from untuned.told import STAGES, candidates, main, moments, regrets, summary

CURVE = replace(next(p for p in family(1) if p.name == "12 curve, k=7, d=10"), steps=10)
FOUND: dict[str, Any] = json.loads(Path(told.__file__).with_name("told.json").read_text(encoding="utf-8"))


def test_told_nothing_is_the_default() -> None:
    runs = oc.simulate(CURVE, CURVE.model(), oc.UCB(), steps=10, trials=4, seed=JUDGING_SEED)
    np.testing.assert_array_equal(regrets(CURVE, "hidden", STAGES[0], 4), runs.expected_regret[:, -1])


@pytest.mark.parametrize("stage", STAGES[1:], ids=lambda stage: stage.name)
def test_what_is_told_changes_decisions_and_only_while_it_is_told(stage: told.Stage) -> None:
    nothing = regrets(CURVE, "hidden", STAGES[0], 4)
    assert np.any(regrets(CURVE, "hidden", stage, 4) != nothing)
    np.testing.assert_array_equal(regrets(CURVE, "hidden", STAGES[0], 4), nothing)


def test_moments_are_those_of_the_context_terms() -> None:
    """Over 100,000 draws four standard errors are 0.06 K of the mean, and 1.8 % of the variance."""
    kelvin = next(p for p in known() if p.name == "kelvin")
    mean, variance = moments(kelvin)
    np.testing.assert_allclose(mean, [1.0, 290.0], rtol=1e-3)
    np.testing.assert_allclose(variance, [0.0, 25.0], rtol=0.02)


def test_a_run_from_end_to_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def few(part: str) -> list[Problem]:
        return [CURVE] if part == "choose" else []

    monkeypatch.setattr(told, "candidates", few)
    assert main(["--trials", "4", "--keep", str(tmp_path / "told.json")]) == 0
    found = json.loads((tmp_path / "told.json").read_text(encoding="utf-8"))
    assert [(row["name"], row["setting"]) for row in found["rows"]] == [
        (CURVE.name, "hidden"),
        (CURVE.name, "observed"),
    ]
    assert [stage["told"] for stage in found["stages"]] == [stage.name for stage in STAGES]
    assert "told nothing" in capsys.readouterr().out


def test_the_committed_figures_are_of_all_problems_and_add_up() -> None:
    names = {(part, problem.name) for part in told.PARTS for problem in candidates(part)}
    assert {(row["part"], row["name"]) for row in FOUND["rows"]} == names
    assert FOUND["stages"] == summary(FOUND["rows"])
    assert FOUND["trials"] >= 200


def test_what_the_default_must_learn_is_what_the_first_rounds_cost() -> None:
    """Told everything, no problem is above the limit; every piece of knowledge is worth something on average."""
    by_name = {stage["told"]: stage for stage in FOUND["stages"]}
    nothing, everything = by_name["nothing"], by_name["all"]
    assert everything["above"] == 0
    for name in ("strength", "level", "contexts"):
        assert everything["mean"] < by_name[name]["mean"] < nothing["mean"]
