"""The algebra on all rounds at once, against loops over the rounds; kept rounds, their order, weights and state."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from overcast._check import Array
from overcast._linalg import folded
from overcast.features import Row
from overcast.models.linear import rows
from overcast.models.linear.rows import GroupedRows, Kept, Rows, inverse_and_log_det
from support import refused

D, BLOCKS, N = 3, 4, 9
each_leading = pytest.mark.parametrize("leading", [(), (2,)], ids=["single", "lock-step"])
each_kind = pytest.mark.parametrize("grouped", [False, True], ids=["one block", "blocks"])


class World:
    """Random rounds, and the same numbers round by round."""

    def __init__(self, leading: tuple[int, ...], grouped: bool) -> None:
        rng = np.random.default_rng(0)
        self.leading, self.shape = leading, (BLOCKS, D) if grouped else (D,)
        self.psi = rng.normal(size=(*leading, N, D))
        A = rng.normal(size=(*leading, N, D, 2))
        self.cov = A @ A.swapaxes(-1, -2)
        self.block = rng.integers(BLOCKS - 1, size=(*leading, N))  # the last block has no rounds
        self.rewards, self.weights = rng.normal(size=(*leading, N)), rng.random((*leading, N))
        self.rows = Rows(self.psi, folded(self.cov))
        if grouped:
            self.rows = GroupedRows(self.psi, folded(self.cov), self.block, BLOCKS)
        self.theta = rng.normal(size=(*leading, *self.shape))
        root = rng.normal(size=(*leading, *self.shape, D))
        self.matrix = root @ root.swapaxes(-1, -2)

    def of(self, at: tuple[int, ...], array: Array) -> Array:
        """Return what belongs to the block of a round (trial, n) in an array over theta."""
        *trial, _ = at
        own = array[tuple(trial)]
        return np.asarray(own[self.block[at]] if len(self.shape) > 1 else own)

    def each(self, compute: Any) -> Array:
        out = np.empty((*self.leading, N))
        for at in np.ndindex(*out.shape):
            out[at] = compute(at)
        return out


@each_leading
@each_kind
def test_what_is_asked_of_every_round(leading: tuple[int, ...], grouped: bool) -> None:
    world = World(leading, grouped)
    rows, psi = world.rows, world.psi
    for got, expected in (
        (rows.along(world.theta), world.each(lambda at: psi[at] @ world.of(at, world.theta))),
        (rows.quadratic(world.matrix), world.each(lambda at: psi[at] @ world.of(at, world.matrix) @ psi[at])),
        (
            rows.context_variance(world.matrix),
            world.each(lambda at: np.trace(world.cov[at] @ world.of(at, world.matrix))),
        ),
    ):
        assert got.shape == expected.shape
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-13)


@each_leading
@each_kind
def test_weighted_sums_and_their_factorisation(leading: tuple[int, ...], grouped: bool) -> None:
    world = World(leading, grouped)
    design, target = np.zeros((*leading, *world.shape, D)), np.zeros((*leading, *world.shape))
    for at in np.ndindex(*leading, N):
        where = (*at[:-1], world.block[at]) if grouped else at[:-1]
        design[where] += world.weights[at] * np.outer(world.psi[at], world.psi[at])
        target[where] += world.weights[at] * world.rewards[at] * world.psi[at]
    for got, expected in zip(world.rows.sums(world.rewards, world.weights), (design, target), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-13)
    ridge = np.full(leading, 0.5)
    inverse, theta, log_det = world.rows.factorised(world.matrix, target, world.weights, ridge)
    precision = world.matrix + design + 0.5 * np.eye(D)
    np.testing.assert_allclose(inverse, np.linalg.inv(precision), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(theta, np.linalg.solve(precision, target[..., None])[..., 0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(log_det, np.linalg.slogdet(precision / 0.5)[1], rtol=1e-9)


@pytest.mark.parametrize("leading", [(), (2, 3)], ids=str)
def test_inverse_and_log_determinant(leading: tuple[int, ...]) -> None:
    root = np.random.default_rng(1).normal(size=(*leading, D, D))
    matrix = root @ root.swapaxes(-1, -2)
    inverse, log_det = inverse_and_log_det(matrix)
    np.testing.assert_allclose(inverse, np.linalg.inv(matrix), rtol=1e-9)
    np.testing.assert_allclose(log_det, np.linalg.slogdet(matrix)[1], rtol=1e-12)


def test_a_matrix_that_has_no_inverse_gives_numbers_that_are_none() -> None:
    for shape in ((2, 2), (3, 2, 2)):
        inverse, log_det = inverse_and_log_det(np.ones(shape))
        assert np.isnan(inverse).all()
        assert np.isnan(log_det).all()


each_shape = pytest.mark.parametrize(
    ("shape", "aware"), [((D,), False), ((D,), True), ((BLOCKS, D), False), ((BLOCKS, D), True)], ids=str
)


def _row(t: int, kept: Kept, leading: tuple[int, ...]) -> Row:
    cov = np.full((*leading, D * (D + 1) // 2), 10.0 + t) if "cov" in kept.axes else None
    return Row(np.full((*leading, D), float(t)), cov, np.full(leading, t % 3) if "block" in kept.axes else None)


def _filled(n: int, shape: tuple[int, ...], aware: bool, leading: tuple[int, ...]) -> Kept:
    rounds = Kept(shape, aware, leading)
    for t in range(n):
        rounds.append(_row(t, rounds, leading), np.full(leading, 100.0 + t), np.full(leading, 1.0 / (1 + t)))
    return rounds


@each_shape
@each_leading
def test_rounds_come_back_in_order(shape: tuple[int, ...], aware: bool, leading: tuple[int, ...]) -> None:
    """Also after room was made twice, and the oldest were dropped in between."""
    rounds = _filled(20, shape, aware, leading)
    rounds.drop(7)
    for t in range(20, 60):
        rounds.append(_row(t, rounds, leading), np.full(leading, 100.0 + t), np.full(leading, 1.0 / (1 + t)))
    assert len(rounds) == 53
    for t, (row, reward, weight) in enumerate(rounds, start=7):
        for got, expected in zip(row, _row(t, rounds, leading), strict=True):
            np.testing.assert_array_equal(got, expected)
        np.testing.assert_array_equal(reward, np.full(leading, 100.0 + t))
        np.testing.assert_array_equal(weight, np.full(leading, 1.0 / (1 + t)))
    np.testing.assert_array_equal(
        rounds.rows(5).along(np.ones((*leading, *shape)))[..., -1], np.full(leading, 11.0 * D)
    )
    assert rounds.rows().shape == (*leading, 53)


@each_leading
def test_new_weights_leave_the_old_ones_to_who_holds_them(leading: tuple[int, ...]) -> None:
    rounds = _filled(5, (D,), False, leading)
    before, old = copy.copy(rounds), rounds.weights.copy()
    rounds.set_weights(np.full((*leading, 5), 9.0))
    assert (rounds.weights == 9.0).all()
    np.testing.assert_array_equal(before.weights, old)


@each_shape
@each_leading
def test_a_state_holds_the_rounds_in_use(shape: tuple[int, ...], aware: bool, leading: tuple[int, ...]) -> None:
    rounds = _filled(30, shape, aware, leading)
    rounds.drop(12)
    state = rounds.state()
    assert list(state) == list(rounds.axes)
    again = Kept(shape, aware, leading)
    again.restore(state)
    assert len(again) == 18
    for one, other in zip(again, rounds, strict=True):
        for got, expected in zip((*one[0], *one[1:]), (*other[0], *other[1:]), strict=True):
            np.testing.assert_array_equal(got, expected)


def test_a_block_that_does_not_exist_is_refused() -> None:
    state = _filled(4, (BLOCKS, D), False, ()).state()
    for block in (-1, BLOCKS):
        with refused(ValueError, "Weighted", "block must lie between 0 and 3, got others"):
            Kept((BLOCKS, D), False, ()).restore(state | {"block": np.array([0, 1, block, 2])})
    Kept((BLOCKS, D), False, ()).restore(_filled(0, (BLOCKS, D), False, ()).state())


def test_the_number_of_rounds_is_bounded_by_their_size(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Kept((D,), True, ()).capacity == rows.MAX_ROUNDS
    assert Kept((200,), True, ()).capacity == rows.MAX_NUMBERS // (200 + 200 * 201 // 2)
    assert Kept((200,), False, ()).capacity == rows.MAX_ROUNDS
    assert Kept((10_000,), True, ()).capacity == rows.MIN_ROUNDS
    monkeypatch.setattr(rows, "MAX_ROUNDS", 50)
    assert Kept((BLOCKS, D), True, (4,)).capacity == 50
