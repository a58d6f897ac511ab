"""The state of one dimension's correction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from overcast import _check
from overcast._check import Array
from overcast.calibration import bank
from overcast.calibration.bank import Bank
from overcast.calibration.fit import Correction, fit

# A correction is refitted once this share of the outcomes is new.
STALE = 0.02
#: number of outcomes before experts replace the fit
START = 20

_EMPTY = _check.read_only(np.empty((0, 3)))


class Track(NamedTuple):
    """The latest rows of mean, spread and outcome (n, 3), how many are new, and the correction by them."""

    rows: Array = _EMPTY
    new: int = 0
    correction: Correction = Correction()

    @property
    def size(self) -> int:
        """The number of outcomes in use."""
        return len(self.rows)

    def predicted(self, m: float, s: float) -> tuple[float, float] | None:
        """Return the corrected mean and deviation for a forecast's mean and spread, None without a correction."""
        known = self.correction
        return None if known == Correction() else (known.mean(m), known.deviation(s))

    @property
    def summary(self) -> tuple[float, float, float]:
        """Bias, slope and factor."""
        return self.correction.bias, 1.0 + self.correction.slope, _factor(self.rows, self.correction)

    def after(self, row: Sequence[float], memory: int) -> Track:
        """Return the track with another row."""
        rows = np.concatenate([self.rows[max(0, len(self.rows) + 1 - memory) :], [row]])
        if self.new + 1 < STALE * len(rows):
            return Track(rows, self.new + 1, self.correction)
        return Track(rows, 0, fit(*rows.T))

    def joined(self, other: Track, memory: int) -> Track:
        """Merge two tracks, from the latest rows of each."""
        rows = _by_age(self.rows, other.rows)[-memory:]
        return Track(rows, 0, fit(*rows.T)) if len(rows) else self


class LearntTrack(NamedTuple):
    """A track with a learnt memory: the first rows (n, 3) with their correction, later a bank of experts."""

    rows: Array = _EMPTY
    correction: Correction = Correction()
    bank: Bank | None = None

    @property
    def size(self) -> int:
        """The number of outcomes in use."""
        return len(self.rows) if self.bank is None else self.bank.n

    def predicted(self, m: float, s: float) -> tuple[float, float] | None:
        """Return the corrected mean and deviation for a forecast's mean and spread, None without a correction."""
        if self.bank is not None:
            return self.bank.mean(m), self.bank.deviation(s)
        return None if self.correction == Correction() else (self.correction.mean(m), self.correction.deviation(s))

    @property
    def summary(self) -> tuple[float, float, float]:
        """Bias, slope and factor."""
        if self.bank is not None:
            return self.bank.bias, 1.0 + self.bank.slope, self.bank.factor
        return self.correction.bias, 1.0 + self.correction.slope, _factor(self.rows, self.correction)

    def after(self, row: Sequence[float], limits: tuple[float, float]) -> LearntTrack:
        """Return the track with another row; an outcome on one of the limits is censored."""
        if self.bank is not None:
            return self._replace(bank=self.bank.after((row[0], row[1], row[2]), limits))
        return _from_rows(np.concatenate([self.rows, [row]]))

    def joined(self, other: LearntTrack, limits: tuple[float, float]) -> LearntTrack:
        """Merge two tracks."""
        if self.bank is not None and other.bank is not None:
            return self._replace(bank=self.bank.joined(other.bank))
        if self.bank is None and other.bank is None:
            rows = _by_age(self.rows, other.rows)
            out, rest = (_from_rows(rows[:START]), rows[START:]) if len(rows) else (self, rows)
        else:
            out, rest = (other, self.rows) if self.bank is None else (self, other.rows)
        for row in rest.tolist():
            out = out.after(row, limits)
        return out


def _from_rows(rows: Array) -> LearntTrack:
    """Return the track of the first rows, with experts once there are enough, unless all forecasts are exact."""
    correction = fit(*rows.T)
    if len(rows) < START or correction == Correction():
        return LearntTrack(rows[-START:], correction)
    return LearntTrack(_EMPTY, Correction(), bank.start_bank(rows, correction))


def _by_age(first: Array, second: Array) -> Array:
    """Interleave the rows of two tracks by age, the latest last."""
    ages = np.concatenate([np.arange(len(first), 0, -1), np.arange(len(second), 0, -1)])
    return np.asarray(np.concatenate([first, second])[np.argsort(-ages, kind="stable")])


def _factor(rows: Array, correction: Correction) -> float:
    """Return the ratio of the corrected deviation to the usual spread."""
    if correction == Correction():
        return 1.0
    spreads = rows[:, 1]
    usual = float(np.sqrt(np.mean((spreads / (spreads.max() or 1.0)) ** 2))) * float(spreads.max())
    return correction.deviation(usual) / usual if usual > 0.0 else np.inf
