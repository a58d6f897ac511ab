"""Rounds that somebody else decided: what `Bandit.observe` takes, one or many at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from overcast import _check
from overcast._check import Array
from overcast._linalg import Indices
from overcast.adapters import as_belief, known_to, tuples
from overcast.adapters.convert import read, read_all
from overcast.adapters.forecasts import Options, is_from
from overcast.beliefs import Belief, Ensemble, PointMass
from overcast.beliefs.base import Beliefs
from overcast.beliefs.names import arranged
from overcast.beliefs.stacked import Catalogue, PointStack, certain
from overcast.decisions.climatology import known_mean
from overcast.spaces import Space

Names = tuple[str, ...] | None

# Rewards beyond this would overflow when they are added up.
MAX_REWARD = 1e150

_NOBODY = known_to(None)


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
    names : of the dimensions, in the order of beliefs and contexts; None if they have none
    vectors : (m, a) of which `actions` are rows, in a space without indices; None for those of the bandit
    """

    actions: Indices
    beliefs: Array | list[Belief]
    rewards: Array
    contexts: Array | list[Any] | None
    names: tuple[str, ...] | None = None
    vectors: Array | None = None

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
        return [mean for mean in map(known_mean, self.beliefs) if mean is not None]

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


@dataclass(frozen=True, eq=False)
class Table:
    """Contexts that were known, (n, c), with the names of the columns (c,)."""

    names: tuple[str, ...]
    rows: Array

    def __len__(self) -> int:
        return len(self.rows)

    def order(self, parameter: str, names: Names) -> list[int]:
        """Return the columns with these names; all of them for None."""
        missing = [name for name in names or () if name not in self.names]
        if missing:
            got = f"{_check.short(list(self.names))} without {missing[0]!r}"
            raise ValueError(f"Bandit: {parameter} must have the dimensions {', '.join(names or ())}, got {got}")
        return [self.names.index(name) for name in names or self.names]


def one_or_many(
    actions: Space,
    action: Any,
    belief: Any,
    reward: Any,
    context: Any,
    names: tuple[str, ...] | None = None,
    dim: int | None = None,
) -> Observations:
    """Return the rounds that the arguments of `Bandit.observe` describe; a list of rewards means many rounds.

    names : of the context's dimensions if they are known; what has names is put in their order
    dim : the number of these dimensions, if it is known
    """
    ask = known_to(names, dim)
    if not several(reward):
        index, vectors = actions.locate([action])
        try:
            known = read(belief, ask)
        except (TypeError, ValueError) as error:
            raise _about(error, "belief") from None
        known = arranged("Bandit", "belief", known, names)
        names = names or known.names
        seen: list[Any] | None = None
        if context is not None:
            revealed, names = one_context(context, known.dim, names)
            seen = [revealed]
        return Observations(index, [known], np.array([checked_reward(reward)]), seen, names, vectors)
    rewards = np.array(checked_rewards(reward), dtype=np.float64)
    belief, context, n = separate(belief, ask), separate(context, ask), len(rewards)
    if not n:
        raise ValueError("Bandit: reward must hold at least one reward, got none")
    _of_length("action", action, n)
    _of_length("belief", belief, n)
    index, vectors = actions.locate(action)
    beliefs, names = _beliefs(belief, n, names, ask)
    out = Observations(index, beliefs, rewards, None, names, vectors)
    if context is None:
        return out
    contexts, names = _contexts(context, n, out.dim, names)
    return replace(out, contexts=contexts, names=names)


def separate(value: Any, ask: Options = _NOBODY) -> Any:
    """Read an argument about n rounds as an array, a `Table` or a sequence.

    Tables of summaries, datasets and batches become one forecast for each round. Other pandas DataFrames are tables of
    contexts that were known.

    ask : what the bandit knows about its context's dimensions
    """
    if is_from(value, "pandas", "DataFrame"):
        from overcast.adapters import tables

        if tables.read_summary(value, ask) is not None:
            return read_all(value, ask)
        rows, columns = _check.table("Bandit", "columns", value), list(value.columns)
        named = columns and all(isinstance(name, str) for name in columns)
        return Table(_check.distinct_names("Bandit", "columns", columns), rows) if named else rows
    if isinstance(value, (Belief, Table, str, bytes, int, float, np.generic, type(None))):
        return value
    several = isinstance(value, Mapping) or is_from(value, "xarray") or not hasattr(value, "__len__")
    return read_all(value, ask) if several else value


def several(reward: Any) -> bool:
    """Return whether rewards of several rounds are given, rather than one number; also if their lengths differ."""
    try:
        return np.ndim(reward) > 0
    except ValueError:
        return True


def checked_reward(value: Any) -> float:
    """Return a reward as a float that is finite and not too large; True and False count as 1 and 0."""
    if type(value) is not float or not abs(value) <= MAX_REWARD:  # most rewards are plain numbers and skip the checks
        value = _check.number("Bandit", "reward", int(value) if isinstance(value, (bool, np.bool_)) else value)
        if abs(value) > MAX_REWARD:
            raise ValueError(f"Bandit: reward must be of size {MAX_REWARD:g} at most, got {value}; scale the rewards")
    return float(value)


def checked_rewards(values: Any) -> list[float]:
    """Return rewards as `checked_reward` does; an error names the entry."""
    out: list[float] = []
    try:
        for value in values:
            out.append(checked_reward(value))  # noqa: PERF401 - the length tells the entry
    except (TypeError, ValueError) as error:
        raise _about(error, "reward", len(out)) from None
    return out


