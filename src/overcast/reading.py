"""A forecast as a bandit reads it: its dimensions in order, corrected by what came, and the learner for it."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

from overcast._check import Array
from overcast._memory import Memory
from overcast._threads import one_thread
from overcast.adapters import known_to
from overcast.adapters.convert import read
from overcast.beliefs import Belief
from overcast.beliefs.names import arranged
from overcast.decision import Move
from overcast.models.base import LastingLearner
from overcast.observations import Observations, misfit

_NO_HOLD: AbstractContextManager[None] = nullcontext()


class Reading(NamedTuple):
    """A forecast as it is decided by.

    belief : as corrected
    stated : mean and spread (2, c) that the original states for itself; None unless the bandit recalibrates
    move : what the correction did; None if it did nothing
    """

    belief: Belief
    stated: Array | None
    move: Move | None


def in_order(memory: Memory, obj: Any) -> Belief:
    """Return what `as_belief` takes as a belief, its dimensions in the order of their names if the bandit has some."""
    belief = obj if isinstance(obj, Belief) else read(obj, known_to(memory.context, memory.dim))
    return belief if memory.context is None else arranged("Bandit", "belief", belief, memory.context)


def corrected(memory: Memory, belief: Belief) -> Reading:
    """Return the belief to decide by."""
    if memory.recalibrated is None:
        return Reading(belief, None, None)
    check_dim(memory, belief)
    stated = belief.stated_error()
    move = memory.recalibrated.move(belief, stated)
    return Reading(belief, stated, None) if move is None else Reading(belief.moved(*move), stated, Move(*move))


def learner_for(memory: Memory, belief: Belief | Observations) -> LastingLearner:
    """Return the learner for contexts of a belief's dimension, a fresh one before the first decision."""
    check_dim(memory, belief)
    return memory.model.start(memory.actions.vectors, belief.dim) if memory.learner is None else memory.learner


def begun(memory: Memory, learner: LastingLearner, belief: Belief | Observations) -> Memory:
    """Return the memory of a bandit that goes on with a learner, after a decision under a belief."""
    if memory.learner is None:
        memory = memory._replace(learner=learner, reference=memory.actions.vectors, dim=belief.dim)
    return memory._replace(context=belief.names) if memory.context is None and belief.names else memory


def check_dim(memory: Memory, belief: Belief | Observations) -> None:
    """Raise ValueError unless the dimension is that of the contexts so far, or of their names."""
    dim = belief.dim
    wanted = memory.dim or (dim if memory.context is None else len(memory.context))
    if dim != wanted:
        raise misfit("belief", belief, wanted, memory.context)


def threads_for(learner: LastingLearner) -> AbstractContextManager[None]:
    """Return the context manager that holds BLAS at one thread; a light learner needs none."""
    return one_thread() if learner.heavy else _NO_HOLD
