"""Records of corrections as arrays."""

from __future__ import annotations

import json

import numpy as np
import pytest

import overcast as oc
from overcast._check import Array


def taught(fixed: oc.Recalibrated, days: int, seed: int = 0) -> oc.Recalibrated:
    """Teach a constant and a temperature that are forecast with an ensemble."""
    rng = np.random.default_rng(seed)
    for m in rng.uniform(5.0, 20.0, days):
        members = np.stack([np.ones(5), rng.normal(m, 1.0, 5)], axis=1)
        fixed.learn(oc.Ensemble(members), [1.0, max(rng.normal(m - 4.0, 3.0), 0.0)])
    return fixed


MADE = [{}, {"memory": 30}, {"bounds": [(None, None), (0.0, None)]}, {"memory": 30, "bounds": (0.0, None)}]


@pytest.mark.parametrize("days", [0, 5, 60])
@pytest.mark.parametrize("made", MADE, ids=str)
def test_what_is_restored_goes_on_to_the_last_bit(made: dict[str, object], days: int) -> None:
    fixed = taught(oc.Recalibrated(**made), days)  # type: ignore[arg-type]
    through = json.loads(json.dumps({name: array.tolist() for name, array in fixed.state().items()}))
    for state in (fixed.state(), {name: np.array(values) for name, values in through.items()}):
        again = oc.Recalibrated.of(json.loads(json.dumps(fixed.config())))
        again.restore(state)
        assert repr(again) == repr(fixed)
        taught(again, 10, seed=1)
        expected = taught(oc.Recalibrated.of(fixed.config()), 0)
        expected.restore(fixed.state())
        taught(expected, 10, seed=1)
        for name, array in expected.state().items():
            np.testing.assert_array_equal(again.state()[name], array)


@pytest.mark.parametrize(
    "wrong",
    [
        {"new": np.zeros(2)},
        {"lengths": np.array([3, 4])},
        {"begun": np.ones(2)},
        {"numbers": np.zeros((1, 10))},
        {"weights": np.zeros((2, 12, 5))},
    ],
)
def test_what_does_not_fit_is_refused(wrong: dict[str, Array]) -> None:
    fixed = taught(oc.Recalibrated(), 30)
    with pytest.raises(ValueError, match=r"expected the arrays|lengths|bank|numbers has|unit"):
        oc.Recalibrated().restore(fixed.state() | wrong)


def test_the_size_is_bounded() -> None:
    """After a thousand outcomes as many numbers are kept as after fifty."""

    def size(days: int) -> int:
        return sum(array.size for array in taught(oc.Recalibrated(), days).state().values())

    assert size(1000) == size(50) < 600
