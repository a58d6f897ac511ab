"""Beliefs of many trials at once: the same questions as to a belief, answered with a leading trial axis r.

Simulations run trials in lock-step and build these every round, so nothing here checks its arguments.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from overcast._check import Array
from overcast.beliefs import _moments
from overcast.beliefs._moments import Powers
from overcast.beliefs.base import Belief
from overcast.beliefs.gaussian import Gaussian
from overcast.beliefs.point import PointMass


class BeliefStack(ABC):
    """One belief for each of r trials, all of dimension c."""

    dim: int
    exact: bool = True

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of trials r."""

    @abstractmethod
    def __getitem__(self, trial: int) -> Belief:
        """Return the belief of one trial."""

    @abstractmethod
    def mean(self) -> Array:
        """Return the means, shape (r, c)."""

    @abstractmethod
    def variance(self) -> Array:
        """Return the variances of the coordinates, shape (r, c) or one that broadcasts to it."""

    @abstractmethod
    def cov(self) -> Array:
        """Return the covariances, shape (r, c, c)."""

    @abstractmethod
    def moments(self, powers: Powers) -> Array:
        """Return E[prod_i c_i^powers[j, i]] for the rows j of `powers` (m, c), shape (r, m)."""

    @abstractmethod
    def sample(self, n: int, rngs: Sequence[np.random.Generator]) -> Array:
        """Return `n` draws for each trial from its own generator, shape (r, n, c)."""

    def sample_mean(self, n: int, rngs: Sequence[np.random.Generator]) -> Array:
        """Return the mean of `n` draws for each trial, shape (r, c)."""
        return _moments.average(self.sample(n, rngs))

    def sample_moments(self, n: int, rngs: Sequence[np.random.Generator]) -> tuple[Array, Array]:
        """Return the mean of `n` draws for each trial and the mean of their squares, both (r, c)."""
        draws = self.sample(n, rngs)
        return _moments.average(draws), _moments.average(draws * draws)


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

    def __init__(self, mean: Array, variance: Array | float) -> None:
        self._mean = mean
        self._variance = np.asarray(variance, dtype=np.float64)
        self.dim = mean.shape[1]

    def __len__(self) -> int:
        return len(self._mean)

    def __getitem__(self, trial: int) -> Gaussian:
        return Gaussian(self._mean[trial], np.broadcast_to(self._variance, self._mean.shape)[trial])

    def mean(self) -> Array:
        return self._mean

    def variance(self) -> Array:
        return self._variance

    def cov(self) -> Array:
        out = np.zeros((*self._mean.shape, self.dim))
        at = np.arange(self.dim)
        out[:, at, at] = self._variance
        return out

    def moments(self, powers: Powers) -> Array:
        table = _moments.of_gaussian(self._mean, self._variance, int(powers.max(initial=0)))
        return _moments.of_independent(table, powers)

    def sample(self, n: int, rngs: Sequence[np.random.Generator]) -> Array:
        out = np.empty((len(self), self.dim, n))  # long rows, as a single Gaussian draws them
        for trial, rng in zip(out, rngs, strict=True):
            rng.standard_normal(out=trial)
        out *= np.sqrt(self._variance)[..., None]
        out += self._mean[..., None]
        return out.swapaxes(-1, -2)

    def sample_mean(self, n: int, rngs: Sequence[np.random.Generator]) -> Array:
        out = np.empty(self._mean.shape)
        for trial, rng in zip(out, rngs, strict=True):
            rng.standard_normal(out=trial)
        out *= np.sqrt(self._variance / n)
        out += self._mean
        return out

    def sample_moments(self, n: int, rngs: Sequence[np.random.Generator]) -> tuple[Array, Array]:
        mean = self.sample_mean(n, rngs)
        scatter = np.empty(self._mean.shape)
        for trial, rng in zip(scatter, rngs, strict=True):
            rng.standard_gamma((n - 1) / 2, out=trial)
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

    def __init__(self, mean: Array, root: Array) -> None:
        self._mean = mean
        self._root = root
        self.dim = mean.shape[1]

    def __len__(self) -> int:
        return len(self._mean)

    def __getitem__(self, trial: int) -> Gaussian:
        return Gaussian(self._mean[trial], self._root[trial] @ self._root[trial].T)

    def mean(self) -> Array:
        return self._mean

    def variance(self) -> Array:
        return np.asarray(np.vecdot(self._root, self._root))

    def cov(self) -> Array:
        return np.asarray(self._root @ self._root.swapaxes(-1, -2))

    def moments(self, powers: Powers) -> Array:
        return np.stack([self[trial].moments(powers) for trial in range(len(self))])

    def sample(self, n: int, rngs: Sequence[np.random.Generator]) -> Array:
        draws = np.empty((len(self), self._root.shape[-1], n))
        for trial, rng in zip(draws, rngs, strict=True):
            rng.standard_normal(out=trial)
        return np.asarray((self._root @ draws + self._mean[..., None]).swapaxes(-1, -2))

    def sample_mean(self, n: int, rngs: Sequence[np.random.Generator]) -> Array:
        draws = self.sample(1, rngs)[:, 0] - self._mean
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

    def __init__(self, points: Array) -> None:
        self._points = points
        self.dim = points.shape[1]

    def __len__(self) -> int:
        return len(self._points)

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

    def sample(self, n: int, rngs: Sequence[np.random.Generator]) -> Array:
        """Return the points themselves as a read-only view; the generators stay untouched."""
        return np.broadcast_to(self._points[:, None, :], (len(self), n, self.dim))


class Catalogue:
    """Distinct beliefs that come up again and again, such as groups of users or sites.

    What is computed from a belief is computed once, and gathered for the trials afterwards.

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
        """Return compute(b) stacked over the distinct beliefs, shape (beliefs, q), computed once for each `key`."""
        if key not in self._tables:
            table = np.stack([compute(belief) for belief in self.beliefs])
            table.setflags(write=False)
            self._tables[key] = table
        return self._tables[key]

    def pick(self, index: NDArray[np.integer]) -> CatalogueStack:
        """Return the stack whose trial i holds belief index[i]; `index` (r,)."""
        return CatalogueStack(self, index)


class CatalogueStack(BeliefStack):
    """Beliefs picked from a catalogue, one for each trial; made by `Catalogue.pick`."""

    def __init__(self, catalogue: Catalogue, index: NDArray[np.integer]) -> None:
        self.catalogue = catalogue
        self.index = index
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

    def sample(self, n: int, rngs: Sequence[np.random.Generator]) -> Array:
        out = np.empty((len(self), n, self.dim))
        for trial, i, rng in zip(out, self.index, rngs, strict=True):
            trial[:] = self.beliefs[i].sample(n, rng)
        return out

    def sample_mean(self, n: int, rngs: Sequence[np.random.Generator]) -> Array:
        return np.stack([self[i].sample_mean(n, rng) for i, rng in enumerate(rngs)])

    def sample_moments(self, n: int, rngs: Sequence[np.random.Generator]) -> tuple[Array, Array]:
        pairs = [self[i].sample_moments(n, rng) for i, rng in enumerate(rngs)]
        return np.stack([mean for mean, _ in pairs]), np.stack([square for _, square in pairs])

    def gather(self, key: Hashable, compute: Callable[[Belief], Array]) -> Array:
        """Return compute(belief) for the belief of each trial, shape (r, q), through the catalogue's table."""
        return np.asarray(self.catalogue.table(key, compute)[self.index])
