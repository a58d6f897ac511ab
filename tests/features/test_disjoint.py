"""Disjoint features, pair by pair, and actions that are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from overcast._check import Array
from overcast.features import Disjoint, FeatureMap
from support import refused

EXAMPLES: list[tuple[FeatureMap, Array]] = [(Disjoint(3), np.eye(3))]

RNG = np.random.default_rng(0)
ACTIONS = np.eye(4)[[2, 0, 3, 1]]
CONTEXTS = RNG.normal(size=(5, 3))


def test_every_pair_of_action_and_context() -> None:
    expected = np.array([[[v if x[i] else 0.0 for i in range(4) for v in c] for c in CONTEXTS] for x in ACTIONS])
    got = Disjoint(4)(ACTIONS, CONTEXTS)
    assert got.shape == expected.shape
    assert Disjoint(4).size(4, 3) == expected.shape[2]
    np.testing.assert_allclose(got, expected, rtol=1e-14, atol=1e-15)


def test_disjoint_needs_unit_vectors() -> None:
    with refused(ValueError, "Disjoint", "3", "4"):
        Disjoint(3)(np.eye(4), CONTEXTS)
    for actions in (2 * np.eye(3), np.ones((1, 3)), np.zeros((1, 3)), np.full((1, 3), 1 / 3), [[-1.0, 1.0, 1.0]]):
        with refused(ValueError, "Disjoint", "unit vectors"):
            Disjoint(3)(actions, CONTEXTS)


@pytest.mark.parametrize(("value", "kind"), [(0, ValueError), (1.0, TypeError), (True, TypeError), ("2", TypeError)])
def test_bad_numbers_of_actions(value: Any, kind: type[Exception]) -> None:
    with refused(kind, "Disjoint", "k"):
        Disjoint(value)
