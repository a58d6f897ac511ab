"""The action set of a bandit: vectors, and names where the user gave them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from overcast import _check
from overcast._check import Array


class Actions:
    """k actions as vectors (k, a), by name where names were given.

    Parameters
    ----------
    actions : (k, a) array; mapping name -> vector; DataFrame whose index holds the names; or a list of names, which
        become unit vectors
    """

    def __init__(self, actions: Any) -> None:
        self.names, vectors = _names_and_vectors(actions)
        self.vectors: Array = _check.array("Bandit", "actions", vectors, ("k", "a"))
        if self.names is not None:
            self._index = {name: i for i, name in enumerate(self.names)}
            if len(self._index) < len(self.names):
                twice = next(name for i, name in enumerate(self.names) if self._index[name] != i)
                raise ValueError(f"Bandit: actions must have distinct names, got {twice!r} twice")

    def __len__(self) -> int:
        return len(self.vectors)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Actions):
            return NotImplemented
        return self.names == other.names and np.array_equal(self.vectors, other.vectors)

    __hash__ = None  # type: ignore[assignment]

    def __getitem__(self, index: int) -> Any:
        """Return the name of an action, or its vector (a,) where there are no names."""
        return self.vectors[index] if self.names is None else self.names[index]

    def mask(self, available: Any) -> NDArray[np.bool_]:
        """Return which actions are available, shape (k,), from names, indices or a mask."""
        k = len(self)
        if isinstance(available, (str, bytes)) or not hasattr(available, "__iter__"):
            raise TypeError(
                f"Bandit: available must be a list of names or indices, or a mask, got {_check.short(available)}"
            )
        items = list(available)
        if items and all(isinstance(item, (bool, np.bool_)) for item in items):
            if len(items) != k:
                raise ValueError(f"Bandit: available must have {k} entries as a mask, got {len(items)}")
            out = np.array(items, dtype=bool)
        else:
            out = np.zeros(k, dtype=bool)
            out[[self._find(item) for item in items]] = True
        if not out.any():
            raise ValueError("Bandit: available must leave at least one action, got none")
        return out

    def _find(self, item: Any) -> int:
        if self.names is not None and _hashable(item) and item in self._index:
            return self._index[item]
        if isinstance(item, (int, np.integer)) and not isinstance(item, bool) and 0 <= item < len(self):
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
        return list(actions.index), _table(actions)
    if isinstance(actions, Sequence) and actions and all(isinstance(name, str) for name in actions):
        return list(actions), np.eye(len(actions))
    return None, actions


def _aligned(actions: Mapping[Any, ArrayLike]) -> list[Array]:
    vectors = [_check.vector("Bandit", f"actions[{name!r}]", vector, "a") for name, vector in actions.items()]
    first = len(vectors[0])
    for name, vector in zip(actions, vectors, strict=True):
        if len(vector) != first:
            raise ValueError(
                f"Bandit: actions must have vectors of one length, got {first} and, for {name!r}, {len(vector)}"
            )
    return vectors


def _table(frame: Any) -> Array:
    # Columns of several types share no NumPy type but object; missing values become NaN, which is refused.
    if all(dtype.kind in "fiub" for dtype in frame.dtypes):
        return np.asarray(frame.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.asarray(frame.to_numpy())
