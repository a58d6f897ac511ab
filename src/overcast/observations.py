"""Rounds that somebody else decided: what `Bandit.observe` takes, one or many at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from overcast import _check
from overcast._check import Array
from overcast._linalg import Indices
from overcast.actions import Actions
from overcast.beliefs import Belief, as_belief
from overcast.beliefs.base import Beliefs
from overcast.beliefs.stacked import Catalogue, PointStack, certain

# Rewards beyond this would overflow when they are added up.
MAX_REWARD = 1e150


class Observation(NamedTuple):
    """One round: the action's index, the belief, the reward, and the context or a belief about it if it was seen."""

    action: int
    belief: Belief
    reward: float
    context: Array | Belief | None


@dataclass(frozen=True, eq=False)
class Observations:
    """n rounds in order.

    actions : (n,) indices
    beliefs : (n, c) array of contexts that were known, or a list of beliefs
    rewards : (n,)
    contexts : (n, c) array if all were revealed, a list if some were, or None if all stayed hidden
    """

    actions: Indices
    beliefs: Array | list[Belief]
    rewards: Array
    contexts: Array | list[Any] | None

    def __len__(self) -> int:
        return len(self.rewards)

    @property
    def dim(self) -> int:
        """The dimension of the contexts."""
        return int(self.beliefs.shape[1]) if isinstance(self.beliefs, np.ndarray) else self.beliefs[0].dim

    def means(self) -> Array | list[Array]:
        """Return the means (c,) of the beliefs that have one in closed form."""
        if isinstance(self.beliefs, np.ndarray):
            return self.beliefs
        return [belief.mean() for belief in self.beliefs if belief.exact]

    def each(self) -> Iterator[Observation]:
        """Yield the rounds one by one."""
        contexts = [None] * len(self) if self.contexts is None else self.contexts
        for action, own, reward, context in zip(self.actions, self.beliefs, self.rewards, contexts, strict=True):
            yield Observation(int(action), as_belief(own), float(reward), context)

    def stacks(self, size: int, revealed: bool) -> Iterator[tuple[Beliefs, Indices, Array]]:
        """Yield at most `size` rounds at a time: beliefs to learn from, indices and rewards.

        revealed : whether to learn from the contexts that were revealed
        """
        known: list[Belief] | Array = self.beliefs
        if revealed and isinstance(self.contexts, np.ndarray):
            known = self.contexts
        elif revealed and self.contexts is not None:
            known = [as_belief(own if seen is None else seen) for own, seen in zip(known, self.contexts, strict=True)]
        for first in range(0, len(self), size):
            part = slice(first, first + size)
            own = known[part]
            stack = PointStack(own) if isinstance(own, np.ndarray) else Catalogue(own).pick(np.arange(len(own)))
            yield stack, self.actions[part], self.rewards[part]


def one_or_many(actions: Actions, action: Any, belief: Any, reward: Any, context: Any) -> Observations:
    """Return the rounds that the arguments of `Bandit.observe` describe; a list of rewards means many rounds."""
    if np.ndim(reward) == 0:
        index = np.array([actions.find("action", action)])
        known = as_belief(belief)
        seen = None if context is None else [_context(context, known.dim)]
        return Observations(index, [known], np.array([checked_reward(reward)]), seen)
    rewards = np.array([checked_reward(value) for value in reward], dtype=np.float64)
    n = len(rewards)
    if not n:
        raise ValueError("Bandit: reward must hold at least one reward, got none")
    _of_length("action", action, n)
    _of_length("belief", belief, n)
    index = actions.find_all("action", action)
    beliefs = _beliefs(belief, n)
    out = Observations(index, beliefs, rewards, None)
    return out if context is None else replace(out, contexts=_contexts(context, n, out.dim))


def checked_reward(value: Any) -> float:
    """Return a reward as a float that is finite and not too large; True and False count as 1 and 0."""
    if type(value) is not float or not abs(value) <= MAX_REWARD:  # most rewards are plain numbers and skip the checks
        value = _check.number("Bandit", "reward", int(value) if isinstance(value, (bool, np.bool_)) else value)
        if abs(value) > MAX_REWARD:
            raise ValueError(f"Bandit: reward must be of size {MAX_REWARD:g} at most, got {value}; scale the rewards")
    return float(value)


def _of_length(name: str, value: Any, n: int) -> None:
    sized = hasattr(value, "__len__") and not isinstance(value, (str, bytes, dict, Belief))
    if not sized or len(value) != n:
        got = f"{len(value)}" if sized else _check.short(value)
        raise ValueError(f"Bandit: {name} must be one for each of the {n} rewards, got {got}")


def _beliefs(belief: Any, n: int) -> Array | list[Belief]:
    """Return contexts (n, c) if all are vectors, else a list of beliefs of one dimension."""
    items = _rows(belief)
    if not any(isinstance(item, (Belief, dict)) for item in items):
        try:
            points = np.array(items, dtype=np.float64)
        except (TypeError, ValueError):
            points = np.empty(0)
        if points.ndim == 2:
            return _check.array("Bandit", "belief", points, (n, "c"))
    out = [as_belief(item) for item in items]
    for at, own in enumerate(out):
        if own.dim != out[0].dim:
            raise ValueError(f"Bandit: belief must have dimension {out[0].dim}, got {own.dim} at index {at}")
    return out


def _contexts(context: Any, n: int, dim: int) -> Array | list[Any]:
    _of_length("context", context, n)
    items = _rows(context)
    if any(item is None or isinstance(item, Belief) for item in items):
        return [None if item is None else _context(item, dim) for item in items]
    return np.stack([_check.vector("Bandit", "context", item, dim) for item in items])


def _context(context: Any, dim: int) -> Array | Belief:
    if isinstance(context, Belief):
        if context.dim != dim:
            raise ValueError(f"Bandit: belief must have dimension {dim}, got {context.dim}")
        return context
    return _check.vector("Bandit", "context", context, dim)


def _rows(value: Any) -> Sequence[Any]:
    """Return the rows of a table or array, or the items of a list."""
    if hasattr(value, "to_numpy"):
        return list(value.to_numpy())
    return list(value)


def revealed_belief(context: Array | Belief) -> Beliefs:
    """Return a context that was revealed, and checked, as a belief."""
    return context if isinstance(context, Belief) else certain(context)
