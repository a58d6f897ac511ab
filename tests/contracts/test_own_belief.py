"""A belief of one's own needs its required methods only: JSON, calibration, moving and bandits take it as it is."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import scipy.stats

import overcast as oc
from overcast import testing
from overcast._check import Array


class Triangle(oc.Belief):
    """A coordinate on [0, width] that is triangular about its middle, and nothing else is told about it."""

    dim = 1

    def __init__(self, width: float) -> None:
        self.width = width

    def mean(self) -> Array:
        return np.array([self.width / 2])

    def cov(self) -> Array:
        return np.array([[self.width**2 / 24]])

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        return np.asarray(self.width * rng.random((n, 2)).mean(axis=1, keepdims=True))

    def to_json(self) -> dict[str, Any]:
        return self._json(width=self.width)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Triangle:
        return cls(data["width"])


class KnownTriangle(Triangle):
    """The same, with its distribution function and quantiles."""

    def _cdf(self, values: Array) -> Array:
        return np.asarray(scipy.stats.triang(0.5, scale=self.width).cdf(values))

    def _quantile(self, p: Array) -> Array:
        return np.asarray(scipy.stats.triang(0.5, scale=self.width).ppf(p))[:, None]


BOTH = pytest.mark.parametrize("kind", [Triangle, KnownTriangle])


@BOTH
def test_it_passes_the_checks(kind: type[Triangle]) -> None:
    """Six standard errors: 1e-8 a number."""
    testing.check_belief(kind(3.0))


@BOTH
def test_it_is_read_from_json_on_its_own_and_nested(kind: type[Triangle]) -> None:
    own = kind(3.0)
    for belief in (own, oc.Mixture([own, oc.PointMass(1.0)]), oc.Independent([own, own]), own.moved(1.0, 2.0)):
        twin = oc.belief_from_json(json.loads(json.dumps(belief.to_json())))
        assert type(twin) is type(belief)
        assert twin.to_json() == belief.to_json()
        np.testing.assert_array_equal(twin.mean(), belief.mean())


@BOTH
def test_its_forecasts_are_judged(kind: type[Triangle]) -> None:
    """The test's false-alarm probability is 1 %, for a fixed seed; coverage within four standard errors."""
    rng = np.random.default_rng(0)
    widths = rng.uniform(1.0, 5.0, 300)
    outcomes = np.array([kind(width).sample(1, rng)[0, 0] for width in widths])
    found = oc.calibration.check([kind(width) for width in widths], outcomes)
    assert "look right" in found.verdict
    assert found.coverage(0.8)[0] == pytest.approx(0.8, abs=4 * np.sqrt(0.16 / 300))
    wrong = oc.calibration.check([kind(width) for width in widths], outcomes + 2.0)
    assert "too low by 2" in wrong.verdict


@BOTH
def test_its_forecasts_are_corrected(kind: type[Triangle]) -> None:
    rng = np.random.default_rng(0)
    fixed = oc.Recalibrated()
    for width in rng.uniform(1.0, 5.0, 100):
        fixed.learn(kind(width), kind(width).sample(1, rng)[0] + 4.0)
    better = fixed(kind(3.0))
    assert better.mean()[0] == pytest.approx(5.5, abs=0.5)
    assert better.exact
    testing.check_belief(better)


@BOTH
def test_a_bandit_decides_by_it_and_corrects_it(kind: type[Triangle]) -> None:
    model = oc.LinearModel(oc.features.Bilinear(), ridge=1.0)
    bandit = oc.Bandit({"low": [1.0, 0.0], "high": [0.0, 1.0]}, model, oc.UCB(1.0), recalibrate=True)
    rng = np.random.default_rng(0)
    for width in rng.uniform(1.0, 5.0, 20):
        decision = bandit.decide(kind(width))
        context = kind(width).sample(1, rng)[0] + 4.0
        bandit.learn(decision, float(context[0] * decision.index), context=context)
    assert bandit.recalibrated is not None
    assert bandit.recalibrated.bias[0] > 3.0
    assert bandit.decide(kind(3.0)).action == "high"
