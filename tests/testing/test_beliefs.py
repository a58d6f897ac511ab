"""The check of a belief finds faults in each of its methods."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import overcast as oc
from overcast import testing
from overcast._check import Array


class Flat(oc.Belief):
    """Uniform on [0, 1], with some of its methods replaced."""

    dim = 1

    def __init__(self, **parts: Any) -> None:
        for name, part in parts.items():
            setattr(self, name, part)

    def mean(self) -> Array:
        return np.array([0.5])

    def cov(self) -> Array:
        return np.array([[1 / 12]])

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        return rng.random((n, 1))

    def moments(self, powers: Any) -> Array:
        return np.array([1 / (1 + p) for (p,) in powers])

    def _cdf(self, values: Array) -> Array:
        return np.clip(values, 0.0, 1.0)

    def _quantile(self, p: Array) -> Array:
        return p[:, None]

    def to_json(self) -> dict[str, Any]:
        return self._json()

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Flat:
        return cls()


def unknown(*given: Any) -> Array:
    raise oc.NoClosedForm("Flat: nobody knows")


def test_a_right_belief_passes() -> None:
    """Six standard errors: 1e-8 a number."""
    testing.check_belief(Flat())


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"_cdf": lambda values: np.clip(values, 0.0, 1.0) ** 2}, "cdf must be the share of draws"),
        ({"_cdf": unknown}, "cdf without a closed form must point to Ensemble"),
        ({"_quantile": lambda p: p}, "quantile must have shape"),
        ({"_quantile": lambda p: 1.0 - p[:, None]}, "quantile must not decrease with the level"),
        ({"_quantile": lambda p: p[:, None] ** 2}, "cdf of a quantile must reach its level"),
        ({"_quantile": lambda p: np.sqrt(p)[:, None]}, "quantile of cdf.* must not exceed the value"),
        ({"place": lambda outcome: outcome}, "place must have shape"),
        ({"place": lambda outcome: np.stack([outcome, outcome - 0.1])}, "place must be lower and upper ends"),
        ({"place": lambda outcome: np.stack([outcome, outcome]) ** 3}, "places of its own draws must average 0.5"),
        ({"reach": lambda: np.array([1.1])}, "reach must lie in"),
        ({"beyond": lambda outcome: outcome}, "beyond must be .* booleans"),
        ({"moved": lambda *by, **options: oc.PointMass(0.5)}, "moved by nothing must be the belief itself"),
        ({"_moved": lambda *by: oc.Gaussian([0.5], 1.0)}, "mean of moved and the mean moved"),
        ({"stated_error": lambda: np.array([[0.5], [-1.0]])}, "the spread of stated_error must be >= 0"),
        ({"stand_in": lambda: (np.ones((2, 1)), np.ones(2))}, "sum of the weights of stand_in"),
        ({"to_json": lambda: {"type": "Gaussian"}}, 'to_json must hold "type": "Flat"'),
        ({"to_json": lambda: {"type": "Flat"}}, "to_json must hold the names"),
    ],
)
def test_faults_are_found(parts: dict[str, Any], words: str) -> None:
    with pytest.raises(AssertionError, match=rf"^Flat: .*{words}"):
        testing.check_belief(Flat(**parts))


def test_an_error_in_place_of_a_mean_must_say_what_to_do() -> None:
    with pytest.raises(AssertionError, match="the error must say to pass samples="):
        testing.check_belief(Flat(mean=unknown))


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"dim": 2}, "shape"),
        ({"sample": lambda n, rng: rng.random(n)}, "sample.* must have shape"),
        ({"sample": lambda n, rng: np.full((n, 1), np.nan)}, "must be finite"),
        ({"sample": lambda n, rng: np.random.default_rng().random((n, 1))}, "same seed"),
        ({"sample": lambda n, rng: rng.random((n, 1)) + 0.05}, "mean must be the average of draws"),
        ({"sample": lambda n, rng: (rng.random((n, 1)) - 0.5) * 1.1 + 0.5}, "cov must be the average of draws"),
        ({"mean": lambda: 0.5}, "mean must have shape"),
        ({"cov": lambda: np.array([1 / 12])}, "cov must have shape"),
        ({"cov": lambda: np.array([[-1.0]])}, "no negative eigenvalue"),
        ({"variance": lambda: np.array([1.0])}, "diagonal of cov"),
        ({"moments": lambda powers: np.full(len(powers), 0.5)}, "moments of degree 2"),
        ({"support": lambda: (np.array([[0.5]]), np.array([1.0]))}, "cov and that of the support"),
        ({"support": lambda: (np.array([[0.0], [1.0]]), np.array([0.5, 0.6]))}, "sum of the support's weights"),
        ({"to_json": lambda: {"type": "Uniform"}}, "to_json must hold"),
    ],
)
def test_faulty_beliefs(parts: dict[str, Any], words: str) -> None:
    with pytest.raises(AssertionError, match=rf"^Flat: .*{words}"):
        testing.check_belief(Flat(**parts))
