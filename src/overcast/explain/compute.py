"""Compute the explanation of a decision by asking the bandit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from overcast._check import Array
from overcast.beliefs import Belief, NoClosedForm, PointMass
from overcast.decisions.climatology import ForecastStatistics
from overcast.decisions.record import Decision, Option
from overcast.explain.result import REACH, Change, Explanation, move_units
from overcast.explain.shapley import Group, shapley
from overcast.policies.base import Policy
from overcast.round import Answer
from overcast.spaces.actions import Actions

# Number of steps of the search, which are closer together at its start, and the relative precision of the move.
STEPS, PRECISION = 20, 1e-6
# The least move must not change the choice when it is shortened to this share.
SHORTENED = 0.99


class Ask(NamedTuple):
    """The functions of the bandit that an explanation calls.

    corrected : corrects a forecast as `decide` does
    means : estimates the means (k,) under a corrected belief
    answer : chooses under a corrected belief, with the random numbers of the decision
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
    past: ForecastStatistics | None,
    unchanged: bool,
) -> Explanation:
    """Explain a decision.

    given : the forecast of the decision, its dimensions in the order of the bandit
    past : statistics of the forecasts up to the decision
    unchanged : whether the bandit has not changed since the decision
    """
    index = decision.index
    belief = ask.corrected(given)
    choice = ask.answer(belief)
    estimate, scores, chosen = choice.estimate, choice.scores, int(choice.action)
    try:
        center, deviation = np.asarray(belief.mean()), np.sqrt(np.clip(belief.variance(), 0.0, None))
    except NoClosedForm:
        raise ValueError(
            f"Decision: explain needs a belief whose mean and variance exist, got {belief!r:.80}"
        ) from None
    reference = center if past is None else past.mean

    def name_of(i: int) -> Any:
        return i if actions.names is None else actions.names[i]

    def value(group: Group) -> float:
        return float(ask.means(belief.moved(np.where(group, 0.0, reference), group.astype(np.float64)))[index])

    contributions, exact = shapley(value, belief.dim)
    ranked = np.argsort(-scores, kind="stable")
    ranked = np.concatenate([[chosen], ranked[ranked != chosen]])
    ranked = ranked[(scores[ranked] > -np.inf) | (ranked == index)]
    options = tuple(
        Option(
            actions[i], i, *(float(numbers[i]) for numbers in (estimate.mean, estimate.width, scores, choice.values))
        )
        for i in ranked.tolist()
    )
    has_bonus = policy.additive and not policy.random
    bonus = tuple(option.score - option.value for option in options) if has_bonus else None
    reach = REACH * move_units(np.sqrt(np.clip(given.variance(), 0.0, None)), past)

    def chosen_after(i: int, move: float) -> int:
        shift = np.zeros(belief.dim)
        shift[i] = move
        return int(ask.answer(ask.corrected(given.moved(shift))).action)

    changes: list[Change | None] = []
    for i, name in enumerate(names):
        move = _find_least_move(lambda by, i=i: chosen_after(i, by) != chosen, float(reach[i]))  # type: ignore[misc]
        if move is None:
            changes.append(None)
            continue
        size = abs(move) / float(deviation[i]) if deviation[i] > 0.0 else None
        changes.append(Change(name, move, size, name_of(chosen_after(i, move))))
    return Explanation(
        action=name_of(index),
        index=index,
        policy=repr(policy),
        drawn=policy.drawn,
        probability=decision.probability,
        options=options,
        bonus=bonus,
        names=names,
        forecast=np.stack([center, deviation]),
        usual=past,
        baseline=value(np.zeros(belief.dim, dtype=bool)),
        contributions=contributions,
        exact=exact,
        at_mean=name_of(int(ask.answer(PointMass(center)).action)),
        changes=tuple(changes),
        present=None if unchanged else name_of(chosen),
    )


def _find_least_move(changes: Callable[[float], bool], reach: float) -> float | None:
    """Find the least move, up or down by at most `reach`, that changes the choice; None if there is none.

    The search goes outwards in steps and bisects the first one that changes the choice. It may miss changes that are
    undone within one step. 0.99 of the move does not change the choice.
    """
    if not reach > 0.0:
        return None
    steps = reach * (np.arange(STEPS + 1) / STEPS) ** 2
    for low, high in zip(steps[:-1].tolist(), steps[1:].tolist(), strict=True):
        moves = [_bisect(changes, sign, low, high) for sign in (1.0, -1.0) if changes(sign * high)]
        if moves:
            return min(moves, key=abs)
    return None


def _bisect(changes: Callable[[float], bool], sign: float, low: float, high: float) -> float:
    """Find the least move in one direction, given a change at `high` and none at `low`."""
    while True:
        while high - low > PRECISION * high:
            middle = (low + high) / 2.0
            low, high = (low, middle) if changes(sign * middle) else (middle, high)
        if not changes(sign * SHORTENED * high):
            return sign * high
        low, high = 0.0, SHORTENED * high
