from __future__ import annotations

import itertools
import math
import re
from typing import Any

import numpy as np
import pytest

from overcast._check import Array
from overcast.beliefs import Belief, Ensemble, belief_from_json
from support import refused

POINTS = np.random.default_rng(0).normal(size=(6, 3))
WEIGHTS = np.array([0.1, 0.2, 0.0, 0.4, 0.3, 0.0])
EXAMPLES: list[Belief] = [Ensemble(POINTS[:, :2]), Ensemble(POINTS[:, :2], [0.1, 0.3, 0.0, 0.2, 0.15, 0.25])]


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_mean_and_covariance_by_naive_loops(weights: Array | None) -> None:
    belief = Ensemble(POINTS, weights)
    w = [1 / 6] * 6 if weights is None else weights.tolist()
    mean = [sum(w[j] * POINTS[j, i] for j in range(6)) for i in range(3)]
    np.testing.assert_allclose(belief.mean(), mean, rtol=1e-13)
    for a, b in itertools.product(range(3), repeat=2):
        cov = sum(w[j] * (POINTS[j, a] - mean[a]) * (POINTS[j, b] - mean[b]) for j in range(6))
        assert belief.cov()[a, b] == pytest.approx(cov, rel=1e-12)


def test_covariance_divides_by_n() -> None:
    np.testing.assert_allclose(Ensemble(POINTS).cov(), np.cov(POINTS, rowvar=False, ddof=0), rtol=1e-12)


