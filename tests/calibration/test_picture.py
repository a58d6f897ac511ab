"""The figure of how forecasts did."""

from __future__ import annotations

from pathlib import Path

from forecast_support import members, normal
from overcast.calibration import check


def test_the_plot_is_written(tmp_path: Path) -> None:
    points, outcomes = members(60, 11, 0.3)
    found = check(points, outcomes, ["temp"])
    figure = found.plot(tmp_path / "calibration.png", after=check(points * 1.0, outcomes, ["temp"]))
    assert (tmp_path / "calibration.png").stat().st_size > 10_000
    assert [ax.get_title().split(":")[0] for ax in figure.axes] == ["temp"] * 3
    assert len(normal(1.0, t=60).plot().axes) == 2
