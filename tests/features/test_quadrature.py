from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.integrate
import scipy.stats

import overcast as oc
from overcast._check import Array
from overcast.beliefs import Ensemble, Gaussian, Mixture, NoClosedForm, PointMass, Quantiles
from overcast.beliefs.base import Belief
from overcast.features import QuadratureFourier
from overcast.kernels import RBF, Constant, Linear, Matern, Product
from overcast.kernels.base import JointKernel
from support import refused

POINTS = np.random.default_rng(3).random((40, 3))
COV = np.array([[0.3, -0.2], [-0.2, 0.5]])


def gram(features: QuadratureFourier, points: Array, a: int) -> Array:
    """Return phi^T phi of points (n, a + c), one action and one context a row."""
    n = np.arange(len(points))
    phi = features(points[:, :a], points[:, a:])[n, n]
    return np.asarray(phi @ phi.T)


@pytest.mark.parametrize(
    ("kernel", "scale", "factor"),
    [
        (RBF(1.0), [1.0, 1.0, 1.0], 1.0),
        (RBF((0.7, 2.0, 1.0)), [0.7, 2.0, 1.0], 1.0),
        (Product(RBF(0.8), RBF((1.0, 1.5))), [0.8, 1.0, 1.5], 1.0),
        (3.0 * Product(0.5 * RBF(0.8), 2.0 * RBF(1.0)), [0.8, 1.0, 1.0], 3.0),
    ],
)
@pytest.mark.parametrize("m", [13, 14])
def test_enough_nodes_give_the_kernel(kernel: JointKernel, scale: list[float], factor: float, m: int) -> None:
    features = QuadratureFourier(kernel, m)
    assert features.size(1, 2) == m**3 == features([[0.0]], [[0.0, 0.0]]).shape[-1]
    k = factor * RBF(tuple(scale))(POINTS, POINTS)
    np.testing.assert_allclose(gram(features, POINTS, 1), k, rtol=0, atol=1e-8)


def test_the_error_vanishes_faster_than_exponentially() -> None:
    """As long as rounding allows, it stays below its bound, which is sharp to a few orders, and falls ever faster."""
    line = np.linspace(0.0, 1.0, 9)
    points = np.array([[x, c] for x in line for c in line])
    errors = []
    for m in range(1, 15):
        found = gram(QuadratureFourier(RBF(0.5), m), points, 1)
        errors.append(np.abs(found - RBF(0.5)(points, points)).max())
        bound = 2 * 2.0 ** (2 * m) * math.factorial(m) / math.factorial(2 * m)
        assert errors[-1] <= bound + 1e-14
    ratios = np.divide(errors[1:12], errors[:11])
    assert (ratios[2:] < 0.5).all()
    assert (ratios[6:] < 0.2).all()
    assert errors[-1] < 1e-10


BELIEFS: dict[str, Belief] = {
    "covariance": Gaussian([0.3, -1.0], COV),
    "ensemble": Ensemble(POINTS[:, :2]),
    "mixture": Mixture([Gaussian([0.3, -1.0], COV), PointMass([1.0, 1.0])], [0.8, 0.2]),
    "quantiles": Quantiles([0.1, 0.5, 0.9], [[-1.0, 0.0], [0.5, 0.1], [1.0, 2.0]]),
}


@pytest.mark.parametrize("m", [3, 4])
@pytest.mark.parametrize("belief", BELIEFS.values(), ids=BELIEFS.keys())
def test_expected_features_are_the_average_over_draws(belief: Belief, m: int) -> None:
    """Six standard errors: 2e-9 a feature, 3e-6 over all cases."""
    features, n = QuadratureFourier(Product(RBF(0.8), RBF((0.6, 1.1))), m), 20_000
    actions = np.array([[0.2], [1.5]])
    phi = features(actions, belief.sample(n, np.random.default_rng(1)))
    spread = phi.std(axis=1, ddof=1) / np.sqrt(n)
    assert (np.abs(phi.mean(axis=1) - features.expected(actions, belief)) <= 6 * spread + 1e-10).all()


def test_expected_features_are_the_integral() -> None:
    features, law = QuadratureFourier(RBF((0.5, 0.7)), 5), scipy.stats.norm(0.4, np.sqrt(0.3))

    def integrand(c: float) -> Array:
        return np.asarray(features([[0.3]], [[c]])[0, 0] * law.pdf(c))

    integral = scipy.integrate.quad_vec(integrand, -5.0, 6.0, epsabs=1e-11)[0]
    got = features.expected([[0.3]], Gaussian([0.4], 0.3))[0]
    np.testing.assert_allclose(got, integral, rtol=0, atol=1e-8)


def test_expected_features_give_the_mean_embedding() -> None:
    features = QuadratureFourier(Product(RBF(1.0), RBF(1.0)), 20)
    belief, other = Gaussian([0.3], 0.4), Mixture([Gaussian([0.0], 0.2), PointMass([0.5])])
    got = features.expected([[0.2]], belief) @ features.expected([[0.9]], other).T
    want = RBF(1.0)([[0.2]], [[0.9]]) * RBF(1.0).expected([belief], [other])
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-8)


def test_without_a_characteristic_function_there_is_no_closed_form() -> None:
    sampler = oc.Sampler(lambda n, rng: rng.normal(size=(n, 1)), dim=1)
    with refused(NoClosedForm, "QuadratureFourier", "Sampler", "samples="):
        QuadratureFourier(RBF(1.0), 4).expected([[1.0]], sampler)


@pytest.mark.parametrize(
    "kernel",
    [
        Matern(2.5, 1.0),
        Linear(),
        Product(RBF(1.0), Matern(1.5, 1.0)),
        Product(RBF(1.0), Constant()),
        RBF(1.0) + RBF(2.0),
        Product(RBF(1.0), RBF(1.0) + RBF(2.0)),
        "rbf",
    ],
)
def test_other_kernels_are_refused(kernel: JointKernel) -> None:
    with refused(TypeError, "QuadratureFourier", "kernel must be"):
        QuadratureFourier(kernel, 4)


def test_sizes_are_limited() -> None:
    features = QuadratureFourier(RBF(1.0), 11)
    assert features.size(1, 2) == 1331
    with refused(ValueError, "QuadratureFourier", "m must be 10 at most", "11^4 = 14641", "Fourier", "Nystrom"):
        features.size(2, 2)
    with refused(ValueError, "QuadratureFourier", "m must be 1 at most", "11^50"):
        features([[0.0] * 20], [[0.0] * 30])
    with refused(ValueError, "QuadratureFourier", "m must be >= 1"):
        QuadratureFourier(RBF(1.0), 0)
    assert QuadratureFourier(RBF(1.0), 10).size(2, 2) == 10_000


def test_length_scales_must_fit_the_dimensions() -> None:
    with refused(ValueError, "RBF", "lengthscale must have 3 entries"):
        QuadratureFourier(RBF((1.0, 2.0)), 4).size(1, 2)
