"""Faulty feature maps do not pass `check_features`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from overcast import features, testing
from overcast._check import Array
from overcast.features import FeatureMap

POINTS = np.random.default_rng(0).normal(size=(6, 2))


class _Shifted(features.Bilinear):
    """The wrong mean."""

    def _expected_terms(self, belief: Any) -> Array:
        return np.asarray(belief.mean() + 0.1)


class _Paired(features.Bilinear):
    """Terms that are not those of the features."""

    def sampled_terms(self, belief: Any, samples: int, rng: Any) -> Array:
        return np.asarray(belief.sample(samples, rng)[0])


def _depends_on_the_batch(x: Array, c: Array) -> Array:
    return np.asarray((x[:, None] * c[None]) - c.mean())


@pytest.mark.parametrize(
    ("feature_map", "words"),
    [
        (_Shifted(), "expected under PointMass"),
        (_Paired(), "sampled"),
        (features.Function(_depends_on_the_batch, 2), "on its own"),
    ],
)
def test_faulty_features(feature_map: FeatureMap, words: str) -> None:
    with pytest.raises(AssertionError, match=rf"^{type(feature_map).__name__}: .*{words}"):
        testing.check_features(feature_map, POINTS[:3], POINTS)
