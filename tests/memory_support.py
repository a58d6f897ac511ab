"""What a bandit remembers, in a form that compares by value."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import overcast as oc
from overcast._check import Array
from overcast.bandit import files


def memory_of(bandit: oc.Bandit) -> dict[str, Any]:
    """Return header and arrays without the marks of the instance; arrays to the byte."""
    header, arrays = files.written(bandit.state)
    del header[files.MARKS]
    return header | {name: (array.shape, array.dtype.str, array.tobytes()) for name, array in arrays.items()}


def differences(one: oc.Bandit, two: oc.Bandit) -> list[str]:
    """Return the names of all that two bandits remember differently."""
    mine, theirs = memory_of(one), memory_of(two)
    return [name for name in sorted(mine.keys() | theirs.keys()) if mine.get(name) != theirs.get(name)]


def distance(one: oc.Bandit, two: oc.Bandit) -> float:
    """Return the largest difference between arrays of two bandits, as a share of the largest number in each array."""
    (_, mine), (_, theirs) = (files.written(bandit.state) for bandit in (one, two))
    assert mine.keys() == theirs.keys()
    return max(_apart(mine[name], theirs[name]) for name in mine)


def _apart(one: Array, two: Array) -> float:
    assert one.shape == two.shape
    if not one.size:
        return 0.0
    return float(np.abs(one * 1.0 - two).max() / max(float(np.abs(one).max()), 1e-300))


def decisions_of(bandit: oc.Bandit) -> list[int]:
    """Let a bandit decide and learn for twelve rounds, and return the indices of its actions."""
    rng, out = np.random.default_rng(11), []
    for t in range(12):
        mean = rng.normal(size=2)
        decision = bandit.decide(oc.Gaussian(mean, [0.3, 0.2]) if t % 3 else oc.PointMass(mean))
        out.append(decision.index)
        bandit.learn(decision, float(mean[0] * (decision.index - 1) + 0.3 * rng.normal()))
    return out


@contextmanager
def unchanged(bandit: oc.Bandit) -> Iterator[None]:
    before = memory_of(bandit)
    yield
    assert memory_of(bandit) == before
