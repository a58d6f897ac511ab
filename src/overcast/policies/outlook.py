"""The outlook: values and uncertainties of the actions that a policy may ask for."""

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
    """The contexts that may come, for an objective that is no expectation.

    objective : what decisions maximise
    view : of the contexts, as n beliefs
    weights : (n,) their probabilities
    """

    objective: Objective
    view: Any
    weights: Array

    def value(self, values: Array) -> Array:
        """Return the value of each action (k,), from its reward in each context (n, k)."""
        return self.objective.of(values, self.weights)


class Outlook:
    """Mean and width of all actions, and on demand what else the model can tell; shape (..., k) unless said otherwise.

    Means are values in the unit of the objective: expected rewards, or what an objective other than `Mean` gives for
    the estimated rewards in all contexts. Everything else about values follows from the same contexts.

    mean : psi^T theta-hat
    width : the norm of psi under V^-1: one standard deviation of the mean where a reward has `noise`
    estimate : mean and width of the expected reward, whatever the objective is
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
            self._rewards = learner.estimate(points, prospects.view)
            self.mean = prospects.value(self._rewards.mean)
            self.width = self.at(1.0) - self.mean

    def at(self, beta: float | Array) -> Array:
        """Return the values if each estimate is beta widths too low: mean + beta * width for an expected reward.

        beta : a number, or one for each action, (..., k)
        """
        values = self._rewards.mean + beta * self._rewards.width
        return values if self._prospects is None else self._prospects.value(values)

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

    def drawn(self, scale: float, rng: Generators) -> Array:
        """Return the values under one joint draw of all estimates, with deviations multiplied by `scale`.

        Deviations are normal with standard deviation `width`, and correlated as the estimates are.
        """
        if self._prospects is None:
            return self.mean + scale * self._learner.draw(self._points, self._view, rng)
        deviation = self._learner.draw(self._points, self._prospects.view, rng)
        return self._prospects.value(self._rewards.mean + scale * deviation)

    def perturbed(self, scale: float, rng: Generators) -> Array:
        """Return the values after independent normal noise of standard deviation `scale` on every past reward."""
        if self._prospects is None:
            return self.mean + scale * self._learner.perturb(self._points, self._view, rng)
        deviation = self._learner.perturb(self._points, self._prospects.view, rng)
        return self._prospects.value(self._rewards.mean + scale * deviation)

    def among(self, values: NDArray[T]) -> NDArray[T]:
        """Return the values (..., k), with zero for actions that are not available."""
        return values if self.available is None else np.where(self.available, values, values.dtype.type(0))

    def highest(self, values: Array) -> Array:
        """Return the highest of the available actions' values (..., k), shape (..., 1)."""
        if self.available is not None:
            values = np.where(self.available, values, -np.inf)
        return np.asarray(values.max(axis=-1, keepdims=True))
