"""Raw moments."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.stats

from overcast.beliefs import _moments


def test_exponents_are_all_monomials_up_to_the_degree() -> None:
    found = _moments.exponents(3, 4)
    expected = {p for p in itertools.product(range(5), repeat=3) if sum(p) <= 4}
    assert len(found) == len(expected)
    assert {tuple(row) for row in found.tolist()} == expected
    assert (np.diff(found.sum(axis=1)) >= 0).all()
    assert not found.flags.writeable


def test_average_is_the_mean_over_the_last_axis_but_one() -> None:
    values = np.random.default_rng(0).normal(size=(4, 5, 3))
    np.testing.assert_allclose(_moments.average(values), values.mean(axis=-2), rtol=1e-13)


def test_moments_of_points_by_products() -> None:
    rng = np.random.default_rng(1)
    points, weights, powers = rng.normal(size=(7, 2)), rng.dirichlet(np.ones(7)), _moments.exponents(2, 3)
    expected = [weights @ np.prod(points**row, axis=1) for row in powers]
    np.testing.assert_allclose(_moments.of_points(points, weights, powers), expected, rtol=1e-12)


def test_moments_of_normal_coordinates_are_those_of_scipy() -> None:
    table = _moments.of_gaussian(np.array([1.0, -2.0]), np.array([0.5, 4.0]), 5)
    for i, law in enumerate((scipy.stats.norm(1.0, np.sqrt(0.5)), scipy.stats.norm(-2.0, 2.0))):
        np.testing.assert_allclose(table[1:, i], [law.moment(p) for p in range(1, 6)], rtol=1e-10)


@pytest.mark.parametrize("leading", [(), (4,)])
def test_joint_moments_of_independent_coordinates_are_products(leading: tuple[int, ...]) -> None:
    table = np.random.default_rng(2).normal(size=(3, *leading, 2))
    powers = np.array([[0, 2], [1, 1], [2, 0]])
    found = _moments.of_independent(table, powers)
    assert found.shape == (*leading, 3)
    for j, (a, b) in enumerate(powers):
        np.testing.assert_allclose(found[..., j], table[a, ..., 0] * table[b, ..., 1])
