"""Sequences of forecasts that are made when they are asked for."""

from __future__ import annotations

import numpy as np
import pytest

import overcast as oc
from overcast.adapters.forecasts import Forecasts, Options, coverage, is_from, members, quantiles
from support import refused


def test_forecasts_are_made_one_by_one() -> None:
    asked: list[int] = []

    def make(i: int) -> oc.Belief:
        asked.append(i)
        return oc.PointMass([float(i)])

    found = Forecasts(1000, make)
    assert found[-1].mean()[0] == 999.0
    assert asked == [999]
    assert next(iter(found)).mean()[0] == 0.0
    some = found[10:30:10]
    assert [belief.mean()[0] for belief in some] == [10.0, 20.0]
    assert repr(some) == "Forecasts(2 rows)"
    with pytest.raises(IndexError):
        found[1000]


def test_quantiles_in_any_order_with_rounded_levels() -> None:
    belief = quantiles([0.8999999761581421, 0.10000000149011612, 0.5, 0.5], [4.0, 1.0, 2.0, 2.5])
    assert belief.levels.tolist() == [0.1, 0.5, 0.9]
    assert belief.values[:, 0].tolist() == [1.0, 2.0, 4.0]
    with refused(ValueError, "as_belief", "two levels at least"):
        quantiles([0.5], [1.0])


def test_small_helpers() -> None:
    assert members([[1.0], [3.0]]).mean()[0] == 2.0
    assert coverage(Options(level=0.8), "x", "y") == 0.8
    assert is_from(np.ones(1), "numpy")
    assert is_from(np.ones(1), "numpy", "ndarray")
    assert not is_from(np.ones(1), "numpy", "matrix")
