"""Every design against phi written out: for one belief, for stacks, with one set of actions and with one per trial."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.linalg import block_diag

from feature_support import BELIEFS, MAPS
from overcast._check import Array
from overcast._linalg import folded
from overcast.beliefs import Belief, Ensemble, Sampler
from overcast.beliefs.base import Beliefs
from overcast.beliefs.stacked import Catalogue
from overcast.features import (
    Bilinear,
    Design,
    Disjoint,
    FeatureMap,
    Fourier,
    Function,
    Linear,
    Nystrom,
    QuadratureFourier,
    View,
    separable,
)
from overcast.features.design import DesignPoints, pick
from overcast.kernels import RBF, Matern, Product

C, R = 2, 3
ACTIONS = np.random.default_rng(0).normal(size=(5, 2))
KERNEL = Product(RBF(0.8), RBF((1.2, 0.7)))
DESIGNS: dict[str, tuple[FeatureMap, Array]] = {
    **{name: (features, actions) for name, (features, actions) in MAPS.items() if name != "disjoint"},
    "disjoint": (Disjoint(4), np.eye(4)[[1, 3, 0, 1, 2]]),
    "fourier": (Fourier(Product(RBF(0.8), Matern(2.5, 1.2)), 10), ACTIONS),
    "quadrature": (QuadratureFourier(KERNEL, 2), ACTIONS),
    "nystrom": (Nystrom(KERNEL, ACTIONS, ACTIONS[::-1]), ACTIONS),
}
DENSE = ["function", "fourier", "quadrature", "nystrom"]
each_design = pytest.mark.parametrize(("features", "actions"), DESIGNS.values(), ids=DESIGNS.keys())
each_samples = pytest.mark.parametrize("samples", [None, 4], ids=["exact", "sampled"])
each_path = pytest.mark.parametrize("path", ["as it is", "large", "without tables"])

ENSEMBLES = [
    Ensemble(np.random.default_rng(i).normal(size=(4, C)), np.random.default_rng(i).dirichlet(np.ones(4)))
    for i in range(R)
]
SAMPLER = Sampler(lambda n, rng: rng.gamma(2.0, 1.0, size=(n, C)), dim=C)


def _take(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make separable maps take a path that is meant for more actions or terms than this test has."""
    if path != "as it is":
        monkeypatch.setattr(separable, "MAX_DENSE_WORK", 0)
    if path == "without tables":
        monkeypatch.setattr(separable, "MAX_TABULATED_TERMS", 0)
        monkeypatch.setattr(separable, "MAX_TABLE", 0)


class Naive:
    """psi (k, d) and the covariances (k, d, d) of one belief, from its points and weights."""

    def __init__(self, features: FeatureMap, actions: Array, rule: tuple[Array, Array]) -> None:
        points, weights = rule
        phi = features(actions, points)
        self.psi = np.einsum("n,knd->kd", weights, phi)
        centred = phi - self.psi[:, None]
        self.cov = np.einsum("n,knd,kne->kde", weights, centred, centred)

    def sampled(self, features: FeatureMap, actions: Array, draws: Array) -> Naive:
        """Take psi from draws; their average adds a share of variance."""
        self.psi = features(actions, draws).mean(axis=1)
        self.cov = self.cov * (1.0 + 1.0 / len(draws))
        return self


def _naive(features: FeatureMap, actions: Array, belief: Ensemble, samples: int | None, seed: Any) -> Naive:
    naive = Naive(features, actions, belief.support())
    if samples is None:
        return naive
    return naive.sampled(features, actions, belief.sample(samples, np.random.default_rng(seed)))


def _matrices(design: Design, leading: tuple[int, ...]) -> tuple[Array, Array]:
    """Return theta (..., *shape) and a symmetric M (..., *shape, d)."""
    rng = np.random.default_rng(1)
    root = rng.normal(size=(*leading, *design.shape, design.shape[-1]))
    return rng.normal(size=(*leading, *design.shape)), root + root.swapaxes(-1, -2)


def _agrees(design: Design, points: DesignPoints, view: View, at: Any, theta: Array, M: Array, naive: Naive) -> None:
    """Compare all answers about one trial, picked by `at`, with theta (d,) and M (d, d) written out."""
    own = theta[at].ravel()
    full = block_diag(*M[at]) if len(design.shape) > 1 else M[at]
    tolerance: dict[str, Any] = {"rtol": 1e-9, "atol": 1e-10}
    np.testing.assert_allclose(points.features(view.terms)[at], naive.psi, **tolerance)
    np.testing.assert_allclose(points.along(view, theta)[at], naive.psi @ own, **tolerance)
    np.testing.assert_allclose(points.quadratic(view, M)[at], np.vecdot(naive.psi @ full, naive.psi), **tolerance)
    variance = np.einsum("kde,de->k", naive.cov, full)
    np.testing.assert_allclose(points.context_variance(view, M)[at], variance, **tolerance)


