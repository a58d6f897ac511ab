"""Explain a decision by what a bandit knows."""

from __future__ import annotations

from overcast import _check
from overcast._check import Array
from overcast._random import Stream, drawn_by
from overcast.bandit.decide import ask
from overcast.bandit.forecast import check_dim, correct, in_order
from overcast.bandit.state import State
from overcast.beliefs import Belief
from overcast.decisions.climatology import Snapshot
from overcast.decisions.record import Decision
from overcast.explain import Ask, Explanation, explain
from overcast.round import Answer, answer
from overcast.spaces.actions import listed


def explain_decision(state: State, decision: Decision, as_made: Snapshot | None) -> Explanation:
    """Explain a decision.

    as_made : the forecasts up to the decision, if the bandit is as it was when it decided; None for another state
    """
    actions = listed("explain", state.actions)
    given = in_order(state, decision.belief)
    check_dim(state, given)
    item = decision.index if actions.names is None else decision.action
    index = actions.find("decision", item)
    if index != decision.index:
        raise ValueError(f"Bandit: decision must have index {index} for {_check.short(item)}, got others")
    names = state.context or given.names or tuple(f"c{i + 1}" for i in range(given.dim))
    past = (state.climatology.snapshot() if as_made is None else as_made).statistics()
    return explain(decision, given, actions, state.policy, _ask(state, decision), names, past, as_made is not None)


def _ask(state: State, decision: Decision) -> Ask:
    """Return the questions of an explanation, answered with the random numbers of the decision."""
    model, policy, t = state.model, state.policy, decision.round
    check_dim(state, decision.belief)
    learner, points = state.start(decision.belief.dim)
    mask, stream = state.actions.mask(decision.available), Stream.of_seed(decision.seed)
    waiting, share = state.pending.awaited(before=t)
    asked = learner.awaiting(waiting, share) if waiting and not policy.random else learner

    def means(belief: Belief) -> Array:
        rng = None if decision.samples is None else drawn_by(decision.seed)
        with state.threads():
            return asked.estimate(points, model.view(learner, belief, decision.samples, rng)).mean

    def chosen(belief: Belief) -> Answer:
        with state.threads():
            return answer(ask(state, points, belief, mask, t, before=t), model, learner, policy, stream)

    return Ask(lambda given: correct(state, given)[0], means, chosen)
