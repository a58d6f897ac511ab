from __future__ import annotations

import re

import numpy as np
import pytest

from overcast.beliefs import Belief, PointMass

EXAMPLES: list[Belief] = [PointMass([1.5, -2.0])]


def test_a_number_is_a_context_of_dimension_one() -> None:
    belief = PointMass(3)
    assert belief.dim == 1
    np.testing.assert_array_equal(belief.mean(), [3.0])


def test_draws_are_the_point() -> None:
    draws = PointMass([1.0, 2.0]).sample(4, np.random.default_rng(0))
    np.testing.assert_array_equal(draws, [[1.0, 2.0]] * 4)


def test_moments_are_products_of_powers() -> None:
    powers = np.array([[3, 2], [0, 4], [0, 0]])
    np.testing.assert_allclose(PointMass([2.0, -3.0]).moments(powers), [72.0, 81.0, 1.0])


def test_keeps_its_own_copy() -> None:
    given = np.array([1.0, 2.0])
    belief = PointMass(given)
    given[0] = 9.0
    np.testing.assert_array_equal(belief.mean(), [1.0, 2.0])
    with pytest.raises(ValueError, match="read-only"):
        belief.mean()[0] = 5.0


@pytest.mark.parametrize(
    ("c", "kind", "message"),
    [
        ([1.0, np.nan], ValueError, "PointMass: c must be finite, got nan at index 1"),
        (np.inf, ValueError, "PointMass: c must be finite, got inf at index 0"),
        ([], ValueError, "PointMass: c must have shape (c,), got (0,)"),
        ([[1.0, 2.0]], ValueError, "PointMass: c must have shape (c,), got (1, 2)"),
        ([[1.0], [2.0, 3.0]], ValueError, "PointMass: c must be a rectangular array"),
        ("warm", TypeError, "PointMass: c must be real numbers, got str 'warm'"),
        (None, TypeError, "PointMass: c must be real numbers, got NoneType None"),
        ([1j], TypeError, "PointMass: c must be real numbers"),
        (np.ma.masked_array([1.0, 2.0], [False, True]), ValueError, "PointMass: c must be finite, got nan at index 1"),
    ],
)
def test_refuses(c: object, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=re.escape(message)) as caught:
        PointMass(c)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_the_distribution_function_jumps_at_the_point() -> None:
    belief = PointMass([1.0, 2.0])
    np.testing.assert_array_equal(belief.point, [1.0, 2.0])
    np.testing.assert_array_equal(belief.cdf([[0.9, 2.0], [1.0, 3.0]]), [[0.0, 1.0], [1.0, 1.0]])
    np.testing.assert_array_equal(belief.quantile([0.0, 0.3, 1.0]), [[1.0, 2.0]] * 3)


def test_repr_is_short_in_many_dimensions() -> None:
    assert repr(PointMass([1.0, 2.0])) == "PointMass([1.0, 2.0])"
    assert repr(PointMass(np.zeros(1000))) == "PointMass([array of shape (1000,)])"
