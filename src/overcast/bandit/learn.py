"""Learn: take in rewards of decisions, rounds that somebody else decided, other bandits, and another kernel."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from overcast import _check
from overcast._check import Array
from overcast._random import OBSERVATION
from overcast.bandit.arguments import Observations, one_context, revealed_belief
from overcast.bandit.state import State, started
from overcast.beliefs import Belief
from overcast.calibration import Recalibrated
from overcast.decisions.climatology import known_mean
from overcast.models.base import LastingLearner, Model
from overcast.models.kernel.learner import KeepsRounds
from overcast.round import draws, revealed_evidence


def learn(state: State, ticket: str, reward: float, context: Any) -> None:
    """Take in the reward of an open decision, and its context if that was revealed."""
    waiting, learner, correction = state.pending.open[ticket], state.learner, state.recalibrated
    assert learner is not None
    evidence, names, lesson = waiting.evidence, state.context, None
    # Numbers that the caller's own settings call errors may not stop half-way.
    with state.threads(), np.errstate(all="ignore"):
        if context is not None:
            assert state.dim is not None
            context, names = one_context(context, state.dim, names)
            row = state.row(learner, state.points, waiting.action, waiting.vector)
            after, lesson = _revealed(state.model, learner, correction, row, waiting.stated, context)
            evidence = evidence if after is None else after
        learner.learn(evidence, reward)
    if correction is not None and lesson is not None:
        correction.take(lesson)
    state.rewards += 1
    state.revision += 1
    state.context = names
    state.pending.close(ticket)
    if state.journal is not None:
        state.journal.record_reward(ticket, reward, context)


def _revealed(
    model: Model,
    learner: LastingLearner,
    correction: Recalibrated | None,
    row: tuple[Any, int],
    stated: Array | None,
    context: Array | Belief,
) -> tuple[Any, Any]:
    """Return evidence for the learner and a lesson for the correction of forecasts, from a revealed context.

    Either is None where it tells nothing: to a model that does not learn from contexts, and without a correction.

    row : the points and the row of the action among them
    stated : mean and spread (2, c) that the forecast stated for itself
    """
    lesson = None if correction is None or stated is None else correction.lesson(stated, context)
    belief = revealed_belief(context)
    if model.uses_context:
        return revealed_evidence(model, learner, *row, belief), lesson
    model.view(learner, belief)  # raises what a context that does not fit raises
    return None, lesson


def observe(state: State, rounds: Observations) -> None:
    """Learn these rounds in order; if some cannot be learnt, raise and change nothing.

    A single round changes the learner itself, in its last step. More go to a copy, which takes its place.
    """
    (learner, points), model = state.start(rounds.dim), state.model
    recalibrated = copy.copy(state.recalibrated)
    if not model.takes_history:
        name = type(model).__name__
        raise TypeError(f"{name}: rounds that somebody else decided cannot be learnt, because their odds are not known")
    means: Sequence[Array] | Array
    here = points if rounds.vectors is None else learner.at(rounds.vectors)
    if len(rounds) > 1:
        learner = copy.deepcopy(learner)
    with state.threads():
        if learner.stack and len(rounds) > 1 and state.samples is None and recalibrated is None:
            means = rounds.means()
            for stack, index, rewards in rounds.stacks(learner.stack, model.uses_context):
                learner.learn_all(learner.evidence(here, model.view(learner, stack), index), rewards)
        else:
            means = _one_by_one(state, learner, here, recalibrated, rounds)
    if state.learner is None:
        state.begin(learner, points, rounds.dim)
    state.learner, state.recalibrated = learner, recalibrated
    if state.context is None and rounds.names:
        state.context = rounds.names
    state.climatology.add_all(means)
    state.rewards += len(rounds)
    state.observed += len(rounds)
    state.revision += 1


def _one_by_one(
    state: State, learner: LastingLearner, points: Any, correction: Recalibrated | None, rounds: Observations
) -> list[Array]:
    """Learn the rounds, and return the means of the forecasts that have one in closed form, as corrected."""
    model, samples, means = state.model, state.samples, []
    for i, (index, belief, reward, context) in enumerate(rounds.each(), start=state.observed + 1):
        stated = None if correction is None else belief.stated_error()
        evidence, lesson = None, None
        if correction is not None and stated is not None:
            belief = correction.correct(belief, stated)
        if (mean := known_mean(belief)) is not None:
            means.append(mean)
        if context is not None:
            evidence, lesson = _revealed(model, learner, correction, (points, index), stated, context)
        if evidence is None:
            rng = None if samples is None else state.stream.at(i, kind=OBSERVATION)
            view = model.view(learner, belief, draws(samples, state.pending.made + i), rng)
            evidence = learner.evidence(points, view, index)
        with np.errstate(all="ignore"):  # as in `learn`
            learner.learn(evidence, reward)
        if correction is not None and lesson is not None:
            correction.take(lesson)
    return means


def merge(mine: State, theirs: State) -> None:
    """Merge another state of the same model into one; if they do not fit, raise and change nothing.

    Actions are matched by name, or by index if they have none. Those that only the other has are added.
    """
    actions, of = mine.actions.joined(theirs.actions, mine.model.labels and theirs.model.labels)
    known = np.where(np.arange(len(actions)) < len(mine.actions), np.arange(len(actions)), -1)
    if mine.model.labels and theirs.actions.dim > actions.dim:
        raise ValueError(
            f"Bandit: merge needs actions with unit vectors of {actions.dim} entries at most, got "
            f"{theirs.actions.dim}: some of the other bandit have moved to new ones"
        )
    out, other = mine.copy(), theirs.copy()
    out.change_actions(actions, known)
    other.change_actions(actions, of)
    if other.model != out.model:
        raise ValueError(f"Bandit: merge needs the same model, got {theirs.model} for {mine.model}")
    given = [None if one.recalibrated is None else one.recalibrated.config() for one in (mine, theirs)]
    if given[0] != given[1]:
        raise ValueError(
            "Bandit: merge needs two bandits that recalibrate alike, or two that do not: beliefs would differ; "
            f"got {given[1]} for {given[0]}"
        )
    if other.learner is not None:
        _add(out, other)
    for name in State.__slots__:
        setattr(mine, name, getattr(out, name))


def _add(out: State, other: State) -> None:
    """Add what another state has learnt, which has the same actions in the same order."""
    assert other.learner is not None
    assert other.dim is not None
    assert other.reference is not None
    if out.dim is not None and other.dim != out.dim:
        raise ValueError(f"Bandit: merge needs contexts of dimension {out.dim}, got {other.dim}")
    if None not in (out.context, other.context) and out.context != other.context:
        got = f"{_check.short(other.context)} for {_check.short(out.context)}"
        raise ValueError(f"Bandit: merge needs contexts with the same names in the same order, got {got}")
    if out.learner is None:
        learner, out.reference = started(out.model, other.reference, out.actions, other.dim), other.reference
        out.use(learner, learner.at(out.actions.candidates))
    else:
        learner = out.learner
    learner.merge(other.learner)
    if out.recalibrated is not None and other.recalibrated is not None:
        out.recalibrated = out.recalibrated.joined(other.recalibrated)
    out.climatology = out.climatology.joined(other.climatology)
    out.context, out.dim = out.context or other.context, other.dim
    out.rewards += other.rewards


def relearn(state: State, model: Model) -> None:
    """Learn all rounds again under another kernel model; if it fails, raise and change nothing."""
    old = state.learner
    if not isinstance(old, KeepsRounds):
        raise TypeError(f"Bandit: relearn needs a KernelModel that has seen rounds, got {state.model}")
    assert state.dim is not None
    assert state.reference is not None
    learner = started(model, state.reference, state.actions, state.dim)
    if not isinstance(learner, KeepsRounds):
        raise TypeError(f"Bandit: relearn takes a KernelModel, got {model}")
    for evidence, reward in old.rounds():
        learner.learn(learner.adopt(evidence), reward)
    again = {ticket: one._replace(evidence=learner.adopt(one.evidence)) for ticket, one in state.pending.open.items()}
    state.use(learner, learner.at(state.actions.candidates))
    state.model, state.pending.open = model, again
    state.revision += 1
