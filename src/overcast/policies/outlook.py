"""The outlook: estimates and uncertainties that a policy may ask for."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from overcast._check import Array
from overcast.beliefs.base import Generators
from overcast.models.base import Estimate, Learner, Mask

T = TypeVar("T", bound=np.generic)


class Outlook:
    """Mean and width of all actions, and on demand what else the model can tell; shape (..., k) unless said otherwise.

    mean : psi^T theta-hat
    width : the norm of psi under V^-1: one standard deviation of the mean where a reward has `noise`
    available : (k,) which actions may be taken, or None for all; the others are never chosen

    Examples
    --------
    >>> import overcast as oc
    >>> class Cautious(oc.policies.Policy):
    ...     def scores(self, outlook, progress, rng):
    ...         return outlook.mean - outlook.width
    >>> bandit = oc.Bandit([[1.0], [2.0]], oc.LinearModel(oc.features.Bilinear(), ridge=1.0), Cautious())
    >>> bandit.decide([1.0]).index
    0
    """

    __slots__ = ("_learner", "_points", "_view", "available", "estimate", "mean", "width")

    def __init__(
        self, learner: Learner, points: Any, view: Any, available: Mask | None = None, estimate: Estimate | None = None
    ) -> None:
        self._learner, self._points, self._view = learner, points, view
        self.available = available
        self.estimate = learner.estimate(points, view) if estimate is None else estimate
        self.mean, self.width = self.estimate

    @property
    def residual_share(self) -> float | Array | None:
        """The share of the noise's variance that is left in the residuals, (...); None if the model cannot say."""
        return self._learner.residual_share

    @property
    def even_variance(self) -> float | Array | None:
        """The squared width of an action that is known as well as the average, (...); None if the model cannot say."""
        return self._learner.even_variance

    @property
    def diversity(self) -> float | Array | None:
        """The share of the features' mean square that comes from contexts that differ, (...); None if the model cannot
        say."""
        return self._learner.diversity

    @property
    def prior(self) -> Array:
        """The width before anything was learnt."""
        return self._learner.prior(self._points, self._view)

    @property
    def noise(self) -> Array:
        """The standard deviation of a reward around its expectation, in the unit of the widths."""
        return self._learner.noise(self._points, self._view)

    def draw(self, rng: Generators) -> Array:
        """Return a joint deviation of all means: normal, with standard deviation `width`, correlated as they are."""
        return self._learner.draw(self._points, self._view, rng)

    def perturb(self, rng: Generators) -> Array:
        """Return how far all means move when independent standard normal noise is added to every past reward."""
        return self._learner.perturb(self._points, self._view, rng)

    def among(self, values: NDArray[T]) -> NDArray[T]:
        """Return the values (..., k), with zero for actions that are not available."""
        return values if self.available is None else np.where(self.available, values, values.dtype.type(0))

    def highest(self, values: Array) -> Array:
        """Return the highest of the available actions' values (..., k), shape (..., 1)."""
        if self.available is not None:
            values = np.where(self.available, values, -np.inf)
        return np.asarray(values.max(axis=-1, keepdims=True))
