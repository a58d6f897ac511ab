"""The action set of a bandit: vectors, with names if the user gives them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from overcast import _check
from overcast._check import Array

# Names that the repr shows before it counts the rest.
SHOWN = 5


class Actions:
    """k actions as vectors (k, a), with names if they were given.

    Parameters
    ----------
    actions : (k, a) array; mapping name -> vector; DataFrame whose index holds the names; or a list of names, which
        become unit vectors

    Examples
    --------
    >>> Actions({"early": [0.0, 1.0], "late": [1.0, 0.0]})
    Actions(early, late; 2 dimensions)
    >>> Actions([[0.0], [1.0], [2.0]])
    Actions(3 unnamed, 1 dimension)
    """

    def __init__(self, actions: Any) -> None:
        names, vectors = _names_and_vectors(actions)
        self._names = None if names is None else tuple(names)
        self._vectors = _check.array("Bandit", "actions", vectors, ("k", "a"))
        if self.names is not None:
            self._index = {name: i for i, name in enumerate(self.names)}
            if len(self._index) < len(self.names):
                twice = next(name for i, name in enumerate(self.names) if self._index[name] != i)
                raise ValueError(f"Bandit: actions must have distinct names, got {twice!r} twice")

    @property
    def names(self) -> tuple[Any, ...] | None:
        """The names in order; None if actions have none."""
        return self._names

    @property
    def vectors(self) -> Array:
        """(k, a), read-only."""
        return self._vectors

    def __len__(self) -> int:
        return len(self._vectors)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Actions):
            return NotImplemented
        return self.names == other.names and np.array_equal(self.vectors, other.vectors)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        k, a = self.vectors.shape
        dimensions = f"{a} dimension{'s' * (a > 1)}"
        if self.names is None:
            return f"Actions({k} unnamed, {dimensions})"
        shown = [f"{' '.join(str(name).split()):.40}" for name in self.names[:SHOWN]]
        more = [f"{k - SHOWN} more"] * (k > SHOWN)
        return f"Actions({', '.join(shown + more)}; {dimensions})"

    def __getitem__(self, index: int) -> Any:
        """Return the name of an action, or its vector (a,) if the actions have no names."""
        return self.vectors[index] if self.names is None else self.names[index]

    def mask(self, available: Any) -> NDArray[np.bool_]:
        """Return which actions are available, shape (k,), from names, indices or a mask.

        A mapping or a pandas Series from names to booleans is a mask by name.
        """
        k = len(self)
        if hasattr(available, "to_dict") and getattr(available, "ndim", 1) == 1 and self.names is not None:
            labelled = available.to_dict()
            flags = all(isinstance(value, (bool, np.bool_)) for value in labelled.values())
            available = labelled if flags else list(available)
        if isinstance(available, Mapping):
            available = [name for name, allowed in available.items() if self._flag(allowed)]
        one_axis = hasattr(available, "__iter__") and getattr(available, "ndim", 1) == 1
        if isinstance(available, (str, bytes)) or not one_axis:
            expected = "a list of names or indices, or a mask"
            raise TypeError(f"Bandit: available must be {expected}, got {_check.short(available)}")
        items = list(available)
        if items and all(isinstance(item, (bool, np.bool_)) for item in items):
            if len(items) != k:
                raise ValueError(f"Bandit: available must have {k} entries as a mask, got {len(items)}")
            out = np.array(items, dtype=bool)
        else:
            out = np.zeros(k, dtype=bool)
            found = [self._find(item) for item in items]
            out[found] = True
            if int(out.sum()) < len(found):
                raise ValueError(f"Bandit: available must name each action once, got {_check.short(items)}")
        if not out.any():
            raise ValueError("Bandit: available must leave at least one action, got none")
        return out

    def _flag(self, allowed: Any) -> bool:
        if not isinstance(allowed, (bool, np.bool_)):
            raise TypeError(f"Bandit: available must map names to True or False, got {_check.short(allowed)}")
        return bool(allowed)

    def _find(self, item: Any) -> int:
        if self.names is not None and _hashable(item) and item in self._index:
            return self._index[item]
        numbered = self.names is not None and any(isinstance(name, (int, np.integer)) for name in self.names)
        whole = isinstance(item, (int, np.integer)) and not isinstance(item, bool)
        if whole and not numbered and 0 <= item < len(self):
            return int(item)
        known = f"an index below {len(self)}" if self.names is None else "one of the actions' names"
        raise ValueError(f"Bandit: available must hold {known}, got {_check.short(item)}")


def _hashable(item: Any) -> bool:
    try:
        hash(item)
    except TypeError:
        return False
    return True


def _names_and_vectors(actions: Any) -> tuple[list[Any] | None, ArrayLike]:
    if isinstance(actions, Mapping):
        if not actions:
            raise ValueError("Bandit: actions must hold at least one action, got an empty mapping")
        return list(actions), np.array(_aligned(actions))
    if hasattr(actions, "columns") and hasattr(actions, "to_numpy"):
        return list(actions.index), _check.table("Bandit", "actions", actions)
    if isinstance(actions, str):
        raise TypeError(f"Bandit: actions must be vectors or a list of names, got the string {_check.short(actions)}")
    if isinstance(actions, Collection) or np.ndim(actions) == 1:
        names = list(actions)
        if names and all(isinstance(name, str) for name in names):
            return [str(name) for name in names], np.eye(len(names))
    return None, actions


def _aligned(actions: Mapping[Any, ArrayLike]) -> list[Array]:
    vectors = [_check.vector("Bandit", f"actions[{name!r}]", vector, "a") for name, vector in actions.items()]
    first = len(vectors[0])
    for name, vector in zip(actions, vectors, strict=True):
        if len(vector) != first:
            got = f"{first} and, for {name!r}, {len(vector)}"
            raise ValueError(f"Bandit: actions must have vectors of one length, got {got}")
    return vectors
