"""The contract of a feature map phi(x, c)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from overcast import _check
from overcast._check import Array
from overcast._linalg import Indices
from overcast._units import Vectors
from overcast.beliefs.base import Belief, NoClosedForm
from overcast.features.design import Design
from overcast.kernels.base import check_joint


class FeatureMap(ABC):
    """phi(x, c) in R^d; the reward is assumed linear in it: f(x, c) = phi(x, c)^T theta.

    A map whose features are products derives from `Separable`; any other derives from `Dense`.

    Examples
    --------
    >>> import overcast as oc
    >>> phi = oc.features.Bilinear()
    >>> isinstance(phi, FeatureMap), phi([[1.0, 2.0]], [[3.0]]).tolist()
    (True, [[[3.0, 6.0]]])
    >>> phi.expected([[1.0, 2.0]], oc.Gaussian([3.0], 1.0))
    array([[3., 6.]])
    """

    @abstractmethod
    def size(self, a: int, c: int) -> int:
        """Return d for actions of dimension `a` and contexts of dimension `c`; raise if they do not fit."""

    @abstractmethod
    def _evaluate(self, actions: Array, contexts: Array) -> Array:
        """Return phi for checked arrays (k, a) and (n, c), shape (k, n, d)."""

    @abstractmethod
    def _design(self, a: int, c: int) -> Design:
        """Return the design for checked dimensions."""

    def widened(self, a: int) -> FeatureMap:
        """Return the map for longer action vectors, of `a` entries; only `Disjoint` has one."""
        got = f"got vectors of {a}; only Disjoint opens a block for each action"
        raise ValueError(f"{type(self).__name__}: actions must have vectors of the length that they had, {got}")

    def silent(self, actions: Vectors) -> Indices:
        """Return the actions (k, a) whose features are zero in every context; none by default."""
        return np.empty(0, dtype=np.intp)

    def names(self, actions: Sequence[str], contexts: Sequence[str]) -> list[str]:
        """Return a name for each feature, from the names of the coordinates of actions and contexts."""
        return [f"phi{i + 1}" for i in range(self.size(len(actions), len(contexts)))]

    def __call__(self, actions: ArrayLike, contexts: ArrayLike) -> Array:
        """Return phi(x, c) for every pair: (k, a) and (n, c) give (k, n, d)."""
        name = type(self).__name__
        actions = _check.array(name, "actions", actions, ("k", "a"))
        contexts = _check.array(name, "contexts", contexts, ("n", "c"))
        self.size(actions.shape[1], contexts.shape[1])
        return self._evaluate(actions, contexts)

    def design(self, a: int, c: int) -> Design:
        """Return the design for actions of dimension `a` and contexts of dimension `c`."""
        name = type(self).__name__
        a, c = _check.integer(name, "a", a, at_least=1), _check.integer(name, "c", c, at_least=1)
        self.size(a, c)
        return self._design(a, c)

    def expected(self, actions: ArrayLike, belief: Belief) -> Array:
        """Return psi-bar = E_mu[phi(x, c)] exactly: (k, a) gives (k, d).

        Raises
        ------
        NoClosedForm
            If the expectation has no exact form under this belief; the message says to pass `samples=`.
        """
        return self._of_all(actions, belief)

    def sampled(self, actions: ArrayLike, belief: Belief, samples: int, rng: np.random.Generator) -> Array:
        """Return psi-tilde, the average of phi over `samples` draws (section 4): (k, a) gives (k, d)."""
        return self._of_all(actions, belief, _check.samples(type(self).__name__, samples), rng)

    def _of_all(self, actions: ArrayLike, belief: Belief, samples: int | None = None, rng: Any = None) -> Array:
        """Return the expected or sampled features of all actions, (k, d)."""
        name = type(self).__name__
        actions = _check.array(name, "actions", actions, ("k", "a"))
        if not isinstance(belief, Belief):
            raise TypeError(f"{name}: belief must be a belief, got {_check.short(belief)}; try as_belief")
        design = self.design(actions.shape[1], belief.dim)
        return design.at(actions).features(design.view(belief, samples, rng).terms)


def no_closed_form(features: FeatureMap, belief: object) -> NoClosedForm:
    """Return the error for an expectation without a closed form; it suggests `samples=`."""
    return NoClosedForm(
        f"{type(features).__name__}: the expectation under {type(belief).__name__} has no exact form that can be "
        "computed; pass samples= to average over draws"
    )


def check_map(owner: str, features: object) -> None:
    """Raise TypeError unless this is a FeatureMap."""
    if not isinstance(features, FeatureMap):
        raise TypeError(f"{owner}: features must be a feature map such as Bilinear(), got {_check.short(features)}")


def check_hashable(owner: str, kernel: object) -> None:
    """Raise TypeError unless this is a hashable kernel of actions and contexts."""
    check_joint(owner, kernel)
    try:
        hash(kernel)
    except TypeError:
        raise TypeError(
            f"{owner}: kernel must be hashable, such as a frozen dataclass without arrays, got {_check.short(kernel)}"
        ) from None