def _row_agrees(design: Design, row: Any, index: int, naive: Naive) -> None:
    """Compare a row with psi and the covariance of an action; only those of its block if the map has blocks."""
    psi, cov = naive.psi[index], naive.cov[index]
    if len(design.shape) > 1:
        blocks, c = design.shape
        psi = psi.reshape(blocks, c)
        assert not np.delete(psi, row.block, axis=0).any()
        psi, cov = psi[row.block], cov.reshape(blocks, c, blocks, c)[row.block, :, row.block]
    else:
        assert row.block is None
    np.testing.assert_allclose(row.psi, psi, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(row.cov, folded(cov), rtol=1e-9, atol=1e-10)


@each_design
@each_samples
@each_path
def test_one_belief(
    features: FeatureMap, actions: Array, samples: int | None, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _take(path, monkeypatch)
    design, belief = features.design(actions.shape[1], C), ENSEMBLES[0]
    points = design.at(actions)
    assert len(points) == len(actions)
    assert int(np.prod(design.shape)) == features.size(actions.shape[1], C)
    view = design.view(belief, samples, np.random.default_rng(7))
    assert design.terms_shape is None or view.terms.shape == design.terms_shape
    assert points.features(view.terms).shape == (len(actions), math.prod(design.shape))
    naive = _naive(features, actions, belief, samples, 7)
    _agrees(design, points, view, (), *_matrices(design, ()), naive)
    for index in range(len(actions)):
        _row_agrees(design, points.row(view, index, cov=True), index, naive)
        plain = points.row(view, index, cov=False)
        np.testing.assert_array_equal(plain.psi, points.row(view, index, cov=True).psi)
        assert plain.cov is None


@each_design
@each_samples
@each_path
@pytest.mark.parametrize("own_actions", [False, True], ids=["shared actions", "actions of each trial"])
def test_a_stack_of_beliefs(
    features: FeatureMap,
    actions: Array,
    samples: int | None,
    path: str,
    own_actions: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _take(path, monkeypatch)
    sets = [actions] * R
    if own_actions:
        unit = isinstance(features, Disjoint)
        sets = [np.roll(actions, i, axis=0) if unit else actions + 0.1 * i for i in range(R)]
    design = features.design(actions.shape[1], C)
    points = design.at(np.stack(sets) if own_actions else actions)
    assert len(points) == len(actions)
    beliefs: Beliefs = Catalogue(list(ENSEMBLES)).pick(np.arange(R))
    view = design.view(beliefs, samples, [np.random.default_rng((7, i)) for i in range(R)])
    assert design.terms_shape is None or view.terms.shape == (R, *design.terms_shape)
    assert points.features(view.terms).shape == (R, len(actions), math.prod(design.shape))
    theta, M = _matrices(design, (R,))
    index = np.array([2, 0, 1])
    row = points.row(view, index, cov=True)
    assert points.row(view, index, cov=False).cov is None
    for i, (own, belief) in enumerate(zip(sets, ENSEMBLES, strict=True)):
        naive = _naive(features, own, belief, samples, (7, i))
        _agrees(design, points, view, i, theta, M, naive)
        assert row.cov is not None
        block = None if row.block is None else row.block[i]
        _row_agrees(design, row._replace(psi=row.psi[i], cov=row.cov[i], block=block), int(index[i]), naive)


@each_design
@each_samples
@each_path
@pytest.mark.parametrize("n", [1, 2, R])
def test_several_beliefs_and_one_theta(
    features: FeatureMap,
    actions: Array,
    samples: int | None,
    path: str,
    n: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A learner of one bandit asks about n beliefs at once, with one theta and one M."""
    _take(path, monkeypatch)
    design = features.design(actions.shape[1], C)
    points, (theta, M) = design.at(actions), _matrices(design, ())
    view = design.view(
        Catalogue(list(ENSEMBLES)).pick(np.arange(n)), samples, [np.random.default_rng((7, i)) for i in range(n)]
    )
    index = np.array([2, 0, 1])[:n]
    row, along, squares = points.row(view, index, cov=True), points.along(view, theta), points.quadratic(view, M)
    variance, each = points.context_variance(view, M), view.each()
    assert along.shape == squares.shape == variance.shape == (n, len(actions))
    assert len(each) == len(row.split()) == n
    for i in range(n):
        naive = _naive(features, actions, ENSEMBLES[i], samples, (7, i))
        _agrees(design, points, each[i], (), theta, M, naive)
        _row_agrees(design, row.split()[i], int(index[i]), naive)
        tolerance: dict[str, Any] = {"rtol": 1e-10, "atol": 1e-12}
        np.testing.assert_allclose(along[i], points.along(each[i], theta), **tolerance)
        np.testing.assert_allclose(squares[i], points.quadratic(each[i], M), **tolerance)
        np.testing.assert_allclose(variance[i], points.context_variance(each[i], M), **tolerance)


@pytest.mark.parametrize("under", [name for name in BELIEFS if name != "ensemble"])
@pytest.mark.parametrize(
    "name", [name for name in DESIGNS if name not in ("function", "fourier", "quadrature", "nystrom")]
)
def test_moments_of_beliefs_that_have_them(name: str, under: str) -> None:
    """Against a quadrature rule that is exact for the features and their products."""
    features, actions = DESIGNS[name]
    belief, rule = BELIEFS[under]
    design = features.design(actions.shape[1], C)
    points, view, naive = design.at(actions), design.view(belief), Naive(features, actions, rule)
    _agrees(design, points, view, (), *_matrices(design, ()), naive)
    _row_agrees(design, points.row(view, 1, cov=True), 1, naive)


@pytest.mark.parametrize("under", ["gaussian matrix", "mixture", "quantiles"])
@pytest.mark.parametrize("name", DENSE)
def test_covariances_of_other_maps_come_from_points_that_stand_for_the_belief(name: str, under: str) -> None:
    features, actions = DESIGNS[name]
    belief = BELIEFS[under][0]
    samples = 4 if isinstance(features, Function) or (name == "nystrom" and under == "quantiles") else None
    design, naive = features.design(actions.shape[1], C), Naive(features, actions, belief.stand_in())
    points = design.at(actions)
    view = design.view(belief, samples, np.random.default_rng(3))
    if samples is None:
        naive.psi = features.expected(actions, belief)
    else:
        naive.sampled(features, actions, belief.sample(samples, np.random.default_rng(3)))
    _agrees(design, points, view, (), *_matrices(design, ()), naive)
    _row_agrees(design, points.row(view, 1, cov=True), 1, naive)


def _sigma_points(belief: Belief) -> tuple[Array, Array]:
    """Return points and weights with the mean and the covariance of a belief."""
    steps = np.sqrt(C) * np.linalg.cholesky(belief.cov()).T
    return belief.mean() + np.concatenate([steps, -steps]), np.full(2 * C, 0.5 / C)


@each_design
def test_a_belief_that_can_only_be_sampled(features: FeatureMap, actions: Array) -> None:
    """Draws give the features. If the features are linear in the context, their covariance comes from its covariance.
    If not, it comes from points that stand for the belief."""
    rule = _sigma_points(SAMPLER) if isinstance(features, (Bilinear, Linear, Disjoint)) else SAMPLER.stand_in()
    stack = Catalogue([ENSEMBLES[0], SAMPLER]).pick(np.array([0, 1]))
    beliefs: list[tuple[Beliefs, Any]] = [(SAMPLER, ()), (stack, 1)]
    design = features.design(actions.shape[1], C)
    points = design.at(actions)
    for both, at in beliefs:
        rng = np.random.default_rng(3)
        view = design.view(both, 6, [np.random.default_rng(9), rng] if both.leading else rng)
        naive = Naive(features, actions, rule)
        naive.sampled(features, actions, SAMPLER.sample(6, np.random.default_rng(3)))
        _agrees(design, points, view, at, *_matrices(design, both.leading), naive)


@each_design
def test_an_exact_view_has_no_excess_and_a_sampled_one_has_its_share(features: FeatureMap, actions: Array) -> None:
    design = features.design(actions.shape[1], C)
    exact, sampled = design.view(ENSEMBLES[0]), design.view(ENSEMBLES[0], 5, np.random.default_rng(0))
    assert exact.excess == 0.0
    assert sampled.excess == 0.2
    assert exact.beliefs is sampled.beliefs is ENSEMBLES[0]


def test_rows_of_one_table_and_of_one_per_trial() -> None:
    table, index = np.arange(24.0).reshape(2, 4, 3), np.array([3, 1])
    np.testing.assert_array_equal(pick(table[0], 2, ()), table[0, 2])
    np.testing.assert_array_equal(pick(table[0], index, ()), [table[0, 3], table[0, 1]])
    np.testing.assert_array_equal(pick(table, index, (2,)), [table[0, 3], table[1, 1]])
