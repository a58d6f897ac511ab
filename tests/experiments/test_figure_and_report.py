"""What people look at: the figure and the report."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import matplotlib.image
import numpy as np

from overcast.experiments.experiment import CURVES
from overcast.experiments.figure import draw, final_regrets
from overcast.experiments.outcome import Outcome


def test_figure_draws_every_curve_with_its_band(outcome: Outcome) -> None:
    figure = draw(outcome)
    drawn = [(line, ax) for ax in figure.axes for line in ax.get_lines()]
    assert len(drawn) == len(CURVES)
    assert sum(len(ax.collections) for ax in figure.axes) == len(CURVES)
    means = {line.get_label(): np.asarray(line.get_ydata()) for line, _ in drawn}
    for line in outcome.lines:
        np.testing.assert_allclose(means[f"{line.curve.label} (β = {line.beta:g})"], line.regret.mean(axis=0))


def test_files_are_pictures(folder: Path) -> None:
    pixels = matplotlib.image.imread(folder / "figure.png")
    assert pixels.shape[0] > 400
    assert pixels.shape[1] > 800
    colours = (255 * pixels).astype(np.uint8).view(np.uint32)
    assert len(np.unique(colours)) > 50
    assert (folder / "figure.pdf").read_bytes().startswith(b"%PDF")


def test_report_needs_nothing_but_itself(folder: Path) -> None:
    page = (folder / "report.html").read_text()
    links = re.findall(r"""(?:src|href)\s*=\s*["']([^"']+)|url\(([^)]+)\)|@import""", page)
    assert all((link or target).startswith("#") for link, target in links)
    assert "<script" not in page


def test_report_shows_curves_table_settings_and_time(outcome: Outcome, folder: Path) -> None:
    page = (folder / "report.html").read_text()
    assert "<svg" in page
    for label, beta, regret, expected in final_regrets(outcome):
        assert f"<td>{label}</td><td>{beta}</td><td>{regret}</td><td>{expected}</td>" in page
    assert "Synthetic(k=100, dim=5, noise=0.1, spread=1.0)" in page
    assert "LinearModel(features=Quadratic(), ridge=1.0)" in page
    assert "generated from the seed" in page
    assert re.search(r"this run</td><td>\d+\.\d s", page)
    assert len(re.findall(r'class="picked( least)?"', page)) == len(CURVES)
    assert len(re.findall(r'class="(picked )?least"', page)) == len(CURVES)


def test_one_beta_for_all_curves_stands_in_the_title(outcome: Outcome) -> None:
    alike = replace(outcome, grid=tuple(replace(line, beta=1.0) for line in outcome.lines))
    figure = draw(alike)
    assert figure.get_suptitle().endswith("bands of two standard errors, β = 1")
    labels = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    assert sorted(labels) == sorted(line.curve.label for line in alike.lines)
