"""The result of adapters: the forecasts in an object, one for each row or time step, made when they are asked for."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from overcast import _check
from overcast._check import Array
from overcast.beliefs import Belief, Ensemble, Quantiles

# Levels that differ by less are the same: 0.1 may come as 0.10000000149, from single precision.
DIGITS = 6


@dataclass(frozen=True)
class Ask:
    """Options that the user gives for an object.

    model : which of several models in it
    level : the probability between the bounds of an interval that do not tell it, in (0, 1)
    member_dim : name of the dimension of ensemble members
    dim : the dimension of contexts, if the bandit that asks knows it
    names : of the dimensions of contexts, if the bandit that asks knows them
    used : which of the first three an adapter went by
    """

    model: str | None = None
    level: float | None = None
    member_dim: str | None = None
    dim: int | None = None
    names: tuple[str, ...] = ()
    used: set[str] = field(default_factory=set, compare=False)

    def options(self) -> dict[str, Any]:
        """Return the options by keyword."""
        return {"model": self.model, "level": self.level, "member_dim": self.member_dim}

    def needless(self) -> str:
        """Return the first option that was given and that no adapter went by, "" if there is none."""
        return next((key for key, value in self.options().items() if value is not None and key not in self.used), "")


class Forecasts(Sequence[Belief]):
    """n forecasts, each made by a function of its index when it is asked for.

    what : one row in the source's words, for errors
    pick : how to take one row out of the object, for errors
    """

    def __init__(self, n: int, make: Callable[[int], Belief], what: str = "rows", pick: str = "pick one") -> None:
        self._n, self._make = n, make
        self.what, self.pick = what, pick

    def __len__(self) -> int:
        return self._n

    @overload
    def __getitem__(self, index: int) -> Belief: ...
    @overload
    def __getitem__(self, index: slice) -> Forecasts: ...
    def __getitem__(self, index: int | slice) -> Belief | Forecasts:
        at = range(self._n)[index]
        if isinstance(at, range):
            return Forecasts(len(at), lambda i: self._make(at[i]), self.what, self.pick)
        return self._make(at)

    def __iter__(self) -> Iterator[Belief]:
        return (self._make(i) for i in range(self._n))

    def __repr__(self) -> str:
        return f"Forecasts({self._n} {self.what})"


def one(belief: Belief) -> Forecasts:
    """Return a single forecast."""
    return Forecasts(1, lambda _: belief)


def refuse(must: str, got: str, write: str) -> ValueError:
    """Return the error of one line: what an object must be, what came, and what to write."""
    return ValueError(f"as_belief: {must}, got {got}; {write}")


def coverage(ask: Ask, source: str, example: str) -> float:
    """Return the probability between the bounds of an interval, which the source does not tell."""
    if ask.level is None:
        raise refuse("level must be given, as the bounds do not tell theirs", f"none for {source}", f"write {example}")
    ask.used.add("level")
    return _check.number("as_belief", "level", ask.level, above=0.0, below=1.0)


def quantiles(levels: ArrayLike, values: ArrayLike) -> Quantiles:
    """Return the belief of values (levels, c) at levels in any order.

    Levels are rounded, and a level that comes twice counts once. Values that cross are sorted, with a warning.
    """
    rounded = np.round(_check.vector("as_belief", "levels", levels, "levels"), DIGITS)
    level, first = np.unique(rounded, return_index=True)
    if len(level) < 2:
        raise refuse(
            "obj must have quantiles at two levels at least", f"{level.tolist()}", "use PointMass for a number"
        )
    known = _check.floats("as_belief", "values", values)
    known = (known[:, None] if known.ndim == 1 else known)[first]
    if np.isnan(known).any():
        raise refuse("obj must have a number at every level", "nan", "drop the levels or rows without numbers")
    if (np.diff(known, axis=0) < 0).any():
        warnings.warn("as_belief: quantiles cross; they were sorted", stacklevel=2)
        known = np.sort(known, axis=0)
    return Quantiles(level, known)


def members(points: Any) -> Ensemble:
    """Return the ensemble of members (n, c), without those that miss a number, which a warning counts."""
    found = np.array(points, dtype=np.float64)
    whole: Array = found[~np.isnan(found).any(axis=1)]
    if not len(whole):
        raise refuse("obj must have at least one member with all its numbers", "none", "leave this row out")
    if len(whole) < len(found):
        gone = f"{len(found) - len(whole)} of {len(found)} members miss a number"
        warnings.warn(f"as_belief: {gone}; they were left out", stacklevel=2)
    return Ensemble(whole)


def is_from(obj: object, package: str, *names: str) -> bool:
    """Return whether `obj` is of one of these classes, or any, of a package; it need not be installed."""
    return any(
        base.__module__.split(".")[0] == package and (not names or base.__name__ in names) for base in type(obj).__mro__
    )
