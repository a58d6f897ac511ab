"""The mean embeddings of past rounds under one kernel of contexts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from overcast._check import Array
from overcast.beliefs.cloud import Cloud, Complex, kind_of, of_kind
from overcast.kernels.base import Kernel, in_pieces

T = TypeVar("T", bound=np.generic)

# Comparing a belief of n components with t such takes t n^2 evaluations of the kernel. From so many on, smooth kernels
# compare characteristic functions on a grid of frequencies instead, which costs as much as t evaluations.
MAX_DIRECT = 50_000

# A grid of more numbers than this saves nothing: the contexts have too many dimensions, or spread too widely.
MAX_GRID = 8_000

# Standard deviations of a normal component that count as its extent.
EXTENT = 7.0


class Memory:
    """Embedded beliefs, in the order they came, and their inner products <mu_s, mu> with another one."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self._weights = np.empty(0)
        self._centres = np.empty((0, 0))
        self._spread: Array | None = None
        self._used = 0  # components in the arrays above, which have room for more
        self._starts = np.empty(0, dtype=np.intp)
        self._size = 0
        self._grid: Grid | None = None
        self._coarse = True  # whether a grid may help

    @property
    def starts(self) -> NDArray[np.intp]:
        """The first component of each belief, (t,)."""
        return self._starts[: self._size]

    @property
    def cloud(self) -> Cloud:
        """The components of all beliefs, one after the other."""
        spread = None if self._spread is None else self._spread[: self._used]
        return Cloud(self._weights[: self._used], self._centres[: self._used], spread)

    def clouds(self) -> list[Cloud]:
        """Return the beliefs, one by one."""
        return cut(self.cloud, self.starts)

    def append(self, cloud: Cloud) -> None:
        n, c = cloud.centres.shape
        if self._size == 0:
            self._centres = np.empty((0, c))
        kind = max(kind_of(self._spread), kind_of(cloud.spread))
        if kind != kind_of(self._spread):
            self._spread = of_kind(self._spread, kind, self._centres.shape)
        need = self._used + n
        self._weights, self._centres = room(self._weights, need), room(self._centres, need)
        self._starts = room(self._starts, self._size + 1)
        rows = slice(self._used, need)
        self._weights[rows], self._centres[rows] = cloud.weights, cloud.centres
        if self._spread is not None:
            self._spread = room(self._spread, need)
            self._spread[rows] = of_kind(cloud.spread, kind, (n, c))
        self._starts[self._size] = self._used
        self._used, self._size = need, self._size + 1
        if self._grid is not None and not self._grid.append(cloud):
            self._grid = None  # made anew, for a wider range, when it is needed

    def square(self, cloud: Cloud) -> float:
        """Return <mu, mu>."""
        if self._grid is not None and len(cloud.weights) ** 2 > MAX_DIRECT and self._grid.covers(cloud):
            return self._grid.square(cloud)
        return self.kernel.square(cloud)

    def inner(self, cloud: Cloud) -> Array:
        """Return <mu_s, mu> for all rounds s, shape (t,)."""
        if self._coarse and self._used * len(cloud.weights) > MAX_DIRECT:
            if self._grid is None or not self._grid.covers(cloud):
                self._grid = Grid.around(self.kernel, [*self.clouds(), cloud])
                self._coarse = self._grid is not None
            if self._grid is not None:
                return self._grid.inner(cloud)
        return self.direct(cloud)

    def direct(self, cloud: Cloud) -> Array:
        """Return the same from every pair of components."""
        everything = self.cloud
        parts = [self.kernel.compare(part, cloud) @ cloud.weights for part in in_pieces(everything, cloud)]
        by_component = parts[0] if len(parts) == 1 else np.concatenate([np.empty(0), *parts])
        if self._used == self._size:
            return np.asarray(by_component)
        return np.add.reduceat(by_component * everything.weights, self.starts)


