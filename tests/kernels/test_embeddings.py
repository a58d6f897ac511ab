"""Mean embeddings E[k(c, c')] of every kernel and pair of beliefs, against quadrature, draws and plain sums."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.stats
from scipy.integrate import dblquad, quad

from overcast._check import Array
from overcast.beliefs import (
    Belief,
    Ensemble,
    Frozen,
    Gaussian,
    Independent,
    Mixture,
    NoClosedForm,
    PointMass,
    Quantiles,
    Sampler,
)
from overcast.kernels import RBF, Constant, Kernel, Linear, Matern, Polynomial
from overcast.kernels.embeddings import CHUNK, Embeddings
from support import refused

POINTS = np.random.default_rng(0).normal(size=(5, 2))
WEIGHTS = np.array([0.1, 0.35, 0.0, 0.25, 0.3])
COV = np.array([[1.3, -0.6], [-0.6, 0.8]])

PLANE: dict[str, Belief] = {
    "point": PointMass([0.5, -0.3]),
    "scalar": Gaussian([1.0, -0.5], 0.7),
    "diagonal": Gaussian([0.2, 0.4], [0.3, 2.0]),
    "full": Gaussian([-0.4, 0.1], COV),
    "singular": Gaussian([0.3, 0.8], [[1.0, 2.0], [2.0, 4.0]]),
    "known in part": Gaussian([0.3, 0.8], [0.0, 0.5]),
    "ensemble": Ensemble(POINTS, WEIGHTS),
    "mixture": Mixture([Gaussian([0.0, 1.0], COV), PointMass([1.0, 1.0]), Ensemble(POINTS)], [0.5, 0.2, 0.3]),
    "independent": Independent([Gaussian(0.3, 0.4), Ensemble([[0.0], [1.5]], [0.7, 0.3])]),
    "nested": Independent([Mixture([Gaussian(-1.0, 0.1), PointMass(1.0)]), Gaussian(0.0, 2.0)]),
}
PAIRS = list(itertools.combinations_with_replacement(PLANE, 2))
N = 20_000
DRAWS = {name: belief.sample(N, np.random.default_rng(i)) for i, (name, belief) in enumerate(PLANE.items())}
OTHERS = {name: belief.sample(N, np.random.default_rng(100 + i)) for i, (name, belief) in enumerate(PLANE.items())}

SCALES = (0.8, 1.7)
FORMULAS: dict[str, tuple[Kernel, Callable[[Array, Array], Array]]] = {
    "rbf": (RBF(0.9), lambda u, v: np.exp(-(((u - v) / 0.9) ** 2).sum(-1) / 2)),
    "rbf, a scale each": (RBF(SCALES), lambda u, v: np.exp(-(((u - v) / SCALES) ** 2).sum(-1) / 2)),
    "linear": (Linear(), lambda u, v: np.vecdot(u, v)),
    "constant": (Constant(), lambda u, v: np.ones(len(u))),
    "polynomial 2": (Polynomial(2, 0.5, 1.5), lambda u, v: (0.5 * np.vecdot(u, v) + 1.5) ** 2),
    "polynomial 3": (Polynomial(3, 0.3, 0.7), lambda u, v: (0.3 * np.vecdot(u, v) + 0.7) ** 3),
    "sum": (
        2.0 * RBF(0.9) + 0.5 * Polynomial(2),
        lambda u, v: 2 * np.exp(-((u - v) ** 2).sum(-1) / 2 / 0.81) + 0.5 * (np.vecdot(u, v) + 1) ** 2,
    ),
}


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_every_pair_against_draws(name: str, left: str, right: str) -> None:
    """Six standard errors, about 2e-9 per pair if averages are close to normal: 1e-6 over the 385 of them."""
    kernel, formula = FORMULAS[name]
    draws = formula(DRAWS[left], OTHERS[right])
    error = 6 * draws.std() / math.sqrt(N) + 1e-12 * np.abs(draws).max()
    got = kernel.expected([PLANE[left]], [PLANE[right]])
    assert got.shape == (1, 1)
    assert abs(got[0, 0] - draws.mean()) <= error
    np.testing.assert_allclose(kernel.expected([PLANE[right]], [PLANE[left]]), got, rtol=1e-12)


LINE: dict[str, Belief] = {
    "point": PointMass(0.7),
    "gaussian": Gaussian(-0.4, 0.6),
    "narrow": Gaussian(0.9, 0.0025),
    "ensemble": Ensemble([[-1.0], [0.2], [2.0]], [0.2, 0.5, 0.3]),
    "mixture": Mixture([Gaussian(1.0, 0.25), PointMass(-0.5), Gaussian(-1.0, 1.5)], [0.3, 0.3, 0.4]),
}
# Each as weighted points and weighted normal densities (mean, standard deviation).
PARTS: dict[str, list[tuple[float, float, float]]] = {
    "point": [(1.0, 0.7, 0.0)],
    "gaussian": [(1.0, -0.4, math.sqrt(0.6))],
    "narrow": [(1.0, 0.9, 0.05)],
    "ensemble": [(0.2, -1.0, 0.0), (0.5, 0.2, 0.0), (0.3, 2.0, 0.0)],
    "mixture": [(0.3, 1.0, 0.5), (0.3, -0.5, 0.0), (0.4, -1.0, math.sqrt(1.5))],
}
ON_A_LINE: dict[str, tuple[Kernel, Callable[[float, float], float]]] = {
    "rbf": (RBF(0.6), lambda u, v: math.exp(-(((u - v) / 0.6) ** 2) / 2)),
    "wide rbf": (RBF(5.0), lambda u, v: math.exp(-(((u - v) / 5.0) ** 2) / 2)),
    "linear": (Linear(), lambda u, v: u * v),
    "polynomial 2": (Polynomial(2), lambda u, v: (u * v + 1) ** 2),
    "polynomial 3": (Polynomial(3, 0.5, 2.0), lambda u, v: (0.5 * u * v + 2) ** 3),
}


def _density(x: float, mean: float, deviation: float) -> float:
    return math.exp(-(((x - mean) / deviation) ** 2) / 2) / (deviation * math.sqrt(2 * math.pi))


def _integral(k: Callable[[float, float], float], u: tuple[float, float], v: tuple[float, float]) -> float:
    """E[k] between two normal distributions or points, (mean, deviation) each."""
    if u[1] == 0.0 and v[1] == 0.0:
        return k(u[0], v[0])
    if u[1] == 0.0:
        return _integral(lambda a, b: k(b, a), v, u)
    low, high = u[0] - 10 * u[1], u[0] + 10 * u[1]
    if v[1] == 0.0:
        return float(quad(lambda x: k(x, v[0]) * _density(x, *u), low, high, epsabs=1e-11, points=[u[0]])[0])
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)  # smooth, so as good as adaptive for the outer integral
    each = [_integral(k, u, (v[0] + v[1] * float(node), 0.0)) for node in nodes]
    return float(weights @ each / weights.sum())


@pytest.mark.parametrize("name", ON_A_LINE)
def test_every_pair_on_a_line_against_quadrature(name: str) -> None:
    kernel, formula = ON_A_LINE[name]
    got = kernel.expected(list(LINE.values()), list(LINE.values()))
    for i, j in itertools.combinations_with_replacement(range(len(LINE)), 2):
        left, right = (list(PARTS.values())[at] for at in (i, j))
        expected = sum(p * q * _integral(formula, (m, s), (n, r)) for p, m, s in left for q, n, r in right)
        assert got[i, j] == pytest.approx(expected, rel=1e-8, abs=1e-10)
        assert got[j, i] == pytest.approx(got[i, j], rel=1e-13)


def test_a_correlated_pair_against_quadrature_in_two_dimensions() -> None:
    """k(mu, delta_v) for a full covariance, by a double integral of the density."""
    normal = scipy.stats.multivariate_normal([-0.4, 0.1], COV)
    kernel, v = RBF(SCALES), np.array([0.5, -0.3])

    def integrand(y: float, x: float) -> float:
        return float(normal.pdf([x, y]) * math.exp(-(((np.array([x, y]) - v) / SCALES) ** 2).sum() / 2))

    expected = dblquad(integrand, -7.0, 6.5, -6.0, 6.0, epsabs=1e-8)[0]
    assert kernel.expected([PLANE["full"]], [PLANE["point"]])[0, 0] == pytest.approx(expected, abs=1e-8)


@dataclass(frozen=True)
class Cosine(Kernel):
    """A kernel from outside the package that defines its values and nothing else."""

    def _evaluate(self, left: Array, right: Array) -> Array:
        return np.asarray(np.cos(left[:, None] - right[None]).sum(axis=-1))


FINITE = {name: PLANE[name] for name in ("point", "ensemble")} | {
    "mixture": Mixture([PointMass([0.0, 1.0]), Ensemble(POINTS)], [0.4, 0.6]),
    "independent": Independent([Ensemble([[0.0], [1.5]], [0.7, 0.3]), PointMass(2.0)]),
    "scipy": Independent([Frozen(scipy.stats.binom(3, 0.4)), PointMass(0.5)]),
}


def _plain(kernel: Kernel, left: Belief, right: Belief) -> float:
    first, second = left.support(), right.support()
    assert first is not None
    assert second is not None
    return sum(
        float(p * q * kernel(u[None], v[None])[0, 0])
        for u, p in zip(*first, strict=True)
        for v, q in zip(*second, strict=True)
    )


@pytest.mark.parametrize(
    "kernel",
    [
        Matern(0.5, 0.8),
        Matern(1.5, SCALES),
        Matern(2.5),
        Cosine(),
        RBF(0.7),
        Polynomial(3),
        Linear() + 2.0 * Matern(1.5),
    ],
    ids=repr,
)
def test_finite_supports_are_plain_sums(kernel: Kernel) -> None:
    beliefs = list(FINITE.values())
    expected = [[_plain(kernel, mu, nu) for nu in beliefs] for mu in beliefs]
    np.testing.assert_allclose(kernel.expected(beliefs, beliefs), expected, rtol=1e-12)


def test_gram_matrices_of_beliefs_are_positive_semi_definite() -> None:
    beliefs = list(PLANE.values())
    for kernel, _ in FORMULAS.values():
        gram = kernel.expected(beliefs, beliefs)
        np.testing.assert_allclose(gram, gram.T, rtol=1e-12)
        assert np.linalg.eigvalsh(gram)[0] >= -1e-12 * np.trace(gram)


def test_polynomials_of_quantiles_have_exact_moments() -> None:
    """Within a piece the quantile function is linear, so five nodes per piece are exact."""
    quantiles = Quantiles([0.1, 0.4, 0.9], [-1.0, 0.5, 2.0], "none")
    nodes, weights = np.polynomial.legendre.leggauss(5)
    points, masses = [-1.0, 2.0], [0.1, 0.1]
    for a, b, du in ((-1.0, 0.5, 0.3), (0.5, 2.0, 0.5)):
        points += list((a + b) / 2 + (b - a) / 2 * nodes)
        masses += list(du * weights / 2)
    rule = Ensemble(np.array(points)[:, None], masses)
    for kernel in (Linear(), Polynomial(2), Polynomial(3, 0.5, 2.0)):
        expected = kernel.expected([rule, PointMass(0.3)], [rule])
        np.testing.assert_allclose(kernel.expected([quantiles, PointMass(0.3)], [quantiles]), expected, rtol=1e-12)


SAMPLER = Sampler(lambda n, rng: rng.normal(size=(n, 2)), 2)
QUANTILES = Quantiles([0.1, 0.9], [[0.0, 0.0], [1.0, 1.0]])


@pytest.mark.parametrize(
    ("kernel", "belief"),
    [
        (RBF(1.0), QUANTILES),
        (RBF(1.0), SAMPLER),
        (RBF(1.0), Mixture([PLANE["full"], QUANTILES])),
        (RBF(1.0), Independent([Gaussian(0.0, 1.0), Quantiles([0.5], [1.0])])),
        (Matern(1.5), PLANE["diagonal"]),
        (Matern(1.5), PLANE["mixture"]),
        (Matern(1.5), SAMPLER),
        (Cosine(), PLANE["full"]),
        (Linear(), SAMPLER),
        (Linear() + Matern(1.5), PLANE["scalar"]),
        (2.0 * RBF(1.0), SAMPLER),
    ],
    ids=repr,
)
def test_no_closed_form_asks_for_samples(kernel: Kernel, belief: Belief) -> None:
    with pytest.raises(NoClosedForm, match=rf"^\w+: .*{type(belief).__name__}.*samples=") as caught:
        kernel.expected([PLANE["point"]], [belief])
    assert "\n" not in str(caught.value)
    assert kernel.sampled([PLANE["point"]], [belief], 5, np.random.default_rng(0)).shape == (1, 1)


def test_moments_that_nobody_knows_ask_for_samples() -> None:
    with refused(NoClosedForm, "Sampler", "samples="):
        Polynomial(2).expected([SAMPLER], [SAMPLER])


@pytest.mark.parametrize("kernel", [*(kernel for kernel, _ in FORMULAS.values()), Matern(2.5), Cosine()], ids=repr)
def test_sampled_is_the_plain_sum_over_the_same_draws(kernel: Kernel) -> None:
    left, right = [PLANE["full"], QUANTILES], [SAMPLER, PLANE["ensemble"], PLANE["nested"]]
    got = kernel.sampled(left, right, 7, np.random.default_rng(3))
    rng = np.random.default_rng(3)
    first, second = ([belief.sample(7, rng) for belief in side] for side in (left, right))
    expected = [[kernel(u, v).mean() for v in second] for u in first]
    np.testing.assert_allclose(got, expected, rtol=1e-11)


def test_more_samples_come_closer_to_the_expectation() -> None:
    """The error falls like 1/sqrt(L): from 10 to 1000 draws tenfold.

    The ratio of two averages over 30 sizes of errors is off by 20 %, so that a factor below three is six standard
    errors away: 1e-8.
    """
    left, right = [PLANE["mixture"]] * 30, [PLANE["point"]]
    for kernel in (RBF(0.9), Linear() + 2.0 * RBF(0.5)):
        exact = kernel.expected(left, right)
        errors = [np.abs(kernel.sampled(left, right, n, np.random.default_rng(n)) - exact).mean() for n in (10, 1000)]
        assert errors[1] < errors[0] / 3


@pytest.mark.parametrize(("samples", "kind"), [(0, ValueError), (-1, ValueError), (2.5, TypeError), ("t", TypeError)])
def test_bad_samples(samples: object, kind: type[Exception]) -> None:
    with refused(kind, "RBF", "samples must be"):
        RBF(1.0).sampled([SAMPLER], [SAMPLER], samples, np.random.default_rng(0))  # type: ignore[arg-type]


def test_beliefs_far_from_each_other_and_from_zero() -> None:
    """A shift of both changes nothing, and the kernel vanishes between beliefs that are far apart."""
    for cov in (0.3, [0.3, 0.1], COV):
        near = RBF(0.5).expected([Gaussian([0.0, 0.0], cov)], [PointMass([0.3, 0.2])])
        far = RBF(0.5).expected([Gaussian([1e6, -1e6], cov)], [PointMass([1e6 + 0.3, -1e6 + 0.2])])
        np.testing.assert_allclose(far, near, rtol=1e-8)
        assert RBF(0.5).expected([Gaussian([0.0, 0.0], cov)], [PointMass([1e4, 0.0])])[0, 0] == 0.0


def test_many_components_need_no_matrix_of_all_pairs() -> None:
    """They are compared in chunks, and the sum is the same as by halves."""
    points = np.random.default_rng(7).normal(size=(2400, 1))
    assert len(points) ** 2 > CHUNK > 1200**2
    whole, halves = Ensemble(points), [Ensemble(points[:1200]), Ensemble(points[1200:])]
    expected = RBF(0.5).expected(halves, halves).mean()
    assert RBF(0.5).expected([whole], [whole])[0, 0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("kernel", [RBF(1.0), Matern(1.5), Linear(), Polynomial(2)], ids=repr)
def test_beliefs_that_do_not_fit_are_refused(kernel: Kernel) -> None:
    owner, rng = type(kernel).__name__, np.random.default_rng(0)
    flat, line = PointMass([0.0, 1.0]), PointMass([0.0])
    for left, right in (([flat], [line]), ([line], [flat]), ([line, flat], [line])):
        with refused(ValueError, owner, "beliefs must have equal dimension, got 1 and 2"):
            kernel.expected(left, right)
        with refused(ValueError, owner, "beliefs must have equal dimension, got 1 and 2"):
            kernel.sampled(left, right, 3, rng)
    for wrong in (line, [[0.0]], 3.0):
        with refused(TypeError, owner, "beliefs must"):
            kernel.expected(wrong, [line])  # type: ignore[arg-type]


@pytest.mark.parametrize("kernel", [RBF(0.9), Linear(), Polynomial(2)], ids=repr)
def test_many_beliefs_at_once(kernel: Kernel) -> None:
    beliefs, points = list(PLANE.values()), [PointMass(point) for point in POINTS]
    one, other = Embeddings([kernel.embed(belief) for belief in beliefs]), Embeddings.of_points(kernel, POINTS)
    np.testing.assert_allclose(one.inner(kernel, other), kernel.expected(beliefs, points), rtol=1e-12)
    np.testing.assert_allclose(one.inner(kernel, one), kernel.expected(beliefs, beliefs), rtol=1e-12)
