"""Compare forecasts with outcomes, and say in plain words how they are wrong."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr, stdtrit

from overcast import _check, _html
from overcast._check import Array
from overcast._files import write_figure
from overcast.adapters import as_belief, tuples
from overcast.beliefs import Belief
from overcast.beliefs.base import ROUNDING
from overcast.calibration import scores
from overcast.calibration.fit import QUANTILE, SHARE
from overcast.calibration.verdict import p_value, sentence

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Calibration:
    """The calibration of t forecasts of c dimensions; returned by `check`.

    names : (c,) names of the dimensions
    beliefs, outcomes : the forecasts, and the outcomes (t, c)
    intervals : (t, 2, c) the PIT of each outcome: lower and upper end, which differ if the forecast has a jump
    pit : (t, c) a draw from each interval, uniform if forecasts are calibrated
    stated : (t, 2, c) the forecasts' means, and the size of error that they state for themselves
    reaches : (t, c) the largest nominal level of a central interval that each forecast can bound
    beyond : (t, c) whether outcomes lie outside all published values of their forecasts

    Examples
    --------
    >>> import overcast as oc
    >>> forecasts = [oc.Gaussian([15.0], sd=2.0)] * 40
    >>> outcomes = 15.0 + np.linspace(-4.0, 4.0, 40)
    >>> found = oc.calibration.check(forecasts, outcomes, ["temp"])
    >>> found.coverage(0.8), found.pit.shape
    (array([0.6]), (40, 1))
    """

    names: tuple[str, ...]
    beliefs: tuple[Belief, ...]
    outcomes: Array
    intervals: Array
    pit: Array
    stated: Array
    reaches: Array
    beyond: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.outcomes)

    def coverage(self, level: float = 0.8) -> Array:
        """Return the share of outcomes within central intervals of a nominal level, shape (c,).

        n members bound no interval of a level above (n - 1) / (n + 1), see `level`: for higher levels the interval goes
        from the least to the greatest member.
        """
        level = _check.number("Calibration", "level", level, above=0.0, below=1.0)
        within = self._mass((1.0 - level) / 2.0, (1.0 + level) / 2.0)
        return np.asarray(np.where(self.beyond, 0.0, within).mean(axis=0))

    @cached_property
    def level(self) -> Array:
        """(c,) the nominal level at which to state coverage: 80 %, or the largest that all forecasts can bound.

        Forecasts that bound no interval, such as a single quantile, count as points, which reach every level.
        """
        least = self.reaches.min(axis=0)
        return np.where(least > 0.0, np.minimum(SHARE, least), SHARE)

    def histogram(self, bins: int = 10) -> Array:
        """Return the share of outcomes in equally likely parts of their forecasts, (bins, c); ideally 1/bins.

        With n + 1 bins it is the rank histogram of an ensemble of n members.
        """
        edges = np.arange(_check.integer("Calibration", "bins", bins, at_least=1) + 1) / bins
        return np.array([self._mass(low, high).mean(axis=0) for low, high in pairwise(edges.tolist())])

    def band(self, bins: int = 10, level: float = 0.9) -> tuple[float, float]:
        """Return two shares between which a bar of `histogram` lies with probability `level` if forecasts are right.

        They are quantiles of the binomial distribution, for independent outcomes.
        """
        bins = _check.integer("Calibration", "bins", bins, at_least=1)
        level = _check.number("Calibration", "level", level, above=0.0, below=1.0)
        counts = np.arange(len(self) + 1.0)
        below = bdtr(counts, len(self), 1.0 / bins)
        low, high = np.searchsorted(below, [0.5 - 0.5 * level, 0.5 + 0.5 * level]).tolist()
        return low / len(self), high / len(self)

    @cached_property
    def members(self) -> int | None:
        """The number of members if all forecasts are ensembles of the same size, else None."""
        sizes = {belief.members for belief in self.beliefs}
        return sizes.pop() if len(sizes) == 1 else None

    @property
    def ranks(self) -> Array | None:
        """(n + 1, c) the share of outcomes at each rank among n members; None unless `members` is a number."""
        return None if self.members is None else self.histogram(self.members + 1)

    @property
    def outside(self) -> Array | None:
        """(c,) the share of outcomes below or above all members, None unless all forecasts are ensembles.

        It should be 2 / (n + 1) for n > 1 members, unless outcomes and members are often equal.
        """
        if any(belief.members is None for belief in self.beliefs):
            return None
        return np.asarray(self.beyond.mean(axis=0))

    @cached_property
    def sure(self) -> NDArray[np.bool_]:
        """(c,) whether all forecasts state zero error: points, single members, or equal members."""
        return np.asarray((self.stated[:, 1] == 0.0).all(axis=0))

    @cached_property
    def errors(self) -> Array:
        """(t, c) outcomes minus the forecasts' means."""
        return _errors(self.stated, self.outcomes)

    @property
    def bias(self) -> Array:
        """(c,) the average error: above zero if forecasts are too low."""
        return np.asarray(self.errors.mean(axis=0))

    @property
    def factor(self) -> Array:
        """(c,) the ratio of errors, without the bias, to the spread of forecasts: above 1 is over-confident.

        80 % of errors fall within 1.28 times this ratio times the forecast's spread (1.28 is replaced by the quantile
        of Student's t for few members). It is infinite if forecasts state zero error but err, and 1 if they do not.
        """
        sizes = [belief.sample_size for belief in self.beliefs]
        quantiles = np.array([float(stdtrit(n - 1.0, 0.9)) if n < np.inf else QUANTILE for n in sizes])
        errors, spreads = np.abs(self.errors - self.bias), self.stated[:, 1] * quantiles[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(errors == 0.0, 0.0, errors / spreads)
        factor = np.quantile(ratios, 0.8, axis=0, method="higher")
        return np.where((errors == 0.0).all(axis=0) & (spreads == 0.0).all(axis=0), 1.0, factor)

    @cached_property
    def crps(self) -> Array:
        """(c,) the mean continuous ranked probability score, in the units of the outcomes; lower is better."""
        return np.asarray(scores.crps(self.beliefs, self.outcomes).mean(axis=0))

    @cached_property
    def energy(self) -> float:
        """The mean energy score of all dimensions together; lower is better."""
        if len(self.names) == 1:
            return float(self.crps[0])
        return float(scores.energy(self.beliefs, self.outcomes).mean())

    @cached_property
    def p_values(self) -> Array:
        """(c,) p-values of a test that forecasts are calibrated; see `verdict`."""
        return np.array([p_value(column) for column in self.pit.T])

    @property
    def verdict(self) -> str:
        """One line per dimension: how the forecasts are wrong, or that they look right."""
        return "\n".join(sentence(self, i) for i in range(len(self.names)))

    def plot(self, path: str | os.PathLike[str] | None = None, after: Calibration | None = None) -> Figure:
        """Draw PIT or rank histograms and the coverage of intervals, one row per dimension.

        Parameters
        ----------
        path : file to write; its ending tells the format; None to write no file
        after : the same forecasts corrected, drawn beside them
        """
        try:
            from overcast.calibration.picture import draw
        except ImportError:
            install = "install it with pip install 'overcast[plot]'"
            raise ImportError(f"Calibration: plot needs matplotlib; {install}") from None
        figure = draw(self, after)
        if path is not None:
            write_figure(figure, path)
        return figure

    def _repr_html_(self) -> str:
        """Return the verdict and the figures of each dimension as a table, for notebooks."""
        rows = [
            [name, f"{level:.0%}", f"{self.coverage(level)[i]:.0%}", *_html.numbers(self.bias[i], self.factor[i])]
            for i, (name, level) in enumerate(zip(self.names, self.level.tolist(), strict=True))
        ]
        head = ["", "nominal", "covered", "bias", "errors / spread"]
        return _html.table(f"{len(self):,} forecasts and what happened", head, rows, self.verdict)

    def __repr__(self) -> str:
        covered = [(level, self.coverage(level)[i]) for i, level in enumerate(self.level.tolist())]
        cover = ", ".join(f"nominal {level:.0%} intervals cover {share:.0%}" for level, share in covered)
        return f"Calibration({len(self)} outcomes of {', '.join(self.names)}; {cover})"

    def _mass(self, low: float, high: float) -> Array:
        """Return the share of each outcome's interval between two values of the PIT, shape (t, c)."""
        lower, upper = self.intervals[:, 0], self.intervals[:, 1]
        width = upper - lower
        inside = np.clip(np.minimum(upper, high) - np.maximum(lower, low), 0.0, None)
        sharp = (lower >= low) & ((lower < high) | ((high == 1.0) & (lower == 1.0)))
        return np.asarray(np.where(width > 0.0, inside / np.where(width > 0.0, width, 1.0), sharp))


def _errors(stated: Array, outcomes: Array) -> Array:
    """Return errors of the means, (t, c); for forecasts that state zero error, rounding counts as zero."""
    errors = outcomes - stated[:, 0]
    return np.where((stated[:, 1] == 0.0) & (np.abs(errors) <= ROUNDING * np.abs(stated[:, 0])), 0.0, errors)


def check(
    beliefs: Iterable[Any], outcomes: ArrayLike, names: Sequence[str] | None = None, seed: int = 0
) -> Calibration:
    """Compare forecasts with outcomes.

    Parameters
    ----------
    beliefs : t forecasts, in order of time: beliefs, or anything `as_belief` takes; a (t, n, c) array for ensembles
    outcomes : (t, c) realised contexts, or (t,) for one dimension
    names : (c,) names of the dimensions
    seed : seed of the draws from intervals, if forecasts have jumps

    Examples
    --------
    >>> from overcast import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(size=400)
    >>> found = check([Gaussian([0.0], 0.25)] * 400, truth, names=["demand"])
    >>> print(found.verdict)
    demand: your forecasts are over-confident by a factor 2.0: nominal 80 % intervals cover 48 %.
    """
    tuples.check_cube(beliefs)
    known = tuple(as_belief(belief) for belief in beliefs)
    happened = _check.floats("check", "outcomes", outcomes)
    happened = happened[:, None] if happened.ndim == 1 else happened
    happened = _check.checked("check", "outcomes", happened, (len(known) or "t", "c"))
    t, c = happened.shape
    if t != len(known):
        raise ValueError(f"check: beliefs must be one for each of the {t} outcomes, got none")
    for at, belief in enumerate(known):
        if belief.dim != c:
            got = f"{belief.dim} at index {at}; n members of one quantity have shape (n, 1)"
            raise ValueError(f"check: beliefs must have the dimension {c} of the outcomes, got {got}")
    titles = tuple(map(str, names)) if names is not None else tuple(f"dimension {i + 1}" for i in range(c))
    if len(titles) != c:
        raise ValueError(f"check: names must be {c}, one per dimension, got {len(titles)}")
    intervals = np.stack([belief.place(y) for belief, y in zip(known, happened, strict=True)])
    stated = np.stack([belief.stated_error() for belief in known])
    reaches = np.stack([belief.reach() for belief in known])
    missed = np.stack([belief.beyond(y) for belief, y in zip(known, happened, strict=True)])
    # Members may agree now and then by accident; if they always agree, each forecast is a point.
    sure, errors = (stated[:, 1] == 0.0).all(axis=0), _errors(stated, happened)
    intervals = np.where(sure, np.stack([errors > 0.0, errors >= 0.0], axis=1), intervals)
    reaches, missed = np.where(sure, 1.0, reaches), np.where(sure, errors != 0.0, missed)
    drawn = np.random.default_rng(_check.integer("check", "seed", seed, at_least=0)).random((t, c))
    values = intervals[:, 0] + drawn * (intervals[:, 1] - intervals[:, 0])
    return Calibration(titles, known, happened, intervals, values, stated, reaches, missed)
