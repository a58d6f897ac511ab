"""Linear and bilinear features, pair by pair."""

from __future__ import annotations

import numpy as np
import pytest

from overcast._check import Array
from overcast.features import Bilinear, FeatureMap, Linear

POINTS = np.random.default_rng(0).normal(size=(6, 2))
EXAMPLES: list[tuple[FeatureMap, Array]] = [(Linear(), POINTS[:3]), (Bilinear(), POINTS[:3, :1])]

RNG = np.random.default_rng(0)
ACTIONS = RNG.normal(size=(4, 3))[:, :2]
CONTEXTS = RNG.normal(size=(5, 3))


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        (Linear(), [[[*x, *c] for c in CONTEXTS] for x in ACTIONS]),
        (Bilinear(), [[[u * v for u in x for v in c] for c in CONTEXTS] for x in ACTIONS]),
    ],
    ids=["Linear", "Bilinear"],
)
def test_every_pair_of_action_and_context(features: FeatureMap, expected: list[list[list[float]]]) -> None:
    got = features(ACTIONS, CONTEXTS)
    assert got.shape == np.shape(expected)
    assert features.size(2, 3) == got.shape[2]
    np.testing.assert_allclose(got, expected, rtol=1e-14, atol=1e-15)
