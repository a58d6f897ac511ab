"""Argument checks: what passes, and the one line for what does not."""

from __future__ import annotations

import fractions
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from overcast import _check
from support import refused


def _message(caught: pytest.ExceptionInfo[Exception]) -> str:
    text = str(caught.value)
    assert text.startswith("Owner: thing ")
    assert "\n" not in text
    return text


@pytest.mark.parametrize("value", [[[1, 2]], np.array([[1.0, 2.0]]), [[True, False]], np.array([[1, 2]], dtype="u1")])
def test_arrays_become_read_only_floats(value: Any) -> None:
    out = _check.array("Owner", "thing", value, ("n", 2))
    assert out.dtype == np.float64
    np.testing.assert_array_equal(out, np.array(value, dtype=float))
    with pytest.raises(ValueError, match="read-only"):
        out[0, 0] = 5.0


def test_arrays_are_copies() -> None:
    mine = np.ones(3)
    out = _check.array("Owner", "thing", mine, (3,))
    mine[0] = 9.0
    assert out[0] == 1.0
    assert mine.flags.writeable


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        ([1.0, 2.0], ValueError, "must have shape (n, 2), got (2,)"),
        ([[1.0, 2.0, 3.0]], ValueError, "must have shape (n, 2), got (1, 3)"),
        (1.0, ValueError, "must have shape (n, 2), got ()"),
        (np.zeros((0, 2)), ValueError, "must have shape (n, 2), got (0, 2)"),
        ([[1.0, 2.0], [0.0, math.nan]], ValueError, "must be finite, got nan at index (1, 1)"),
        ([[math.inf, 2.0]], ValueError, "must be finite, got inf at index (0, 0)"),
        ([[1.0], [1.0, 2.0]], ValueError, "must be a rectangular array, got rows of different lengths"),
        ([["a", "b"]], TypeError, "must be real numbers, got list [['a', 'b']]"),
        ([[1j, 2.0]], TypeError, "must be real numbers, got list [[1j, 2.0]]"),
        (None, TypeError, "must be real numbers, got NoneType None"),
        (np.full((9, 9), "x"), TypeError, "must be real numbers, got ndarray array("),
    ],
)
def test_bad_arrays(value: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind) as caught:
        _check.array("Owner", "thing", value, ("n", 2))
    assert text in _message(caught)


def test_masked_entries_are_missing_not_data() -> None:
    masked = np.ma.masked_array([1, 2, 3], [False, True, False])
    with pytest.raises(ValueError, match=r"got nan at index 1$") as caught:
        _check.array("Owner", "thing", masked, (3,))
    _message(caught)


def test_one_number_is_a_vector() -> None:
    np.testing.assert_array_equal(_check.vector("Owner", "thing", 2, "c"), [2.0])
    np.testing.assert_array_equal(_check.vector("Owner", "thing", [2, 3], 2), [2.0, 3.0])
    for value, size in ((1.0, 2), ([1.0, 2.0], 3), ([[1.0]], "c"), ([], "c")):
        with pytest.raises(ValueError, match="must have shape") as caught:
            _check.vector("Owner", "thing", value, size)
        _message(caught)


@pytest.mark.parametrize("value", [2, 2.0, np.float32(2), np.int8(2), np.array(2.0), fractions.Fraction(2)])
def test_numbers(value: Any) -> None:
    out = _check.number("Owner", "thing", value, at_least=2.0, above=1.0, below=3.0)
    assert type(out) is float
    assert out == 2.0


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        ("2", TypeError, "must be a number, got '2'"),
        (True, TypeError, "must be a number, got True"),
        (None, TypeError, "must be a number, got NoneType None"),
        ([1.0, 2.0], TypeError, "must be a number, got list"),
        (np.eye(3), TypeError, "must be a number, got ndarray"),
        (1j, TypeError, "must be a number, got 1j"),
        (10**400, TypeError, "must be a number, got int 1000"),
        (math.nan, ValueError, "must be finite, got nan"),
        (-math.inf, ValueError, "must be finite, got -inf"),
        (-1, ValueError, "must be >= 0, got -1.0"),
        (5, ValueError, "must be < 5, got 5.0"),
    ],
)
def test_bad_numbers(value: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind) as caught:
        _check.number("Owner", "thing", value, at_least=0.0, below=5.0)
    assert text in _message(caught)


def test_open_bounds() -> None:
    with pytest.raises(ValueError, match=r"must be > 0, got 0\.0$") as caught:
        _check.number("Owner", "thing", 0, above=0.0)
    _message(caught)


def test_closed_bounds() -> None:
    assert _check.number("Owner", "thing", 1, at_least=1.0, at_most=1.0) == 1.0
    with pytest.raises(ValueError, match=r"must be <= 1, got 1\.5$") as caught:
        _check.number("Owner", "thing", 1.5, at_most=1.0)
    _message(caught)


def test_integers() -> None:
    for value in (3, np.int64(3), np.uint8(3)):
        out = _check.integer("Owner", "thing", value, at_least=3)
        assert type(out) is int
        assert out == 3
    for bad in (3.0, "3", True, np.True_, None, [3]):
        with pytest.raises(TypeError, match="must be a whole number, got") as caught:
            _check.integer("Owner", "thing", bad)
        _message(caught)
    with pytest.raises(ValueError, match="must be >= 4, got 3") as below:
        _check.integer("Owner", "thing", 3, at_least=4)
    _message(below)


