"""Decisions that were made elsewhere, taken in as if the bandit had made them."""

from __future__ import annotations

from typing import Any

import numpy as np

from overcast import _check
from overcast._memory import Memory, padded
from overcast._random import drawn_by
from overcast.actions import Actions
from overcast.deciding import Made
from overcast.decision import Decision
from overcast.reading import check_dim, in_order, learner_for, threads_for
from overcast.tickets import Waiting


def adoptable(memory: Memory, decision: Any) -> Made:
    """Return a decision as if the bandit had made it, with evidence rebuilt from the record; nothing changes."""
    if not isinstance(decision, Decision):
        raise TypeError(f"Bandit: decision must be a Decision, got {_check.short(decision)}")
    if decision.id in memory.tickets.open:
        raise ValueError(f"Bandit: decision must not be open already, got {_check.short(decision.id)}")
    item = decision.index if memory.actions.names is None else decision.action
    index = memory.actions.find("decision", item)
    if memory.actions.names is None and not _has_vector(memory.actions, index, decision.action):
        got = f"{_check.short(decision.action)} for index {index}"
        raise ValueError(f"Bandit: decision must be about one of the bandit's own actions, got {got}")
    moved = decision.belief if decision.move is None else decision.belief.moved(*decision.move)
    given, belief = in_order(memory, decision.belief), in_order(memory, moved)
    check_dim(memory, given)
    stated = None if memory.recalibrated is None else given.stated_error()
    learner, samples = learner_for(memory, belief), decision.samples
    with threads_for(learner):
        rng = None if samples is None else drawn_by(decision.seed)
        view = memory.model.view(learner, belief, samples, rng)
        evidence = learner.as_decided(learner.evidence(view, index), decision.mean)
    return Made(decision, given, belief, learner, Waiting(index, memory.tickets.made + 1, evidence, stated))


def _has_vector(actions: Actions, index: int, action: Any) -> bool:
    """Return whether an action without a name has this vector; those from before may be shorter."""
    own = actions.vectors[index]
    short = np.ndim(action) == 1 and len(action) <= len(own)
    return short and np.array_equal(padded(np.asarray(action)[None], len(own))[0], own)
