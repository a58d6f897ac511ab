"""Verify a file of forecasts, before and after recalibration."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from overcast._files import write_figure
from overcast.beliefs import Belief
from overcast.calibration import Calibration, Verification, check, recalibrate, verify
from overcast.datasets.forecasts import ForecastRecord

HEADER = ("", "", "interval: covers", "outside", "bias", "factor", "width", "CRPS", "skill: climate", "persistence")


@dataclass(frozen=True, eq=False)
class Judged:
    """The calibration of a record, and of its second half before and after recalibration by earlier outcomes."""

    record: ForecastRecord
    whole: Calibration
    verified: tuple[Verification, Verification]

    @property
    def before(self) -> Calibration:
        """The calibration of the second half."""
        return self.verified[0].calibration

    @property
    def after(self) -> Calibration:
        """The calibration of the corrected second half."""
        return self.verified[1].calibration

    def rows(self) -> list[tuple[str, ...]]:
        """Return the cells of the table without its header: all dimensions, then those of each group."""
        parts = [("", *self.verified)]
        before, after = self.verified
        parts += [(f", {label}", before.parts[label], after.parts[label]) for label in before.parts]
        out: list[tuple[str, ...]] = []
        for label, *pair in parts:
            for i, name in enumerate(self.record.names):
                for title, verification in zip(("as they came", "recalibrated"), pair, strict=True):
                    out.append((f"{name}{label}", title, *_cells(verification, i)))
        return out

    def summary(self) -> dict[str, Any]:
        """Return all numbers as JSON data."""
        record = self.record
        left = {name: getattr(record, name) for name in ("left_out", "unforecast", "missing", "crossed")}
        verdict, (before, after) = self.whole.verdict.splitlines(), self.verified
        out = {"data": record.source, "names": list(record.names), "outcomes": len(self.whole), **left}
        return out | {"verdict": verdict, "as_they_came": before.record(), "recalibrated": after.record()}


def judge(record: ForecastRecord, memory: int | None = None, bounds: Any = None, event: str | None = None) -> Judged:
    """Verify a record, and its second half with and without recalibration, which is separate for each group."""
    fixed = _recalibrated(record, memory, bounds)
    half = len(fixed) // 2
    outcomes, names = record.outcomes, record.names
    groups = None if record.groups is None else record.groups[half:]
    before, after = (
        verify(each[half:], outcomes[half:], names, event=event, by=groups) for each in (record.beliefs, fixed)
    )
    return Judged(record, check(record.beliefs, outcomes, names), (before, after))


def draw(judged: Judged, folder: Path) -> list[Path]:
    """Write calibration.png and .pdf, and verification.png of the corrected half; return the paths of the pictures."""
    figure = judged.before.plot(folder / "calibration.png", after=judged.after)
    write_figure(figure, folder / "calibration.pdf")
    judged.verified[1].plot(folder / "verification.png")
    return [folder / "calibration.png", folder / "verification.png"]


def _recalibrated(record: ForecastRecord, memory: int | None, bounds: Any) -> list[Belief]:
    """Return all forecasts, recalibrated group by group."""
    labels = np.array(record.groups or ("",) * len(record.beliefs))
    out: list[Belief] = list(record.beliefs)
    for label in dict.fromkeys(labels.tolist()):
        at = np.flatnonzero(labels == label)
        fixed = recalibrate([record.beliefs[i] for i in at], record.outcomes[at], memory, bounds)
        for i, belief in zip(at.tolist(), fixed, strict=True):
            out[i] = belief
    return out


def _cells(verified: Verification, i: int) -> list[str]:
    calibration = verified.calibration
    level, outside = float(calibration.level[i]), "" if calibration.outside is None else f"{calibration.outside[i]:.0%}"
    out = [
        f"{level:.0%}: {calibration.coverage(level)[i]:.0%}",
        outside,
        f"{calibration.bias[i]:+.3g}",
        f"{calibration.factor[i]:.2f}",
    ]
    out += [f"{verified.sharpness[i]:.3g}", f"{verified.crps[i]:.3g}"]
    skills = verified.skill_climatology[i], verified.skill_persistence[i]
    return out + [f"{skill:.0%}" if np.isfinite(skill) else "–" for skill in skills]