def _about(error: Exception, parameter: str, at: int | None = None) -> Exception:
    """Return an error about something that was read, as one about an argument of `observe`, and an entry of it."""
    text, name = str(error), parameter if at is None else f"{parameter} at index {at}"
    for prefix in (f"Bandit: {parameter}", "as_belief: obj"):
        if text.startswith(prefix):
            return type(error)(f"Bandit: {name}{text.removeprefix(prefix)}")
    return type(error)(f"Bandit: {name} must be a belief, got one with an error: {text}")


def _of_length(name: str, value: Any, n: int) -> None:
    sized = hasattr(value, "__len__") and not isinstance(value, (str, bytes, dict, Belief))
    if not sized or len(value) != n:
        got = f"{len(value)}" if sized else _check.short(value)
        raise ValueError(f"Bandit: {name} must be one for each of the {n} rewards, got {got}")


def _beliefs(belief: Any, n: int, names: tuple[str, ...] | None, ask: Options) -> tuple[Array | list[Belief], Names]:
    """Return contexts (n, c) if all are vectors, else a list of beliefs of one dimension; and the names of it."""
    if isinstance(belief, np.ndarray) and belief.ndim == 2:
        return _check.array("Bandit", "belief", belief, (n, "c")), names
    items, columns = _rows("belief", belief, names)
    if isinstance(belief, tuple) and all(isinstance(item, (np.ndarray, list)) for item in belief):
        tuples.check(belief)
    tuples.check(list(items), ask.dim)
    if all(isinstance(item, (list, tuple)) or type(item) is np.ndarray for item in items):
        try:
            points = np.asarray(items)
        except ValueError:  # of different lengths
            points = np.empty(0)
        if points.ndim == 2 and points.dtype.kind in "fiub":
            return _check.array("Bandit", "belief", points, (n, "c")), names or columns
    out: list[Belief] = []
    try:
        for item in items:
            out.append(read(item, ask))  # noqa: PERF401 - the length tells the entry
    except (TypeError, ValueError) as error:
        raise _about(error, "belief", len(out)) from None
    names = names or next((own.names for own in out if own.names is not None), None)
    out = [arranged("Bandit", "belief", own, names) for own in out]
    for at, own in enumerate(out):
        if own.dim != out[0].dim:
            raise ValueError(f"Bandit: belief must have dimension {out[0].dim}, got {own.dim} at index {at}")
    return out, names


def _contexts(context: Any, n: int, dim: int, names: Names) -> tuple[Array | list[Any], Names]:
    """Return contexts (n, c) if all were revealed, else a list with some; and the names of their dimensions."""
    _of_length("context", context, n)
    items, columns = _rows("context", context, names)
    seen: list[Array | Belief | None] = []
    names = names or columns
    try:
        for item in items:
            revealed, names = (None, names) if item is None else one_context(item, dim, names)
            seen.append(revealed)
    except (TypeError, ValueError) as error:
        raise _about(error, "context", len(seen)) from None
    points = [item for item in seen if isinstance(item, np.ndarray)]
    return np.stack(points) if len(points) == n else seen, names


def one_context(context: Any, dim: int, names: Names) -> tuple[Array | Belief, Names]:
    """Return a context that was revealed, a vector (c,) or a belief if it is not known exactly, and names that it has.

    names : of the dimensions, if they are known; a context that has names is put in their order
    """
    if isinstance(context, (np.ndarray, list, tuple, int, float)) or not _readable(context):
        return _check.vector("Bandit", "context", context, dim), names
    known = arranged("Bandit", "context", read(context, known_to(names, dim)), names)
    if known.dim != dim:
        raise misfit("context", known, dim, names)
    point = known.support() if known.members == 1 else None  # such as a table of one row
    revealed = known.point if isinstance(known, PointMass) else known if point is None else point[0][0]
    return revealed, names or known.names


def misfit(parameter: str, belief: Any, dim: int, names: Names) -> ValueError:
    """Return the error about a belief, or rounds, of another dimension than the bandit's, which says what to write."""
    write = ""
    if isinstance(belief, PointMass):
        samples = "oc.Ensemble(x[:, None])" if dim == 1 else f"an (n, {dim}) array"
        write = f"; if these are samples of the context, write {samples}"
    elif isinstance(belief, Ensemble) and (belief.dim, dim) == (2, 1):
        write = "; if its columns are the bounds of intervals, write oc.Quantiles([0.1, 0.9], x[0]) with your levels"
    elif isinstance(belief, Ensemble) and belief.members == dim:
        write = "; if it has one member per column, write x.T"
    elif isinstance(belief, Belief) and belief.dim == 1:
        each = f"{{{', '.join(f'{name!r}: ...' for name in names[:2])}}}" if names else "oc.Independent([first, ...])"
        write = f"; give one forecast for each quantity: {each}"
    return ValueError(f"Bandit: {parameter} must have dimension {dim}, got {belief.dim}{write}")


def _readable(context: Any) -> bool:
    """Return whether only `as_belief` can read this: not a string, a flag or a sequence of numbers."""
    return not isinstance(context, (str, bytes, bool, np.generic, range))


def _rows(parameter: str, value: Any, names: Names) -> tuple[Sequence[Any], Names]:
    """Return the rows of a table, with columns in order, or the items of a list or an array; and their names."""
    if isinstance(value, Table):
        return list(value.rows[:, value.order(parameter, names)]), names or value.names
    return list(value.to_numpy() if hasattr(value, "to_numpy") else value), None


def revealed_belief(context: Array | Belief) -> Beliefs:
    """Return a context that was revealed, and checked, as a belief."""
    return context if isinstance(context, Belief) else certain(context)
