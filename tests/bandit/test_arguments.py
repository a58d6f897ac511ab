"""One round or many, as they are given."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import xarray as xr

import overcast as oc
from memory_support import unchanged
from overcast.bandit.arguments import checked_reward, misfit, one_or_many
from overcast.beliefs.stacked import PointStack
from overcast.spaces.actions import Actions
from support import refused

ACTIONS = Actions({"a": [1.0], "b": [2.0]})
MEMBERS = xr.DataArray(np.arange(12.0).reshape(3, 4), dims=("time", "member"))


def test_one_round() -> None:
    found = one_or_many(ACTIONS, "b", [1.0, 2.0], 3, None)
    (only,) = found.each()
    assert (only.action, only.reward, only.context) == (1, 3.0, None)
    assert only.belief.mean().tolist() == [1.0, 2.0]
    assert (len(found), found.dim) == (1, 2)


def test_an_array_of_one_round_is_an_ensemble_and_of_many_are_contexts() -> None:
    points = np.array([[1.0, 2.0], [3.0, 4.0]])
    one, many = one_or_many(ACTIONS, "a", points, 1.0, None), one_or_many(ACTIONS, ["a", "b"], points, [1.0, 2.0], None)
    assert [type(each.belief) for each in one.each()] == [oc.Ensemble]
    assert [type(each.belief) for each in many.each()] == [oc.PointMass, oc.PointMass]


@pytest.mark.parametrize(
    ("beliefs", "kinds"),
    [
        ([[1.0], [2.0], [3.0]], [oc.PointMass] * 3),
        (
            [oc.Gaussian([1.0], 1.0), [2.0], {"type": "PointMass", "c": [3.0]}],
            [oc.Gaussian, oc.PointMass, oc.PointMass],
        ),
        ([[[1.0], [2.0]], [[1.0]], [3.0]], [oc.Ensemble, oc.Ensemble, oc.PointMass]),
        ([1.0, 2.0, 3.0], [oc.PointMass] * 3),
        (pd.DataFrame({"c": pd.array([1, 2, 3], dtype="Int64")}), [oc.PointMass] * 3),
        (list(MEMBERS), [oc.Ensemble] * 3),
        (MEMBERS, [oc.Ensemble] * 3),
    ],
)
def test_lists_of_anything_that_is_a_belief(beliefs: Any, kinds: list[type]) -> None:
    found = one_or_many(ACTIONS, ["a", "b", "a"], beliefs, [1.0, 2.0, 3.0], None)
    assert [type(each.belief) for each in found.each()] == kinds


@pytest.mark.parametrize(
    ("beliefs", "kind", "words"),
    [
        ([["1.5"], ["2"]], TypeError, "must be real numbers"),
        ([[10**400], [1]], TypeError, "must be real numbers"),
        (np.ma.array([[1.0], [-9999.0]], mask=[[False], [True]]), ValueError, "must be finite"),
        (list(np.ma.array([[1.0], [-9999.0]], mask=[[False], [True]])), ValueError, "must be finite"),
    ],
)
def test_many_contexts_are_read_as_strictly_as_one(beliefs: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        one_or_many(ACTIONS, ["a", "b"], beliefs, [1.0, 2.0], None)


def test_stacks_learn_from_what_was_revealed() -> None:
    points = np.arange(10.0).reshape(5, 2)
    found = one_or_many(
        ACTIONS, ["a"] * 5, points, np.ones(5), [None, [9.0, 9.0], None, None, oc.PointMass([8.0, 8.0])]
    )
    stacks = list(found.stacks(2, revealed=True))
    assert [len(index) for _, index, _ in stacks] == [2, 2, 1]
    means = np.concatenate([stack.mean() for stack, _, _ in stacks])
    assert means.tolist() == [[0.0, 1.0], [9.0, 9.0], [4.0, 5.0], [6.0, 7.0], [8.0, 8.0]]
    hidden = list(found.stacks(10, revealed=False))
    assert isinstance(hidden[0][0], PointStack)
    np.testing.assert_array_equal(hidden[0][0].mean(), points)


@pytest.mark.parametrize(("value", "expected"), [(True, 1.0), (np.False_, 0.0), (3, 3.0), (np.float32(0.5), 0.5)])
def test_rewards_are_floats(value: Any, expected: float) -> None:
    assert checked_reward(value) == expected
    assert type(checked_reward(value)) is float


@pytest.mark.parametrize(
    ("value", "kind"), [(np.nan, ValueError), (1e151, ValueError), ("1", TypeError), (10**400, TypeError)]
)
def test_other_rewards_are_refused(value: Any, kind: type[Exception]) -> None:
    with refused(kind, "Bandit", "reward"):
        checked_reward(value)
    with refused(kind, "Bandit", "reward"):
        one_or_many(ACTIONS, ["a", "b"], [[1.0], [2.0]], [1.0, value], None)


def test_every_row_of_a_table_of_summaries_is_a_forecast() -> None:
    frame = pd.DataFrame({"q0.1": [1.0, 2.0], "q0.5": [2.0, 3.0], "q0.9": [4.0, 5.0]})
    times = xr.Dataset({"warm": ("time", [1.0, 2.0]), "wet": ("time", [3.0, 4.0])})
    for beliefs, kind, dim in (
        (frame, oc.Quantiles, 1),
        (oc.as_beliefs(frame), oc.Quantiles, 1),
        (scipy.stats.norm([1.0, 2.0], 1.0), oc.Gaussian, 1),
        (times, oc.PointMass, 2),
        (pd.DataFrame([[1.0, 2.0], [3.0, 4.0]]), oc.PointMass, 2),
        (iter([[1.0], [2.0]]), oc.PointMass, 1),
    ):
        found = one_or_many(ACTIONS, ["a", "b"], beliefs, [1.0, 2.0], None)
        assert [type(each.belief) for each in found.each()] == [kind] * 2
        assert found.dim == dim
    seen = one_or_many(ACTIONS, ["a", "b"], [[1.0], [2.0]], [1.0, 2.0], frame).contexts
    assert seen is not None
    assert [type(context) for context in seen] == [oc.Quantiles] * 2
    assert one_or_many(ACTIONS, ["a", "b"], times, [1.0, 2.0], times, ("wet", "warm")).names == ("wet", "warm")
    with refused(ValueError, "Bandit", "belief must be one for each of the 3 rewards, got 2"):
        one_or_many(ACTIONS, ["a", "b", "a"], frame, [1.0, 2.0, 3.0], None)
    with refused(ValueError, "Bandit", "belief must be one for each of the 2 rewards, got float 1.0"):
        one_or_many(ACTIONS, ["a", "b"], 1.0, [1.0, 2.0], None)


@pytest.mark.parametrize(
    ("belief", "dim", "names", "words"),
    [
        (oc.Quantiles([0.1, 0.9], [1.0, 2.0]), 2, ("warm", "wet"), "for each quantity: {'warm': ..., 'wet': ...}"),
        (oc.Quantiles([0.1, 0.9], [1.0, 2.0]), 2, None, "for each quantity: oc.Independent([first, ...])"),
        (oc.Ensemble(np.zeros((2, 50))), 2, None, "if it has one member per column, write x.T"),
        (oc.PointMass(np.zeros(50)), 1, None, "if these are samples of the context, write oc.Ensemble(x[:, None])"),
        (oc.PointMass(np.zeros(50)), 2, None, "if these are samples of the context, write an (n, 2) array"),
    ],
)
def test_a_belief_of_another_dimension_is_refused_with_what_to_write(
    belief: Any, dim: int, names: Any, words: str
) -> None:
    assert str(misfit("belief", belief, dim, names)) == (
        f"Bandit: belief must have dimension {dim}, got {belief.dim}; "
        + ("give one forecast " if words.startswith("for") else "")
        + words
    )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((["a", "b"], [[1.0, 2.0], [3.0, 4.0]], [1.0, [2.0]]), "reward at index 1 must be a number, got list [2.0]"),
        ((["a", "b"], [[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [2.0]]), "reward at index 0 must be a number"),
        ((["a", "b"], [[1.0, 2.0], [3.0, 4.0]], [1.0, 1e200]), "reward at index 1 must be of size"),
        ((["a", "b"], [[1.0, 2.0], [3.0, [4.0]]], [1.0, 2.0]), "belief at index 1 must be a rectangular array"),
        ((["a", "b"], [[1.0, None], [3.0, 4.0]], [1.0, 2.0]), "belief at index 0 must be real numbers"),
        (("a", [1.0, [2.0]], 1.0), "belief must be a rectangular array"),
        ((["a"] * 2, np.eye(2), [1.0, 2.0], [[1.0, 2.0], [1.0, [2.0]]]), "context at index 1 must be a rectangular"),
        ((["a"] * 2, np.eye(2), [1.0, 2.0], [[1.0, 2.0], [1.0]]), "context at index 1 must have shape (2,), got (1,)"),
        ((["a"] * 2, [[1.0, 2.0], {"x": [1.0, [2.0]]}], [1.0, 2.0]), "belief at index 1 must map names to numbers"),
        ((["a"] * 2, [[1.0, 2.0], [[np.nan, 2.0]]], [1.0, 2.0]), "belief at index 1 must be a belief, got one with an"),
    ],
)
def test_entries_with_faults_are_named(given: Any, words: str) -> None:
    bandit = oc.Bandit(["a", "b"], oc.LinearModel(oc.features.Disjoint(2)), oc.UCB())
    with unchanged(bandit), pytest.raises((TypeError, ValueError), match=rf"^Bandit: {re.escape(words)}[^\n]*$"):
        bandit.observe(*given)
    if "reward" in words:
        with pytest.raises((TypeError, ValueError), match=re.escape(words)):
            oc.events.observed(*given)
