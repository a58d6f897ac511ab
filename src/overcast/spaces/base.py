"""The base class of action spaces."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from overcast import _check
from overcast._check import Array
from overcast._units import Vectors


class Space(ABC):
    """The set of actions that a bandit chooses from: a list, or a set of vectors such as a box.

    Every decision compares the candidates. In a list, the candidates are all actions, and an action has an index. In
    other spaces, they are points of the set, an action is a vector, and `refine` may improve on the best candidate.

    Examples
    --------
    >>> import overcast as oc
    >>> class Interval(Space):
    ...     candidates = np.linspace(0.0, 1.0, 11)[:, None]
    >>> bandit = oc.Bandit(Interval(), oc.LinearModel(oc.features.Polynomial(2)), oc.UCB())
    >>> bandit.decide([2.0]).action.shape
    (1,)
    """

    @property
    @abstractmethod
    def candidates(self) -> Vectors:
        """Vectors (k, a) of the actions that every decision compares, always the same; they fix the scales of standard
        features."""

    @property
    def names(self) -> tuple[Any, ...] | None:
        """The names of the actions in order; None if they have none."""
        return None

    def refine(self, start: Array, score: Callable[[Array], Array]) -> Array:
        """Search for the best action (a,) from the best candidate on; by default, return the candidate.

        start : (a,) the best candidate
        score : computes the scores (m,) of actions (m, a)
        """
        return start

    @property
    def dim(self) -> int:
        """The length of the vectors, a."""
        return int(self.candidates.shape[1])

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and np.array_equal(self.vectors, other.vectors)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} candidates, {self.dim} dimension{'s' * (self.dim > 1)})"

    def __len__(self) -> int:
        return len(self.candidates)

    def mask(self, available: Any) -> NDArray[np.bool_] | None:
        """Convert available actions to a mask of the candidates, (k,); None if all are available."""
        if available is not None:
            raise TypeError(
                f"Bandit: available must be None for {type(self).__name__}, which is no list of actions, got "
                f"{_check.short(available)}"
            )
        return None

    @property
    def vectors(self) -> Array:
        """The candidates as a full array, (k, a)."""
        return np.asarray(self.candidates)

    @property
    def active(self) -> NDArray[np.bool_]:
        """Mask (k,) of the candidates that are not retired."""
        return np.ones(len(self), dtype=bool)

    def __getitem__(self, index: int) -> Any:
        """Return the name of a candidate, or its vector (a,) if it has none."""
        return _check.read_only(np.array(self.candidates[index]))

    def locate(self, actions: Any) -> tuple[NDArray[np.intp], Array | None]:
        """Find n actions: return indices (n,) of candidates and None, or indices of vectors (m, a) and these."""
        vectors = _check.array("Bandit", "action", actions, ("n", self.dim))
        return np.arange(len(vectors)), vectors

    def locate_recorded(self, index: int | None, action: Any) -> tuple[int | None, Array | None]:
        """Find the action of a record: return its index and None, or None and its vector."""
        if index is not None:
            raise ValueError(f"Bandit: decision must have no index in {type(self).__name__}, got {index}")
        return None, _check.vector("Bandit", "action", action, self.dim)

    def joined(self, other: Space, labels: bool = False) -> tuple[Space, NDArray[np.intp]]:
        """Join two spaces for a merge; return the result and the other's index of each candidate.

        By default, raise ValueError if the spaces differ.
        """
        if self != other:
            raise ValueError(f"Bandit: merge needs the same actions, got {_check.short(other)}")
        return self, np.arange(len(self))
