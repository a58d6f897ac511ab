"""Stacks of beliefs, one for each of r trials: the methods of a belief with a leading axis r.

Simulations build these every round, so arguments are not checked.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from overcast._check import Array, read_only
from overcast.beliefs import _moments
from overcast.beliefs._moments import Powers
from overcast.beliefs.base import Belief, Beliefs
from overcast.beliefs.gaussian import Gaussian
from overcast.beliefs.point import PointMass


class BeliefStack(Beliefs):
    """One belief for each of r trials, all of dimension c."""

    def __len__(self) -> int:
        """Return the number of trials r."""
        return len(self.mean())

    @abstractmethod
    def __getitem__(self, trial: int) -> Belief:
        """Return the belief of one trial."""

    @property
    def leading(self) -> tuple[int, ...]:
        return (len(self),)

    def singles(self) -> Sequence[Belief]:
        return [self[trial] for trial in range(len(self))]


class GaussianStack(BeliefStack):
    """Normal beliefs with independent coordinates.

    Parameters
    ----------
    mean : (r, c) array
    variance : (r, c) array, (c,) for all trials, or one number

    Examples
    --------
    >>> stack = GaussianStack(np.array([[0.0, 1.0], [2.0, 3.0]]), 4.0)
    >>> stack.moments(np.array([[2, 0], [1, 1]]))
    array([[4., 0.],
           [8., 6.]])
    """

    normal = True
    uncorrelated = True

    def __init__(self, mean: Array, variance: Array | float) -> None:
        self._mean, self.dim = mean, mean.shape[1]
        self._variance = np.asarray(variance, dtype=np.float64)

    def __getitem__(self, trial: int) -> Gaussian:
        return Gaussian(self._mean[trial], np.broadcast_to(self._variance, self._mean.shape)[trial])

    def mean(self) -> Array:
        return self._mean

    def variance(self) -> Array:
        return self._variance

    def cov(self) -> Array:
        return np.eye(self.dim) * np.broadcast_to(self._variance, self._mean.shape)[..., None]

    def moments(self, powers: Powers) -> Array:
        table = _moments.of_gaussian(self._mean, self._variance, int(powers.max(initial=0)))
        return _moments.of_independent(table, powers)

    def centred(self) -> GaussianStack:
        return GaussianStack(np.zeros(self._mean.shape), self._variance)

    def sample(self, n: int, rng: Sequence[np.random.Generator]) -> Array:
        out = np.empty((len(self), self.dim, n))  # long rows, as a single Gaussian draws them
        for trial, generator in zip(out, rng, strict=True):
            generator.standard_normal(out=trial)
        out *= np.sqrt(self._variance)[..., None]
        out += self._mean[..., None]
        return out.swapaxes(-1, -2)

    def sample_mean(self, n: int, rng: Sequence[np.random.Generator]) -> Array:
        out = np.empty(self._mean.shape)
        for trial, generator in zip(out, rng, strict=True):
            generator.standard_normal(out=trial)
        out *= np.sqrt(self._variance / n)
        out += self._mean
        return out

    def sample_moments(self, n: int, rng: Sequence[np.random.Generator]) -> tuple[Array, Array]:
        mean = self.sample_mean(n, rng)
        scatter = np.empty(self._mean.shape)
        for trial, generator in zip(scatter, rng, strict=True):
            generator.standard_gamma((n - 1) / 2, out=trial)
        return mean, scatter * (self._variance * (2 / n)) + mean * mean


class CorrelatedStack(BeliefStack):
    """Normal beliefs with correlated coordinates.

    Parameters
    ----------
    mean : (r, c) array
    root : (r, c, e) array, factors A of the covariances A A^T

    Examples
    --------
    >>> stack = CorrelatedStack(np.array([[0.0, 1.0]]), np.array([[[1.0], [2.0]]]))
    >>> stack[0].cov()
    array([[1., 2.],
           [2., 4.]])
    """

    normal = True

    def __init__(self, mean: Array, root: Array) -> None:
        self._mean, self._root, self.dim = mean, root, mean.shape[1]

    def __getitem__(self, trial: int) -> Gaussian:
        return Gaussian(self._mean[trial], self._root[trial] @ self._root[trial].T)

    def mean(self) -> Array:
        return self._mean

    def variance(self) -> Array:
        return np.asarray(np.vecdot(self._root, self._root))

    def cov(self) -> Array:
        return np.asarray(self._root @ self._root.swapaxes(-1, -2))

    def moments(self, powers: Powers) -> Array:
        return self.each(lambda belief: belief.moments(powers))

    def centred(self) -> CorrelatedStack:
        return CorrelatedStack(np.zeros(self._mean.shape), self._root)

    def sample(self, n: int, rng: Sequence[np.random.Generator]) -> Array:
        draws = np.empty((len(self), self._root.shape[-1], n))
        for trial, generator in zip(draws, rng, strict=True):
            generator.standard_normal(out=trial)
        return np.asarray((self._root @ draws + self._mean[..., None]).swapaxes(-1, -2))

    def sample_mean(self, n: int, rng: Sequence[np.random.Generator]) -> Array:
        draws = self.sample(1, rng)[:, 0] - self._mean
        return np.asarray(self._mean + draws / math.sqrt(n))


class PointStack(BeliefStack):
    """Contexts known exactly.

    Parameters
    ----------
    points : (r, c) array

    Examples
    --------
    >>> PointStack(np.array([[2.0, 3.0]])).moments(np.array([[1, 2]]))
    array([[18.]])
    """

    certain = True

    def __init__(self, points: Array) -> None:
        self._points, self.dim = points, points.shape[1]

    def __getitem__(self, trial: int) -> PointMass:
        return PointMass(self._points[trial])

    def mean(self) -> Array:
        return self._points

    def variance(self) -> Array:
        return np.zeros(self._points.shape)

    def cov(self) -> Array:
        return np.zeros((*self._points.shape, self.dim))

    def moments(self, powers: Powers) -> Array:
        return np.asarray(np.prod(self._points[:, None, :] ** powers, axis=-1))

    def centred(self) -> PointStack:
        return PointStack(np.zeros(self._points.shape))

    def sample(self, n: int, rng: Sequence[np.random.Generator]) -> Array:
        """Return the points themselves as a read-only view; the generators stay untouched."""
        return np.broadcast_to(self._points[:, None, :], (len(self), n, self.dim))


class Catalogue:
    """Distinct beliefs that recur across rounds and trials; results computed from them are cached.

    Parameters
    ----------
    beliefs : beliefs of equal dimension

    Examples
    --------
    >>> from overcast.beliefs import PointMass
    >>> groups = Catalogue([PointMass([1.0, 0.0]), PointMass([0.0, 1.0])])
    >>> groups.pick(np.array([1, 1, 0])).mean()
    array([[0., 1.],
           [0., 1.],
           [1., 0.]])
    """

    def __init__(self, beliefs: Sequence[Belief]) -> None:
        self.beliefs = tuple(beliefs)
        self._tables: dict[Hashable, Array] = {}

    def __len__(self) -> int:
        return len(self.beliefs)

    def table(self, key: Hashable, compute: Callable[[Belief], Array]) -> Array:
        """Return compute(belief) stacked over the distinct beliefs, shape (beliefs, q), cached under `key`."""
        if key not in self._tables:
            self._tables[key] = read_only(np.stack([compute(belief) for belief in self.beliefs]))
        return self._tables[key]

    @cached_property
    def centred(self) -> Catalogue:
        """The same beliefs about c - E[c]."""
        return Catalogue([belief.centred() for belief in self.beliefs])

    def pick(self, index: NDArray[np.integer]) -> CatalogueStack:
        """Return the stack whose trial i holds belief index[i]; `index` (r,)."""
        return CatalogueStack(self, index)


class CatalogueStack(BeliefStack):
    """Beliefs picked from a catalogue, one for each trial; made by `Catalogue.pick`."""

    def __init__(self, catalogue: Catalogue, index: NDArray[np.integer]) -> None:
        self.catalogue, self.index = catalogue, index
        self.dim = catalogue.beliefs[0].dim
        self.exact = all(belief.exact for belief in catalogue.beliefs)

    @property
    def beliefs(self) -> tuple[Belief, ...]:
        """The distinct beliefs; trial i holds beliefs[index[i]]."""
        return self.catalogue.beliefs

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, trial: int) -> Belief:
        return self.beliefs[int(self.index[trial])]

    def mean(self) -> Array:
        return self.gather("mean", lambda belief: belief.mean())

    def variance(self) -> Array:
        return self.gather("variance", lambda belief: belief.variance())

    def cov(self) -> Array:
        return self.gather("cov", lambda belief: belief.cov())

    def moments(self, powers: Powers) -> Array:
        return self.gather(("moments", powers.shape, powers.tobytes()), lambda belief: belief.moments(powers))

    def centred(self) -> CatalogueStack:
        return self.catalogue.centred.pick(self.index)

    def sample(self, n: int, rng: Sequence[np.random.Generator]) -> Array:
        out = np.empty((len(self), n, self.dim))
        for trial, i, generator in zip(out, self.index, rng, strict=True):
            trial[:] = self.beliefs[i].sample(n, generator)
        return out

    def sample_mean(self, n: int, rng: Sequence[np.random.Generator]) -> Array:
        return np.stack([self[i].sample_mean(n, generator) for i, generator in enumerate(rng)])

    def sample_moments(self, n: int, rng: Sequence[np.random.Generator]) -> tuple[Array, Array]:
        pairs = [self[i].sample_moments(n, generator) for i, generator in enumerate(rng)]
        return np.stack([mean for mean, _ in pairs]), np.stack([square for _, square in pairs])

    def gather(self, key: Hashable, compute: Callable[[Belief], Array]) -> Array:
        """Return compute(belief) for each trial, shape (r, q), from the catalogue's cached table."""
        return np.asarray(self.catalogue.table(key, compute)[self.index])


def certain(contexts: Array) -> Beliefs:
    """Return contexts as beliefs that know them exactly: a `PointMass` for (c,), a `PointStack` for (r, c)."""
    return PointMass(contexts) if contexts.ndim == 1 else PointStack(contexts)
