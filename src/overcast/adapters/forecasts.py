"""The result of adapters: a lazy sequence of forecasts, one for each row or time step."""

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

# Levels are rounded to so many digits: 0.1 may come as 0.10000000149, from single precision.
DIGITS = 6


@dataclass(frozen=True)
class Options:
    """The user's options for reading an object, and which of them an adapter used.

    model : the name of one of several models
    level : the probability between the bounds of an interval that do not tell it, in (0, 1)
    member_dim : name of the dimension of ensemble members
    dim : the dimension of contexts, if the bandit knows it
    names : the names of the contexts' dimensions, if the bandit knows them
    used : which of the first three an adapter used
    """

    model: str | None = None
    level: float | None = None
    member_dim: str | None = None
    dim: int | None = None
    names: tuple[str, ...] = ()
    used: set[str] = field(default_factory=set, compare=False)

    def by_keyword(self) -> dict[str, Any]:
        """Return the options by keyword."""
        return {"model": self.model, "level": self.level, "member_dim": self.member_dim}

    def unused(self) -> str:
        """Return the first option that the user gave and no adapter used, "" if there is none."""
        return next((key for key, value in self.by_keyword().items() if value is not None and key not in self.used), "")


class Forecasts(Sequence[Belief]):
    """A lazy sequence of n forecasts, each computed from its index on access.

    unit : the source's word for several of them, such as "tasks", for errors
    pick : how to take one of them out of the object, for errors
    """

    def __init__(self, n: int, make: Callable[[int], Belief], unit: str = "rows", pick: str = "pick one") -> None:
        self._n, self._make = n, make
        self.unit, self.pick = unit, pick

    def __len__(self) -> int:
        return self._n

    @overload
    def __getitem__(self, index: int) -> Belief: ...
    @overload
    def __getitem__(self, index: slice) -> Forecasts: ...
    def __getitem__(self, index: int | slice) -> Belief | Forecasts:
        at = range(self._n)[index]
        if isinstance(at, range):
            return Forecasts(len(at), lambda i: self._make(at[i]), self.unit, self.pick)
        return self._make(at)

    def __iter__(self) -> Iterator[Belief]:
        return (self._make(i) for i in range(self._n))

    def __repr__(self) -> str:
        return f"Forecasts({self._n} {self.unit})"


def single(belief: Belief) -> Forecasts:
    """Return a belief as a sequence of one forecast."""
    return Forecasts(1, lambda _: belief)


def refuse(must: str, got: str, write: str) -> ValueError:
    """Return a ValueError: what the object must be, what it is, and what to write instead."""
    return ValueError(f"as_belief: {must}, got {got}; {write}")


def coverage(options: Options, source: str, example: str) -> float:
    """Return the user's `level`, the probability between bounds; raise ValueError without one."""
    if options.level is None:
        raise refuse("level must be given, as the bounds do not tell theirs", f"none for {source}", f"write {example}")
    options.used.add("level")
    return _check.number("as_belief", "level", options.level, above=0.0, below=1.0)


def quantiles(levels: ArrayLike, values: ArrayLike) -> Quantiles:
    """Return the belief with these values (levels, c) at levels in any order.

    Levels are rounded, and duplicates are dropped. Values that cross are sorted, with a warning.
    """
    rounded = np.round(_check.vector("as_belief", "levels", levels, "levels"), DIGITS)
    level, first = np.unique(rounded, return_index=True)
    if len(level) < 2:
        raise refuse(
            "obj must have quantiles at two levels at least", f"{level.tolist()}", "use PointMass for a number"
        )
    numbers = _check.floats("as_belief", "values", values)
    numbers = (numbers[:, None] if numbers.ndim == 1 else numbers)[first]
    if np.isnan(numbers).any():
        raise refuse("obj must have a number at every level", "nan", "drop the levels or rows without numbers")
    if (np.diff(numbers, axis=0) < 0).any():
        warnings.warn("as_belief: quantiles cross; they were sorted", stacklevel=2)
        numbers = np.sort(numbers, axis=0)
    return Quantiles(level, numbers)


def members(points: Any) -> Ensemble:
    """Return the ensemble of members (n, c), without those that miss a number, of which a warning tells."""
    all_members = np.array(points, dtype=np.float64)
    complete: Array = all_members[~np.isnan(all_members).any(axis=1)]
    if not len(complete):
        raise refuse("obj must have at least one member with all its numbers", "none", "leave this row out")
    if len(complete) < len(all_members):
        gone = f"{len(all_members) - len(complete)} of {len(all_members)} members miss a number"
        warnings.warn(f"as_belief: {gone}; they were left out", stacklevel=2)
    return Ensemble(complete)


def is_from(obj: object, package: str, *names: str) -> bool:
    """Return whether `obj` is an instance of a class of the package, or of one with these names; imports nothing."""
    return any(
        base.__module__.split(".")[0] == package and (not names or base.__name__ in names) for base in type(obj).__mro__
    )
