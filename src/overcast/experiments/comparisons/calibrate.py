"""Judge a file of forecasts, before and after recalibration."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from overcast._files import write_figure
from overcast.calibration import Calibration, check, recalibrate
from overcast.datasets.forecasts import ForecastRecord

HEADER = ("", "", "interval: covers", "outside", "bias", "factor", "CRPS")


@dataclass(frozen=True, eq=False)
class Judged:
    """A record's calibration, whole and of its second half before and after corrections by earlier outcomes."""

    record: ForecastRecord
    whole: Calibration
    before: Calibration
    after: Calibration

    def rows(self) -> list[tuple[str, ...]]:
        """Return the cells of the table, without its header."""
        out: list[tuple[str, ...]] = []
        for i, name in enumerate(self.record.names):
            for title, found in (("as they came", self.before), ("recalibrated", self.after)):
                outside = "" if found.outside is None else f"{found.outside[i]:.0%}"
                numbers = f"{found.bias[i]:+.3g}", f"{found.factor[i]:.2f}", f"{found.crps[i]:.3g}"
                level = float(found.level[i])
                out.append((name, title, f"{level:.0%}: {found.coverage(level)[i]:.0%}", outside, *numbers))
        return out


def judge(record: ForecastRecord) -> Judged:
    """Judge a record as it came, and its second half with and without corrections."""
    fixed = recalibrate(record.beliefs, record.outcomes)
    half = len(fixed) // 2
    outcomes, names = record.outcomes, record.names
    return Judged(
        record,
        check(record.beliefs, outcomes, names),
        check(record.beliefs[half:], outcomes[half:], names),
        check(fixed[half:], outcomes[half:], names),
    )


def draw(judged: Judged, folder: Path) -> Path:
    """Write calibration.png and calibration.pdf; return the path of the first."""
    figure = judged.before.plot(folder / "calibration.png", after=judged.after)
    write_figure(figure, folder / "calibration.pdf")
    return folder / "calibration.png"
