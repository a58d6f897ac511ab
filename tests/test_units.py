"""Unit vectors that are not written out, against the arrays that they stand for."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from overcast._units import Units, same_vectors

PLACES = np.array([2, 0, 3, 2])
UNITS, WRITTEN = Units(PLACES, 5), np.eye(5)[PLACES]


def test_shape_length_and_numbers_are_those_of_the_array() -> None:
    assert (UNITS.shape, len(UNITS), UNITS.ndim) == (WRITTEN.shape, 4, 2)
    for written in (np.asarray(UNITS), np.array(UNITS, dtype=float), np.array(UNITS, copy=True)):
        np.testing.assert_array_equal(written, WRITTEN)
        assert written.dtype == np.float64
    assert np.asarray(UNITS, dtype=np.float32).dtype == np.float32
    np.testing.assert_array_equal(np.asarray(copy.deepcopy(UNITS)), WRITTEN)


@pytest.mark.parametrize("index", [0, 3, -1, np.intp(2)], ids=repr)
def test_one_row_is_an_array(index: int) -> None:
    row = UNITS[index]
    assert isinstance(row, np.ndarray)
    np.testing.assert_array_equal(row, WRITTEN[index])


@pytest.mark.parametrize(
    "rows", [slice(1), slice(1, None), np.array([3, 1]), [0, 0], np.array([True, False, True, False])], ids=repr
)
def test_some_rows_are_unit_vectors(rows: object) -> None:
    some = UNITS[rows]
    assert isinstance(some, Units)
    np.testing.assert_array_equal(np.asarray(some), WRITTEN[rows])


@pytest.mark.parametrize("index", [4, -5])
def test_rows_that_there_are_not(index: int) -> None:
    with pytest.raises(IndexError):
        UNITS[index]


def test_zeros_can_be_appended() -> None:
    wider = UNITS.widened(7)
    assert wider.shape == (4, 7)
    np.testing.assert_array_equal(np.asarray(wider), np.pad(WRITTEN, ((0, 0), (0, 2))))
    assert UNITS.size == 5


def test_sets_of_vectors_are_compared_row_by_row() -> None:
    for other, same in (
        (Units(PLACES.copy(), 5), True),
        (WRITTEN, True),
        (Units(PLACES, 6), False),
        (Units(PLACES[:3], 5), False),
        (Units(PLACES[::-1], 5), False),
        (WRITTEN[:, :4], False),
        (2.0 * WRITTEN, False),
    ):
        assert same_vectors(UNITS, other) == same_vectors(other, UNITS) == same
        assert same_vectors(np.asarray(UNITS), np.asarray(other)) == same
