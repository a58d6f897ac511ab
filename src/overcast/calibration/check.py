"""Compare forecasts with what happened, and say in plain words what is wrong with them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from overcast import _check
from overcast._check import Array
from overcast.beliefs import Belief, Ensemble, as_belief
from overcast.calibration import scores
from overcast.calibration.fit import QUANTILE, SHARE
from overcast.calibration.pit import beyond, pit, reach
from overcast.calibration.spread import ROUNDING, SAMPLE, centre_and_spread, members
from overcast.calibration.uniform import p_value
from overcast.calibration.verdict import sentence

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Calibration:
    """How t forecasts of c dimensions did; made by `check`.

    names : (c,) of the dimensions
    beliefs, outcomes : the forecasts and (t, c) what happened
    intervals : (t, 2, c) where in its forecast each outcome fell, from 0 to 1; an interval where forecasts have jumps
    pit : (t, c) a draw from each of these, uniform where forecasts are right
    notes : (t, 2, c) the forecasts' means, and the size of error that they claim
    reaches : (t, c) the largest nominal level of which each forecast bounds a central interval
    beyond : (t, c) outcomes outside all that their forecasts name
    """

    names: tuple[str, ...]
    beliefs: tuple[Belief, ...]
    outcomes: Array
    intervals: Array
    pit: Array
    notes: Array
    reaches: Array
    beyond: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.outcomes)

    def coverage(self, level: float = 0.8) -> Array:
        """Return the share of outcomes within central intervals of a nominal level, shape (c,).

        n members bound no interval beyond (n - 1) / (n + 1), see `level`: a wider one is from the least to the most of
        them, and covers as much.
        """
        level = _check.number("Calibration", "level", level, above=0.0, below=1.0)
        within = self._mass((1.0 - level) / 2.0, (1.0 + level) / 2.0)
        return np.asarray(np.where(self.beyond, 0.0, within).mean(axis=0))

    @cached_property
    def level(self) -> Array:
        """(c,) the nominal level to state coverage at: 80 %, or the largest of which all forecasts bound an interval.

        Forecasts that bound none, such as a single quantile, are taken for points, which have a say at every level.
        """
        least = self.reaches.min(axis=0)
        return np.where(least > 0.0, np.minimum(SHARE, least), SHARE)

    def histogram(self, bins: int = 10) -> Array:
        """Return the share of outcomes in equal parts of their forecasts, shape (bins, c); all 1/bins if right.

        With n + 1 bins it is the rank histogram of an ensemble of n members.
        """
        edges = np.arange(_check.integer("Calibration", "bins", bins, at_least=1) + 1) / bins
        return np.array([self._mass(low, high).mean(axis=0) for low, high in pairwise(edges.tolist())])

    @cached_property
    def members(self) -> int | None:
        """The number of members where all forecasts are ensembles of as many, else None."""
        sizes = {len(b.support()[1]) if isinstance(b, Ensemble) else None for b in self.beliefs}
        return sizes.pop() if len(sizes) == 1 else None

    @property
    def ranks(self) -> Array | None:
        """(n + 1, c) the share of outcomes in each place among n members; None where forecasts are no ensembles."""
        return None if self.members is None else self.histogram(self.members + 1)

    @property
    def outside(self) -> Array | None:
        """(c,) the share of outcomes below or above all members, None where forecasts are no ensembles.

        2 / (n + 1) is expected of n > 1, unless outcomes and members are often equal.
        """
        if not all(isinstance(belief, Ensemble) for belief in self.beliefs):
            return None
        return np.asarray(self.beyond.mean(axis=0))

    @cached_property
    def sure(self) -> NDArray[np.bool_]:
        """(c,) whether no forecast leaves room for error: points, single members, members that are all the same."""
        return np.asarray((self.notes[:, 1] == 0.0).all(axis=0))

    @cached_property
    def errors(self) -> Array:
        """(t, c) how far outcomes lie above the forecasts' means."""
        return _errors(self.notes, self.outcomes)

    @property
    def bias(self) -> Array:
        """(c,) how far outcomes lie above the forecasts' means, on average."""
        return np.asarray(self.errors.mean(axis=0))

    @property
    def factor(self) -> Array:
        """(c,) by how much errors, the bias apart, exceed what forecasts say of them: above 1 is over-confident.

        80 % of errors fall within the forecast's standard deviation times this times 1.28 (times the quantile of
        Student's t where that deviation is one of few members). Infinite where forecasts claim to know the outcome but
        do not; 1 where they do.
        """
        quantiles = np.array([_quantile(belief) for belief in self.beliefs])
        errors, spreads = np.abs(self.errors - self.bias), self.notes[:, 1] * quantiles[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(errors == 0.0, 0.0, errors / spreads)
        factor = np.quantile(ratios, 0.8, axis=0, method="higher")
        return np.where((errors == 0.0).all(axis=0) & (spreads == 0.0).all(axis=0), 1.0, factor)

    @property
    def crps(self) -> Array:
        """(c,) the mean continuous ranked probability score, in the units of the outcomes; lower is better."""
        return np.asarray(self._crps.mean(axis=0))

    @cached_property
    def energy(self) -> float:
        """The mean energy score of all dimensions together; lower is better."""
        if len(self.names) == 1:
            return float(self.crps[0])
        return float(scores.energy(self.beliefs, self.outcomes).mean())

    @cached_property
    def p_values(self) -> Array:
        """(c,) the probability of PIT values at least as uneven, were the forecasts right; see `uniform`."""
        return np.array([p_value(column) for column in self.pit.T])

    @property
    def verdict(self) -> str:
        """A line for each dimension: what is wrong with the forecasts, or that they look right."""
        return "\n".join(sentence(self, i) for i in range(len(self.names)))

    def plot(self, path: str | os.PathLike[str] | None = None, after: Calibration | None = None) -> Figure:
        """Draw where outcomes fell in their forecasts, and the coverage of intervals, a row for each dimension.

        Parameters
        ----------
        path : file to write to, its ending tells the format; None to write none
        after : the same forecasts corrected, to be drawn beside
        """
        try:
            from overcast.calibration.picture import draw
        except ImportError:
            raise ImportError(
                "Calibration: plot needs matplotlib; install it with pip install 'overcast[experiments]'"
            ) from None
        figure = draw(self, after)
        if path is not None:
            figure.savefig(path, dpi=160)
        return figure

    def __repr__(self) -> str:
        cover = ", ".join(
            f"nominal {level:.0%} intervals cover {self.coverage(level)[i]:.0%}"
            for i, level in enumerate(self.level.tolist())
        )
        return f"Calibration({len(self)} outcomes of {', '.join(self.names)}; {cover})"

    @cached_property
    def _crps(self) -> Array:
        return scores.crps(self.beliefs, self.outcomes)

    def _mass(self, low: float, high: float) -> Array:
        """Return how much of each outcome is between two values of the PIT, intervals spread evenly, shape (t, c)."""
        lower, upper = self.intervals[:, 0], self.intervals[:, 1]
        width = upper - lower
        inside = np.clip(np.minimum(upper, high) - np.maximum(lower, low), 0.0, None)
        sharp = (lower >= low) & ((lower < high) | ((high == 1.0) & (lower == 1.0)))
        return np.asarray(np.where(width > 0.0, inside / np.where(width > 0.0, width, 1.0), sharp))


def _quantile(belief: Belief) -> float:
    """Return what 80 % of errors are below, in units of the error's size that the forecast claims."""
    n = members(belief) if isinstance(belief, Ensemble) else np.inf
    return float(stdtrit(n - 1.0, 0.9)) if SAMPLE <= n < np.inf else QUANTILE


def _errors(notes: Array, outcomes: Array) -> Array:
    """Return errors of the means, (t, c), without those that are rounding of a forecast that leaves no room for any."""
    errors = outcomes - notes[:, 0]
    return np.where((notes[:, 1] == 0.0) & (np.abs(errors) <= ROUNDING * np.abs(notes[:, 0])), 0.0, errors)


def check(
    beliefs: Iterable[Any], outcomes: ArrayLike, names: Sequence[str] | None = None, seed: int = 0
) -> Calibration:
    """Judge forecasts by what happened.

    Parameters
    ----------
    beliefs : t forecasts, in order of time: beliefs, or anything `as_belief` takes; a (t, n, c) array for ensembles
    outcomes : (t, c) contexts that came, or (t,) for one dimension
    names : (c,) of the dimensions
    seed : of the draws from forecasts that have jumps

    Examples
    --------
    >>> from overcast import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(size=400)
    >>> found = check([Gaussian([0.0], 0.25)] * 400, truth, names=["demand"])
    >>> print(found.verdict)
    demand: your forecasts are over-confident by a factor 2.0: nominal 80 % intervals cover 48 %.
    """
    known = tuple(as_belief(belief) for belief in beliefs)
    happened = _check.floats("check", "outcomes", outcomes)
    happened = happened[:, None] if happened.ndim == 1 else happened
    happened = _check.checked("check", "outcomes", happened, (len(known) or "t", "c"))
    t, c = happened.shape
    if t != len(known):
        raise ValueError(f"check: beliefs must be one for each of the {t} outcomes, got none")
    for at, belief in enumerate(known):
        if belief.dim != c:
            raise ValueError(
                f"check: beliefs must have the dimension {c} of the outcomes, got {belief.dim} at index {at}; "
                f"n members of one quantity have shape (n, 1)"
            )
    titles = tuple(map(str, names)) if names is not None else tuple(f"dimension {i + 1}" for i in range(c))
    if len(titles) != c:
        raise ValueError(f"check: names must be {c}, one for each dimension, got {len(titles)}")
    intervals = np.stack([pit(belief, y) for belief, y in zip(known, happened, strict=True)])
    notes = np.stack([centre_and_spread(belief, "check") for belief in known])
    reaches = np.stack([reach(belief) for belief in known])
    missed = np.stack([beyond(belief, y) for belief, y in zip(known, happened, strict=True)])
    # Members that agree now and then do so by accident, too; where they always do, each forecast is a point.
    sure, errors = (notes[:, 1] == 0.0).all(axis=0), _errors(notes, happened)
    intervals = np.where(sure, np.stack([errors > 0.0, errors >= 0.0], axis=1), intervals)
    reaches, missed = np.where(sure, 1.0, reaches), np.where(sure, errors != 0.0, missed)
    drawn = np.random.default_rng(_check.integer("check", "seed", seed, at_least=0)).random((t, c))
    values = intervals[:, 0] + drawn * (intervals[:, 1] - intervals[:, 0])
    return Calibration(titles, known, happened, intervals, values, notes, reaches, missed)
