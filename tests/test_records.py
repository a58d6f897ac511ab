"""Named tuples of arrays: packed, unpacked, and picked by a mask."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from overcast import _records
from overcast._check import Array


class _Part(NamedTuple):
    weights: Array
    cov: Array | None


class _Record(NamedTuple):
    action: int
    share: float
    parts: tuple[_Part, ...]
    block: NDArray[np.intp] | None = None


def _record(n: int, cov: bool, block: int | None = None) -> _Record:
    rng = np.random.default_rng(n)
    part = _Part(rng.normal(size=n), rng.normal(size=(n, 2)) if cov else None)
    return _Record(n, n / 7, (part, _Part(np.ones(3), np.eye(2))), None if block is None else np.array(block))


def _same(left: Any, right: Any) -> None:
    assert type(left) is type(right)
    if isinstance(left, tuple):
        for one, two in zip(left, right, strict=True):
            _same(one, two)
    elif left is not None:
        np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize(
    "records",
    [
        [],
        [_record(3, True)],
        [_record(3, True), _record(3, True), _record(3, True)],
        [_record(3, False), _record(2, True), _record(5, True)],
        [_record(1, False), _record(2, False)],
        [_record(1, False, 4), _record(2, True, 0)],
    ],
)
def test_records_come_back_as_they_were(records: list[_Record]) -> None:
    arrays = _records.pack(records)
    assert all(value.dtype.kind in "fiu" for value in arrays.values())
    found = _records.unpack(_Record, arrays, len(records))
    assert len(found) == len(records)
    for got, want in zip(found, records, strict=True):
        assert isinstance(got.action, int)
        assert isinstance(got.share, float)
        _same(got._replace(block=None), want._replace(block=None))
        if want.block is not None:
            assert int(got.block) == int(want.block)


def test_names_say_where_a_leaf_is() -> None:
    arrays = _records.pack([_record(3, False), _record(2, True)])
    assert set(arrays) == {
        "action",
        "share",
        "parts.0.weights",
        "parts.0.weights.shape",
        "parts.0.cov",
        "parts.0.cov.shape",
        "parts.1.weights",
        "parts.1.cov",
    }


def test_plain_numbers_and_open_annotations() -> None:
    assert _records.unpack(int, _records.pack([3, 1, 2]), 3) == [3, 1, 2]

    class Holder(NamedTuple):
        name: int
        inner: Any

    held = [Holder(1, _record(2, True)), Holder(2, _record(2, True))]
    found = _records.unpack(Holder, _records.pack(held), 2, {"inner": _Record})
    for got, want in zip(found, held, strict=True):
        _same(got.inner, want.inner)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"action": np.zeros(3)}, "action must have 2 entries, got 3"),
        ({"parts.0.weights": np.zeros(9)}, "parts.0.weights must have 5 numbers, got 9"),
        ({"parts.0.weights.shape": np.array([[1, 3]])}, "parts.0.weights must have 2 shapes"),
        ({"parts.0.weights.shape": np.array([[1, 8], [1, -3]])}, "parts.0.weights must have 2 shapes"),
        ({"parts.1.weights": None}, "parts.1.weights is missing"),
        ({"parts.0.colour": np.zeros(2)}, "parts.0.colour belongs to no _Record"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(change: dict[str, Any], words: str) -> None:
    arrays = _records.pack([_record(3, False), _record(2, True)]) | change
    arrays = {name: value for name, value in arrays.items() if value is not None}
    with pytest.raises(ValueError, match=words):
        _records.unpack(_Record, arrays, 2)


def test_records_of_trials_are_picked_by_a_mask() -> None:
    mask = np.array([True, False, True])
    yes, no = _Part(np.arange(6.0).reshape(3, 2), None), _Part(-np.ones((3, 2)), None)
    picked = _records.where(mask, yes, no)
    assert isinstance(picked, _Part)
    np.testing.assert_array_equal(picked.weights, [[0.0, 1.0], [-1.0, -1.0], [4.0, 5.0]])
    assert picked.cov is None
    assert _records.where(mask, ["a", "b", "c"], ["x", "y", "z"]) == ["a", "y", "c"]
    with pytest.raises(TypeError, match="Learner: evidence of trials in lock-step must be a named tuple"):
        _records.where(mask, object(), object())


def test_evidence_in_several_arrays_is_taken_from_either_trial_by_trial() -> None:
    class Pair(NamedTuple):
        a: Array
        b: Array

    yes, no = Pair(np.ones((3, 2)), np.ones(3)), Pair(np.zeros((3, 2)), np.zeros(3))
    mask = np.array([True, False, True])
    named, plain = _records.where(mask, yes, no), _records.where(mask, tuple(yes), tuple(no))
    assert isinstance(named, Pair)
    assert named.a.tolist() == plain[0].tolist() == [[1.0, 1.0], [0.0, 0.0], [1.0, 1.0]]
    assert named.b.tolist() == plain[1].tolist() == [1.0, 0.0, 1.0]


class _Nested(NamedTuple):
    inner: _Part | None
    open: Any = None


@pytest.mark.parametrize(
    "records",
    [
        [_Nested(None), _Nested(_Part(np.ones(2), None))],
        [_Nested(None), _Nested(None)],
        [_Nested(_Part(np.ones(2), None), np.zeros(3)), _Nested(None)],
    ],
)
def test_absent_records_inside_others_come_back_as_none(records: list[_Nested]) -> None:
    for got, want in zip(_records.unpack(_Nested, _records.pack(records), len(records)), records, strict=True):
        _same(got, want)


def test_tuples_of_different_lengths_come_back_as_they_were() -> None:
    short, long = _record(3, True), _record(3, True)
    records = [short._replace(parts=short.parts[:1]), long]
    for got, want in zip(_records.unpack(_Record, _records.pack(records), 2), records, strict=True):
        _same(got.parts, want.parts)


def test_evidence_of_another_kind_is_refused_with_what_it_should_be() -> None:
    with pytest.raises(TypeError, match=r"^Learner: evidence must be a named tuple of arrays and numbers, got object"):
        _records.pack([object()])
