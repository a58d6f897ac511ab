"""Lists of actions: vectors, with or without names."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from overcast import _check
from overcast._check import Array
from overcast._linalg import Indices
from overcast._units import Units, Vectors, same_vectors
from overcast.spaces.base import Space

# Number of names that the repr shows at most.
SHOWN = 5


class Actions(Space):
    """A list of k actions: vectors (k, a), optional names, and which actions are retired.

    The list is immutable: `added`, `retired`, `renamed` and `joined` return another, in which indices stay the same.

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
        names, given = _names_and_vectors(actions)
        vectors = given if isinstance(given, Units) else _check.array("Bandit", "actions", given, ("k", "a"))
        self._assign(None if names is None else tuple(names), vectors, np.ones(len(vectors), dtype=bool))

    def _assign(self, names: tuple[Any, ...] | None, vectors: Vectors, active: NDArray[np.bool_]) -> None:
        self._names, self._active = names, active
        self._candidates = vectors if isinstance(vectors, Units) else _check.read_only(vectors)
        active.setflags(write=False)
        self._available = None if active.all() else active
        self._index = {} if names is None else {name: i for i, name in enumerate(names)}
        if names is not None and len(self._index) < len(vectors):
            duplicate = next((name for i, name in enumerate(names) if self._index[name] != i), None)
            raise ValueError(f"Bandit: actions must have distinct names, got {duplicate!r} twice")

    @classmethod
    def of(cls, names: Sequence[Any] | None, vectors: Vectors, active: NDArray[np.bool_]) -> Actions:
        """Make a list from names, vectors (k, a) and a mask (k,) of active actions."""
        out = cls.__new__(cls)
        out._assign(None if names is None else tuple(names), vectors, active)
        return out

    @property
    def names(self) -> tuple[Any, ...] | None:
        """The names in order; None if actions have none."""
        return self._names

    @property
    def candidates(self) -> Vectors:
        """The vectors (k, a), read-only; `Units` for actions that have only names."""
        return self._candidates

    @cached_property
    def vectors(self) -> Array:
        """The vectors as a full array, (k, a), read-only."""
        return _check.read_only(np.asarray(self._candidates))

    @property
    def dim(self) -> int:
        """The length of the vectors, a."""
        return int(self._candidates.shape[1])

    @property
    def active(self) -> NDArray[np.bool_]:
        """Mask (k,) of the actions that are not retired, read-only."""
        return self._active

    def __len__(self) -> int:
        return len(self._candidates)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Actions):
            return NotImplemented
        if self.names != other.names or not np.array_equal(self.active, other.active):
            return False
        return same_vectors(self.candidates, other.candidates)

    __hash__ = None

    def __repr__(self) -> str:
        k, a = self.candidates.shape
        dimensions = f"{a} dimension{'s' * (a > 1)}"
        retired = f"; {k - int(self.active.sum())} retired" if self._available is not None else ""
        if self.names is None:
            return f"Actions({k} unnamed, {dimensions}{retired})"
        shown = [_check.cut(name, 40) for name in self.names[:SHOWN]]
        more = [f"{k - SHOWN} more"] * (k > SHOWN)
        return f"Actions({', '.join(shown + more)}; {dimensions}{retired})"

    def __getitem__(self, index: int) -> Any:
        """Return the name of an action, or its vector (a,) if the actions have no names."""
        return self.candidates[index] if self.names is None else self.names[index]

    def added(self, actions: Any) -> tuple[Actions, Indices]:
        """Add actions; return the new list, and the former index of each row, -1 for a new vector.

        A known name gets the new vector and becomes active again. In a list of names, each new name gets a unit vector
        in a new dimension. Vectors may be longer than before, which appends zeros to the others.
        """
        if isinstance(self.candidates, Units) and _is_list_of_names(actions):
            return self._added_names(list(actions), self.candidates)
        names, vectors = self._check_named(actions) if self.names is not None else (None, self._check_unnamed(actions))
        k, width = len(self), max(vectors.shape[1], self.dim)
        known = [] if names is None else [self._index.get(name, -1) for name in names]
        at = np.array(known if names is not None else [-1] * len(vectors), dtype=np.intp)
        fresh = at < 0
        at[fresh] = k + np.arange(int(fresh.sum()))
        total = k + int(fresh.sum())
        out, active, of = np.zeros((total, width)), np.ones(total, dtype=bool), np.full(total, -1, dtype=np.intp)
        out[:k, : self.dim], active[:k], of[:k] = self.vectors, self.active, np.arange(k)
        before = out[at]
        out[at, : vectors.shape[1]], active[at] = vectors, True
        of[at[(before != out[at]).any(axis=1)]] = -1
        more = [] if names is None else [name for name, new in zip(names, fresh, strict=True) if new]
        return Actions.of(None if self.names is None else [*self.names, *more], out, active), of

    def _added_names(self, names: list[str], units: Units) -> tuple[Actions, Indices]:
        """Add names to a list that has only names; return the same as `added`."""
        if len(set(names)) < len(names):
            raise ValueError(f"Bandit: actions must have distinct names, got {_check.short(names)}")
        new = [name for name in names if name not in self._index]
        k, m = len(self), len(new)
        active = np.concatenate([self.active, np.ones(m, dtype=bool)])
        active[[self._index[name] for name in names if name in self._index]] = True
        place, of = np.append(units.place, units.size + np.arange(m)), np.append(np.arange(k), np.full(m, -1))
        return Actions.of([*(self.names or ()), *new], Units(place, units.size + m), active), of

    def _check_named(self, actions: Any) -> tuple[list[Any], Array]:
        """Check new actions for a list with names; return their names and vectors."""
        a = self.dim
        names, given = _names_and_vectors(actions)
        if names is None:
            got = f"got {_check.short(actions)} for actions with names"
            raise TypeError(f"Bandit: actions must be a mapping from names to vectors, {got}")
        if len(set(names)) < len(names):
            raise ValueError(f"Bandit: actions must have distinct names, got {_check.short(names)}")
        if not isinstance(actions, Mapping) and not hasattr(actions, "columns"):  # names alone
            new = [name for name in names if name not in self._index]
            units = np.zeros((len(names), a + len(new)))
            for row, name in zip(units, names, strict=True):
                if name in self._index:
                    row[:a] = self.vectors[self._index[name]]
                else:
                    row[a + new.index(name)] = 1.0
            return names, units
        return names, self._check_length(_check.array("Bandit", "actions", np.asarray(given), ("k", "a")))

    def _check_unnamed(self, actions: Any) -> Array:
        """Check new actions for a list without names; return their vectors."""
        if isinstance(actions, Mapping) or hasattr(actions, "columns"):
            got = f"got {_check.short(actions)} for actions without names"
            raise TypeError(f"Bandit: actions must be an array of vectors, {got}")
        return self._check_length(_check.array("Bandit", "actions", actions, ("k", "a")))

    def _check_length(self, vectors: Array) -> Array:
        a = self.dim
        if vectors.shape[1] < a:
            raise ValueError(f"Bandit: actions must have vectors of {a} entries, got {vectors.shape[1]}")
        return vectors

    def retired(self, actions: Any) -> Actions:
        """Return a new list in which actions, given by names or indices, are never available; this one stays."""
        if isinstance(actions, (str, bytes)) or not hasattr(actions, "__iter__"):
            actions = [actions]
        active = self.active.copy()
        for item in actions:
            active[self.find("actions", item)] = False
        if not active.any():
            raise ValueError("Bandit: actions must leave at least one that is not retired, got all of them")
        return Actions.of(self.names, self.candidates, active)

    def renamed(self, action: Any, name: Any) -> Actions:
        """Rename an action, given by name or index; return the new list."""
        if self.names is None:
            raise TypeError("Bandit: actions must have names to get others, got some that have none")
        names = list(self.names)
        names[self.find("action", action)] = _check.name("Bandit", name)
        return Actions.of(names, self.candidates, self.active)

    def joined(self, other: Space, labels: bool = False) -> tuple[Actions, Indices]:
        """Append what only the other list has; return the new list, and the other's index of each row, -1 for none.

        labels : whether vectors are mere labels, which need not agree
        """
        other = listed("merge", other)
        if (self.names is None) != (other.names is None):
            raise ValueError("Bandit: merge needs actions that all have names, or none, got both")
        if self.names is None or other.names is None:
            rows = np.arange(len(other))
        else:
            rows = np.array([self._index.get(name, -1) for name in other.names], dtype=np.intp)
            rows[rows < 0] = len(self) + np.arange(int((rows < 0).sum()))
        total = max(len(self), int(rows.max()) + 1)
        of = np.full(total, -1, dtype=np.intp)
        of[rows] = np.arange(len(other))
        new, shared = of[len(self) :], np.flatnonzero(of[: len(self)] >= 0)
        active = np.concatenate([self.active, other.active[new]])
        names = None if self.names is None or other.names is None else [*self.names, *(other.names[i] for i in new)]
        if labels:
            if isinstance(self.candidates, Units):
                place = np.append(self.candidates.place, self.dim + np.arange(len(new)))
                return Actions.of(names, Units(place, self.dim + len(new)), active), of
            vectors = np.zeros((total, self.dim + len(new)))
            vectors[: len(self), : self.dim] = self.vectors
            vectors[np.arange(len(self), total), self.dim + np.arange(len(new))] = 1.0
            return Actions.of(names, vectors, active), of
        if same_vectors(self.candidates, other.candidates) and total == len(self):
            return Actions.of(names, self.candidates, active), of
        if self.dim != other.vectors.shape[1] or not np.array_equal(self.vectors[shared], other.vectors[of[shared]]):
            raise ValueError("Bandit: merge needs actions with the same vectors under the same names, got others")
        return Actions.of(names, np.concatenate([self.vectors, other.vectors[new]]), active), of

    def mask(self, available: Any) -> NDArray[np.bool_] | None:
        """Convert available actions, as names, indices or a mask, to a mask (k,); None if all are available.

        A mapping or a pandas Series from names to booleans is a mask by name. None stands for all that are not retired.
        """
        if available is None:
            return self._available
        k = len(self)
        if hasattr(available, "to_dict") and getattr(available, "ndim", 1) == 1 and self.names is not None:
            labelled = available.to_dict()
            flags = all(isinstance(value, (bool, np.bool_)) for value in labelled.values())
            available = labelled if flags else list(available)
        if isinstance(available, Mapping):
            available = [name for name, allowed in available.items() if self._check_flag(allowed)]
        one_axis = hasattr(available, "__iter__") and getattr(available, "ndim", 1) == 1
        if isinstance(available, (str, bytes)) or not one_axis:
            expected = "a list of names or indices, or a mask"
            raise TypeError(f"Bandit: available must be {expected}, got {_check.short(available)}")
        items = list(available)
        if items and all(isinstance(item, (bool, np.bool_)) for item in items):
            if len(items) != k:
                raise ValueError(f"Bandit: available must have {k} entries as a mask, got {len(items)}")
            out = np.array(items, dtype=bool) & self.active
        else:
            out = np.zeros(k, dtype=bool)
            indices = [self.find("available", item) for item in items]
            out[indices] = True
            if int(out.sum()) < len(indices):
                raise ValueError(f"Bandit: available must name each action once, got {_check.short(items)}")
            retired = next((i for i in indices if not self.active[i]), None)
            if retired is not None:
                raise ValueError(f"Bandit: available must hold actions that are not retired, got {self._name(retired)}")
        if not out.any():
            raise ValueError("Bandit: available must leave at least one action, got none")
        return out

    def _name(self, index: int) -> str:
        return f"index {index}" if self.names is None else _check.short(self.names[index])

    def _check_flag(self, allowed: Any) -> bool:
        if not isinstance(allowed, (bool, np.bool_)):
            raise TypeError(f"Bandit: available must map names to True or False, got {_check.short(allowed)}")
        return bool(allowed)

    def find(self, parameter: str, item: Any) -> int:
        """Find the index of an action, given by name or index."""
        if self.names is not None and _hashable(item) and item in self._index:
            return self._index[item]
        integer_names = self.names is not None and any(isinstance(name, (int, np.integer)) for name in self.names)
        is_integer = isinstance(item, (int, np.integer)) and not isinstance(item, bool)
        if is_integer and not integer_names and 0 <= item < len(self):
            return int(item)
        expected = f"an index below {len(self)}" if self.names is None else "one of the actions' names"
        raise ValueError(f"Bandit: {parameter} must hold {expected}, got {_check.short(item)}")

    def locate_recorded(self, index: int | None, action: Any) -> tuple[int | None, Array | None]:
        out = self.find("decision", index if self.names is None else action)
        if self.names is None and not self._has_vector(out, action):
            got = f"{_check.short(action)} for index {out}"
            raise ValueError(f"Bandit: decision must be about one of the bandit's own actions, got {got}")
        return out, None

    def _has_vector(self, index: int, action: Any) -> bool:
        """Return whether an action has this vector, which may lack the last entries if they are zero."""
        vector = np.asarray(self.candidates[index])
        fits = np.ndim(action) == 1 and len(action) <= len(vector)
        return fits and np.array_equal(np.pad(np.asarray(action, dtype=float), (0, len(vector) - len(action))), vector)

    def locate(self, actions: Any) -> tuple[Indices, Array | None]:
        array = np.asarray(actions) if self.names is None else None
        if array is not None and array.ndim == 1 and array.dtype.kind in "iu" and len(array):
            low, high = int(array.min()), int(array.max())
            if low >= 0 and high < len(self):
                return array.astype(np.intp), None
        return np.array([self.find("action", item) for item in actions], dtype=np.intp), None


