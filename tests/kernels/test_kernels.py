"""Kernels against their formulas, one pair at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import gamma, kv

from overcast._check import Array
from overcast.kernels import RBF, Constant, JointKernel, Kernel, Linear, Matern, Polynomial, Product, Scaled, Sum
from overcast.kernels.base import Term
from support import refused

A, C = 2, 3
LEFT = np.random.default_rng(0).normal(size=(5, C))
RIGHT = np.random.default_rng(1).normal(size=(4, C))
SCALES = (0.4, 1.5, 3.0)


def _rbf(scales: Any) -> Callable[[Array, Array], float]:
    return lambda u, v: math.exp(-sum(((u - v) / scales) ** 2) / 2)


def _matern(nu: float, scales: Any) -> Callable[[Array, Array], float]:
    """The general form, with a modified Bessel function."""

    def k(u: Array, v: Array) -> float:
        s = math.sqrt(2 * nu) * float(np.linalg.norm((u - v) / scales))
        return 1.0 if s == 0 else float(2 ** (1 - nu) / gamma(nu) * s**nu * kv(nu, s))

    return k


FORMULAS: dict[str, tuple[Kernel, Callable[[Array, Array], float]]] = {
    "rbf": (RBF(0.7), _rbf(0.7)),
    "rbf, a scale each": (RBF(SCALES), _rbf(np.array(SCALES))),
    "matern 1/2": (Matern(0.5, 0.7), _matern(0.5, 0.7)),
    "matern 3/2": (Matern(1.5, 1.3), _matern(1.5, 1.3)),
    "matern 5/2": (Matern(2.5, 0.2), _matern(2.5, 0.2)),
    "matern, a scale each": (Matern(2.5, SCALES), _matern(2.5, np.array(SCALES))),
    "linear": (Linear(), lambda u, v: float(u @ v)),
    "constant": (Constant(), lambda u, v: 1.0),
    "polynomial 1": (Polynomial(1), lambda u, v: float(u @ v) + 1),
    "polynomial 3": (Polynomial(3, 0.5, 2.0), lambda u, v: (0.5 * float(u @ v) + 2) ** 3),
    "polynomial 4 without offset": (Polynomial(4, offset=0.0), lambda u, v: float(u @ v) ** 4),
    "scaled": (2.5 * RBF(0.7), lambda u, v: 2.5 * _rbf(0.7)(u, v)),
    "sum": (RBF(0.7) + Linear() + Constant(), lambda u, v: _rbf(0.7)(u, v) + float(u @ v) + 1),
    "scaled sum of scaled": (
        (0.5 * Matern(1.5) + Linear()) * 3.0,
        lambda u, v: 1.5 * _matern(1.5, 1.0)(u, v) + 3 * float(u @ v),
    ),
}
each = pytest.mark.parametrize(("kernel", "formula"), FORMULAS.values(), ids=FORMULAS.keys())


def _naive(formula: Callable[[Array, Array], float], left: Array, right: Array) -> Array:
    return np.array([[formula(u, v) for v in right] for u in left])


@each
def test_every_pair(kernel: Kernel, formula: Callable[[Array, Array], float]) -> None:
    np.testing.assert_allclose(kernel(LEFT, RIGHT), _naive(formula, LEFT, RIGHT), rtol=1e-12, atol=1e-300)


@each
def test_gram_matrices(kernel: Kernel, formula: Callable[[Array, Array], float]) -> None:
    """Symmetric, without negative eigenvalues, and with the diagonal that `diagonal` gives; also for equal points."""
    points = np.concatenate([LEFT, RIGHT, LEFT[:2], np.zeros((1, C))])
    gram = kernel(points, points)
    np.testing.assert_allclose(gram, gram.T, rtol=1e-14)
    np.testing.assert_allclose(np.diagonal(gram), _naive(formula, points, points).diagonal(), rtol=1e-12)
    np.testing.assert_allclose(kernel.diagonal(points), np.diagonal(gram), rtol=1e-14)
    assert np.linalg.eigvalsh(gram)[0] >= -1e-12 * np.trace(gram)


@each
def test_atoms_add_up(kernel: Kernel, formula: Callable[[Array, Array], float]) -> None:
    total = sum(factor * atom(LEFT, RIGHT) for factor, atom in kernel.atoms())
    np.testing.assert_allclose(total, kernel(LEFT, RIGHT), rtol=1e-13)
    assert not any(isinstance(atom, (Sum, Scaled)) for _, atom in kernel.atoms())


def test_distances_that_are_very_small_or_very_large() -> None:
    far = np.array([[0.0], [1e-9], [40.0], [1e9]])
    for kernel in (RBF(1.0), Matern(0.5), Matern(1.5), Matern(2.5)):
        row = kernel(far[:1], far)[0]
        assert row[0] == 1.0
        assert row[1] == pytest.approx(1.0, abs=2e-9)
        assert 0.0 <= row[2] < 1e-12
        assert row[3] == 0.0


def test_matern_comes_closer_to_rbf_as_it_gets_smoother() -> None:
    gaps = [float(np.abs(Matern(nu, 1.0)(LEFT, RIGHT) - RBF(1.0)(LEFT, RIGHT)).max()) for nu in (0.5, 1.5, 2.5)]
    assert gaps[0] > gaps[1] > gaps[2]


def test_a_polynomial_kernel_is_the_inner_product_of_its_features() -> None:
    """(s u v + o)^2 = o^2 + 2 o s u v + s^2 u^2 v^2 in one dimension."""
    s, o = 0.3, 1.7
    cloud = Polynomial(2, s, o).embed_points(np.array([[2.0]]), np.ones(1))
    np.testing.assert_allclose(cloud.centres, [[o, math.sqrt(2 * o * s) * 2.0, s * 4.0]], rtol=1e-14)
    for degree, size in ((1, 4), (2, 10), (3, 20)):  # binomial(degree + 3, 3) monomials in three variables
        kernel = Polynomial(degree, s, o)
        rows = [kernel.embed_points(u[None], np.ones(1)).centres[0] for u in (*LEFT, *RIGHT)]
        assert rows[0].shape == (size,)
        np.testing.assert_allclose(np.array(rows[:5]) @ np.array(rows[5:]).T, kernel(LEFT, RIGHT), rtol=1e-12)
    highest = Polynomial(3, offset=0.0).embed_points(LEFT[:1], np.ones(1))
    assert highest.centres.shape == (1, 10)


def test_operators() -> None:
    kernel = 2.0 * RBF(0.5) + Linear()
    assert kernel == Sum((Scaled(RBF(0.5), 2.0), Linear()))
    assert RBF(0.5) * 2 == Scaled(RBF(0.5), 2.0) == np.float64(2.0) * RBF(0.5)
    both = Product(RBF(0.5), Linear()) + 3.0 * Product(Linear(), RBF(1.0))
    assert both == Sum((Product(RBF(0.5), Linear()), Scaled(Product(Linear(), RBF(1.0)), 3.0)))
    assert hash(both) == hash(Product(RBF(0.5), Linear()) + 3.0 * Product(Linear(), RBF(1.0)))
    assert RBF([0.5, 1]) == RBF((0.5, 1.0)) == RBF(np.array([0.5, 1.0]))  # type: ignore[arg-type]
    assert RBF(np.float64(1.0)) == RBF(1) != RBF((1.0,))


# Actions and contexts, put one after the other for the kernels of the vector (x, c).
X = np.random.default_rng(2).normal(size=(6, A))
CONTEXTS = np.random.default_rng(3).normal(size=(6, C))


def _joined(terms: tuple[Term, ...]) -> Array:
    return np.asarray(sum(action(X, X) * context(CONTEXTS, CONTEXTS) for action, context in terms))


@pytest.mark.parametrize(
    "kernel",
    [
        RBF(0.8),
        RBF((0.5, 0.6, 1.0, 2.0, 3.0)),
        Linear(),
        Constant(),
        Polynomial(1, 0.5, 0.0),
        Polynomial(2),
        Polynomial(3, 0.4, 1.3),
        Polynomial(5, 0.1, 2.0),
        2.5 * RBF(0.8),
        RBF(0.8) + Linear() + 2.0 * Polynomial(2, offset=0.0),
        3.0 * (RBF(0.8) + 0.5 * Constant()),
    ],
    ids=repr,
)
def test_terms_add_up_to_the_kernel_of_both(kernel: Kernel) -> None:
    both = np.concatenate([X, CONTEXTS], axis=1)
    np.testing.assert_allclose(_joined(kernel.terms(A)), kernel(both, both), rtol=1e-12, atol=1e-14)
    assert not any(isinstance(context, (Sum, Scaled)) for _, context in kernel.terms(A))


def test_terms_of_products() -> None:
    first, second = RBF(0.5)(X, X), Linear()(X, X)
    rbf, linear = RBF(1.0)(CONTEXTS, CONTEXTS), Linear()(CONTEXTS, CONTEXTS)
    cases: list[tuple[JointKernel, Array, int]] = [
        (Product(RBF(0.5), Linear()), first * linear, 1),
        (2.0 * Product(RBF(0.5), RBF(1.0)), 2 * first * rbf, 1),
        (Product(RBF(0.5), RBF(1.0)) + Product(Linear(), Linear()), first * rbf + second * linear, 2),
        (Product(RBF(0.5), RBF(1.0) + 0.3 * Linear()), first * (rbf + 0.3 * linear), 2),
        (Product(RBF(0.5) + Linear(), 4.0 * RBF(1.0)), (first + second) * 4 * rbf, 1),
        (3.0 * (Product(RBF(0.5), 2.0 * RBF(1.0)) + Linear()), 3 * (2 * first * rbf + second + linear), 3),
    ]
    for kernel, expected, count in cases:
        assert len(kernel.terms(A)) == count
        np.testing.assert_allclose(_joined(kernel.terms(A)), expected, rtol=1e-12, atol=1e-14)


def test_matern_does_not_split() -> None:
    for kernel in (Matern(1.5), 2.0 * Matern(1.5), RBF(1.0) + Matern(2.5)):
        with refused(TypeError, "Matern", "does not split", "Product(action_kernel, context_kernel)"):
            kernel.terms(A)


@pytest.mark.parametrize("scales", [0.3, 1.0, (0.2, 5.0)])
@pytest.mark.parametrize("reach", [0.0, 0.01, 1.0, 20.0])
def test_the_series_of_rbf_is_the_kernel_within_its_reach(scales: Any, reach: float) -> None:
    kernel = RBF(scales)
    widths = np.array([reach, 2 * reach])
    for fraction in np.linspace(0.0, 1.0, 41):
        gaps = fraction * widths
        product = 1.0
        for gap, (step, weights) in zip(gaps, kernel.series(widths), strict=True):
            angles = np.arange(len(weights)) * step * gap
            product *= weights[0] + 2 * float(weights[1:] @ np.cos(angles[1:]))
        assert product == pytest.approx(float(kernel(np.zeros((1, 2)), gaps[None])[0, 0]), abs=1e-10)


def test_other_kernels_have_no_series() -> None:
    for kernel in (Linear(), Matern(2.5), Polynomial(2), Constant()):
        assert kernel.series(np.ones(2)) is None


@pytest.mark.parametrize("kernel", [RBF(0.8), RBF(SCALES), Matern(2.5, 0.6), Matern(1.5, SCALES), Matern(0.5, 2.0)])
def test_frequencies_are_draws_of_the_spectral_density(kernel: Kernel) -> None:
    """E[cos(w^T d)] = k(d). Six standard errors for each of 20 pairs: false alarm below 4e-8."""
    n = 40_000
    w = kernel.frequencies(n, C, np.random.default_rng(4))
    assert w.shape == (n, C)
    gaps = (LEFT[:, None] - RIGHT[None]).reshape(-1, C)
    draws = np.cos(w @ gaps.T)
    error = 6 * draws.std(axis=0) / math.sqrt(n)
    assert (np.abs(draws.mean(axis=0) - kernel(LEFT, RIGHT).ravel()) <= error).all()


def test_kernels_without_frequencies() -> None:
    with refused(TypeError, "Linear", "no spectral density", "take RBF or Matern"):
        Linear().frequencies(3, C, np.random.default_rng(0))


def test_parameters_of_kernels_made_of_others() -> None:
    kernel = 2.0 * Product(RBF(0.5), 3.0 * Matern(1.5, (1.0, 4.0))) + Product(Linear(), RBF(6.0))
    assert kernel.parameters() == (2.0, 0.5, 3.0, 1.0, 4.0, 6.0)
    assert kernel.with_parameters(kernel.parameters()) == kernel
    changed = kernel.with_parameters([20.0, 5.0, 30.0, 10.0, 40.0, 60.0])
    assert changed == 20.0 * Product(RBF(5.0), 30.0 * Matern(1.5, (10.0, 40.0))) + Product(Linear(), RBF(60.0))
    assert Linear().with_parameters([]) == Linear()
    with refused(ValueError, "Linear", "has no parameters, got 1"):
        Linear().with_parameters([1.0])


@pytest.mark.parametrize("cls", [RBF, lambda scale: Matern(0.5, scale)])
@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (0.0, ValueError),
        (-1.0, ValueError),
        (math.nan, ValueError),
        (math.inf, ValueError),
        ([1.0, 0.0], ValueError),
        ([1.0, math.nan], ValueError),
        ([], ValueError),
        ([[1.0]], ValueError),
        ("1", TypeError),
        (None, TypeError),
        (True, TypeError),
        (["a"], TypeError),
    ],
)
def test_bad_length_scales(cls: Callable[[Any], Kernel], value: Any, kind: type[Exception]) -> None:
    owner = "RBF" if cls is RBF else "Matern"
    with refused(kind, owner, "lengthscale must", "got"):
        cls(value)


def test_length_scales_of_another_dimension() -> None:
    for kernel in (RBF((1.0, 2.0)), Matern(1.5, (1.0, 2.0))):
        owner = type(kernel).__name__
        with refused(ValueError, owner, "lengthscale must have 3 entries", "got 2"):
            kernel(LEFT, RIGHT)
    with refused(ValueError, "RBF", "lengthscale must have an entry for each dimension", "got 2"):
        RBF((1.0, 2.0)).terms(A)


@pytest.mark.parametrize(
    ("make", "kind", "owner", "words"),
    [
        (lambda: Matern(2.0), ValueError, "Matern", "nu must be 0.5, 1.5 or 2.5, got 2"),
        (lambda: Matern("1.5"), TypeError, "Matern", "nu must be a number"),  # type: ignore[arg-type]
        (lambda: Polynomial(0), ValueError, "Polynomial", "degree must be >= 1, got 0"),
        (lambda: Polynomial(1.5), TypeError, "Polynomial", "degree must be a whole number"),  # type: ignore[arg-type]
        (lambda: Polynomial(2, 0.0), ValueError, "Polynomial", "scale must be > 0"),
        (lambda: Polynomial(2, 1.0, -1.0), ValueError, "Polynomial", "offset must be >= 0"),
        (lambda: -1.0 * RBF(1.0), ValueError, "Scaled", "scale must be > 0, got -1"),
        (lambda: RBF(1.0) * 0, ValueError, "Scaled", "scale must be > 0"),
        (lambda: RBF(1.0) * RBF(2.0), TypeError, "Scaled", "scale must be a number, got RBF"),  # type: ignore[operator]
        (lambda: Scaled(3.0, 2.0), TypeError, "Scaled", "kernel must be a kernel"),  # type: ignore[arg-type]
        (lambda: RBF(1.0) + 1.0, TypeError, "Sum", "kernel must be a kernel"),  # type: ignore[operator]
        (lambda: Sum(()), ValueError, "Sum", "one kernel at least, got none"),
        (lambda: Sum(RBF(1.0)), TypeError, "Sum", "sequence of kernels, got RBF"),  # type: ignore[arg-type]
        (lambda: Product(RBF(1.0), 1.0), TypeError, "Product", "context_kernel must be"),  # type: ignore[arg-type]
        (
            lambda: Product(Product(RBF(), RBF()), RBF()),  # type: ignore[arg-type]
            TypeError,
            "Product",
            "action_kernel must be a kernel of vectors",
        ),
        (lambda: RBF(1.0)([1.0], [[1.0]]), ValueError, "RBF", "left must have shape (n, p), got (1,)"),
        (lambda: RBF(1.0)([[1.0]], [[1.0, 2.0]]), ValueError, "RBF", "right must have shape (m, 1), got (1, 2)"),
        (lambda: RBF(1.0)([[math.nan]], [[1.0]]), ValueError, "RBF", "left must be finite"),
        (
            lambda: (2.0 * Product(RBF(), RBF()))([[1.0]], [[1.0]]),
            TypeError,
            "Scaled",
            "got Product, which takes actions and contexts apart",
        ),
        (
            lambda: (RBF() + Product(RBF(), RBF()))([[1.0]], [[1.0]]),
            TypeError,
            "Sum",
            "got Product, which takes actions",
        ),
    ],
)
def test_bad_arguments(make: Callable[[], Any], kind: type[Exception], owner: str, words: str) -> None:
    with refused(kind, owner, words):
        make()


def test_a_part_of_a_product_that_is_not_of_vectors_is_refused() -> None:
    pair = Product(RBF(1.0), RBF(1.0))
    for part in (pair + pair, 2.0 * pair):
        with refused(TypeError, type(part).__name__, "kernel must be a kernel of vectors here, got Product"):
            Product(RBF(1.0), part)


@pytest.mark.parametrize("lengthscale", [1e-200, 1e200, (1.0, 1e-160)])
def test_length_scales_that_numbers_cannot_square_are_refused(lengthscale: float | tuple[float, ...]) -> None:
    with refused(ValueError, "RBF", "lengthscale must lie between 1e-100 and 1e+100"):
        RBF(lengthscale)
