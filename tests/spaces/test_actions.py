"""Action sets from arrays, mappings, tables and names."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

from overcast.spaces.actions import Actions

VECTORS = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


def test_an_array_has_no_names() -> None:
    actions = Actions(VECTORS)
    assert len(actions) == 3
    assert actions.names is None
    np.testing.assert_array_equal(actions[1], [3.0, 4.0])
    assert Actions(VECTORS.tolist()) == actions


def test_the_vectors_are_a_copy_that_cannot_change() -> None:
    mine = VECTORS.copy()
    actions = Actions(mine)
    mine[0] = 100.0
    np.testing.assert_array_equal(actions.vectors, VECTORS)
    with pytest.raises(ValueError, match="read-only"):
        actions.vectors[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        actions[0][0] = 1.0


def test_a_mapping_keeps_names_and_order() -> None:
    actions = Actions({"b": [1.0, 2.0], "a": (3, 4), 7: np.array([5.0, 6.0])})
    assert list(actions.names or ()) == ["b", "a", 7]
    assert [actions[i] for i in range(3)] == ["b", "a", 7]
    np.testing.assert_array_equal(actions.vectors, VECTORS)


def test_numbers_are_vectors_of_one_entry() -> None:
    np.testing.assert_array_equal(Actions({"low": 1.0, "high": 2}).vectors, [[1.0], [2.0]])


def test_names_become_unit_vectors() -> None:
    for names in (["x", "y"], ("x", "y")):
        actions = Actions(names)
        assert list(actions.names or ()) == ["x", "y"]
        np.testing.assert_array_equal(actions.vectors, np.eye(2))


def test_tables() -> None:
    pd = pytest.importorskip("pandas")
    actions = Actions(pd.DataFrame(VECTORS, index=["a", "b", "c"], columns=["u", "v"]))
    assert list(actions.names or ()) == ["a", "b", "c"]
    np.testing.assert_array_equal(actions.vectors, VECTORS)
    mixed = pd.DataFrame({"price": [1.5, 2.5], "count": pd.array([1, 2], dtype="Int64"), "on": [True, False]})
    np.testing.assert_array_equal(Actions(mixed).vectors, [[1.5, 1, 1], [2.5, 2, 0]])
    assert Actions(mixed).names == (0, 1)
    for bad, kind in (
        (pd.DataFrame({"price": ["cheap", "dear"]}), TypeError),
        (pd.DataFrame({"price": pd.array([1, None], dtype="Int64")}), ValueError),
        (pd.DataFrame({"price": []}), ValueError),
        (pd.DataFrame({"price": [1.0, 2.0]}, index=["a", "a"]), ValueError),
    ):
        with pytest.raises(kind, match=r"^Bandit: actions ") as caught:
            Actions(bad)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("actions", "text"),
    [
        (VECTORS, "Actions(3 unnamed, 2 dimensions)"),
        (np.zeros((100, 5)), "Actions(100 unnamed, 5 dimensions)"),
        ([[1.0]], "Actions(1 unnamed, 1 dimension)"),
        ({"early": [1.0, 2.0], "late": [3.0, 4.0], "mixed": [5.0, 6.0]}, "Actions(early, late, mixed; 2 dimensions)"),
        ({7: 1.0, ("a", 1): 2.0}, "Actions(7, ('a', 1); 1 dimension)"),
        (list("abcde"), "Actions(a, b, c, d, e; 5 dimensions)"),
        ([f"v{i}" for i in range(198)], "Actions(v0, v1, v2, v3, v4, 193 more; 198 dimensions)"),
        ({"two\nlines": 1.0, 100 * "x": 2.0}, f"Actions(two lines, {20 * 'x'}…{19 * 'x'}; 1 dimension)"),
    ],
)
def test_the_repr_is_one_short_line(actions: Any, text: str) -> None:
    assert repr(Actions(actions)) == text


def test_equality_is_by_names_and_vectors() -> None:
    assert Actions(VECTORS) == Actions(VECTORS)
    assert Actions(VECTORS) != Actions(VECTORS + 1)
    assert Actions(VECTORS) != Actions({"a": VECTORS[0], "b": VECTORS[1], "c": VECTORS[2]})
    assert Actions(["a", "b"]) != Actions(["b", "a"])
    assert Actions(VECTORS) != "actions"
    with pytest.raises(TypeError, match="unhashable"):
        hash(Actions(VECTORS))


@pytest.mark.parametrize(
    ("available", "mask"),
    [
        ([2], [False, False, True]),
        (np.array([1, 0]), [True, True, False]),
        ([True, False, True], [True, False, True]),
        (np.array([False, True, False]), [False, True, False]),
        (range(3), [True, True, True]),
    ],
)
def test_masks(available: Any, mask: list[bool]) -> None:
    got = Actions(VECTORS).mask(available)
    assert got is not None
    assert got.dtype == bool
    assert got.tolist() == mask
    assert Actions(VECTORS).mask(None) is None
    gone = Actions(VECTORS).retired([1])
    assert np.array_equal(gone.mask(None), [True, False, True])  # type: ignore[arg-type]


def _flags(actions: Any, available: Any) -> Any:
    found = Actions(actions).mask(available)
    return None if found is None else found.tolist()


def test_names_go_before_indices() -> None:
    assert _flags({2: [1.0], 1: [2.0], 0: [3.0]}, [2]) == [True, False, False]
    assert _flags({"a": [1.0], "b": [2.0]}, [1, "a"]) == [True, True]
    with pytest.raises(ValueError, match=r"^Bandit: available must hold one of the actions' names, got int 0$"):
        Actions({1: [1.0], 2: [2.0]}).mask([0])


@pytest.mark.parametrize(
    "available",
    [
        {"a": False, "b": True, "c": False},
        {"b": True},
        pd.Series({"b": True, "c": False, "a": False}),
        pd.Series({"b": True, "c": False, "a": False}, dtype="boolean"),
        pd.Series({"b": True, "c": False, "a": False}, dtype=object),
        pd.Series(["b"]),
        pd.Index(["b"]),
    ],
)
def test_masks_by_name(available: Any) -> None:
    assert _flags({"a": [1.0], "b": [2.0], "c": [3.0]}, available) == [False, True, False]


@pytest.mark.parametrize(
    ("available", "error", "words"),
    [
        ([0, 0, 1], ValueError, "each action once, got list [0, 0, 1]"),  # meant as a mask
        ({"a": 1}, TypeError, "map names to True or False, got int 1"),
        (np.array(1), TypeError, "a list of names or indices, or a mask, got ndarray array(1)"),
        (pd.DataFrame({"a": [True]}), TypeError, "a list of names or indices, or a mask, got DataFrame"),
    ],
)
def test_what_may_mean_another_thing_is_refused(available: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=re.escape(words)) as caught:
        Actions({"a": [1.0], "b": [2.0], "c": [3.0]}).mask(available)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("names", [np.array(["a", "b"]), pd.Index(["a", "b"]), {"a": 0, "b": 0}.keys()])
def test_names_from_other_containers(names: Any) -> None:
    actions = Actions(names)
    assert list(actions.names or ()) == ["a", "b"]
    np.testing.assert_array_equal(actions.vectors, np.eye(2))


def test_a_string_is_no_list_of_names() -> None:
    with pytest.raises(TypeError, match=r"^Bandit: actions must be vectors or a list of names, got the string"):
        Actions("ab")


def test_rows_that_were_added_say_where_they_come_from() -> None:
    actions = Actions({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    more, of = actions.added({"c": [5.0, 6.0], "a": [1.0, 2.0]})
    assert more.names == ("a", "b", "c")
    assert of.tolist() == [0, 1, -1]
    changed, of = actions.added({"b": [9.0, 9.0]})
    assert of.tolist() == [0, -1]
    assert changed.vectors.tolist() == [[1.0, 2.0], [9.0, 9.0]]
    wider, of = actions.added(["c", "a"])
    assert of.tolist() == [0, 1, -1]
    assert wider.vectors.tolist() == [[1.0, 2.0, 0.0], [3.0, 4.0, 0.0], [0.0, 0.0, 1.0]]
    assert actions == Actions({"a": [1.0, 2.0], "b": [3.0, 4.0]})


def test_sets_are_joined_by_name() -> None:
    mine, theirs = Actions({"a": [1.0], "b": [2.0]}), Actions({"c": [3.0], "b": [2.0]})
    both, of = mine.joined(theirs)
    assert both.names == ("a", "b", "c")
    assert of.tolist() == [-1, 1, 0]
    labels, of = Actions(["a", "b"]).joined(Actions(["c", "b"]), labels=True)
    assert labels.vectors.tolist() == np.eye(3).tolist()
    assert of.tolist() == [-1, 1, 0]
    longer, of = Actions([[1.0]]).joined(Actions([[1.0], [2.0]]))
    assert (len(longer), of.tolist()) == (2, [0, 1])


def test_many_are_found_at_once() -> None:
    assert Actions(VECTORS).locate(np.array([2, 0]))[0].tolist() == [2, 0]
    assert Actions({"a": [1.0], "b": [2.0]}).locate(["b", "a", 1])[0].tolist() == [1, 0, 1]
    with pytest.raises(ValueError, match=r"^Bandit: action must hold an index below 3, got "):
        Actions(VECTORS).locate(np.array([0, 3]))
