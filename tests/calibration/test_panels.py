"""The picture of a verification."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np
import pytest

import overcast as oc
from overcast.calibration import Verification, verify

pytest.importorskip("scoringrules")


def made(event: str | None, groups: bool) -> Verification:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(80, 7, 2))
    beliefs = [oc.Ensemble(members) for members in points]
    by = [i % 2 for i in range(80)] if groups else None
    return verify(beliefs, rng.normal(size=(80, 2)), ["temp", "wind"], event=event, by=by)


@pytest.mark.parametrize(
    ("event", "groups", "panels"), [(None, False, 6), ("wind > 1", False, 9), ("temp < 0", True, 12)]
)
def test_there_is_a_panel_for_everything(event: str | None, groups: bool, panels: int) -> None:
    figure = made(event, groups).plot()
    titles = [ax.get_title() for ax in figure.axes]
    assert len(titles) == panels
    for name in ("temp", "wind"):
        assert f"{name}: spread and skill" in titles
        assert (f"{name}: skill by group" in titles) == groups
    assert (f"{event}: reliability" in titles) == (event is not None)


def test_points_are_the_numbers_of_the_verification() -> None:
    found = made("temp < 0", True)
    axes = {ax.get_title(): ax for ax in found.plot().axes}
    spread = np.asarray(axes["wind: spread and skill"].lines[1].get_xydata(), dtype=float)
    np.testing.assert_allclose(spread, found.spread_and_error()[:, :, 1])
    skill = axes["temp: skill by group"].lines[0].get_ydata()
    expected = [100 * part.skill_climatology[0] for part in found.parts.values()]
    np.testing.assert_allclose(np.asarray(skill, dtype=float), expected)
    assert found.event is not None
    happened = np.asarray(axes["temp < 0: reliability"].lines[1].get_xydata(), dtype=float)
    np.testing.assert_allclose(happened, 100 * np.stack([found.event.values, found.event.frequencies], axis=1))


def test_lines_that_are_no_data_show_on_dark_paper(tmp_path: Path) -> None:
    with matplotlib.rc_context({"text.color": "white", "figure.facecolor": "black"}):
        figure = made(None, False).plot(tmp_path / "dark.png")
    assert figure.get_facecolor() == (0.0, 0.0, 0.0, 1.0)
    assert figure.axes[2].lines[0].get_color() == "white"
    assert (tmp_path / "dark.png").stat().st_size > 5_000
