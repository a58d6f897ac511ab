"""Comparisons that all checks share: what passes, and the one line for what does not."""

from __future__ import annotations

import re

import numpy as np
import pytest

from overcast.testing._compare import draws_of, gaussian_around, require, require_average, require_equal, require_shape

DRAWS = np.random.default_rng(0).normal(2.0, 1.0, size=(100, 3))


def test_a_belief_around_points_has_their_mean_and_a_full_covariance() -> None:
    for c in (1, 2):
        points = np.arange(4.0 * c).reshape(4, c) ** 2
        belief = gaussian_around(points)
        np.testing.assert_array_equal(belief.mean(), points.mean(axis=0))
        off_diagonal = belief.cov()[~np.eye(c, dtype=bool)]
        assert (off_diagonal != 0.0).all()
        np.testing.assert_array_equal(draws_of(belief, 3), draws_of(belief, 3))


def test_what_agrees_passes() -> None:
    require(True, "Mine", "must hold")
    require_shape("Mine", "values", np.zeros((2, 3)), (2, 3))
    require_equal("Mine", "values", [1.0, 1e9], [1.0 + 1e-12, 1e9])


def test_averages_agree_up_to_six_standard_errors() -> None:
    error = DRAWS.std(axis=0, ddof=1) / 10.0
    mean = DRAWS.mean(axis=0)
    require_average("Mine", "values", DRAWS, mean + 5.9 * error)
    require_average("Mine", "values", DRAWS, mean - 8.9 * error, factor=1.5)
    for off, factor in ((6.1, 1.0), (9.1, 1.5)):
        with pytest.raises(AssertionError, match=r"^Mine: values must be the average of draws, got one \S+ apart$"):
            require_average("Mine", "values", DRAWS, mean + np.array([0.0, off, 0.0]) * error, factor)


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (lambda: require(False, "Mine", "must hold"), "Mine: must hold"),
        (lambda: require_shape("Mine", "values", np.zeros(2), (3,)), "Mine: values must have shape (3,), got (2,)"),
        (lambda: require_shape("Mine", "values", [0.0, np.nan], (2,)), "Mine: values must be finite"),
        (lambda: require_equal("Mine", "values", [1.0], 1.0), "Mine: values must agree, got shapes (1,) and ()"),
        (
            lambda: require_equal("Mine", "values", [1.0, 2.0], [1.0, 2.5]),
            "Mine: values must agree, got numbers 0.5 apart",
        ),
        (lambda: require_equal("Mine", "values", np.nan, 1.0), "Mine: values must agree, got numbers nan apart"),
    ],
)
def test_what_differs_is_named_on_one_line(check: object, message: str) -> None:
    assert callable(check)
    with pytest.raises(AssertionError, match=f"^{re.escape(message)}$"):
        check()
