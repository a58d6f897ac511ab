"""All rounds of a kernel model, learnt again under other parameters."""

from __future__ import annotations

import copy

from overcast._memory import Memory, started
from overcast.models.base import Model
from overcast.models.kernel.learner import KeepsRounds


def relearnt(memory: Memory, model: Model) -> Memory:
    """Return what a bandit remembers once it has learnt all its rounds again under a model; if it fails, raise."""
    old = memory.learner
    if not isinstance(old, KeepsRounds):
        raise TypeError(f"Bandit: relearn needs a KernelModel that has seen rounds, got {memory.model}")
    assert memory.dim is not None
    assert memory.reference is not None
    learner = started(model, memory.reference, memory.actions.vectors, memory.dim)
    if not isinstance(learner, KeepsRounds):
        raise TypeError(f"Bandit: relearn takes a KernelModel, got {model}")
    for evidence, reward in old.rounds():
        learner.learn(learner.adopt(evidence), reward)
    tickets, waiting = copy.copy(memory.tickets), memory.tickets.open.items()
    tickets.open = {ticket: one._replace(evidence=learner.adopt(one.evidence)) for ticket, one in waiting}
    return memory._replace(model=model, learner=learner, tickets=tickets)