class Grid:
    """Characteristic functions of beliefs on a grid of frequencies: <mu, nu> = sum_w p(w) phi_mu(w) conj phi_nu(w).

    The trapezoidal rule for the integral over the spectral density p, whose error is that of its ends: below 1e-10
    for contexts within the range of the grid.
    """

    def __init__(self, series: Sequence[tuple[float, Array]], low: Array, high: Array) -> None:
        self._low, self._high = low, high
        self._origin = (low + high) / 2.0
        self._steps = [step for step, _ in series]
        # w and -w give conjugate numbers, so the first dimension keeps the frequencies from zero on.
        sides = [np.concatenate([half[:0:-1], half]) for _, half in series]
        sides[0] = series[0][1] * np.where(np.arange(len(series[0][1])) > 0, 2.0, 1.0)
        self._orders = [np.arange(len(side)) - (len(side) // 2 if i else 0) for i, side in enumerate(sides)]
        weights = sides[0]
        for side in sides[1:]:
            weights = np.multiply.outer(weights, side)
        self._roots = np.sqrt(weights).ravel()
        self._past = np.empty((0, 2 * self._roots.size))
        self._size = 0
        self._latest: tuple[Cloud, Array] | None = None  # a belief is asked for several times in a round

    @classmethod
    def around(cls, kernel: Kernel, clouds: Sequence[Cloud]) -> Grid | None:
        """Return a grid wider than the range of these beliefs, with all but the last in it; None where too large."""
        ranges = [_range(cloud) for cloud in clouds]
        low = np.min([low for low, _ in ranges], axis=0)
        high = np.max([high for _, high in ranges], axis=0)
        for margin in (0.5, 0.1):
            room_for = margin * (high - low)
            series = kernel.series(high - low + 2.0 * room_for)
            if series is None:
                return None
            size = math.prod(2 * len(half) - 1 for _, half in series)
            if size <= MAX_GRID:
                grid = cls(series, low - room_for, high + room_for)
                for cloud in clouds[:-1]:
                    grid.append(cloud)
                return grid
        return None

    def covers(self, cloud: Cloud) -> bool:
        low, high = _range(cloud)
        return bool((low >= self._low).all() and (high <= self._high).all())

    def append(self, cloud: Cloud) -> bool:
        """Take down the next belief; False where it lies outside the range."""
        if not self.covers(cloud):
            return False
        self._past = room(self._past, self._size + 1)
        self._past[self._size] = self._coordinates(cloud)
        self._size += 1
        return True

    @property
    def coordinates(self) -> Array:
        """sqrt(p) times the characteristic functions taken down, real parts before imaginary ones, (t, 2 f)."""
        return self._past[: self._size]

    def inner(self, cloud: Cloud) -> Array:
        """Return <mu_s, mu> for the beliefs taken down, (t,)."""
        return np.asarray(self.coordinates @ self._coordinates(cloud))

    def square(self, cloud: Cloud) -> float:
        """Return <mu, mu>."""
        own = self._coordinates(cloud)
        return float(own @ own)

    def _coordinates(self, cloud: Cloud) -> Array:
        """Return sqrt(p) times real and imaginary part of the characteristic function on the grid."""
        if self._latest is None or self._latest[0] is not cloud:
            self._latest = cloud, self._characteristic(cloud)
        return self._latest[1]

    def _characteristic(self, cloud: Cloud) -> Array:
        if cloud.spread is not None and cloud.spread.ndim == 3 and cloud.spread.any():
            centred = Cloud(cloud.weights, cloud.centres - self._origin, cloud.spread)
            function = centred.characteristic(self.frequencies())
        else:
            function = self._separable(cloud)
        function *= self._roots
        return np.concatenate([function.real, function.imag])

    def _separable(self, cloud: Cloud) -> Complex:
        """Return the characteristic function of components with independent coordinates, one dimension at a time."""
        waves = []
        for i, (step, orders) in enumerate(zip(self._steps, self._orders, strict=True)):
            wave = _powers(np.exp(1j * step * (cloud.centres[:, i] - self._origin[i])), orders)
            if cloud.spread is not None and cloud.spread.ndim == 2:
                wave *= np.exp(-0.5 * np.multiply.outer((step * orders) ** 2, cloud.spread[:, i]))
            waves.append(wave)
        table = waves[0] * cloud.weights
        for wave in waves[1:-1]:
            table = (table[:, None, :] * wave[None]).reshape(-1, table.shape[-1])
        return np.asarray((table @ waves[-1].T).ravel() if len(waves) > 1 else table.sum(axis=1))

    def frequencies(self) -> Array:
        """Return w of each number of a characteristic function, (f, c)."""
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
    if cloud.spread is None:
        return cloud.centres.min(axis=0), cloud.centres.max(axis=0)
    variances = cloud.spread if cloud.spread.ndim == 2 else np.diagonal(cloud.spread, axis1=1, axis2=2)
    reach = EXTENT * np.sqrt(variances)
    return (cloud.centres - reach).min(axis=0), (cloud.centres + reach).max(axis=0)


def cut(cloud: Cloud, starts: NDArray[np.intp]) -> list[Cloud]:
    """Return the beliefs whose components were put one after the other."""
    ends = np.append(starts, len(cloud.weights))[1:]
    return [cloud.rows(slice(start, end)) for start, end in zip(starts, ends, strict=True)]


def room(array: NDArray[T], need: int) -> NDArray[T]:
    """Return the array with room for `need` rows, at least doubled where it has to grow."""
    if need <= len(array):
        return array
    out = np.zeros((max(need, 2 * len(array), 16), *array.shape[1:]), dtype=array.dtype)
    out[: len(array)] = array
    return out
