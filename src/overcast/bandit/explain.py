"""Explain a decision by what a bandit knows."""

from __future__ import annotations

from overcast import _check
from overcast._check import Array
from overcast._random import Stream, drawn_by
from overcast.bandit.forecast import check_dim, correct, in_order
from overcast.bandit.state import State
from overcast.beliefs import Belief
from overcast.decisions.climatology import Mark
from overcast.decisions.record import Decision
from overcast.explain import Ask, Explanation, explain
from overcast.round import Choice, choose


def explain_decision(state: State, decision: Decision, as_made: Mark | None) -> Explanation:
    """Explain a decision.

    as_made : the forecasts up to the decision, if the bandit is as it was when it decided; None for another state
    """
    actions = state.actions
    given = in_order(state, decision.belief)
    check_dim(state, given)
    item = decision.index if actions.names is None else decision.action
    index = actions.find("decision", item)
    if index != decision.index:
        raise ValueError(f"Bandit: decision must have index {index} for {_check.short(item)}, got others")
    names = state.context or given.names or tuple(f"c{i + 1}" for i in range(given.dim))
    usual = (state.climatology.mark() if as_made is None else as_made).usual()
    return explain(decision, given, actions, state.policy, _ask(state, decision), names, usual, as_made is not None)


def _ask(state: State, decision: Decision) -> Ask:
    """Return the questions of an explanation, answered with the random numbers of the decision."""
    model, policy, samples, t = state.model, state.policy, state.samples, decision.round
    check_dim(state, decision.belief)
    learner, points = state.start(decision.belief.dim)
    mask, (waiting, share) = state.actions.mask(decision.available), state.pending.awaited(before=t)
    asked = learner.awaiting(waiting, share) if waiting and not policy.random else learner
    stream = Stream.of_seed(decision.seed)

    def means(belief: Belief) -> Array:
        rng = None if decision.samples is None else drawn_by(decision.seed)
        with state.threads():
            return asked.estimate(points, model.view(learner, belief, decision.samples, rng)).mean

    def chosen(belief: Belief) -> Choice:
        with state.threads():
            return choose(model, learner, policy, points, belief, t, samples, stream, mask, waiting, share)

    return Ask(lambda given: correct(state, given)[0], means, chosen)
