"""Quantile functions in the level and in the normal score, against quadrature."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.integrate
import scipy.stats
from scipy.special import ndtri

from overcast._check import Array
from overcast.beliefs import _runs

LEVELS = np.array([0.05, 0.25, 0.5, 0.9])
VALUES = np.array([[-1.0, 2.0], [0.5, 2.0], [0.5, 3.5], [4.0, 9.0]])
TAILS = pytest.mark.parametrize(
    "tails", [("normal", "normal"), ("none", "normal"), ("normal", "none"), ("none", "none")]
)


def q(tails: tuple[str, str], values: Array, u: float) -> float:
    """The quantile function written out: linear in the score, or in the level if no tail is normal."""
    if tails == ("none", "none"):
        return float(np.interp(u, LEVELS, values))
    z, at = float(ndtri(u)), ndtri(LEVELS)
    for end, inner, side in ((0, 1, z < at[0]), (-1, -2, z > at[-1])):
        if side and tails[end] == "normal":
            slope = (values[end] - values[inner]) / (at[end] - at[inner])
            return float(values[end] + slope * (z - at[end]))
    return float(np.interp(z, at, values))


def integral(f: object, levels: Array = LEVELS) -> float:
    edges = [0.0, *levels, 1.0]
    parts = [scipy.integrate.quad(f, a, b, epsabs=1e-11, limit=200)[0] for a, b in pairwise(edges)]  # type: ignore[call-overload]
    return float(sum(parts))


@TAILS
def test_moments_are_integrals_of_the_quantile_function(tails: tuple[str, str]) -> None:
    table = _runs.run_through(LEVELS, tails).table(VALUES, 4)
    for i in range(2):
        for p in range(5):
            expected = integral(lambda u, i=i, p=p: q(tails, VALUES[:, i], u) ** p)
            assert table[p, i] == pytest.approx(expected, rel=1e-7)


@TAILS
@pytest.mark.parametrize("w", [0.01, 0.7, -3.0, 12.0])
def test_waves_are_integrals_of_the_quantile_function(tails: tuple[str, str], w: float) -> None:
    found = _runs.run_through(LEVELS, tails).characteristic(VALUES, np.full((1, 2), w))[0]
    for i in range(2):
        real = integral(lambda u, i=i: np.cos(w * q(tails, VALUES[:, i], u)))
        imaginary = integral(lambda u, i=i: np.sin(w * q(tails, VALUES[:, i], u)))
        assert found[i] == pytest.approx(complex(real, imaginary), abs=2e-6)


@TAILS
def test_quantiles_and_the_distribution_function(tails: tuple[str, str]) -> None:
    run = _runs.run_through(LEVELS, tails)
    p = np.array([0.001, 0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.999])
    found = run.quantile(VALUES, p)
    np.testing.assert_allclose(
        found, [[q(tails, VALUES[:, i], u) for i in range(2)] for u in p], rtol=1e-12, atol=1e-12
    )
    np.testing.assert_array_equal(run.quantile(VALUES, LEVELS), VALUES)
    again = run.cdf(VALUES, found)
    assert (again >= p[:, None] - 1e-9).all()
    np.testing.assert_allclose(again[[2, 5], 0], p[[2, 5]], atol=1e-9)
    assert run.cdf(VALUES, np.full((1, 2), -1e9)).tolist() == [[0.0, 0.0]]
    assert run.cdf(VALUES, np.full((1, 2), 1e9)).tolist() == [[1.0, 1.0]]


@TAILS
def test_draws_follow_the_distribution_function(tails: tuple[str, str]) -> None:
    """Five standard errors of a share of 40,000 draws: a false alarm below 6e-7 for each of eight shares."""
    run, n = _runs.run_through(LEVELS, tails), 40_000
    draws = run.sample(VALUES, n, np.random.default_rng(0))
    for value in (-2.0, 0.1, 2.5, 6.0):
        below = run.cdf(VALUES, np.full((1, 2), value))[0]
        assert (np.abs((draws <= value).mean(axis=0) - below) <= 5 * np.sqrt(0.25 / n)).all()


def test_large_frequencies_do_not_overflow() -> None:
    found = _runs.run_through(LEVELS, ("normal", "normal")).characteristic(VALUES, np.full((1, 2), 1e4))
    assert np.isfinite(found).all()
    assert np.abs(found[0, 0]) == pytest.approx(0.25, abs=1e-3)  # the atom at 0.5


def test_scores_of_a_normal_distribution_give_it_back() -> None:
    law = scipy.stats.norm(3.0, 2.0)
    run, values = _runs.run_through(LEVELS, ("normal", "normal")), law.ppf(LEVELS)[:, None]
    np.testing.assert_allclose(run.table(values, 4)[:, 0], [1.0, *(law.moment(p) for p in range(1, 5))])
    np.testing.assert_allclose(run.characteristic(values, np.array([[0.6]])), np.exp([[3j * 0.6 - 2 * 0.6**2]]))
    np.testing.assert_allclose(run.cdf(values, np.array([[-4.0], [9.0]]))[:, 0], law.cdf([-4.0, 9.0]))
