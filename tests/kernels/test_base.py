"""Kernels against their formulas, one pair at a time, and what all of them have in common."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import gamma, kv

from kernel_support import SCALES, random_cloud
from overcast._check import Array
from overcast.kernels import (
    RBF,
    Constant,
    Kernel,
    Linear,
    Matern,
    Polynomial,
    Scaled,
    Sum,
)
from overcast.kernels.base import Term
from support import refused

A, C = 2, 3
LEFT = np.random.default_rng(0).normal(size=(5, C))
RIGHT = np.random.default_rng(1).normal(size=(4, C))


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


def test_other_kernels_have_no_series() -> None:
    for kernel in (Linear(), Matern(2.5), Polynomial(2), Constant()):
        assert kernel.series(np.ones(2)) is None


@pytest.mark.parametrize("kernel", [RBF(0.8), RBF(SCALES), Matern(2.5, 0.6), Matern(1.5, SCALES), Matern(0.5, 2.0)])
def test_frequencies_are_draws_of_the_spectral_density(kernel: Kernel) -> None:
    """E[cos(w^T d)] = k(d). Six standard errors for each of 20 pairs: false alarm below 4e-8."""
    n = 40_000
    rng = np.random.default_rng(4)
    w = kernel.frequencies(rng.standard_normal((n, C)), rng)
    assert w.shape == (n, C)
    gaps = (LEFT[:, None] - RIGHT[None]).reshape(-1, C)
    draws = np.cos(w @ gaps.T)
    error = 6 * draws.std(axis=0) / math.sqrt(n)
    assert (np.abs(draws.mean(axis=0) - kernel(LEFT, RIGHT).ravel()) <= error).all()


def test_kernels_without_frequencies() -> None:
    with refused(TypeError, "Linear", "no spectral density", "take RBF or Matern"):
        Linear().frequencies(np.zeros((3, C)), np.random.default_rng(0))


@pytest.mark.parametrize("kernel", [Constant(), Linear(), Polynomial(3)])
def test_kernels_without_parameters(kernel: Kernel) -> None:
    assert kernel.parameters() == ()
    assert kernel.with_parameters(()) == kernel
    assert kernel.gradient(random_cloud(4, 3, 0, 0), random_cloud(5, 3, 0, 1)).shape == (0, 4, 5)
    with pytest.raises(ValueError, match="has no parameters"):
        kernel.with_parameters((1.0,))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: RBF(1.0)([1.0], [[1.0]]), "left must have shape (n, p), got (1,)"),
        (lambda: RBF(1.0)([[1.0]], [[1.0, 2.0]]), "right must have shape (m, 1), got (1, 2)"),
        (lambda: RBF(1.0)([[math.nan]], [[1.0]]), "left must be finite"),
    ],
)
def test_bad_points(make: Callable[[], Any], words: str) -> None:
    with refused(ValueError, "RBF", words):
        make()
