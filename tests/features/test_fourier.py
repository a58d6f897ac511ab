"""Fourier features, random and by quadrature, against their kernels, draws and integrals."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.stats

import overcast as oc
from overcast._check import Array
from overcast.beliefs import (
    Belief,
    Ensemble,
    Gaussian,
    Independent,
    Mixture,
    NoClosedForm,
    PointMass,
    Quantiles,
    Sampler,
)
from overcast.features import FeatureMap, Fourier, QuadratureFourier
from overcast.features.fourier import PreparedWaves, Waves, pieces
from overcast.kernels import RBF, AnyKernel, Constant, JointKernel, Kernel, Linear, Matern, Product
from overcast.kernels.base import Term
from support import refused

POINTS = np.random.default_rng(3).random((60, 4))
FEW = POINTS[:20]
COV = np.array([[0.3, -0.2], [-0.2, 0.5]])
MEMBERS = np.random.default_rng(4).normal(size=(7, 2))
EXAMPLES: list[tuple[FeatureMap, Array]] = [
    (Fourier(Product(RBF(0.8), Matern(2.5, 1.2)), 10), np.random.default_rng(0).normal(size=(3, 2))),
    (QuadratureFourier(2.0 * RBF((1.0, 0.7, 2.0)), 3), np.random.default_rng(0).normal(size=(3, 2))[:, :1]),
]
CUBE = np.random.default_rng(3).random((40, 3))


def gram(features: Any, points: Array, a: int) -> Array:
    """Return phi^T phi of points (n, a + c), one action and one context per row."""
    n = np.arange(len(points))
    phi = features(points[:, :a], points[:, a:])[n, n]
    return np.asarray(phi @ phi.T)


def error(features: Any, exact: Array, points: Array, a: int) -> float:
    return float(np.sqrt(((gram(features, points, a) - exact) ** 2).mean()))


def exact(kernel: AnyKernel, points: Array, a: int) -> Array:
    x, c = points[:, :a], points[:, a:]
    return np.asarray(sum(of_x(x, x) * of_c(c, c) for of_x, of_c in kernel.terms(a)))


@pytest.mark.parametrize(("a", "c", "limit"), [(1, 1, 0.015), (2, 2, 0.03), (1, 3, 0.03)])
@pytest.mark.parametrize("seed", range(5))
def test_the_kernel_is_approximated(a: int, c: int, limit: float, seed: int) -> None:
    """Deterministic by seed; the limits are half of what independent draws would give on average."""
    points = POINTS[:, : a + c]
    features = Fourier(Product(RBF(0.5), RBF(0.5)), 300, seed)
    assert error(features, RBF(0.5)(points, points), points, a) < limit


def test_draws_that_fill_space_evenly_halve_the_error() -> None:
    """Deterministic by seed."""
    for a, share in ((1, 0.3), (2, 0.6)):
        points = POINTS[:, : 2 * a]
        k = RBF(0.5)(points, points)
        even = [error(Fourier(RBF(0.5), 300, seed), k, points, a) for seed in range(20)]
        plain = []
        for seed in range(20):
            waves = points @ np.random.default_rng(seed).standard_normal((150, 2 * a)).T / 0.5
            differences = waves[:, None] - waves
            plain.append(np.sqrt(((np.cos(differences).mean(axis=-1) - k) ** 2).mean()))
        assert np.mean(even) < share * np.mean(plain)


KERNELS: dict[str, AnyKernel] = {
    "scales": RBF((0.5, 1.0, 0.7, 2.0)),
    "product": Product(RBF((0.5, 1.0)), RBF(0.8)),
    "matern": Product(Matern(2.5, 0.8), Matern(1.5, (0.5, 0.9))),
    "mixed": Product(RBF(0.8), Matern(2.5, 0.6)),
    "scaled": 4.0 * Product(0.5 * RBF(0.8), 3.0 * RBF(0.6)),
    "sum": Product(RBF(0.8), RBF(0.6)) + 0.3 * Product(Constant(), RBF(0.4)) + 2.0 * Constant(),
    "sum of parts": Product(RBF(0.8) + 0.5 * Constant(), RBF(0.6) + 2.0 * Matern(2.5, 1.0)),
}


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
def test_many_features_approximate_any_kernel(kernel: AnyKernel) -> None:
    """Deterministic by seed: independent draws err by k(0) / sqrt(5,000) = 1.4 % of the diagonal at most."""
    k = exact(kernel, FEW, 2)
    features = Fourier(kernel, 10_000)
    assert features.size(2, 2) == features([[0.0, 0.0]], [[0.0, 0.0]]).shape[-1] == 10_000
    np.testing.assert_allclose(gram(features, FEW, 2), k, atol=0.05 * k.max())
    assert error(features, k, FEW, 2) < 0.015 * k.max()
    np.testing.assert_allclose(np.diagonal(gram(features, FEW, 2)), np.diagonal(k), rtol=1e-12)


def test_a_kernel_of_the_whole_vector_need_not_split() -> None:
    """Deterministic by seed."""
    k = 2.0 * Matern(1.5, 0.7)(FEW, FEW)
    assert error(Fourier(2.0 * Matern(1.5, 0.7), 10_000), k, FEW, 2) < 0.03


def test_terms_share_the_frequencies_by_their_factors() -> None:
    features = Fourier(3.0 * Product(RBF(1.0), RBF(1.0)) + Product(RBF(0.1), RBF(0.1)) + 5.0 * Constant(), 42)
    amplitudes = features.spectrum(1, 1).amplitudes
    np.testing.assert_allclose(amplitudes[:15], np.sqrt(3.0 / 15))
    np.testing.assert_allclose(amplitudes[15:20], np.sqrt(1.0 / 5))
    np.testing.assert_allclose(amplitudes[20:], np.sqrt(5.0))


def test_frequencies_have_the_spectral_density() -> None:
    """Kolmogorov-Smirnov over 400 seeds, one frequency each: fails once in 10^6 per coordinate, 2e-6 over both."""
    draws = np.array([Fourier(RBF((0.5, 2.0)), 2, seed).spectrum(1, 1)[:2] for seed in range(400)])[:, :, 0, 0]
    for column, scale in zip(draws.T, (0.5, 2.0), strict=True):
        assert scipy.stats.kstest(column * scale, "norm").pvalue > 1e-6


def test_frequencies_come_from_the_seed_alone() -> None:
    kernel = Product(RBF(0.5), Matern(0.5, 1.0))
    one, two, other = Fourier(kernel, 20, 1), Fourier(kernel, 20, 1), Fourier(kernel, 20, 2)
    assert one == two
    assert hash(one) == hash(two)
    assert one != other
    np.testing.assert_array_equal(one([[1.0]], [[2.0]]), two([[1.0]], [[2.0]]))
    assert not np.allclose(one([[1.0]], [[2.0]]), other([[1.0]], [[2.0]]))


BELIEFS: dict[str, Belief] = {
    "point": PointMass([0.3, -1.0]),
    "variances": Gaussian([0.3, -1.0], [0.2, 0.6]),
    "covariance": Gaussian([0.3, -1.0], COV),
    "ensemble": Ensemble(MEMBERS, [0.1, 0.2, 0.0, 0.3, 0.1, 0.1, 0.2]),
    "mixture": Mixture([Gaussian([0.3, -1.0], COV), PointMass([1.0, 1.0]), Ensemble(MEMBERS)], [0.5, 0.2, 0.3]),
    "quantiles": Quantiles([0.1, 0.5, 0.9], [[-1.0, 0.0], [0.5, 0.1], [1.0, 2.0]]),
    "independent": Independent([Quantiles([0.2, 0.8], [-1.0, 1.0]), Gaussian([0.5], 0.3)]),
    "mixture of quantiles": Mixture([Quantiles([0.2, 0.8], [[-1.0, 0.0], [1.0, 3.0]]), Gaussian([0.3, -1.0], COV)]),
}


@pytest.mark.parametrize("belief", BELIEFS.values(), ids=BELIEFS.keys())
def test_expected_features_are_the_average_over_draws(belief: Belief) -> None:
    """Six standard errors: 2e-9 per feature, 1e-6 over all beliefs."""
    features, n = Fourier(Product(Matern(2.5, 0.8), RBF((0.6, 1.1))), 20), 20_000
    actions = np.random.default_rng(0).normal(size=(3, 2))
    phi = features(actions, belief.sample(n, np.random.default_rng(1)))
    error = phi.std(axis=1, ddof=1) / np.sqrt(n)
    assert (np.abs(phi.mean(axis=1) - features.expected(actions, belief)) <= 6 * error + 1e-10).all()


@pytest.mark.parametrize(
    ("belief", "law"),
    [
        (Gaussian([0.4], 0.3), scipy.stats.norm(0.4, np.sqrt(0.3))),
        (Quantiles([0.0, 1.0], [-1.0, 2.5]), scipy.stats.uniform(-1.0, 3.5)),
    ],
)
def test_expected_features_are_the_integral(belief: Belief, law: Any) -> None:
    features = Fourier(Product(RBF(0.5), RBF(0.7)), 12)
    low, high = law.ppf(0.0), law.ppf(1.0)
    if not np.isfinite(low):
        low, high = law.mean() - 9 * law.std(), law.mean() + 9 * law.std()

    def integrand(c: float) -> Array:
        return np.asarray(features([[0.3]], [[c]])[0, 0] * law.pdf(c))

    integral = scipy.integrate.quad_vec(integrand, low, high, epsabs=1e-11)[0]
    np.testing.assert_allclose(features.expected([[0.3]], belief)[0], integral, rtol=0, atol=1e-8)


def test_sampled_features_are_the_average_over_the_same_draws() -> None:
    features, belief = Fourier(RBF(0.7), 16), BELIEFS["quantiles"]
    actions = np.random.default_rng(0).normal(size=(3, 2))
    draws = belief.sample(50, np.random.default_rng(5))
    got = features.sampled(actions, belief, 50, np.random.default_rng(5))
    np.testing.assert_allclose(got, features(actions, draws).mean(axis=1), atol=1e-14)
    design = features.design(actions.shape[1], 2)
    points, drawn = design.at(actions), design.view(belief, 50, np.random.default_rng(5))
    np.testing.assert_array_equal(points.features(drawn.terms), got)
    np.testing.assert_array_equal(points.features(design.view(belief).terms), features.expected(actions, belief))


def test_without_a_characteristic_function_there_is_no_closed_form() -> None:
    sampler = oc.Sampler(lambda n, rng: rng.normal(size=(n, 2)), dim=2)
    features = Fourier(RBF(0.7), 16)
    for belief in (sampler, Mixture([sampler, PointMass([0.0, 1.0])])):
        with refused(NoClosedForm, "Fourier", type(belief).__name__, "samples="):
            features.expected([[1.0]], belief)
        assert features.sampled([[1.0]], belief, 10, np.random.default_rng(0)).shape == (1, 16)


@dataclass(frozen=True)
class Own(JointKernel):
    """A joint kernel from outside the package, which splits only for two-dimensional actions."""

    def terms(self, a: int) -> tuple[Term, ...]:
        if a != 2:
            raise ValueError("Own: takes actions of two dimensions")
        return ((RBF(0.8), RBF(0.6)),)


def test_a_joint_kernel_of_ones_own() -> None:
    own, same = Fourier(Own(), 20), Fourier(Product(RBF(0.8), RBF(0.6)), 20)
    np.testing.assert_array_equal(own([[1.0, 2.0]], [[3.0]]), same([[1.0, 2.0]], [[3.0]]))
    with refused(ValueError, "Own"):
        own.size(1, 1)


@pytest.mark.parametrize(
    ("kernel", "n", "seed", "kind", "words"),
    [
        (RBF(1.0), 7, 0, ValueError, ("n must be even", "try 8")),
        (RBF(1.0), 0, 0, ValueError, ("n must be >= 2",)),
        (RBF(1.0), 2.0, 0, TypeError, ("n must be a whole number",)),
        (RBF(1.0), 8, -1, ValueError, ("seed must be >= 0",)),
        (RBF(1.0) + Constant(), 2, 0, ValueError, ("n must be at least 4",)),
        ("rbf", 8, 0, TypeError, ("kernel must be a kernel of actions and contexts",)),
        (Linear(), 8, 0, TypeError, ("spectral density", "Linear", "Nystrom")),
        (Product(RBF(1.0), Linear()), 8, 0, TypeError, ("spectral density", "Linear", "Nystrom")),
    ],
)
def test_faults(kernel: Kernel, n: int, seed: int, kind: type[Exception], words: tuple[str, ...]) -> None:
    with refused(kind, "Fourier", *words):
        Fourier(kernel, n, seed)


def test_length_scales_must_fit_the_dimensions() -> None:
    with refused(ValueError, "RBF", "lengthscale must have 3 entries"):
        Fourier(RBF((1.0, 2.0)), 8).size(1, 2)


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
def test_quadrature_enough_nodes_give_the_kernel(kernel: AnyKernel, scale: list[float], factor: float, m: int) -> None:
    features = QuadratureFourier(kernel, m)
    assert features.size(1, 2) == m**3 == features([[0.0]], [[0.0, 0.0]]).shape[-1]
    k = factor * RBF(tuple(scale))(CUBE, CUBE)
    np.testing.assert_allclose(gram(features, CUBE, 1), k, rtol=0, atol=1e-8)


def test_quadrature_the_error_vanishes_faster_than_exponentially() -> None:
    """Until rounding sets in, the error stays below its bound and falls faster with every node."""
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


QUADRATURE_BELIEFS: dict[str, Belief] = {
    "covariance": Gaussian([0.3, -1.0], COV),
    "ensemble": Ensemble(CUBE[:, :2]),
    "mixture": Mixture([Gaussian([0.3, -1.0], COV), PointMass([1.0, 1.0])], [0.8, 0.2]),
    "quantiles": Quantiles([0.1, 0.5, 0.9], [[-1.0, 0.0], [0.5, 0.1], [1.0, 2.0]]),
}


@pytest.mark.parametrize("m", [3, 4])
@pytest.mark.parametrize("belief", QUADRATURE_BELIEFS.values(), ids=QUADRATURE_BELIEFS.keys())
def test_quadrature_expected_features_are_the_average_over_draws(belief: Belief, m: int) -> None:
    """Six standard errors: 2e-9 per feature, 3e-6 over all cases."""
    features, n = QuadratureFourier(Product(RBF(0.8), RBF((0.6, 1.1))), m), 20_000
    actions = np.array([[0.2], [1.5]])
    phi = features(actions, belief.sample(n, np.random.default_rng(1)))
    error = phi.std(axis=1, ddof=1) / np.sqrt(n)
    assert (np.abs(phi.mean(axis=1) - features.expected(actions, belief)) <= 6 * error + 1e-10).all()


def test_quadrature_expected_features_are_the_integral() -> None:
    features, law = QuadratureFourier(RBF((0.5, 0.7)), 5), scipy.stats.norm(0.4, np.sqrt(0.3))

    def integrand(c: float) -> Array:
        return np.asarray(features([[0.3]], [[c]])[0, 0] * law.pdf(c))

    integral = scipy.integrate.quad_vec(integrand, -5.0, 6.0, epsabs=1e-11)[0]
    got = features.expected([[0.3]], Gaussian([0.4], 0.3))[0]
    np.testing.assert_allclose(got, integral, rtol=0, atol=1e-8)


def test_quadrature_expected_features_give_the_mean_embedding() -> None:
    features = QuadratureFourier(Product(RBF(1.0), RBF(1.0)), 20)
    belief, other = Gaussian([0.3], 0.4), Mixture([Gaussian([0.0], 0.2), PointMass([0.5])])
    got = features.expected([[0.2]], belief) @ features.expected([[0.9]], other).T
    want = RBF(1.0)([[0.2]], [[0.9]]) * RBF(1.0).expected([belief], [other])
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-8)


def test_quadrature_without_a_characteristic_function_there_is_no_closed_form() -> None:
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
def test_quadrature_other_kernels_are_refused(kernel: AnyKernel) -> None:
    with refused(TypeError, "QuadratureFourier", "kernel must be"):
        QuadratureFourier(kernel, 4)


def test_quadrature_sizes_are_limited() -> None:
    features = QuadratureFourier(RBF(1.0), 11)
    assert features.size(1, 2) == 1331
    with refused(ValueError, "QuadratureFourier", "m must be at most 10", "11^4 = 14641", "Fourier", "Nystrom"):
        features.size(2, 2)
    with refused(ValueError, "QuadratureFourier", "m must be at most 1 ", "11^50"):
        features([[0.0] * 20], [[0.0] * 30])
    with refused(ValueError, "QuadratureFourier", "m must be >= 1"):
        QuadratureFourier(RBF(1.0), 0)
    assert QuadratureFourier(RBF(1.0), 10).size(2, 2) == 10_000


def test_quadrature_length_scales_must_fit_the_dimensions() -> None:
    with refused(ValueError, "RBF", "lengthscale must have 3 entries"):
        QuadratureFourier(RBF((1.0, 2.0)), 4).size(1, 2)


Value = Callable[[Array, Array], Array]

W, V = np.array([[0.5, -1.0], [2.0, 0.3], [0.0, 0.0]]), np.array([[1.5], [-0.7], [0.0]])
AMPLITUDES = np.array([0.5, 2.0, 3.0])
WAVE_ACTIONS = np.random.default_rng(0).normal(size=(4, 2))


class OwnWaves(Waves):
    """Three waves, of which the last has frequency zero and no sine."""

    def size(self, a: int, c: int) -> int:
        return 5

    def _waves(self, a: int, c: int) -> tuple[Array, Array]:
        return np.hstack([W, V]), AMPLITUDES**2


def _written_out(x: Array, c: Array) -> list[float]:
    angles = W @ x + V @ c
    return [*(AMPLITUDES * np.cos(angles)), *(AMPLITUDES * np.sin(angles))[:2]]


def test_cosines_and_then_sines() -> None:
    contexts = np.random.default_rng(1).normal(size=(6, 1))
    expected = [[_written_out(x, c) for c in contexts] for x in WAVE_ACTIONS]
    np.testing.assert_allclose(OwnWaves()(WAVE_ACTIONS, contexts), expected, rtol=1e-12, atol=1e-14)


def test_expectations_come_from_the_characteristic_function() -> None:
    """E[cos(w + v c)] = cos(w + v m) exp(-v^2 s / 2) for normal c with mean m and variance s."""
    waves, prepared = OwnWaves(), PreparedWaves(OwnWaves(), WAVE_ACTIONS, 1)
    shrink = np.exp(-(V[:, 0] ** 2) * 0.3 / 2)
    expected = [np.array(_written_out(x, np.array([0.4]))) * np.r_[shrink, shrink[:2]] for x in WAVE_ACTIONS]
    np.testing.assert_allclose(prepared.expected(waves._embed(Gaussian([0.4], 0.3), 2)), expected, rtol=1e-12)
    members = Ensemble([[0.4], [1.0]], [0.3, 0.7])
    average = 0.3 * OwnWaves()(WAVE_ACTIONS, [[0.4]])[:, 0] + 0.7 * OwnWaves()(WAVE_ACTIONS, [[1.0]])[:, 0]
    np.testing.assert_allclose(prepared.expected(waves._embed(members, 2)), average, rtol=1e-12)


def test_draws_are_averaged_and_needed_where_nothing_is_known() -> None:
    waves, prepared = OwnWaves(), PreparedWaves(OwnWaves(), WAVE_ACTIONS, 1)
    sampler = Sampler(lambda n, rng: rng.normal(size=(n, 1)), dim=1)
    draws = sampler.sample(7, np.random.default_rng(2))
    got = prepared.expected(waves._embed_draws(draws, 2))
    np.testing.assert_allclose(got, OwnWaves()(WAVE_ACTIONS, draws).mean(axis=1), rtol=1e-12, atol=1e-14)
    with refused(NoClosedForm, "OwnWaves", "Sampler", "samples="):
        waves._embed(sampler, 2)


def _product(action_kernel: Kernel, context_kernel: Kernel) -> Value:
    return lambda u, v: action_kernel(u[:, :2], v[:, :2]) * context_kernel(u[:, 2:], v[:, 2:])


PIECES: dict[str, tuple[Any, list[float], Value]] = {
    "one": (RBF(0.5), [1.0], lambda u, v: RBF(0.5)(u, v)),
    "factors": (2.0 * Product(0.5 * RBF(0.8), Matern(1.5)), [1.0], _product(RBF(0.8), Matern(1.5))),
    "sum": (3.0 * RBF(0.5) + Matern(2.5), [3.0, 1.0], lambda u, v: 3.0 * RBF(0.5)(u, v) + Matern(2.5)(u, v)),
    "product of sums": (
        Product(RBF(0.5) + 2.0 * Constant(), 3.0 * RBF(1.0)),
        [3.0, 6.0],
        _product(RBF(0.5) + 2.0 * Constant(), 3.0 * RBF(1.0)),
    ),
    "sum of products": (
        Product(Linear(), RBF(1.0)) + 0.5 * Product(RBF(1.0), RBF(2.0)),
        [1.0, 0.5],
        lambda u, v: _product(Linear(), RBF(1.0))(u, v) + 0.5 * _product(RBF(1.0), RBF(2.0))(u, v),
    ),
}


@pytest.mark.parametrize(("kernel", "factors", "value"), PIECES.values(), ids=PIECES.keys())
def test_pieces_add_up_to_the_kernel(kernel: Any, factors: list[float], value: Value) -> None:
    left, right = np.random.default_rng(3).normal(size=(2, 5, 3))
    found = pieces(kernel, 2)
    assert [factor for factor, _ in found] == factors
    total = np.zeros((5, 5))
    for factor, parts in found:
        of_piece: Value = parts[0] if len(parts) == 1 else _product(*parts)
        total += factor * of_piece(left, right)
    np.testing.assert_allclose(total, value(left, right), rtol=1e-12)
