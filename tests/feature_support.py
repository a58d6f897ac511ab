"""Shared by tests of feature maps: beliefs with exact quadrature rules, and maps of every kind."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from overcast._check import Array
from overcast.beliefs import Belief, Ensemble, Gaussian, Independent, Mixture, PointMass, Quantiles
from overcast.beliefs.stacked import BeliefStack, Catalogue, GaussianStack, PointStack
from overcast.features import Bilinear, Disjoint, FeatureMap, Function, Linear, Polynomial, Quadratic, Separable

Rule = tuple[Array, Array]  # points (n, c) and weights (n,)


ACTIONS = np.random.default_rng(0).normal(size=(3, 2))

POINTS = np.random.default_rng(1).normal(size=(5, 2))

WEIGHTS = np.array([0.1, 0.35, 0.0, 0.25, 0.3])

COV = np.array([[1.3, -0.6], [-0.6, 0.8]])

LEVELS = np.array([0.1, 0.4, 0.9])

VALUES = np.array([[-1.0, 0.0], [0.5, 0.0], [2.0, 3.0]])


def _normal(mean: Sequence[float], cov: Array) -> Rule:
    """Gauss-Hermite, exact for polynomials up to degree 11 per coordinate."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(6)
    root = np.linalg.cholesky(cov)
    grid = np.array(list(itertools.product(nodes, repeat=len(mean))))
    products = np.array([np.prod(w) for w in itertools.product(weights, repeat=len(mean))])
    return np.asarray(mean) + grid @ root.T, products / products.sum()


def _quantiles(column: Array) -> Rule:
    """Gauss-Legendre on each linear piece of the quantile function, and the tails' mass at its ends."""
    nodes, weights = np.polynomial.legendre.leggauss(6)
    points, masses = [column[0], column[-1]], [LEVELS[0], 1 - LEVELS[-1]]
    for a, b, du in zip(column[:-1], column[1:], np.diff(LEVELS), strict=True):
        points += list((a + b) / 2 + (b - a) / 2 * nodes)
        masses += list(du * weights / 2)
    return np.array(points)[:, None], np.array(masses)


def _product(first: Rule, second: Rule) -> Rule:
    pairs = list(itertools.product(range(len(first[1])), range(len(second[1]))))
    points = np.array([[*first[0][i], *second[0][j]] for i, j in pairs])
    return points, np.array([first[1][i] * second[1][j] for i, j in pairs])


def _mix(rules: list[Rule], weights: list[float]) -> Rule:
    points = np.concatenate([points for points, _ in rules])
    return points, np.concatenate([w * inner for w, (_, inner) in zip(weights, rules, strict=True)])


ONE = np.array([[2.0], [-1.0], [0.5]])

BELIEFS: dict[str, tuple[Belief, Rule]] = {
    "point": (PointMass([1.5, -2.0]), (np.array([[1.5, -2.0]]), np.ones(1))),
    "gaussian scalar": (Gaussian([1.0, -0.5], 0.7), _normal([1.0, -0.5], 0.7 * np.eye(2))),
    "gaussian variances": (Gaussian([1.0, -0.5], [0.7, 2.0]), _normal([1.0, -0.5], np.diag([0.7, 2.0]))),
    "gaussian matrix": (Gaussian([1.0, -0.5], COV), _normal([1.0, -0.5], COV)),
    "ensemble": (Ensemble(POINTS, WEIGHTS), (POINTS, WEIGHTS)),
    "mixture": (
        Mixture([Gaussian([0.0, 1.0], COV), PointMass([2.0, 2.0]), Ensemble(POINTS)], [0.5, 0.2, 0.3]),
        _mix(
            [_normal([0.0, 1.0], COV), (np.array([[2.0, 2.0]]), np.ones(1)), (POINTS, np.full(5, 0.2))],
            [0.5, 0.2, 0.3],
        ),
    ),
    "independent": (
        Independent([Gaussian([1.0], 0.5), Ensemble(ONE, [0.2, 0.5, 0.3])]),
        _product(_normal([1.0], np.array([[0.5]])), (ONE, np.array([0.2, 0.5, 0.3]))),
    ),
    "finite independent": (
        Independent([PointMass(3.0), Ensemble(ONE, [0.2, 0.5, 0.3])]),
        _product((np.array([[3.0]]), np.ones(1)), (ONE, np.array([0.2, 0.5, 0.3]))),
    ),
    "quantiles": (Quantiles(LEVELS, VALUES, "none"), _product(_quantiles(VALUES[:, 0]), _quantiles(VALUES[:, 1]))),
}


def cubic(x: Array, c: Array) -> Array:
    """Not polynomial in the action, cubic in the context, so that the quadrature rules stay exact."""
    u = np.tanh(x)[:, None, :] + c[None, :, :]
    return np.stack([u[..., 0] ** 3, u[..., 0] * u[..., 1] ** 2, np.ones(u.shape[:2])], axis=-1)


MAPS: dict[str, tuple[FeatureMap, Array]] = {
    "quadratic": (Quadratic(), ACTIONS),
    "bilinear": (Bilinear(), ACTIONS),
    "linear": (Linear(), ACTIONS),
    "polynomial 1": (Polynomial(1), ACTIONS),
    "polynomial 2": (Polynomial(2), ACTIONS),
    "polynomial 3": (Polynomial(3), ACTIONS),
    "disjoint": (Disjoint(3), np.eye(3)),
    "function": (Function(cubic, 3), ACTIONS),
}

SEPARABLE = [features for features, _ in MAPS.values() if isinstance(features, Separable)]
STACKS: dict[str, tuple[BeliefStack, list[Belief]]] = {
    "gaussian": (GaussianStack(POINTS, 0.7), [Gaussian(m, 0.7) for m in POINTS]),
    "variances": (GaussianStack(POINTS, POINTS**2), [Gaussian(m, m**2) for m in POINTS]),
    "points": (PointStack(POINTS), [PointMass(c) for c in POINTS]),
    "catalogue": (
        Catalogue([belief for belief, _ in BELIEFS.values()]).pick(np.array([3, 0, 3, 8, 5])),
        [[belief for belief, _ in BELIEFS.values()][i] for i in (3, 0, 3, 8, 5)],
    ),
}