def test_weights() -> None:
    np.testing.assert_array_equal(_check.weights("Owner", None, 4), [0.25] * 4)
    np.testing.assert_array_equal(_check.weights("Owner", [0.25, 0.75], 2), [0.25, 0.75])
    rounded = _check.weights("Owner", [0.3333333, 0.6666667, 1e-7], 3)
    assert math.fsum(rounded) == pytest.approx(1.0, abs=1e-15)
    for bad, text in (
        ([0.5, 0.6], "sum of 1.1"),
        ([-0.5, 1.5], "got -0.5 at index 0"),
        ([1.0], "must have shape (2,)"),
        ([math.nan, 1.0], "finite"),
    ):
        with pytest.raises(ValueError, match=r"^Owner: weights must ") as caught:
            _check.weights("Owner", bad, 2)
        assert text in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "value",
    [
        [0, 0, 1, 2],
        [30, -7, 30, 4],
        np.array([5, 3, 3, 5], dtype="u1"),
        [True, False, False, True],
        ["Changins", "Reckenholz", "Changins", "Zollikofen"],
        pd.Series(["b", "a", "c", "b"]),
        ["10", "9", "10", "10"],
        [8, 8, 8, 8],
    ],
    ids=["from zero", "any numbers", "unsigned", "truth values", "names", "pandas", "digits", "one label"],
)
def test_labels_are_numbered_from_zero_in_their_order(value: Any) -> None:
    out = _check.labels("Owner", "thing", value, 4)
    ranked = sorted(set(value))
    assert out.tolist() == [ranked.index(label) for label in value]
    assert out.dtype == np.intp
    with pytest.raises(ValueError, match="read-only"):
        out[0] = 5


def test_labels_are_copies() -> None:
    mine = np.array([0, 1, 2])
    out = _check.labels("Owner", "thing", mine, 3)
    mine[0] = 2
    assert out.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        ([0.0, 1.0, 1.0], TypeError, "must be whole numbers or names, got list [0.0, 1.0, 1.0]"),
        ([0, 1, math.nan], TypeError, "must be whole numbers or names, got list [0, 1, nan]"),
        (["a", None, "b"], TypeError, "must be whole numbers or names, got list ['a', None, 'b']"),
        (None, ValueError, "must have shape (3,), got ()"),
        (["a", "b", 3], TypeError, "must be whole numbers or names, got list ['a', 'b', 3]"),
        (np.ma.masked_array([1, 2, 9], [False, False, True]), TypeError, "must be whole numbers or names"),
        ([[1], [1, 2], [3]], TypeError, "must be whole numbers or names"),
        ([1j, 2j, 3j], TypeError, "must be whole numbers or names, got list"),
        ([0, 1], ValueError, "must have shape (3,), got (2,)"),
        (["a", "b", "c", "d"], ValueError, "must have shape (3,), got (4,)"),
        ("abc", ValueError, "must have shape (3,), got ()"),
        (7, ValueError, "must have shape (3,), got ()"),
        ([[0], [1], [1]], ValueError, "must have shape (3,), got (3, 1)"),
    ],
)
def test_bad_labels(value: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind) as caught:
        _check.labels("Owner", "thing", value, 3)
    assert text in _message(caught)


def test_short_is_one_bounded_line() -> None:
    assert _check.short(1.5) == "float 1.5"
    assert _check.short("a\nb") == "str 'a\\nb'"
    for value in (np.eye(50), "x" * 1000, list(range(1000)), {"a": "b" * 99}):
        text = _check.short(value)
        assert "\n" not in text
        assert len(text) < 80
        assert text.startswith(type(value).__name__)


@pytest.mark.parametrize("value", [[0.0], [-1.0, 1.0], [0.1, 0.2, -0.3]])
def test_values_of_mean_zero(value: list[float]) -> None:
    assert _check.centred("Owner", "thing", value).tolist() == value


@pytest.mark.parametrize("value", [[1.0], [0.5, 0.0], [1e-6]])
def test_values_of_another_mean_are_refused(value: list[float]) -> None:
    with refused(ValueError, "Owner", "thing must have mean zero, got", "subtract it"):
        _check.centred("Owner", "thing", value)


@pytest.mark.parametrize("room", [10, 11, 24])
def test_long_names_lose_their_middle(room: int) -> None:
    names = [_check.cut(f"a rather long\nname of number {i}", room) for i in range(30)]
    assert len(set(names)) == 30
    assert all(len(name) == room and name.startswith("a ra") and "\n" not in name for name in names)
    assert _check.cut(" short  one ", 10) == "short one"


def test_numbers_of_draws() -> None:
    assert _check.samples("Bandit", np.int64(1_000_000)) == _check.MAX_SAMPLES
    for value in (0, -1, 1_000_001, 10**9, 10**30):
        with refused(ValueError, "Bandit", "samples must be"):
            _check.samples("Bandit", value)
    for wrong in (1.0, True, "3"):
        with refused(TypeError, "Bandit", "samples must be a whole number"):
            _check.samples("Bandit", wrong)
