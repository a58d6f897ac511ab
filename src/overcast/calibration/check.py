"""Compare forecasts with what happened, and say in plain words what is wrong with them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from overcast import _check
from overcast._check import Array
from overcast.beliefs import Belief, Ensemble, as_belief
from overcast.calibration import scores
from overcast.calibration.pit import pit
from overcast.calibration.spread import centre_and_spread, members
from overcast.calibration.uniform import p_value
from overcast.calibration.verdict import sentence

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: nominal levels of central intervals
LEVELS = (0.5, 0.8, 0.9, 0.95)
#: of the standard normal distribution, for 80 %
QUANTILE = 1.2815515655446004


@dataclass(frozen=True, eq=False)
class Calibration:
    """How t forecasts of c dimensions did; made by `check`.

    names : (c,) of the dimensions
    beliefs, outcomes : the forecasts and (t, c) what happened
    intervals : (t, 2, c) where in its forecast each outcome fell, from 0 to 1; an interval where forecasts have jumps
    pit : (t, c) a draw from each of these, uniform where forecasts are right
    notes : (t, 2, c) the forecasts' means, and the size of error that they claim
    """

    names: tuple[str, ...]
    beliefs: tuple[Belief, ...]
    outcomes: Array
    intervals: Array
    pit: Array
    notes: Array

    def __len__(self) -> int:
        return len(self.outcomes)

    def coverage(self, level: float = 0.8) -> Array:
        """Return the share of outcomes within central intervals of a nominal level, shape (c,).

        n members forecast no interval beyond (n - 1) / (n + 1): of outcomes outside all members, part counts as within.
        """
        level = _check.number("Calibration", "level", level, above=0.0, below=1.0)
        return self._mass((1.0 - level) / 2.0, (1.0 + level) / 2.0)

    def histogram(self, bins: int = 10) -> Array:
        """Return the share of outcomes in equal parts of their forecasts, shape (bins, c); all 1/bins if right.

        With n + 1 bins it is the rank histogram of an ensemble of n members.
        """
        edges = np.arange(_check.integer("Calibration", "bins", bins, at_least=1) + 1) / bins
        return np.array([self._mass(low, high) for low, high in pairwise(edges.tolist())])

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

        2 / (n + 1) is expected, unless outcomes and members are often equal.
        """
        points = [belief.support()[0] for belief in self.beliefs if isinstance(belief, Ensemble)]
        if len(points) < len(self):
            return None
        least, most = (np.array([end(p, axis=0) for p in points]) for end in (np.min, np.max))
        return np.asarray(((self.outcomes < least) | (self.outcomes > most)).mean(axis=0))

    @property
    def bias(self) -> Array:
        """(c,) how far outcomes lie above the forecasts' means, on average."""
        return np.asarray(self._errors.mean(axis=0))

    @property
    def factor(self) -> Array:
        """(c,) by how much errors, the bias apart, exceed what forecasts say of them: above 1 is over-confident.

        80 % of errors fall within the forecast's standard deviation times this times 1.28 (times the quantile of
        Student's t where that deviation is one of few members). Infinite where forecasts claim to know the outcome but
        do not; 1 where they do.
        """
        quantiles = np.array([_quantile(belief) for belief in self.beliefs])
        errors, spreads = np.abs(self._errors - self.bias), self.notes[:, 1] * quantiles[:, None]
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
        cover = ", ".join(f"{share:.0%}" for share in self.coverage(0.8))
        return f"Calibration({len(self)} outcomes of {', '.join(self.names)}; nominal 80% intervals cover {cover})"

    @cached_property
    def _crps(self) -> Array:
        return scores.crps(self.beliefs, self.outcomes)

    @cached_property
    def _errors(self) -> Array:
        return np.asarray(self.outcomes - self.notes[:, 0])

    def _mass(self, low: float, high: float) -> Array:
        """Return the share of outcomes between two values of the PIT, intervals spread evenly, shape (c,)."""
        lower, upper = self.intervals[:, 0], self.intervals[:, 1]
        width = upper - lower
        inside = np.clip(np.minimum(upper, high) - np.maximum(lower, low), 0.0, None)
        sharp = (lower >= low) & ((lower < high) | ((high == 1.0) & (lower == 1.0)))
        return np.asarray(np.where(width > 0.0, inside / np.where(width > 0.0, width, 1.0), sharp).mean(axis=0))


def _quantile(belief: Belief) -> float:
    """Return what 80 % of errors are below, in units of the error's size that the forecast claims."""
    n = members(belief) if isinstance(belief, Ensemble) else np.inf
    return float(stdtrit(n - 1.0, 0.9)) if 1.0 < n < np.inf else QUANTILE


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
    drawn = np.random.default_rng(_check.integer("check", "seed", seed, at_least=0)).random((t, c))
    values = intervals[:, 0] + drawn * (intervals[:, 1] - intervals[:, 0])
    notes = np.stack([centre_and_spread(belief, "check") for belief in known])
    return Calibration(titles, known, happened, intervals, values, notes)
