"""The mean embeddings of past rounds under one kernel of contexts, and their characteristic functions on a grid."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from functools import reduce
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from overcast._check import Array
from overcast.beliefs.cloud import Cloud, Complex, kind_of, of_kind
from overcast.kernels.base import Kernel
from overcast.kernels.embeddings import chunks

T = TypeVar("T", bound=np.generic)

# Comparing a belief of n components with t others of n takes t n^2 evaluations of the kernel. Above this number,
# smooth kernels compare characteristic functions on a grid of frequencies, at the cost of about t evaluations.
MAX_DIRECT = 50_000
# Largest grid that saves time; contexts of many dimensions or a wide range need larger ones.
MAX_SIZE = 8_000

# Extent of a normal component in standard deviations.
EXTENT = 7.0


class Past:
    """The embedded beliefs of past rounds, and their inner products <mu_s, mu> with another belief."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self._weights, self._centres = np.empty(0), np.empty((0, 0))
        self._cov: Array | None = None
        self._used = 0  # number of components in the arrays above, which have spare capacity
        self._starts = np.empty(0, dtype=np.intp)
        self._kinds: list[int] = []  # the original kind of covariance of each belief
        self._size = 0
        self._grid: Grid | None = None
        self._smooth = True  # whether a grid may help
        self._latest: tuple[Cloud, Array] | None = None  # the latest belief, and its inner products

    def under(self, kernel: Kernel) -> Past:
        """Return the same beliefs under a kernel with other parameters; this object must not be used again."""
        out = copy.copy(self)
        out.kernel, out._grid, out._smooth, out._latest = kernel, None, True, None
        return out

    def take(self, rounds: NDArray[np.intp]) -> Past:
        """Return the beliefs of some rounds."""
        clouds = self.clouds()
        return self.of([clouds[s] for s in rounds])

    def of(self, clouds: Sequence[Cloud]) -> Past:
        """Embed other beliefs under the same kernel."""
        out = Past(self.kernel)
        for cloud in clouds:
            out.append(cloud)
        return out

    @property
    def starts(self) -> NDArray[np.intp]:
        """The first component of each belief, (t,)."""
        return self._starts[: self._size]

    @property
    def cloud(self) -> Cloud:
        """The components of all beliefs, concatenated."""
        cov = None if self._cov is None else self._cov[: self._used]
        return Cloud(self._weights[: self._used], self._centres[: self._used], cov)

    def clouds(self) -> list[Cloud]:
        """Return the beliefs as a list, each in its original form."""
        parts = zip(cut(self.cloud, self.starts), self._kinds, strict=True)
        return [_restore_kind(cloud, kind) for cloud, kind in parts]

    def append(self, cloud: Cloud) -> None:
        """Add the belief of the next round."""
        n, c = cloud.centres.shape
        if self._size == 0:
            self._centres = np.empty((0, c))
        kind = max(kind_of(self._cov), kind_of(cloud.cov))
        if kind != kind_of(self._cov):
            self._cov = of_kind(self._cov, kind, self._centres.shape)
        need = self._used + n
        self._weights, self._centres = room(self._weights, need), room(self._centres, need)
        self._starts = room(self._starts, self._size + 1)
        rows = slice(self._used, need)
        self._weights[rows], self._centres[rows] = cloud.weights, cloud.centres
        if self._cov is not None:
            self._cov = room(self._cov, need)
            self._cov[rows] = of_kind(cloud.cov, kind, (n, c))
        self._starts[self._size] = self._used
        self._kinds.append(kind_of(cloud.cov))
        self._used, self._size = need, self._size + 1
        self._latest = None
        # The grid depends on the rounds alone, so that questions in between do not change a digit of what is learnt.
        if self._grid is not None and not self._grid.append(cloud):
            self._grid = None
        if self._grid is None and self._smooth and self._used * n > MAX_DIRECT:
            self._grid = Grid.around(self.kernel, self.clouds())
            self._smooth = self._grid is not None

    def square(self, cloud: Cloud) -> float:
        """Return <mu, mu>."""
        if self._grid is not None and len(cloud.weights) ** 2 > MAX_DIRECT and self._grid.covers(cloud):
            return self._grid.square(cloud)
        return self.kernel.square(cloud)

    def inner(self, cloud: Cloud) -> Array:
        """Return <mu_s, mu> for all rounds s, shape (t,), in a cached array, not to be changed."""
        if self._latest is None or self._latest[0] is not cloud:
            grid = self._grid if self._used * len(cloud.weights) > MAX_DIRECT else None
            covered = grid is not None and grid.covers(cloud)
            self._latest = cloud, grid.inner(cloud) if grid is not None and covered else self.direct(cloud)
        return self._latest[1]

    def direct(self, cloud: Cloud) -> Array:
        """Return <mu_s, mu> for all rounds s from every pair of components, shape (t,)."""
        components = self.cloud
        parts = [self.kernel.compare(part, cloud) @ cloud.weights for part in chunks(components, cloud)]
        by_component = parts[0] if len(parts) == 1 else np.concatenate([np.empty(0), *parts])
        if self._used == self._size:
            return np.asarray(by_component)
        return np.add.reduceat(by_component * components.weights, self.starts)


