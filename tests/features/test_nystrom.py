"""Nystrom features against their kernels, draws and integrals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.integrate
import scipy.stats

import overcast as oc
from overcast._check import Array
from overcast.beliefs import Ensemble, Gaussian, Mixture, NoClosedForm, PointMass, Quantiles
from overcast.beliefs.base import Belief
from overcast.features import FeatureMap, Nystrom
from overcast.kernels import RBF, AnyKernel, Constant, Kernel, Linear, Matern, Polynomial, Product
from support import refused

PAIRS = np.random.default_rng(3).normal(size=(12, 4))
ACTIONS, CONTEXTS = PAIRS[:, :2], PAIRS[:, 2:]
COV = np.array([[0.3, -0.2], [-0.2, 0.5]])
NORMAL = np.random.default_rng(0).normal(size=(6, 2))
EXAMPLES: list[tuple[FeatureMap, Array]] = [
    (Nystrom(Product(RBF(0.8), RBF(1.2)), NORMAL[1:5], NORMAL[:4]), NORMAL[:3]),
]

KERNELS: dict[str, AnyKernel] = {
    "rbf": RBF((0.5, 1.0, 0.7, 2.0)),
    "product": Product(RBF(0.8), RBF(0.6)),
    "matern": Product(Matern(0.5, 0.8), Matern(1.5, (0.5, 0.9))),
    "linear": Product(RBF(0.8), Linear()),
    "polynomial": Product(RBF(0.8), Polynomial(2)),
    "sum": 2.0 * Product(RBF(0.8), RBF(0.6) + 3.0 * Linear()) + 0.5 * Constant(),
}


def exact(kernel: AnyKernel, left: Array, right: Array) -> Array:
    """Return k between points (n, 4) and (m, 4)."""
    parts = (x(left[:, :2], right[:, :2]) * c(left[:, 2:], right[:, 2:]) for x, c in kernel.terms(2))
    return np.asarray(sum(parts))


def features_of(features: Nystrom, points: Array) -> Array:
    """Return phi of points (n, 4), one action and one context per row."""
    n = np.arange(len(points))
    return np.asarray(features(points[:, :2], points[:, 2:])[n, n])


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
def test_exact_wherever_one_point_is_an_inducing_pair(kernel: AnyKernel) -> None:
    features = Nystrom(kernel, ACTIONS, CONTEXTS)
    others = np.random.default_rng(4).normal(size=(5, 4))
    got = features_of(features, PAIRS) @ features_of(features, np.concatenate([PAIRS, others])).T
    np.testing.assert_allclose(got, exact(kernel, PAIRS, np.concatenate([PAIRS, others])), rtol=0, atol=1e-9)


def test_more_pairs_approximate_better() -> None:
    rng = np.random.default_rng(0)
    points, kernel = rng.random((50, 4)), Product(RBF(0.8), RBF(0.6))
    k = exact(kernel, points, points)
    errors = []
    for m in (20, 80, 320):
        pairs = np.random.default_rng(1).random((m, 4))
        phi = features_of(Nystrom(kernel, pairs[:, :2], pairs[:, 2:]), points)
        errors.append(np.abs(phi @ phi.T - k).max())
    assert errors[1] < 0.2 * errors[0]
    assert errors[2] < 0.1 * errors[1]


def test_pairs_that_follow_from_others_are_left_out() -> None:
    kernel = Product(RBF(0.8), RBF(0.6))
    twice = Nystrom(kernel, np.concatenate([ACTIONS, ACTIONS[:3]]), np.concatenate([CONTEXTS, CONTEXTS[:3]]))
    assert twice.size(2, 2) == 12
    got = features_of(twice, PAIRS)
    np.testing.assert_allclose(got @ got.T, exact(kernel, PAIRS, PAIRS), rtol=0, atol=1e-9)
    bilinear = Nystrom(Product(Linear(), Linear()), ACTIONS, CONTEXTS)
    assert bilinear.size(2, 2) == 4  # the dimension of the kernel's own features
    phi = features_of(bilinear, 3.0 * PAIRS[::-1] + 1.0)
    want = exact(Product(Linear(), Linear()), *([3.0 * PAIRS[::-1] + 1.0] * 2))
    np.testing.assert_allclose(phi @ phi.T, want, rtol=0, atol=1e-9)


BELIEFS: dict[str, Belief] = {
    "variances": Gaussian([0.3, -1.0], [0.2, 0.6]),
    "covariance": Gaussian([0.3, -1.0], COV),
    "ensemble": Ensemble(CONTEXTS[:5] + 0.1, [0.1, 0.2, 0.3, 0.4, 0.0]),
    "mixture": Mixture([Gaussian([0.3, -1.0], COV), PointMass([1.0, 1.0])], [0.8, 0.2]),
}


@pytest.mark.parametrize("kernel", [KERNELS[name] for name in ("rbf", "linear", "polynomial", "sum")])
@pytest.mark.parametrize("belief", BELIEFS.values(), ids=BELIEFS.keys())
def test_expected_features_are_the_average_over_draws(kernel: AnyKernel, belief: Belief) -> None:
    """Six standard errors: 2e-9 per feature, 1e-6 over all cases."""
    features, n = Nystrom(kernel, ACTIONS, CONTEXTS), 20_000
    phi = features(ACTIONS[:3] + 0.2, belief.sample(n, np.random.default_rng(1)))
    error = phi.std(axis=1, ddof=1) / np.sqrt(n)
    got = features.expected(ACTIONS[:3] + 0.2, belief)
    assert (np.abs(phi.mean(axis=1) - got) <= 6 * error + 1e-9).all()


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
def test_finite_supports_and_draws_serve_every_kernel(kernel: AnyKernel) -> None:
    features, belief = Nystrom(kernel, ACTIONS, CONTEXTS), BELIEFS["ensemble"]
    finite = belief.support()
    assert finite is not None
    want = np.einsum("knd,n->kd", features(ACTIONS, finite[0]), finite[1])
    np.testing.assert_allclose(features.expected(ACTIONS, belief), want, rtol=0, atol=1e-8)
    quantiles = Quantiles([0.1, 0.5, 0.9], [[-1.0, 0.0], [0.5, 0.1], [1.0, 2.0]])
    draws = quantiles.sample(50, np.random.default_rng(5))
    got = features.sampled(ACTIONS, quantiles, 50, np.random.default_rng(5))
    np.testing.assert_allclose(got, features(ACTIONS, draws).mean(axis=1), rtol=0, atol=1e-8)
    design = features.design(2, 2)
    points, drawn = design.at(ACTIONS), design.view(quantiles, 50, np.random.default_rng(5))
    np.testing.assert_array_equal(points.features(drawn.terms), got)
    np.testing.assert_array_equal(points.features(design.view(belief).terms), features.expected(ACTIONS, belief))


def test_expected_features_are_the_integral() -> None:
    features = Nystrom(Product(RBF(0.5), RBF(0.7)), ACTIONS[:, :1], CONTEXTS[:, :1])
    law = scipy.stats.norm(0.4, np.sqrt(0.3))

    def integrand(c: float) -> Array:
        return np.asarray(features([[0.3]], [[c]])[0, 0] * law.pdf(c))

    integral = scipy.integrate.quad_vec(integrand, -5.0, 6.0, epsabs=1e-11)[0]
    got = features.expected([[0.3]], Gaussian([0.4], 0.3))[0]
    np.testing.assert_allclose(got, integral, rtol=0, atol=1e-8)


@pytest.mark.parametrize(
    ("kernel", "belief"),
    [
        (Product(RBF(1.0), RBF(1.0)), Quantiles([0.1, 0.9], [[0.0, 0.0], [1.0, 1.0]])),
        (Product(RBF(1.0), Matern(1.5, 1.0)), Gaussian([0.0, 0.0], 1.0)),
        (Product(RBF(1.0), Polynomial(3)), oc.Sampler(lambda n, rng: rng.normal(size=(n, 2)), dim=2)),
    ],
)
def test_without_a_mean_embedding_there_is_no_closed_form(kernel: AnyKernel, belief: Belief) -> None:
    with refused(NoClosedForm, "Nystrom", type(belief).__name__, "samples="):
        Nystrom(kernel, ACTIONS, CONTEXTS).expected(ACTIONS, belief)


def test_pairs_are_compared_hashed_and_counted() -> None:
    kernel = Product(RBF(1.0), RBF(1.0))
    one, two = Nystrom(kernel, ACTIONS, CONTEXTS), Nystrom(kernel, ACTIONS.tolist(), CONTEXTS.tolist())
    assert one == two
    assert hash(one) == hash(two)
    assert one != Nystrom(kernel, ACTIONS, CONTEXTS + 1.0)
    assert repr(one) == f"Nystrom({kernel}, 12 pairs)"


def test_faults() -> None:
    kernel = Product(RBF(1.0), RBF(1.0))
    with refused(TypeError, "Nystrom", "kernel must be a kernel of actions and contexts"):
        Nystrom("rbf", ACTIONS, CONTEXTS)  # type: ignore[arg-type]
    with refused(ValueError, "Nystrom", "contexts must have shape (12, c)"):
        Nystrom(kernel, ACTIONS, CONTEXTS[:3])
    with refused(ValueError, "Nystrom", "actions must have shape (m, a)"):
        Nystrom(kernel, [1.0, 2.0], CONTEXTS)
    with refused(ValueError, "Nystrom", "kernel must be positive at one or more of the pairs"):
        Nystrom(Linear(), [[0.0]], [[0.0]])
    with refused(TypeError, "Matern", "does not split"):
        Nystrom(Matern(2.5, 1.0), ACTIONS, CONTEXTS)
    features = Nystrom(kernel, ACTIONS, CONTEXTS)
    with refused(ValueError, "Nystrom", "actions must have the 2 dimensions of the pairs, got 1"):
        features.size(1, 2)
    with refused(ValueError, "Nystrom", "contexts must have the 2 dimensions of the pairs, got 3"):
        features(ACTIONS, [[0.0, 1.0, 2.0]])


@dataclass(frozen=True)
class Tanh(Kernel):
    """Not positive semi-definite."""

    def _evaluate(self, left: Array, right: Array) -> Array:
        return np.asarray(np.tanh(left @ right.T - 1.0))


def test_a_kernel_that_is_not_positive_semi_definite_is_reported() -> None:
    pairs = np.random.default_rng(0).normal(size=(60, 1))
    with refused(ValueError, "Nystrom", "kernel must be positive semi-definite"):
        Nystrom(Product(Constant(), Tanh()), np.ones((60, 1)), pairs)


def test_a_kernel_that_is_not_finite_is_reported() -> None:
    with refused(ValueError, "Nystrom", "kernel must give finite numbers at the pairs"), np.errstate(over="ignore"):
        Nystrom(Product(Linear(), Linear()), [[1e200]], [[1e200]])


@dataclass
class Loose(Kernel):
    """Cannot be hashed."""

    def _evaluate(self, left: Array, right: Array) -> Array:
        return np.ones((len(left), len(right)))


def test_a_kernel_that_cannot_be_hashed_is_refused() -> None:
    with refused(TypeError, "Nystrom", "kernel must be hashable, such as a frozen dataclass"):
        Nystrom(Product(RBF(1.0), Loose()), [[1.0]], [[1.0]])
