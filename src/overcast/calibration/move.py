"""Shift, stretch and blur beliefs, each within its own kind, so that exact expectations stay exact."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtri

from overcast._check import Array
from overcast.beliefs import Belief, Ensemble, Gaussian, Independent, Mixture, Moved, PointMass, Quantiles, Sampler

# Values that stand in for a normal distribution where members of an ensemble are blurred, equally likely quantiles:
# of each of several members, and of one that stands alone, where they are all there is to go by.
NODES, ALONE = 10, 50


def move(belief: Belief, shift: Array, scale: Array, noise: Array) -> Belief:
    """Return the belief about shift + scale * c, blurred by independent normal noise; all arrays (c,).

    shift, scale : what a dimension is moved by
    noise : standard deviations, above zero only where the belief has no spread to stretch
    """
    if not shift.any() and (scale == 1.0).all() and not noise.any():
        return belief
    if isinstance(belief, Gaussian):
        return _gaussian(belief, shift, scale, noise)
    if isinstance(belief, PointMass):
        centre = shift + scale * belief.mean()
        return Gaussian(centre, noise**2) if noise.any() else PointMass(centre)
    if isinstance(belief, Ensemble):
        points, weights = belief.support()
        return _ensemble(shift + scale * points, weights, noise)
    if isinstance(belief, Mixture):
        return Mixture([move(part, shift, scale, noise) for part in belief.beliefs], belief.weights)
    if isinstance(belief, Independent):
        return Independent(_parts(belief.beliefs, shift, scale, noise))
    if isinstance(belief, Quantiles):
        if not noise.any():
            return Quantiles(belief.levels, shift + scale * belief.values)
        # Coordinates are independent; the outermost values of a normal one lie beyond any that are published.
        columns = [Quantiles(belief.levels, column) for column in belief.values.T]
        known = [
            column if sd == 0.0 else PointMass(column.values[0]) for column, sd in zip(columns, noise, strict=True)
        ]
        return Independent(_parts(known, shift, scale, noise))
    if isinstance(belief, Sampler) or noise.any():
        return Sampler(_Blurred(belief, shift, scale, noise), belief.dim)
    if isinstance(belief, Moved):
        return Moved(belief.belief, shift + scale * belief.shift, scale * belief.scale)
    return Moved(belief, shift, scale)


def _gaussian(belief: Gaussian, shift: Array, scale: Array, noise: Array) -> Gaussian:
    cov = belief.cov()
    if np.count_nonzero(cov) == np.count_nonzero(np.diagonal(cov)):
        cov = belief.variance() * scale**2 + noise**2
    else:
        cov = cov * np.outer(scale, scale) + np.diag(noise**2)
    return Gaussian(shift + scale * belief.mean(), cov)


def _ensemble(points: Array, weights: Array, noise: Array) -> Ensemble:
    """Return an ensemble with every member blurred along each noisy dimension in turn, which adds these variances."""
    at = np.flatnonzero(noise)
    if not len(at):
        return Ensemble(points, weights)
    if len(at) == points.shape[1]:  # all members are the same
        points, weights = points[:1], np.ones(1)
    count = NODES if len(points) > 1 else ALONE
    nodes = ndtri((np.arange(count) + 0.5) / count)
    nodes *= np.sqrt(len(at) / np.mean(nodes**2))
    blurred = np.repeat(points, count * len(at), axis=0)
    for i, dimension in enumerate(at):
        steps = np.zeros((len(at), count))
        steps[i] = nodes * noise[dimension]
        blurred[:, dimension] += np.tile(steps.ravel(), len(points))
    return Ensemble(blurred, np.repeat(weights / (count * len(at)), count * len(at)))


def _parts(beliefs: Sequence[Belief], shift: Array, scale: Array, noise: Array) -> list[Belief]:
    cuts = np.cumsum([part.dim for part in beliefs])[:-1]
    pieces = (np.split(values, cuts) for values in (shift, scale, noise))
    return [move(part, *piece) for part, *piece in zip(beliefs, *pieces, strict=True)]


class _Blurred:
    """Draws of a belief, moved and blurred; a class, so that it can be pickled where the belief can."""

    def __init__(self, belief: Belief, shift: Array, scale: Array, noise: Array) -> None:
        self._belief, self._shift, self._scale, self._noise = belief, shift, scale, noise

    def __call__(self, n: int, rng: np.random.Generator) -> Array:
        draws = self._shift + self._scale * self._belief.sample(n, rng)
        if self._noise.any():
            draws += self._noise * rng.standard_normal(draws.shape)
        return np.asarray(draws)