def test_moments_by_naive_loops() -> None:
    powers = np.array(list(itertools.product(range(4), repeat=3)))
    expected = [
        sum(WEIGHTS[j] * math.prod(POINTS[j, i] ** int(p[i]) for i in range(3)) for j in range(6)) for p in powers
    ]
    np.testing.assert_allclose(Ensemble(POINTS, WEIGHTS).moments(powers), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_draws_hit_members_in_proportion(weights: Array | None) -> None:
    n = 60_000
    points = np.arange(6.0)[:, None]
    draws = Ensemble(points, weights).sample(n, np.random.default_rng(4))
    counts = np.bincount(draws[:, 0].astype(int), minlength=6)
    p = np.full(6, 1 / 6) if weights is None else weights
    # Five standard errors: false alarm below 6e-7 a member; weight zero is never drawn at all.
    assert (np.abs(counts - n * p) <= 5 * np.sqrt(n * p * (1 - p))).all()


def test_trailing_zero_weights_are_never_drawn_however_the_sum_rounds() -> None:
    weights = np.concatenate([np.full(10, 0.1), np.zeros(3)])
    belief = Ensemble(np.arange(13.0)[:, None], weights)

    class Edge(np.random.Generator):
        def random(self, size: object = None, *args: object, **kwargs: object) -> Array:  # type: ignore[override]
            return np.full(size, np.nextafter(1.0, 0.0))  # type: ignore[call-overload, no-any-return]

    draws = belief.sample(2, Edge(np.random.PCG64(0)))
    np.testing.assert_array_equal(draws, [[9.0], [9.0]])


def test_weights_that_nearly_sum_to_one_are_rescaled() -> None:
    points, weights = Ensemble([[0.0], [1.0]], [0.3333333, 0.6666666]).support()
    assert weights.sum() == pytest.approx(1.0, abs=1e-15)
    assert points.shape == (2, 1)


def test_support_is_what_was_given_and_read_only() -> None:
    points, weights = Ensemble(POINTS, WEIGHTS).support()
    np.testing.assert_array_equal(points, POINTS)
    np.testing.assert_array_equal(weights, WEIGHTS)
    assert not points.flags.writeable
    assert not weights.flags.writeable


@pytest.mark.parametrize(
    ("points", "weights", "kind", "message"),
    [
        ([1.0, 2.0, 3.0], None, ValueError, "must have shape (n, c), got (3,); reshape to (3, 1) or (1, 3)"),
        (5.0, None, ValueError, "Ensemble: points must have shape (n, c), got ()"),
        ([], None, ValueError, "Ensemble: points must have shape (n, c), got (0,)"),
        (np.empty((0, 2)), None, ValueError, "Ensemble: points must have shape (n, c), got (0, 2)"),
        ([[1.0, np.nan]], None, ValueError, "Ensemble: points must be finite, got nan at index (0, 1)"),
        ([[1.0, -np.inf]], None, ValueError, "Ensemble: points must be finite, got -inf at index (0, 1)"),
        ([["a"]], None, TypeError, "Ensemble: points must be real numbers"),
        ([[1.0], [2.0, 3.0]], None, ValueError, "Ensemble: points must be a rectangular array"),
        ([[1.0], [2.0]], [0.5, 0.6], ValueError, "Ensemble: weights must sum to 1, got a sum of 1.1"),
        ([[1.0], [2.0]], [1.5, -0.5], ValueError, "Ensemble: weights must be >= 0, got -0.5 at index 1"),
        ([[1.0], [2.0]], [1.0], ValueError, "Ensemble: weights must have shape (2,), got (1,)"),
        ([[1.0], [2.0]], [np.nan, 1.0], ValueError, "Ensemble: weights must be finite, got nan at index 0"),
        ([[1.0], [2.0]], "uniform", TypeError, "Ensemble: weights must be real numbers, got str 'uniform'"),
    ],
)
def test_refuses(points: object, weights: object, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=re.escape(message)) as caught:
        Ensemble(points, weights)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_points_and_weights_are_shown_and_closed_to_writing() -> None:
    belief = Ensemble(POINTS, WEIGHTS)
    np.testing.assert_array_equal(belief.points, POINTS)
    np.testing.assert_array_equal(belief.weights, WEIGHTS)
    for array in (belief.points, belief.weights):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_distribution_function_and_quantiles_by_naive_loops(weights: Array | None) -> None:
    belief = Ensemble(POINTS, weights)
    w = np.full(6, 1 / 6) if weights is None else weights
    for i, v in itertools.product(range(3), [*POINTS[:, 0], -9.0, 0.1, 9.0]):
        expected = sum(w[j] for j in range(6) if POINTS[j, i] <= v)
        assert belief.cdf(np.full(3, v))[i] == pytest.approx(expected, abs=1e-14)
    for p in (0.0, 0.05, 0.1, 0.5, 0.7, 0.95, 1.0):
        for i in range(3):
            reached = [x for x in sorted(POINTS[w > 0, i]) if w[POINTS[:, i] <= x].sum() >= p - 1e-12]
            assert belief.quantile(p)[i] == reached[0]


@pytest.mark.parametrize("n", [2, 3, 5, 6, 10, 49])
def test_quantiles_of_equal_weights_are_those_of_numpy(n: int) -> None:
    points = np.random.default_rng(n).normal(size=(n, 2))
    levels = np.arange(1, n + 1) / n
    expected = np.quantile(points, levels - 0.5 / n, axis=0, method="inverted_cdf")
    np.testing.assert_array_equal(Ensemble(points).quantile(levels), expected)


def test_members_and_the_draws_they_are_worth() -> None:
    assert Ensemble(POINTS).members == 6
    assert Ensemble(POINTS).sample_size == pytest.approx(6.0)
    assert Ensemble(POINTS, WEIGHTS).sample_size == pytest.approx(1 / 0.30)
    assert Ensemble(POINTS, [0.9, 0.1, 0.0, 0.0, 0.0, 0.0]).sample_size == np.inf


def test_the_stated_error_is_that_of_the_context_about_the_mean_of_n_draws() -> None:
    centre, size = Ensemble(POINTS).stated_error()
    np.testing.assert_allclose(centre, POINTS.mean(axis=0))
    np.testing.assert_allclose(size, POINTS.std(axis=0) * np.sqrt(7 / 5))
    np.testing.assert_array_equal(Ensemble([[0.1]] * 3).stated_error(), [[0.1], [0.0]])


@pytest.mark.parametrize("points", [[[1e160], [-1e160]], [[1.7e308, 1.0], [-1.7e308, 1.0]], [[1.7e308], [1.6e308]]])
def test_members_whose_moments_are_not_finite_are_refused(points: Any) -> None:
    with refused(ValueError, "Ensemble", "points must have a finite mean and variance, got 1"):
        Ensemble(points)
    with refused(ValueError, "Ensemble", "finite mean and variance"):
        belief_from_json({"type": "Ensemble", "points": points, "weights": None})


def test_members_that_are_large_and_alike_are_taken() -> None:
    alike = Ensemble([[1e300], [1e300], [1e300]])
    assert np.isfinite(alike.cov()).all()
    assert np.isfinite(Ensemble([[1e153], [-1e153]]).cov()).all()
