"""Learn rounds that somebody else decided."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np

from overcast._check import Array
from overcast._memory import Memory
from overcast._random import OBSERVATION
from overcast.calibration import Recalibrated
from overcast.models.base import LastingLearner
from overcast.observations import Observations, revealed_belief
from overcast.round import draws
from overcast.usual import known_mean


def observed(memory: Memory, rounds: Observations) -> Memory:
    """Return what a bandit remembers once it has learnt these rounds in order; if some cannot be learnt, raise.

    A single round changes the learner itself, in its last step. More go to a copy, which takes its place.
    """
    learner, recalibrated, model = memory.learner, copy.copy(memory.recalibrated), memory.model
    assert learner is not None
    if not model.takes_history:
        name = type(model).__name__
        raise TypeError(f"{name}: rounds that somebody else decided cannot be learnt, because their odds are not known")
    means: Sequence[Array] | Array
    if len(rounds) > 1:
        learner = copy.deepcopy(learner)
    if learner.stack and len(rounds) > 1 and memory.samples is None and recalibrated is None:
        means = rounds.means()
        for stack, index, rewards in rounds.stacks(learner.stack, model.uses_context):
            learner.learn_all(learner.evidence(model.view(learner, stack), index), rewards)
    else:
        means = _one_by_one(memory, learner, recalibrated, rounds)
    memory.tally.add_all(means)  # the last step: nothing fails after it
    n = len(rounds)
    return memory._replace(
        learner=learner, recalibrated=recalibrated, rewards=memory.rewards + n, observed=memory.observed + n
    )


def _one_by_one(
    memory: Memory, learner: LastingLearner, recalibrated: Recalibrated | None, rounds: Observations
) -> list[Array]:
    """Learn the rounds, and return the means of the forecasts that have one in closed form, as corrected."""
    model, samples, made, means = memory.model, memory.samples, memory.tickets.made, []
    for i, (index, belief, reward, context) in enumerate(rounds.each(), start=memory.observed + 1):
        stated, lesson = None if recalibrated is None else belief.stated_error(), None
        if recalibrated is not None and stated is not None:
            belief = recalibrated.correct(belief, stated)
            if context is not None:
                lesson = recalibrated.lesson(stated, context)
        if (mean := known_mean(belief)) is not None:
            means.append(mean)
        if context is not None and model.uses_context:
            view = model.view(learner, revealed_belief(context))
        else:
            rng = None if samples is None else memory.stream.at(i, kind=OBSERVATION)
            view = model.view(learner, belief, draws(samples, made + i), rng)
        evidence = learner.evidence(view, index)
        with np.errstate(all="ignore"):  # as in `Bandit.learn`
            learner.learn(evidence, reward)
        if recalibrated is not None and lesson is not None:
            recalibrated.take(lesson)
    return means
