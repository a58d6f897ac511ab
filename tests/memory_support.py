"""What a bandit remembers, in a form that compares by value."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import overcast as oc
from overcast import _memory
from overcast._check import Array


def memory_of(bandit: oc.Bandit) -> dict[str, Any]:
    """Return header and arrays without the marks of the instance; arrays to the byte."""
    header, arrays = _memory.written(bandit.memory)
    del header[_memory.MARKS]
    return header | {name: (array.shape, array.dtype.str, array.tobytes()) for name, array in arrays.items()}


def differences(one: oc.Bandit, two: oc.Bandit) -> list[str]:
    """Return the names of all that two bandits remember differently."""
    mine, theirs = memory_of(one), memory_of(two)
    return [name for name in sorted(mine.keys() | theirs.keys()) if mine.get(name) != theirs.get(name)]


def distance(one: oc.Bandit, two: oc.Bandit) -> float:
    """Return the largest difference between arrays of two bandits, as a share of the largest number in each array."""
    (_, mine), (_, theirs) = (_memory.written(bandit.memory) for bandit in (one, two))
    assert mine.keys() == theirs.keys()
    return max(_apart(mine[name], theirs[name]) for name in mine)


def _apart(one: Array, two: Array) -> float:
    assert one.shape == two.shape
    if not one.size:
        return 0.0
    return float(np.abs(one * 1.0 - two).max() / max(float(np.abs(one).max()), 1e-300))


@contextmanager
def unchanged(bandit: oc.Bandit) -> Iterator[None]:
    before = memory_of(bandit)
    yield
    assert memory_of(bandit) == before
