"""Explanations of decisions by what a bandit remembers."""

from __future__ import annotations

from overcast import _check
from overcast._check import Array
from overcast._memory import Memory
from overcast._random import Stream, drawn_by
from overcast.beliefs import Belief
from overcast.decision import Decision
from overcast.explanation import Ask, Explanation, explained
from overcast.reading import check_dim, corrected, in_order, learner_for, threads_for
from overcast.round import Choice, choose
from overcast.usual import Mark


def explanation_of(memory: Memory, decision: Decision, as_made: Mark | None) -> Explanation:
    """Explain a decision.

    as_made : the forecasts up to the decision, if the bandit is as it was when it decided; None for another state
    """
    actions = memory.actions
    given = in_order(memory, decision.belief)
    check_dim(memory, given)
    item = decision.index if actions.names is None else decision.action
    index = actions.find("decision", item)
    if index != decision.index:
        raise ValueError(f"Bandit: decision must have index {index} for {_check.short(item)}, got others")
    names = memory.context or given.names or tuple(f"c{i + 1}" for i in range(given.dim))
    usual = (memory.tally.mark() if as_made is None else as_made).usual()
    ask, same = _asked(memory, decision), as_made is not None
    return explained(decision, given, actions, memory.policy, ask, names, usual, same)


def _asked(memory: Memory, decision: Decision) -> Ask:
    """Return what an explanation of a decision asks: as when it was made, for a bandit that is as it was then."""
    model, policy, samples, t = memory.model, memory.policy, memory.samples, decision.round
    learner = learner_for(memory, decision.belief)
    mask, (waiting, share) = memory.actions.mask(decision.available), memory.tickets.awaited(before=t)
    asked = learner.awaiting(waiting, share) if waiting and not policy.random else learner
    stream = Stream.of_seed(decision.seed)

    def means(belief: Belief) -> Array:
        rng = None if decision.samples is None else drawn_by(decision.seed)
        with threads_for(learner):
            return asked.estimate(model.view(learner, belief, decision.samples, rng)).mean

    def chosen(belief: Belief) -> Choice:
        with threads_for(learner):
            return choose(model, learner, policy, belief, t, samples, stream, mask, waiting, share)

    return Ask(lambda given: corrected(memory, given).belief, means, chosen)
