"""Quantile functions through published values: linear in the level, or in the normal score.

Each column of `values` (levels, c) is one coordinate.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import pairwise

import numpy as np
from scipy.special import ndtr, ndtri, wofz

from overcast._check import Array
from overcast.beliefs.cloud import Complex


class Run(ABC):
    """A quantile function through values (levels, c) at levels (levels,)."""

    def __init__(self, levels: Array) -> None:
        self.levels = levels

    @abstractmethod
    def sample(self, values: Array, n: int, rng: np.random.Generator) -> Array:
        """Return n draws, (n, c)."""

    @abstractmethod
    def quantile(self, values: Array, p: Array) -> Array:
        """Return the values at levels p (m,), shape (m, c)."""

    @abstractmethod
    def cdf(self, values: Array, at: Array) -> Array:
        """Return P(c_i <= at[j, i]), shape (m, c)."""

    @abstractmethod
    def table(self, values: Array, top: int) -> Array:
        """Return E[c_i^p] for p = 0..top, shape (top + 1, c)."""

    @abstractmethod
    def characteristic(self, values: Array, frequencies: Array) -> Complex:
        """Return E[exp(i w_i c_i)] for the entries of `frequencies` (m, c)."""


class InLevels(Run):
    """Linear in the level between the values; the mass of the tails sits on the outermost values.

    With du the gap between two levels and a <= b the values there, E[c^m] = sum of du (a^0 b^m + a^1 b^(m-1) + ... +
    a^m b^0) / (m + 1), plus the tails.
    """

    def sample(self, values: Array, n: int, rng: np.random.Generator) -> Array:
        draws = rng.random((n, values.shape[1]))
        for i, known in enumerate(values.T):
            draws[:, i] = np.interp(draws[:, i], self.levels, known)
        return draws

    def quantile(self, values: Array, p: Array) -> Array:
        return np.stack([np.interp(p, self.levels, known) for known in values.T], axis=1)

    def cdf(self, values: Array, at: Array) -> Array:
        # Where neighbours are equal, interp takes the last one: the distribution function jumps there.
        inside = np.stack([np.interp(v, known, self.levels) for v, known in zip(at.T, values.T, strict=True)], axis=1)
        return np.where(at < values[0], 0.0, np.where(at >= values[-1], 1.0, inside))

    def table(self, values: Array, top: int) -> Array:
        du = np.diff(self.levels)
        below, above = self.levels[0], 1.0 - self.levels[-1]
        a, b = values[:-1], values[1:]
        sums = np.ones_like(a)  # a^0 b^p + ... + a^p b^0
        table = np.empty((top + 1, values.shape[1]))
        table[0] = 1.0
        for p in range(1, top + 1):
            sums = a * sums + b**p
            table[p] = du @ sums / (p + 1) + below * values[0] ** p + above * values[-1] ** p
        return table

    def characteristic(self, values: Array, frequencies: Array) -> Complex:
        """Between two published values the coordinate is uniform: E[exp(iwc)] there is exp(iw mid) sinc(w half)."""
        du = np.diff(self.levels)
        below, above = self.levels[0], 1.0 - self.levels[-1]
        a, b = values[:-1], values[1:]  # (levels - 1, c)
        w = frequencies[:, None, :]  # (m, 1, c)
        inside = np.exp(0.5j * w * (a + b)) * np.sinc(w * (b - a) / (2 * np.pi))
        ends = below * np.exp(1j * frequencies * values[0]) + above * np.exp(1j * frequencies * values[-1])
        return np.asarray(np.einsum("l,mlc->mc", du, inside) + ends)


class InScores(Run):
    """Linear in the normal score z of the level, so that quantiles of a normal distribution give that distribution.

    Between two scores c = a + b z, where z is standard normal. Each tail continues with the slope next to it, or has
    its mass on the outermost value. With M_q the integral of z^q phi(z) over a piece (z0, z1), M_q = (q - 1) M_(q-2) +
    z0^(q-1) phi(z0) - z1^(q-1) phi(z1), and E[c^p] is the sum of comb(p, q) a^(p-q) b^q M_q.

    Parameters
    ----------
    levels : inside (0, 1)
    tails : whether the lower and the upper tail continue
    """

    def __init__(self, levels: Array, tails: tuple[bool, bool]) -> None:
        super().__init__(levels)
        self.scores, self.tails = ndtri(levels), tails
        self._edges = np.concatenate([[-np.inf], self.scores, [np.inf]])

    def sample(self, values: Array, n: int, rng: np.random.Generator) -> Array:
        draws = rng.standard_normal((n, values.shape[1]))
        slopes = self._slopes(values)
        for i, known in enumerate(values.T):
            draws[:, i] = self._at(draws[:, i], known, slopes[:, i])
        return draws

    def quantile(self, values: Array, p: Array) -> Array:
        z, slopes = ndtri(p), self._slopes(values)
        columns = [self._at(z, known, slopes[:, i]) for i, known in enumerate(values.T)]
        # A published level returns its value, to the last bit.
        near = np.minimum(np.searchsorted(self.levels, p), len(self.levels) - 1)
        return np.where((self.levels[near] == p)[:, None], values[near], np.stack(columns, axis=1))

    def cdf(self, values: Array, at: Array) -> Array:
        slopes, out = self._slopes(values), np.empty_like(at)
        for i, known in enumerate(values.T):
            v, below, above = at[:, i], slopes[0, i], slopes[-1, i]
            z = np.interp(v, known, self.scores)  # takes the last of equal neighbours: the function jumps there
            with np.errstate(invalid="ignore"):
                low = self.scores[0] + (v - known[0]) / below if below > 0.0 else np.full_like(v, -np.inf)
                high = self.scores[-1] + (v - known[-1]) / above if above > 0.0 else np.full_like(v, np.inf)
            z = np.where(v < known[0], low, np.where(v > known[-1], high, z))
            out[:, i] = ndtr(np.where((v == known[-1]) & (above == 0.0), np.inf, z))
        return out

    def table(self, values: Array, top: int) -> Array:
        slopes, starts = self._pieces(values)
        finite = np.where(np.isfinite(self._edges), self._edges, 0.0)
        density = np.exp(-0.5 * self._edges**2) / np.sqrt(2.0 * np.pi)
        parts = [np.diff(ndtr(self._edges))]  # M_0, one for each piece
        for q in range(1, top + 1):
            edge = finite ** (q - 1) * density
            parts.append((q - 1) * parts[-2] - np.diff(edge) if q > 1 else -np.diff(edge))
        # E[(a + b z)^p] by adding one factor at a time: sums[q] holds E[c^p z^q] of each piece.
        sums = [np.repeat(part[:, None], values.shape[1], axis=1) for part in parts]
        table = np.empty((top + 1, values.shape[1]))
        table[0] = 1.0
        for p in range(1, top + 1):
            sums = [starts * a + slopes * b for a, b in pairwise(sums)]
            table[p] = sums[0].sum(axis=0)
        return table

    def characteristic(self, values: Array, frequencies: Array) -> Complex:
        """A piece contributes exp(iwa) E[exp(iwbz)] over it, by the Faddeeva function."""
        slopes, starts = self._pieces(values)
        w = frequencies[:, None, :]  # (m, 1, c)
        turn = w * slopes
        upper = [_above(float(z), turn[:, j]) for j, z in enumerate(self._edges[1:])]
        lower = [_above(float(z), turn[:, j]) for j, z in enumerate(self._edges[:-1])]
        pieces = np.stack([a - b for a, b in zip(lower, upper, strict=True)], axis=1)  # (m, levels + 1, c)
        return np.asarray((np.exp(1j * w * starts) * pieces).sum(axis=1))

    def _slopes(self, values: Array) -> Array:
        """Return the slope of each piece in the score, tails included, (levels + 1, c)."""
        none = np.zeros((1, values.shape[1]))
        if len(self.scores) == 1:
            return np.concatenate([none, none])
        inner = np.diff(values, axis=0) / np.diff(self.scores)[:, None]
        lower, upper = (
            end if goes_on else none for end, goes_on in zip((inner[:1], inner[-1:]), self.tails, strict=True)
        )
        return np.concatenate([lower, inner, upper])

    def _pieces(self, values: Array) -> tuple[Array, Array]:
        """Return slope and value at score zero of each piece, both (levels + 1, c)."""
        slopes = self._slopes(values)
        anchor = np.concatenate([values[:1], values])
        return slopes, anchor - slopes * np.concatenate([self.scores[:1], self.scores])[:, None]

    def _at(self, z: Array, known: Array, slopes: Array) -> Array:
        """Return the values of one coordinate at scores z (m,)."""
        out = np.interp(z, self.scores, known)
        for beyond, end, slope in ((z < self.scores[0], 0, slopes[0]), (z > self.scores[-1], -1, slopes[-1])):
            if slope > 0.0 and beyond.any():
                out[beyond] = known[end] + slope * (z[beyond] - self.scores[end])
        return out


def _above(z: float, turn: Array) -> Complex:
    """Return E[exp(i turn Z); Z > z] of a standard normal Z, (m, c)."""
    if z == np.inf:
        return np.zeros(turn.shape, dtype=np.complex128)
    whole = np.exp(-0.5 * turn**2)
    if z == -np.inf:
        return whole.astype(np.complex128)
    if z < 0.0:
        return np.asarray(whole - _above(-z, -turn))
    scaled = wofz((turn + 1j * z) / np.sqrt(2.0))
    return np.asarray(0.5 * np.exp(-0.5 * z * z + 1j * z * turn) * scaled)


def run_through(levels: Array, tails: tuple[str, str]) -> Run:
    """Return the quantile function through these levels; one "normal" tail makes it linear in scores."""
    if tails == ("none", "none"):
        return InLevels(levels)
    return InScores(levels, (tails[0] == "normal", tails[1] == "normal"))
