"""The contract of a design: it turns beliefs into views and actions into points for linear algebra."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from overcast._check import Array
from overcast._linalg import Indices
from overcast._units import Points, Vectors
from overcast.beliefs.base import Beliefs
from overcast.features.standard import Frame, Moments

if TYPE_CHECKING:
    from overcast.features.base import FeatureMap

Index = int | Indices
T = TypeVar("T", bound=np.generic)


class View(NamedTuple):
    """One belief, or several, in the form that a design needs.

    terms : the design's form of the belief, in which expected features are linear
    beliefs : the beliefs, whose covariance is computed on demand
    excess : variance that sampling adds to the features, as a share of their variance under the belief

    The leading axes are those of the beliefs: none for one belief, (r,) for one belief of each of r trials, (n,) for n
    beliefs of one question.

    Examples
    --------
    >>> import overcast as oc
    >>> design = oc.features.Bilinear().design(1, 1)
    >>> view = design.view(oc.Gaussian([3.0], 1.0))
    >>> view.terms, view.excess
    (array([3.]), 0.0)
    """

    terms: Any
    beliefs: Beliefs
    excess: float = 0.0

    def each(self) -> list[View]:
        """Split the view of several beliefs into one view each."""
        pairs = zip(self.terms, self.beliefs.singles(), strict=True)
        return [View(terms, belief, self.excess) for terms, belief in pairs]


class Row(NamedTuple):
    """The features of one action under a belief, the input of a fit.

    psi : (..., d) expected features; only those of the action's block if the map has blocks
    cov : (..., d (d + 1) / 2) their covariance under the belief, folded (`_linalg.folded`); None unless requested
    block : (...) number of the block; None if the map has no blocks
    seen : moments of the context terms under the belief, which define standard features; None without those

    Examples
    --------
    >>> Row(psi=np.array([1.0, 18.0])).psi
    array([ 1., 18.])
    """

    psi: Array
    cov: Array | None = None
    block: Indices | None = None
    seen: Moments | None = None

    def split(self) -> list[Row]:
        """Split a stack of n rows into a list."""
        n = len(self.psi)
        each = [[None] * n if part is None else list(part) for part in self[:3]]
        seen = [None] * n if self.seen is None else [Moments(*pair) for pair in zip(*self.seen, strict=True)]
        return [Row(*parts) for parts in zip(*each, seen, strict=True)]


class Design(ABC):
    """A feature map for actions of dimension `a` and contexts of dimension `c`; `FeatureMap.design` returns it.

    A design turns beliefs into views and vectors of actions into points. It knows no action set. `shape` is the shape
    of the parameters theta, and matrices M over them have one axis more: (d,) and (d, d), or (blocks, d) and
    (blocks, d, d).

    Examples
    --------
    >>> import overcast as oc
    >>> design = oc.features.Bilinear().design(a=2, c=2)
    >>> design.shape
    (4,)
    >>> points = design.at(np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]]))
    >>> points.along(design.view(oc.PointMass([3.0, 4.0])), np.ones(4))
    array([ 7.,  7., 28.])
    """

    #: shape of theta: (d,), or (blocks, d) if the map has blocks
    shape: tuple[int, ...]
    #: shape of the terms of one belief if the features of any action are linear in them; None for maps of any form
    terms_shape: tuple[int, ...] | None = None
    #: whether rows of many beliefs are cheaper together than one by one
    stacks: bool = True
    #: number of context terms behind standard features; 0 without standard features
    terms: int = 0

    def __init__(self, features: FeatureMap, a: int, c: int) -> None:
        self._features, self._action_dim, self._context_dim = features, a, c

    @property
    def names(self) -> list[str]:
        """The names of the features, with x1, x2, ... and c1, c2, ... for the coordinates of action and context."""
        dims = {"x": self._action_dim, "c": self._context_dim}
        return self._features.names(*([f"{letter}{i + 1}" for i in range(n)] for letter, n in dims.items()))

    @abstractmethod
    def at(self, vectors: Vectors) -> DesignPoints:
        """Prepare actions (k, a), or (r, k, a) for r trials with different actions."""

    def view(self, beliefs: Beliefs, samples: int | None = None, rng: Any = None) -> View:
        """Return the view of beliefs: exact, or of the empirical distribution of `samples` fresh draws."""
        if samples is None:
            return View(self._expected(beliefs), beliefs)
        # The average over draws has a variance about the expectation.
        return View(self._sampled(beliefs, samples, rng), beliefs, 1.0 / samples)

    @abstractmethod
    def _expected(self, beliefs: Beliefs) -> Any:
        """Return the terms of a view, exactly, or raise NoClosedForm."""

    @abstractmethod
    def _sampled(self, beliefs: Beliefs, samples: int, rng: Any) -> Any:
        """Return the terms of a view, averaged over draws."""

    def standard(self, reference: Vectors) -> Design:
        """Return a design whose action terms are standardised on a reference set of actions, (k, a) or (r, k, a).

        Its `frame` standardises contexts. A map of any form returns itself: its features count as standard.
        """
        return self

    def moments(self, view: View) -> Moments | None:
        """Return mean and variance of the context terms under the belief, None without standard features."""
        return None

    def frame(self, moments: Moments) -> Frame:
        """Return the frame that standardises features for contexts with these moments."""
        raise NotImplementedError

    def through(self, view: View, frame: Frame) -> View:
        """Convert a view to standard features."""
        raise NotImplementedError

    def coefficients(self, frame: Frame | None) -> Array | None:
        """Return the matrix from the map's features to standard ones, (..., d, d), None for the identity."""
        return None

    def alike(self, other: Design) -> bool:
        """Return whether two designs of one map have the same standard features, so that their rows can be added."""
        return True


class DesignPoints(Points, ABC):
    """k actions, prepared for questions about their expected features psi = E_mu[phi(x, c)]; `Design.at` returns it.

    Actions are (k, a), or (r, k, a) for r trials. Answers have the leading axes of the view, then k.
    """

    @abstractmethod
    def features(self, terms: Any) -> Array:
        """Return psi of all actions, shape (..., k, d), from the terms of a view."""

    @abstractmethod
    def along(self, view: View, theta: Array) -> Array:
        """Return psi^T theta of all actions, shape (..., k)."""

    @abstractmethod
    def quadratic(self, view: View, M: Array) -> Array:
        """Return psi^T M psi of all actions for symmetric M, shape (..., k), in a new array."""

    @abstractmethod
    def context_variance(self, view: View, M: Array) -> Array:
        """Return tr(Cov_mu(phi) M) of all actions, (..., k): the variance of phi^T theta if M = E[theta theta^T]."""

    @abstractmethod
    def row(self, view: View, index: Index, cov: bool) -> Row:
        """Return the features of the chosen action, with their covariance if `cov` is set.

        index : index of the action; (r,) or (n,) for one in each trial or under each belief
        """


def pick(table: NDArray[T], index: Index, leading: tuple[int, ...]) -> NDArray[T]:
    """Return the rows of chosen actions from a table (k, ...), or from one table per trial (r, k, ...)."""
    return np.asarray(table[index] if not leading else table[np.arange(leading[0]), index])
