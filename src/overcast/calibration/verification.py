"""Verify forecasts: scores, skill, sharpness, spread against error, and events, also by group."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from overcast import _check
from overcast._check import Array
from overcast._files import write_figure
from overcast.beliefs import Belief, NoClosedForm
from overcast.calibration import reference, scores
from overcast.calibration.check import Calibration, check
from overcast.calibration.occurrence import Event, Function
from overcast.calibration.reliability import Reliability, reliability

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: the levels of the pinball score
LEVELS = np.arange(1, 10) / 10
#: the nominal level of intervals
INTERVAL = 0.8
#: number of equal groups in which spread and error are compared
SPREAD_BINS = 10

HEADER = (
    "",
    "outcomes",
    "CRPS",
    "fair",
    "skill: climate",
    "persistence",
    "covers",
    "width",
    "interval score",
    "spread",
)


@dataclass(frozen=True, eq=False)
class Verification:
    """The verification of forecasts; returned by `verify`. Arrays (c,) have one entry per dimension.

    calibration : PIT of outcomes, coverage, bias and verdict (`check`)
    event : reliability of the event's probabilities, None without an event
    parts : the verification of each group by its label, empty without groups
    climate, last : (t, c) scores of climatology and persistence

    Examples
    --------
    >>> import overcast as oc
    >>> rng = np.random.default_rng(0)
    >>> outcomes = rng.normal(15.0, 5.0, 200)
    >>> centres = outcomes + rng.normal(0.0, 2.0, 200)
    >>> forecasts = [oc.Gaussian([centre], sd=2.0) for centre in centres]
    >>> found = oc.calibration.verify(forecasts, outcomes, ["temp"])
    >>> found.skill_climatology.round(2), found.sharpness.round(2)
    (array([0.59]), array([5.13]))
    """

    calibration: Calibration
    event: Reliability | None
    parts: dict[str, Verification]
    climate: Array
    last: Array

    def __len__(self) -> int:
        return len(self.calibration)

    @property
    def names(self) -> tuple[str, ...]:
        """(c,) the names of the dimensions."""
        return self.calibration.names

    @cached_property
    def each_crps(self) -> Array:
        """(t, c) the CRPS of each outcome."""
        return scores.crps(self.calibration.beliefs, self.calibration.outcomes)

    @property
    def crps(self) -> Array:
        """(c,) the mean CRPS; lower is better."""
        return np.asarray(self.each_crps.mean(axis=0))

    @cached_property
    def fair_crps(self) -> Array:
        """(c,) the mean fair CRPS, which scores the distribution that members are drawn from; nan for weights."""
        return np.asarray(scores.fair_crps(self.calibration.beliefs, self.calibration.outcomes).mean(axis=0))

    @property
    def skill_climatology(self) -> Array:
        """(c,) 1 - CRPS / CRPS of climatology: above zero if forecasts are better."""
        return reference.skill(self.each_crps, self.climate)

    @property
    def skill_persistence(self) -> Array:
        """(c,) 1 - CRPS / CRPS of persistence, the previous outcome; outcomes must be in order of time."""
        return reference.skill(self.each_crps, self.last)

    @cached_property
    def quantiles(self) -> Array:
        """(t, 9, c) the deciles of the forecasts."""
        return np.stack([_quantiles(belief) for belief in self.calibration.beliefs])

    @property
    def pinball(self) -> Array:
        """(9, c) the mean pinball scores of the deciles."""
        return np.asarray(scores.pinball(self.quantiles, LEVELS, self.calibration.outcomes).mean(axis=0))

    @property
    def sharpness(self) -> Array:
        """(c,) the mean width of nominal 80 % intervals; smaller is better if forecasts are calibrated."""
        return np.asarray((self.quantiles[:, -1] - self.quantiles[:, 0]).mean(axis=0))

    @property
    def interval_score(self) -> Array:
        """(c,) the mean interval score of nominal 80 % intervals; lower is better."""
        q = self.quantiles
        return np.asarray(scores.interval(q[:, 0], q[:, -1], self.calibration.outcomes, INTERVAL).mean(axis=0))

    @property
    def spread_skill(self) -> Array:
        """(c,) root mean square of spreads over that of errors: below 1 if forecasts are over-confident or biased."""
        spread, error = self.calibration.stated[:, 1], self.calibration.errors
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.sqrt((spread**2).mean(axis=0) / (error**2).mean(axis=0)))

    def spread_and_error(self, bins: int = SPREAD_BINS) -> Array:
        """Return root mean squares of spreads and of errors in groups of equal size by spread, (bins, 2, c)."""
        bins = _check.integer("Verification", "bins", bins, at_least=1)
        spread, error = self.calibration.stated[:, 1], self.calibration.errors
        order = spread.argsort(axis=0, kind="stable")
        sorted_pairs = np.stack([np.take_along_axis(values, order, axis=0) for values in (spread, error)], axis=1)
        parts = np.array_split(sorted_pairs, min(bins, len(sorted_pairs)))
        return np.stack([np.sqrt((part**2).mean(axis=0)) for part in parts])

    def rows(self, label: str = "") -> list[tuple[str, ...]]:
        """Return the cells of the table: one row per dimension, then those of each group."""
        out = []
        numbers = (self.crps, self.fair_crps, self.skill_climatology, self.skill_persistence)
        for i, name in enumerate(self.names):
            crps, fair, climate, last = (float(values[i]) for values in numbers)
            covered = float(self.calibration.coverage(INTERVAL)[i])
            cells = [f"{crps:.3g}", _cell(fair, ".3g"), _cell(climate, ".0%"), _cell(last, ".0%"), f"{covered:.0%}"]
            cells += [f"{self.sharpness[i]:.3g}", f"{self.interval_score[i]:.3g}", _cell(self.spread_skill[i], ".2f")]
            out.append((f"{name}, {label}" if label else name, f"{len(self):,}", *cells))
        for group, part in self.parts.items():
            out += part.rows(group)
        return out

    def record(self) -> dict[str, Any]:
        """Return all numbers as JSON data, None where undefined."""
        dimensions: dict[str, Any] = {
            name: {
                "crps": _number(self.crps[i]),
                "fair_crps": _number(self.fair_crps[i]),
                "skill_climatology": _number(self.skill_climatology[i]),
                "skill_persistence": _number(self.skill_persistence[i]),
                "coverage_80": _number(self.calibration.coverage(INTERVAL)[i]),
                "sharpness_80": _number(self.sharpness[i]),
                "interval_score_80": _number(self.interval_score[i]),
                "pinball": {f"{level:g}": _number(self.pinball[j, i]) for j, level in enumerate(LEVELS)},
                "bias": _number(self.calibration.bias[i]),
                "spread_skill": _number(self.spread_skill[i]),
            }
            for i, name in enumerate(self.names)
        }
        out: dict[str, Any] = {"outcomes": len(self), "dimensions": dimensions}
        if (event := self.event) is not None:
            parts = ("brier", "miscalibration", "discrimination", "uncertainty", "skill")
            out["event"] = {"event": event.text} | {name: _number(getattr(event, name)) for name in parts}
        if self.parts:
            out["groups"] = {label: part.record() for label, part in self.parts.items()}
        return out

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draw histograms with their bands, coverage, spread and skill, the groups and the event.

        Parameters
        ----------
        path : file to write; its ending tells the format; None to write no file
        """
        try:
            from overcast.calibration.panels import draw
        except ImportError:
            install = "install it with pip install 'overcast[plot]'"
            raise ImportError(f"Verification: plot needs matplotlib; {install}") from None
        figure = draw(self)
        if path is not None:
            write_figure(figure, path)
        return figure

    def __str__(self) -> str:
        rows = [HEADER, *self.rows()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        text = [
            "  ".join(
                cell.ljust(w) if not i else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
            )
            for row in rows
        ]
        if (event := self.event) is not None:
            text.append(
                f"{event.text}: Brier score {event.brier:.3g} = {event.miscalibration:.3g} miscalibration "
                f"- {event.discrimination:.3g} discrimination + {event.uncertainty:.3g} uncertainty"
            )
        return "\n".join(line.rstrip() for line in text)

    def __repr__(self) -> str:
        groups = f" in {len(self.parts)} groups" if self.parts else ""
        return f"Verification({len(self)} outcomes of {', '.join(self.names)}{groups})"


def verify(
    beliefs: Iterable[Any],
    outcomes: ArrayLike,
    names: Sequence[str] | None = None,
    *,
    event: str | Function | None = None,
    by: Sequence[Any] | None = None,
    seed: int = 0,
) -> Verification:
    """Verify forecasts by their outcomes, in scores and skill.

    Parameters
    ----------
    beliefs, outcomes, names, seed : as in `check`, in order of time
    event : a function from a context (c,) to True or False, or text such as "temp < 0"
    by : (t,) labels of groups, such as lead times, for which all numbers are given too. Climatology and persistence
        then know the outcomes of the group alone, also in the overall numbers

    Examples
    --------
    >>> from overcast import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> means = rng.normal(10.0, 5.0, 500)
    >>> found = verify([Gaussian([m], 1.0) for m in means], rng.normal(means, 1.0), ["temp"], event="temp < 5")
    >>> found.skill_climatology.round(2), found.spread_skill.round(1)
    (array([0.82]), array([1.1]))
    >>> bool(found.event.miscalibration < 0.02 < found.event.discrimination)
    True
    """
    whole = check(beliefs, outcomes, names, seed)
    happens = None if event is None else Event(event, whole.names)
    labels = None if by is None else [str(label) for label in by]
    if labels is not None and len(labels) != len(whole):
        raise ValueError(f"verify: by must be one label for each of the {len(whole)} outcomes, got {len(labels)}")
    parts: dict[str, Verification] = {}
    climate, last = reference.climatology(whole.outcomes), reference.persistence(whole.outcomes)
    for label in sorted(set(labels or []), key=_natural):
        at = np.array([other == label for other in labels or []])
        part = check(
            [b for b, inside in zip(whole.beliefs, at, strict=True) if inside], whole.outcomes[at], whole.names, seed
        )
        parts[label] = _without_groups(part, happens, seed)
        climate[at], last[at] = parts[label].climate, parts[label].last
    return Verification(whole, _reliability(whole, happens, seed), parts, climate, last)


def _natural(label: str) -> list[tuple[int, float, str]]:
    """Return a sort key that puts "2 days" before "10 days"."""
    parts = [part for part in re.split(r"(\d+(?:\.\d+)?)", label) if part]
    return [(0, float(part), "") if part[0].isdecimal() else (1, 0.0, part) for part in parts]


def _without_groups(calibration: Calibration, event: Event | None, seed: int) -> Verification:
    """Return the verification of one group."""
    climate, last = reference.climatology(calibration.outcomes), reference.persistence(calibration.outcomes)
    return Verification(calibration, _reliability(calibration, event, seed), {}, climate, last)


def _reliability(calibration: Calibration, event: Event | None, seed: int) -> Reliability | None:
    if event is None:
        return None
    probabilities = np.array([event.probability(belief) for belief in calibration.beliefs])
    return reliability(event.text, probabilities, event.happened(calibration.outcomes), seed)


def _quantiles(belief: Belief) -> Array:
    """Return the deciles of a belief, (9, c)."""
    try:
        return belief.quantile(LEVELS)
    except NoClosedForm:
        points, _ = belief.stand_in()
        return np.asarray(np.quantile(points, LEVELS, axis=0, method="inverted_cdf"))


def _cell(value: float, form: str) -> str:
    return format(value, form) if np.isfinite(value) else "–"


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
