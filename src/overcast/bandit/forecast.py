"""A forecast as a bandit decides by it: its dimensions in order, and corrected by what came."""

from __future__ import annotations

from typing import Any

from overcast._check import Array
from overcast.adapters import known_to
from overcast.adapters.convert import read
from overcast.bandit.arguments import Observations, misfit
from overcast.bandit.state import State
from overcast.beliefs import Belief
from overcast.beliefs.names import arranged
from overcast.decisions.record import Move


def in_order(state: State, obj: Any) -> Belief:
    """Read a belief as `as_belief` does, and put its dimensions in the order of the bandit's names, if it has any."""
    belief = obj if isinstance(obj, Belief) else read(obj, known_to(state.context, state.dim))
    return belief if state.context is None else arranged("Bandit", "belief", belief, state.context)


def correct(state: State, belief: Belief) -> tuple[Belief, Array | None, Move | None]:
    """Correct a belief by the contexts revealed so far.

    Returns the belief to decide by; mean and spread (2, c) that the original states for itself, or None unless the
    bandit recalibrates; and what the correction did, or None if it did nothing.
    """
    if state.recalibrated is None:
        return belief, None, None
    check_dim(state, belief)
    stated = belief.stated_error()
    move = state.recalibrated.move(belief, stated)
    return (belief, stated, None) if move is None else (belief.moved(*move), stated, Move(*move))


def check_dim(state: State, belief: Belief | Observations) -> None:
    """Raise ValueError unless the dimension is that of the contexts so far, or of their names."""
    dim = belief.dim
    wanted = state.dim or (dim if state.context is None else len(state.context))
    if dim != wanted:
        raise misfit("belief", belief, wanted, state.context)
