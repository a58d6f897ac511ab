"""Compute an explanation from what a bandit answers about a decision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from overcast._check import Array
from overcast.beliefs import Belief, NoClosedForm, PointMass
from overcast.decisions.climatology import Usual
from overcast.decisions.record import Decision, Option
from overcast.explain.result import REACH, Change, Explanation, units
from overcast.explain.shapley import Group, shapley
from overcast.policies.base import Policy
from overcast.round import Answer
from overcast.spaces.actions import Actions

# Steps of the search, closer together at its start, and the precision of the move that it finds.
STEPS, PRECISION = 20, 1e-6
# A move that is shortened to this share must not change the choice any more.
SHORT = 0.99


class Ask(NamedTuple):
    """The questions that an explanation asks the bandit, in the state that it explains.

    corrected : the belief to decide by, given the forecast as it came
    means : (k,) estimates under a belief to decide by
    answer : the choice under a belief to decide by, with the random numbers of the decision
    """

    corrected: Callable[[Belief], Belief]
    means: Callable[[Belief], Array]
    answer: Callable[[Belief], Answer]


def explain(
    decision: Decision,
    given: Belief,
    actions: Actions,
    policy: Policy,
    ask: Ask,
    names: tuple[str, ...],
    usual: Usual | None,
    as_made: bool,
) -> Explanation:
    """Explain a decision by what a bandit says about it.

    given : the forecast of the decision, its dimensions in the order of the bandit
    usual : of the forecasts up to the decision
    as_made : whether the bandit is as it was when it decided
    """
    index = decision.index
    belief = ask.corrected(given)
    choice = ask.answer(belief)
    estimate, scores, taken = choice.estimate, choice.scores, int(choice.action)
    try:
        own, deviation = np.asarray(belief.mean()), np.sqrt(np.clip(belief.variance(), 0.0, None))
    except NoClosedForm:
        raise ValueError(
            f"Decision: explain needs a belief whose mean and variance exist, got {belief!r:.80}"
        ) from None
    reference = own if usual is None else usual.mean

    def named(i: int) -> Any:
        return i if actions.names is None else actions.names[i]

    def value(group: Group) -> float:
        return float(ask.means(belief.moved(np.where(group, 0.0, reference), group.astype(np.float64)))[index])

    contributions, exact = shapley(value, belief.dim)
    ranked = np.argsort(-scores, kind="stable")
    ranked = np.concatenate([[taken], ranked[ranked != taken]])
    ranked = ranked[(scores[ranked] > -np.inf) | (ranked == index)]
    options = tuple(
        Option(
            actions[i], i, *(float(numbers[i]) for numbers in (estimate.mean, estimate.width, scores, choice.values))
        )
        for i in ranked.tolist()
    )
    added = policy.additive and not policy.random
    bonus = tuple(option.score - option.value for option in options) if added else None
    reach = REACH * units(np.sqrt(np.clip(given.variance(), 0.0, None)), usual)

    def then(i: int, move: float) -> int:
        shift = np.zeros(belief.dim)
        shift[i] = move
        return int(ask.answer(ask.corrected(given.moved(shift))).action)

    changes: list[Change | None] = []
    for i, name in enumerate(names):
        move = _least_move(lambda by, i=i: then(i, by) != taken, float(reach[i]))  # type: ignore[misc]
        if move is None:
            changes.append(None)
            continue
        size = abs(move) / float(deviation[i]) if deviation[i] > 0.0 else None
        changes.append(Change(name, move, size, named(then(i, move))))
    return Explanation(
        action=named(index),
        index=index,
        policy=repr(policy),
        drawn=policy.drawn,
        probability=decision.probability,
        options=options,
        bonus=bonus,
        names=names,
        forecast=np.stack([own, deviation]),
        usual=usual,
        baseline=value(np.zeros(belief.dim, dtype=bool)),
        contributions=contributions,
        exact=exact,
        at_mean=named(int(ask.answer(PointMass(own)).action)),
        changes=tuple(changes),
        present=None if as_made else named(taken),
    )


def _least_move(changes: Callable[[float], bool], reach: float) -> float | None:
    """Return the least move, up or down and up to `reach`, of which `changes` is true and of 0.99 of which it is not.

    It goes outwards in steps, and halves the first one that has a change. Changes that are undone within one step
    may be missed.
    """
    if not reach > 0.0:
        return None
    steps = reach * (np.arange(STEPS + 1) / STEPS) ** 2
    for low, high in zip(steps[:-1].tolist(), steps[1:].tolist(), strict=True):
        found = [_halved(changes, way, low, high) for way in (1.0, -1.0) if changes(way * high)]
        if found:
            return min(found, key=abs)
    return None


def _halved(changes: Callable[[float], bool], way: float, low: float, high: float) -> float:
    """Return the least move in one direction; there is a change at `high` and none at `low`."""
    while True:
        while high - low > PRECISION * high:
            middle = (low + high) / 2.0
            low, high = (low, middle) if changes(way * middle) else (middle, high)
        if not changes(way * SHORT * high):
            return way * high
        low, high = 0.0, SHORT * high