def listed(what: str, actions: Space) -> Actions:
    """Return the actions unchanged; raise TypeError if they are not a list."""
    if not isinstance(actions, Actions):
        raise TypeError(f"Bandit: {what} needs a list of actions, got {_check.short(actions)}")
    return actions


def space_of(actions: Any) -> Space:
    """Convert the argument `actions` of a bandit to a space."""
    if isinstance(actions, type) and issubclass(actions, Space):
        raise TypeError(f"Bandit: actions must be an instance, got the class {actions.__name__}; write its parentheses")
    if not isinstance(actions, Space):
        return Actions(actions)
    if not isinstance(actions, Actions):
        _check.array(type(actions).__name__, "candidates", actions.candidates, ("k", "a"))
        if not isinstance(actions.candidates, np.ndarray):
            got = _check.short(actions.candidates)
            raise TypeError(f"{type(actions).__name__}: candidates must be an array (k, a), got {got}")
    return actions


def _hashable(item: Any) -> bool:
    try:
        hash(item)
    except TypeError:
        return False
    return True


def _is_list_of_names(actions: Any) -> bool:
    """Return whether actions are a list of names."""
    if isinstance(actions, (Mapping, str)) or hasattr(actions, "columns"):
        return False
    if not (isinstance(actions, Collection) or np.ndim(actions) == 1):
        return False
    names = list(actions)
    return bool(names) and all(isinstance(name, str) for name in names)


def _names_and_vectors(actions: Any) -> tuple[list[Any] | None, ArrayLike | Units]:
    if isinstance(actions, Mapping):
        if not actions:
            raise ValueError("Bandit: actions must hold at least one action, got an empty mapping")
        return list(actions), np.array(_vectors_of(actions))
    if hasattr(actions, "columns") and hasattr(actions, "to_numpy"):
        return list(actions.index), _check.table("Bandit", "actions", actions)
    if isinstance(actions, str):
        raise TypeError(f"Bandit: actions must be vectors or a list of names, got the string {_check.short(actions)}")
    if _is_list_of_names(actions):
        return [str(name) for name in actions], Units(np.arange(len(actions)), len(actions))
    return None, actions


def _vectors_of(actions: Mapping[Any, ArrayLike]) -> list[Array]:
    vectors = [_check.vector("Bandit", f"actions[{name!r}]", vector, "a") for name, vector in actions.items()]
    first = len(vectors[0])
    for name, vector in zip(actions, vectors, strict=True):
        if len(vector) != first:
            got = f"{first} and, for {name!r}, {len(vector)}"
            raise ValueError(f"Bandit: actions must have vectors of one length, got {got}")
    return vectors
