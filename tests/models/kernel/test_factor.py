"""The growing Cholesky factor against NumPy's."""

from __future__ import annotations

import math

import numpy as np
import pytest

from overcast._check import Array
from overcast.models.kernel.factor import TILE, Cholesky


def _grown(matrix: Array) -> Cholesky:
    """Feed the matrix row by row, as a learner does."""
    factor = Cholesky()
    for t, row in enumerate(matrix):
        column = factor.solve(row[:t, None])[:, 0]
        factor.append(column, math.sqrt(row[t] - column @ column))
    return factor


def _positive(t: int, ridge: float, seed: int = 0) -> Array:
    root = np.random.default_rng(seed).normal(size=(t, max(3, t // 2)))
    return np.asarray(root @ root.T / root.shape[1] + ridge * np.eye(t))


@pytest.mark.parametrize("t", [1, 2, TILE - 1, TILE, TILE + 1, 2 * TILE, 2 * TILE + 1, 3 * TILE + 17])
def test_solves_and_determinants_across_tiles(t: int) -> None:
    matrix = _positive(t, 0.1)
    factor, expected = _grown(matrix), np.linalg.cholesky(matrix)
    assert len(factor) == t
    for m in (1, 2, 7, 150):
        right = np.random.default_rng(m).normal(size=(t, m))
        np.testing.assert_allclose(factor.solve(right), np.linalg.solve(expected, right), rtol=0, atol=1e-9)
    assert factor.log_det == pytest.approx(np.linalg.slogdet(matrix)[1], rel=1e-10, abs=1e-10)


def test_an_empty_factor() -> None:
    factor = Cholesky()
    assert len(factor) == 0
    assert factor.log_det == 0.0
    assert factor.solve(np.empty((0, 4))).shape == (0, 4)


def test_solving_changes_nothing_and_every_memory_order_will_do() -> None:
    t = TILE + 5
    factor = _grown(_positive(t, 0.1))
    right = np.random.default_rng(1).normal(size=(t, 6))
    kept, first = right.copy(), factor.solve(right)
    for same in (right, np.asfortranarray(right), np.repeat(right, 2, axis=1)[:, ::2]):
        np.testing.assert_allclose(factor.solve(same), first, rtol=1e-12)
    np.testing.assert_array_equal(right, kept)
    wide = np.zeros((t, 6))
    wide[:, 0] = right[:, 0]
    np.testing.assert_allclose(factor.solve(wide)[:, 0], first[:, 0], rtol=1e-12)


@pytest.mark.parametrize("ridge", [1e-6, 1e-9, 1e-12])
def test_nearly_singular_matrices_are_solved_as_well_as_numpy_does(ridge: float) -> None:
    """A smooth kernel at many points: eigenvalues fall to zero, and L L^T must still be M to rounding."""
    t = 3 * TILE + 9
    points = np.random.default_rng(2).normal(size=(t, 2))
    gram = np.exp(-((points[:, None] - points[None]) ** 2).sum(axis=-1) / 2) + ridge * np.eye(t)
    factor = _grown(gram)
    half = factor.solve(gram)  # L^-1 M = L^T
    np.testing.assert_allclose(np.tril(half, -1), 0.0, atol=1e-13 * t / math.sqrt(ridge))
    np.testing.assert_allclose(half.T @ half, gram, rtol=0, atol=1e-11)
    assert factor.log_det == pytest.approx(np.linalg.slogdet(gram)[1], rel=1e-4 if ridge < 1e-10 else 1e-7)
    explained = gram.diagonal() - ridge - np.vecdot(factor.solve(gram - ridge * np.eye(t)).T, half.T)
    assert (np.abs(explained) <= 1e-10 + ridge).all()


def test_very_different_sizes() -> None:
    """M = D A D has the factor D L, whatever the sizes in D."""
    t = TILE + 20
    matrix = _positive(t, 0.5)
    sizes = 10.0 ** np.random.default_rng(3).uniform(-6, 6, size=t)
    factor, plain = _grown(matrix * np.outer(sizes, sizes)), _grown(matrix)
    right = np.random.default_rng(4).normal(size=(t, 3))
    np.testing.assert_allclose(factor.solve(right * sizes[:, None]), plain.solve(right), rtol=1e-8, atol=1e-10)
    assert factor.log_det == pytest.approx(plain.log_det + 2 * np.log(sizes).sum(), rel=1e-12)


def test_growing_copies_nothing() -> None:
    """Full tiles stay the same arrays."""
    factor = _grown(_positive(2 * TILE, 0.1))
    before = [*factor._before, *factor._within]
    factor.append(np.zeros(2 * TILE), 1.0)
    after = [*factor._before[:2], *factor._within[:2]]
    assert all(one is two for one, two in zip(before, after, strict=True))
    assert len(factor._within) == 3


@pytest.mark.parametrize("t", [1, 5, TILE, TILE + 1, 2 * TILE + 17])
def test_the_factor_of_a_whole_matrix_is_the_grown_one_and_goes_on(t: int) -> None:
    matrix = _positive(t + 3, 0.1)
    whole, grown, right = Cholesky.of(matrix[:t, :t]), _grown(matrix), np.ones((t + 3, 5))
    np.testing.assert_allclose(whole.product(), matrix[:t, :t], rtol=0, atol=1e-12)
    assert whole.log_det == pytest.approx(_grown(matrix[:t, :t]).log_det, abs=1e-9)
    for s in range(t, t + 3):
        column = whole.solve(matrix[s, :s, None])[:, 0]
        pivot = math.sqrt(matrix[s, s] - column @ column)
        whole.append(column, pivot)
        row, last = whole.last()
        np.testing.assert_array_equal(row, column)
        assert last == pivot
    assert len(whole) == t + 3
    np.testing.assert_allclose(whole.solve(right), grown.solve(right), rtol=0, atol=1e-9)
    np.testing.assert_allclose(whole.product(), matrix, rtol=0, atol=1e-12)


def test_a_matrix_without_a_factor_raises() -> None:
    with pytest.raises(np.linalg.LinAlgError):
        Cholesky.of(np.array([[1.0, 2.0], [2.0, 1.0]]))
