"""Which contexts a batch reveals, and what it checks."""

from __future__ import annotations

import pytest

import overcast as oc
from overcast.environments import (
    CoinFlip,
)
from overcast.simulation.batch import Batch
from simulation_support import GOOD


def test_what_a_larger_share_reveals_includes_what_a_smaller_one_does() -> None:
    few, many = (
        Batch(**{**GOOD, "samples": None, "setting": "observed", "seed": 1, "first": 2, "revealed": p}).revealed_mask()
        for p in (0.3, 0.6)
    )
    assert few is not None
    assert many is not None
    assert not (few & ~many).any()
    assert few.sum() < many.sum()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("setting", "seen", "setting must be 'exact', 'observed' or 'hidden', got str 'seen'"),
        ("samples", 0, "samples must be >= 1, got 0"),
        ("samples", "all", "samples must be None, a whole number or \"t\", got 'all'"),
        ("steps", 0, "steps must be >= 1, got 0"),
        ("trials", 0, "trials must be >= 1, got 0"),
        ("seed", -1, "seed must be >= 0, got -1"),
        ("revealed", 1.5, "revealed must be <= 1, got 1.5"),
        ("revealed", -0.5, "revealed must be >= 0, got -0.5"),
        ("delay", -1, "delay must be >= 0, got -1"),
    ],
)
def test_bad_values(name: str, value: object, message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        oc.simulate(**{**GOOD, name: value})
    assert str(caught.value) == f"simulate: {message}"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("env", 3, "env must be an environment with a start method, got int 3"),
        ("env", CoinFlip, f"env must be an environment with a start method, got ABCMeta {repr(CoinFlip)[:37]}..."),
        ("model", "linear", "model must be a model such as LinearModel(features), got str 'linear'"),
        ("policy", 1.0, "policy must be a policy such as UCB(beta), got float 1.0"),
        ("samples", 2.5, "samples must be a whole number, got float 2.5"),
        ("samples", True, "samples must be a whole number, got bool True"),
        ("steps", 1.5, "steps must be a whole number, got float 1.5"),
        ("trials", "2", "trials must be a whole number, got str '2'"),
        ("executor", 2, "executor must be a concurrent.futures.Executor, got int 2"),
        ("delay", 1.5, "delay must be a whole number, got float 1.5"),
        ("seed", None, "seed must be a whole number, got NoneType None"),
    ],
)
def test_bad_types(name: str, value: object, message: str) -> None:
    with pytest.raises(TypeError) as caught:
        oc.simulate(**{**GOOD, name: value})
    assert str(caught.value) == f"simulate: {message}"
