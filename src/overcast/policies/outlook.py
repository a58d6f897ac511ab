"""The outlook: values and uncertainties of all actions, for a policy."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from overcast._check import Array
from overcast.beliefs.base import Generators
from overcast.models.base import Estimate, Learner, Mask
from overcast.objectives import Objective

T = TypeVar("T", bound=np.generic)


class Prospects(NamedTuple):
    """The possible contexts, for an objective other than the mean.

    objective : the objective that decisions maximise
    view : the learner's view of the contexts, as n beliefs
    weights : (n,) their probabilities
    """

    objective: Objective
    view: Any
    weights: Array

    def value(self, values: Array) -> Array:
        """Compute the value of each action (k,) from its rewards in all contexts (n, k)."""
        out = np.asarray(self.objective.of(values, self.weights))
        if out.shape != values.shape[1:] or out.dtype.kind not in "fiu":
            must = f"of must return {values.shape[1]} numbers, one for each action"
            raise ValueError(f"{type(self.objective).__name__}: {must}, got shape {out.shape} of {out.dtype}")
        return out.astype(np.float64, copy=False)


class Outlook:
    """Mean and width of all actions, and other estimates on demand; shape (..., k) unless stated otherwise.

    Means are values of the objective: expected rewards, or another function of the estimated rewards in all contexts.

    mean : psi^T theta-hat, the expected reward; under another objective the value of the estimated rewards
    width : the norm of psi under V^-1: one standard deviation of the mean where a reward has `noise`; under another
        objective how far the value rises if each estimate is one width higher
    estimate : mean and width of the expected reward, for any objective
    available : (k,) mask of the available actions, or None for all; the others are never chosen

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

    __slots__ = ("_learner", "_points", "_prospects", "_rewards", "_view", "available", "estimate", "mean", "width")

    def __init__(
        self,
        learner: Learner,
        points: Any,
        view: Any,
        available: Mask | None = None,
        estimate: Estimate | None = None,
        prospects: Prospects | None = None,
    ) -> None:
        self._learner, self._points, self._view, self._prospects = learner, points, view, prospects
        self.available = available
        self.estimate = self._rewards = learner.estimate(points, view) if estimate is None else estimate
        self.mean, self.width = self.estimate
        if prospects is not None:
            self._learner = learner.seeing(view)
            self._rewards = self._learner.estimate(points, prospects.view)
            self.mean = prospects.value(self._rewards.mean)
            self.width = self.at(1.0) - self.mean

    def at(self, beta: float | Array) -> Array:
        """Compute the values for estimates raised by beta widths: mean + beta * width for an expected reward.

        beta : a number, or one per action, (..., k)
        """
        values = self._rewards.mean + beta * self._rewards.width
        return values if self._prospects is None else self._prospects.value(values)

    @property
    def residual_share(self) -> float | Array | None:
        """The share of the noise variance that remains in the residuals, (...); None if unknown."""
        return self._learner.residual_share

    @property
    def even_variance(self) -> float | Array | None:
        """The squared width if rewards were spread evenly over actions, (...); None if unknown."""
        return self._learner.even_variance

    @property
    def diversity(self) -> float | Array | None:
        """The share of the features' mean square that is due to differences of contexts, (...); None if unknown."""
        return self._learner.diversity

    @property
    def prior(self) -> Array:
        """The width before the first reward."""
        if self._prospects is None:
            return self._learner.prior(self._points, self._view)
        prior = self._learner.prior(self._points, self._prospects.view)
        return self._prospects.value(self._rewards.mean + prior) - self.mean

    @property
    def noise(self) -> Array:
        """The standard deviation of a reward around its expectation, in the unit of the widths."""
        return self._learner.noise(self._points, self._view)

    def drawn(self, scale: float, rng: Generators) -> Array:
        """Draw all estimates jointly and return the values; `scale` multiplies the deviations.

        Deviations are normal with standard deviation `width`, and correlated as the estimates are.
        """
        if self._prospects is None:
            return self.mean + scale * self._learner.draw(self._points, self._view, rng)
        deviation = self._learner.draw(self._points, self._prospects.view, rng)
        return self._prospects.value(self._rewards.mean + scale * deviation)

    def perturbed(self, scale: float, rng: Generators) -> Array:
        """Add independent normal noise of standard deviation `scale` to every past reward, and return the values."""
        if self._prospects is None:
            return self.mean + scale * self._learner.perturb(self._points, self._view, rng)
        deviation = self._learner.perturb(self._points, self._prospects.view, rng)
        return self._prospects.value(self._rewards.mean + scale * deviation)

    def among(self, values: NDArray[T]) -> NDArray[T]:
        """Set values (..., k) of unavailable actions to zero."""
        return values if self.available is None else np.where(self.available, values, values.dtype.type(0))

    def highest(self, values: Array) -> Array:
        """Return the highest of the values (..., k) among available actions, shape (..., 1)."""
        if self.available is not None:
            values = np.where(self.available, values, -np.inf)
        return np.asarray(values.max(axis=-1, keepdims=True))
