"""What people look at: the figure and the report."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from overcast.experiments.engine.experiment import CURVES
from overcast.experiments.engine.outcome import Outcome
from overcast.experiments.figures.drawing import draw


def test_figure_draws_every_curve_with_its_band(outcome: Outcome) -> None:
    figure = draw(outcome)
    drawn = [(line, ax) for ax in figure.axes for line in ax.get_lines()]
    assert len(drawn) == len(CURVES)
    assert sum(len(ax.collections) for ax in figure.axes) == len(CURVES)
    means = {line.get_label(): np.asarray(line.get_ydata()) for line, _ in drawn}
    for line in outcome.lines:
        np.testing.assert_allclose(means[f"{line.curve.label} (β = {line.beta:g})"], line.regret.mean(axis=0))


def test_one_beta_for_all_curves_stands_in_the_title(outcome: Outcome) -> None:
    alike = replace(outcome, grid=tuple(replace(line, beta=1.0) for line in outcome.lines))
    figure = draw(alike)
    assert figure.get_suptitle().endswith("bands of two standard errors, β = 1")
    labels = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    assert sorted(labels) == sorted(line.curve.label for line in alike.lines)
