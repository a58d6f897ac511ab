"""Events and their probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

import overcast as oc
from overcast.calibration.occurrence import Event
from support import refused

NAMES = ("temp", "wind speed")


@pytest.mark.parametrize(
    ("text", "happened"),
    [
        ("temp < 0", [True, False, False]),
        ("temp<=0", [True, True, False]),
        ("temp > 0", [False, False, True]),
        ("temp >= 0", [False, True, True]),
        ("wind speed > 1.5e0", [False, True, True]),
    ],
)
def test_comparisons(text: str, happened: list[bool]) -> None:
    contexts = np.array([[-1.0, 1.0], [0.0, 2.0], [1.0, 3.0]])
    event = Event(text, NAMES)
    assert event.happened(contexts).tolist() == happened
    members = oc.Ensemble(contexts, weights=[0.2, 0.3, 0.5])
    assert event.probability(members) == pytest.approx(np.dot([0.2, 0.3, 0.5], happened))


def test_probabilities_of_a_normal_forecast_are_exact() -> None:
    belief = oc.Gaussian([1.0, 0.0], [4.0, 1.0])
    assert Event("temp < 0", NAMES).probability(belief) == pytest.approx(ndtr(-0.5))
    assert Event("temp >= 0", NAMES).probability(belief) == pytest.approx(ndtr(0.5))


def test_jumps_count_by_the_relation() -> None:
    belief = oc.Independent([oc.PointMass([0.0]), oc.Gaussian([0.0], 1.0)])
    found = [Event(f"temp {relation} 0", NAMES).probability(belief) for relation in ("<", "<=", ">", ">=")]
    assert found == [0.0, 1.0, 0.0, 1.0]


def test_functions_of_the_context() -> None:
    """The standard error of 1000 draws is 0.014; four of them."""
    event = Event(lambda c: c[0] + c[1] > 0.0, NAMES)
    assert event.text == "event"
    assert event.probability(oc.Gaussian([0.0, 0.0], 1.0)) == pytest.approx(0.5, abs=0.06)
    assert event.probability(oc.Ensemble([[1.0, 0.0], [-1.0, 0.0]])) == 0.5
    sampler = oc.Sampler(lambda n, rng: rng.normal(size=(n, 2)), 2)
    assert Event("temp < 0", NAMES).probability(sampler) == pytest.approx(0.5, abs=0.06)


@pytest.mark.parametrize(
    "wrong", ["temp", "rain < 0", "temp < cold", "", "temp = 0", "temp < nan", "temp > inf", "temp < -inf"]
)
def test_what_is_no_comparison_is_refused(wrong: str) -> None:
    with refused(ValueError, "Event", "event must be like 'temp < 0' with one of temp, wind speed", repr(wrong)):
        Event(wrong, NAMES)


def test_what_is_no_function_is_refused() -> None:
    nothing: Any = 5
    with refused(TypeError, "Event", "event must be a function or text"):
        Event(nothing, NAMES)