def _restore_kind(cloud: Cloud, kind: int) -> Cloud:
    """Undo `of_kind`: return a belief with a covariance of its original kind."""
    if cloud.cov is None or kind == kind_of(cloud.cov):
        return cloud
    return cloud._replace(cov=np.diagonal(cloud.cov, axis1=1, axis2=2).copy() if kind == 1 else None)


def cut(cloud: Cloud, starts: NDArray[np.intp]) -> list[Cloud]:
    """Split a cloud of concatenated components into single beliefs."""
    ends = np.append(starts, len(cloud.weights))[1:]
    return [cloud.rows(slice(start, end)) for start, end in zip(starts, ends, strict=True)]


class Grid:
    """Characteristic functions of beliefs on a grid of frequencies: <mu, nu> = sum_w p(w) phi_mu(w) conj phi_nu(w).

    This is the trapezoidal rule for the integral over the spectral density p. It neglects only the tails of p, which
    costs less than 1e-10 for contexts within the range of the grid.
    """

    def __init__(self, series: Sequence[tuple[float, Array]], low: Array, high: Array) -> None:
        self._low, self._high = low, high
        self._origin = (low + high) / 2.0
        self._steps = [step for step, _ in series]
        # w and -w give conjugate numbers, so the first dimension has only frequencies >= 0.
        sides = [np.concatenate([half[:0:-1], half]) for _, half in series]
        sides[0] = series[0][1] * np.where(np.arange(len(series[0][1])) > 0, 2.0, 1.0)
        self._orders = [np.arange(len(side)) - (len(side) // 2 if i else 0) for i, side in enumerate(sides)]
        self._roots = np.sqrt(reduce(np.multiply.outer, sides)).ravel()
        self._coordinates = np.empty((0, 2 * self._roots.size))
        self._size = 0
        self._latest: tuple[Cloud, Array] | None = None  # cached, as a round needs it several times

    @classmethod
    def around(cls, kernel: Kernel, clouds: Sequence[Cloud]) -> Grid | None:
        """Return a grid over a wider range than that of these beliefs, with them; None if it would be too large."""
        lows, highs = zip(*map(_range, clouds), strict=True)
        low, high = np.min(lows, axis=0), np.max(highs, axis=0)
        for margin in (0.5, 0.1):
            border = margin * (high - low)
            series = kernel.series(high - low + 2.0 * border)
            if series is None:
                return None
            if math.prod(2 * len(half) - 1 for _, half in series) <= MAX_SIZE:
                grid = cls(series, low - border, high + border)
                for cloud in clouds:
                    grid.append(cloud)
                return grid
        return None

    def covers(self, cloud: Cloud) -> bool:
        """Return whether the belief lies within the range of the grid."""
        low, high = _range(cloud)
        return bool((low >= self._low).all() and (high <= self._high).all())

    def append(self, cloud: Cloud) -> bool:
        """Add a belief and return True, or return False if it lies outside the range."""
        if not self.covers(cloud):
            return False
        self._coordinates = room(self._coordinates, self._size + 1)
        self._coordinates[self._size] = self._coordinates_of(cloud)
        self._size += 1
        return True

    @property
    def coordinates(self) -> Array:
        """sqrt(p) times the characteristic functions of the added beliefs, real parts first, (t, 2 f)."""
        return self._coordinates[: self._size]

    def inner(self, cloud: Cloud) -> Array:
        """Return <mu_s, mu> for the added beliefs, (t,)."""
        return np.asarray(self.coordinates @ self._coordinates_of(cloud))

    def square(self, cloud: Cloud) -> float:
        """Return <mu, mu>."""
        return float(self._coordinates_of(cloud) @ self._coordinates_of(cloud))

    def _coordinates_of(self, cloud: Cloud) -> Array:
        """Return sqrt(p) times the characteristic function of a belief, real parts first, (2 f,)."""
        if self._latest is None or self._latest[0] is not cloud:
            if cloud.cov is not None and cloud.cov.ndim == 3 and cloud.cov.any():
                function = cloud._replace(centres=cloud.centres - self._origin).characteristic(self.frequencies())
            else:
                function = self._separable(cloud)
            function *= self._roots
            self._latest = cloud, np.concatenate([function.real, function.imag])
        return self._latest[1]

    def _separable(self, cloud: Cloud) -> Complex:
        """Return the characteristic function of components with independent coordinates, one dimension at a time."""
        waves = []
        for i, (step, orders) in enumerate(zip(self._steps, self._orders, strict=True)):
            wave = _powers(np.exp(1j * step * (cloud.centres[:, i] - self._origin[i])), orders)
            if cloud.cov is not None and cloud.cov.ndim == 2:
                wave *= np.exp(-0.5 * np.multiply.outer((step * orders) ** 2, cloud.cov[:, i]))
            waves.append(wave)
        table = waves[0] * cloud.weights
        for wave in waves[1:-1]:
            table = (table[:, None, :] * wave[None]).reshape(-1, table.shape[-1])
        return np.asarray((table @ waves[-1].T).ravel() if len(waves) > 1 else table.sum(axis=1))

    def frequencies(self) -> Array:
        """Return the frequencies w of the grid, (f, c)."""
        nodes = [step * orders for step, orders in zip(self._steps, self._orders, strict=True)]
        return np.stack([axis.ravel() for axis in np.meshgrid(*nodes, indexing="ij")], axis=-1)


def _powers(base: Complex, orders: NDArray[np.intp]) -> Complex:
    """Return base^order for equally spaced orders, (m, n), by products."""
    out = np.empty((len(orders), len(base)), dtype=np.complex128)
    zero = -int(orders[0])
    out[zero] = 1.0
    for i in range(zero + 1, len(orders)):
        np.multiply(out[i - 1], base, out=out[i])
    np.conjugate(out[zero + 1 : 2 * zero + 1][::-1], out=out[:zero])
    return out


def _range(cloud: Cloud) -> tuple[Array, Array]:
    """Return the lowest and the highest context of a belief, (c,) each."""
    if cloud.cov is None:
        return cloud.centres.min(axis=0), cloud.centres.max(axis=0)
    variances = cloud.cov if cloud.cov.ndim == 2 else np.diagonal(cloud.cov, axis1=1, axis2=2)
    reach = EXTENT * np.sqrt(variances)
    return (cloud.centres - reach).min(axis=0), (cloud.centres + reach).max(axis=0)


def room(array: NDArray[T], need: int) -> NDArray[T]:
    """Return the array with capacity for `need` rows, at least doubled if it must grow."""
    if need <= len(array):
        return array
    out = np.zeros((max(need, 2 * len(array), 16), *array.shape[1:]), dtype=array.dtype)
    out[: len(array)] = array
    return out
