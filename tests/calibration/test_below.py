"""Corrections that go below zero where nothing ever was."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import overcast as oc
from overcast._check import Array
from overcast.calibration.below import ENOUGH, Watch

RNG = np.random.default_rng(0)
RAIN = np.maximum(0.0, RNG.gamma(0.5, 4.0, size=60) - 1.0)
MEMBERS = np.maximum(0.0, RAIN[:, None, None] + RNG.normal(0.0, 2.0, size=(60, 20, 1)))
DRY = np.linspace(0.0, 1.0, 20)[:, None]
WORDS = r"Recalibrated: the correction puts \d+% of the probability of .+ below zero, where nothing ever was; write "


def corrector(forecasts: Any, outcomes: Array, **options: Any) -> oc.Recalibrated:
    fixed = oc.Recalibrated(**options)
    for forecast, outcome in zip(forecasts, outcomes, strict=True):
        fixed.learn(forecast, [outcome] if np.ndim(outcome) == 0 else outcome)
    return fixed


@pytest.mark.parametrize("options", [{}, {"memory": 50}], ids=str)
def test_rain_warns_once_and_bounds_help(options: dict[str, Any]) -> None:
    fixed = corrector(MEMBERS, RAIN, **options)
    with pytest.warns(
        UserWarning, match=WORDS + r"Recalibrated\(bounds=\(0, None\)\) if it cannot be negative$"
    ) as seen:
        low, _ = fixed(DRY), fixed(DRY)
    assert len(seen) == 1
    points, _ = low.stand_in()
    assert (points < 0.0).mean() > 0.01
    bounded = corrector(MEMBERS, RAIN, bounds=(0, None), **options)(DRY)
    assert bounded.stand_in()[0].min() == 0.0


def test_a_bandit_warns_too() -> None:
    bandit = oc.Bandit(
        ["a", "b"], oc.LinearModel(oc.features.Disjoint(2)), oc.UCB(), context=["rain"], recalibrate=True
    )

    def live() -> None:
        for forecast, outcome in zip(MEMBERS, RAIN, strict=True):
            bandit.learn(bandit.decide({"rain": oc.Ensemble(forecast)}), 0.0, context=[outcome])

    with pytest.warns(UserWarning, match=WORDS.replace(".+", "'rain'")) as seen:
        live()
    assert len(seen) == 1


def test_several_dimensions_are_told_apart() -> None:
    cold = RNG.normal(0.0, 5.0, size=60)
    both = np.concatenate([np.repeat(cold[:, None, None], 20, axis=1) + RNG.normal(size=(60, 20, 1)), MEMBERS], axis=2)
    fixed = corrector(both, np.stack([cold, RAIN], axis=1))
    today = np.concatenate([np.linspace(-1.0, 1.0, 20)[:, None], DRY], axis=1)
    with pytest.warns(
        UserWarning, match=WORDS.replace(".+", "dimension 1") + r"Recalibrated\(bounds=\[None, \(0, None\)\]\)"
    ):
        fixed(today)
    bounds = [None, (0, None)]
    assert corrector(both, np.stack([cold, RAIN], axis=1), bounds=bounds)(today).stand_in()[0][:, 1].min() == 0.0


@pytest.mark.parametrize(
    "case",
    ["outcomes below zero", "a forecast below zero", "normal forecasts", "far from zero", "few outcomes", "shape kept"],
)
def test_no_warning(case: str) -> None:
    outcomes, forecasts, today = RAIN, list(MEMBERS), oc.as_belief(DRY)
    if case == "outcomes below zero":
        outcomes = RAIN - 0.5
    elif case == "a forecast below zero":
        today = oc.Ensemble(DRY - 0.5)
    elif case == "normal forecasts":
        forecasts, today = [oc.Gaussian(one.mean(axis=0), sd=1.0) for one in MEMBERS], oc.Gaussian([1.0], sd=1.0)
    elif case == "far from zero":
        today = oc.Ensemble(DRY + 100.0)
    elif case == "few outcomes":
        outcomes, forecasts = RAIN[: ENOUGH - 1], forecasts[: ENOUGH - 1]
    else:  # many skewed members that were right keep their shape, which does not reach below zero
        large = RNG.exponential(2.0, size=(60, 400, 1))
        outcomes, forecasts, today = large[:, 0, 0], list(large), oc.Ensemble(large[0] + 2.0)
    fixed = corrector(forecasts, outcomes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fixed(today)


def test_a_point_without_spread() -> None:
    fixed = corrector(list(RAIN[:, None] + 0.3), RAIN)
    with pytest.warns(UserWarning, match=WORDS):
        fixed([0.1])


def test_a_watch_asks_no_more_once_a_forecast_was_negative() -> None:
    watch = Watch()
    for _ in range(ENOUGH):
        watch.take(0, 1.0, 1.0)
    watch.check(oc.Gaussian([0.0], 1.0), {0: (0.0, 1.0)}, {})
    watch.check(oc.PointMass([1.0]), {0: (0.0, 1.0)}, {})
