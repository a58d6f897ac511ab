"""The picture of a history."""

from __future__ import annotations

from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

import overcast as oc
from overcast.pictures.season import moving_mean

matplotlib.use("Agg")


def _season(n: int, k: int = 3, c: int = 2, **options: Any) -> oc.Bandit:
    rng = np.random.default_rng(0)
    bandit = oc.Bandit([f"a{i}" for i in range(k)], oc.LinearModel(oc.features.Disjoint(k)), oc.UCB(), **options)
    for t in range(n):
        belief = oc.Gaussian(rng.normal(size=c), 0.3)
        bandit.learn(bandit.decide(belief), float(rng.normal()), belief.mean() if t % 2 else None)
    return bandit


def test_the_moving_mean_leaves_out_what_is_not_known() -> None:
    values = np.array([1.0, np.nan, 3.0, 5.0, np.nan, np.nan])
    np.testing.assert_allclose(moving_mean(values, 2), [1.0, 1.0, 3.0, 4.0, 5.0, np.nan])


@pytest.mark.parametrize("n", [1, 2, 40])
def test_the_panels_show_the_history(n: int) -> None:
    bandit = _season(n, history=50, context=["warm", "wet"])
    figure = bandit.plot()
    figure.canvas.draw()
    axes: list[Any] = figure.axes
    reward, _, width, warm, wet = axes
    history = bandit.history
    assert history is not None
    np.testing.assert_allclose(reward.lines[0].get_ydata(), history.reward)
    np.testing.assert_allclose(width.lines[0].get_ydata(), history.width)
    np.testing.assert_allclose(wet.lines[0].get_ydata(), history.context[:, 1])
    assert [ax.get_ylabel() for ax in (warm, wet)] == ["warm", "wet"]
    plt.close("all")


def test_rare_actions_share_one_area_and_shares_sum_to_all() -> None:
    ax = _season(60, k=12, history=100).plot().axes[1]
    legend: Any = ax.get_legend()
    assert legend.get_texts()[0].get_text() == "2 others"
    assert len(legend.get_texts()) == 8
    last: Any = ax.collections[-1].get_paths()[0].vertices
    assert last[:, 1].max() == pytest.approx(100.0)
    plt.close("all")


def test_of_many_dimensions_four_are_drawn() -> None:
    figure = _season(10, c=6, history=100).plot()
    assert len(figure.axes) == 7
    assert "2 more dimensions of the context are left out" in figure.axes[-1].get_xlabel()
    plt.close("all")


def test_without_a_history_the_error_says_what_to_do() -> None:
    with pytest.raises(ValueError, match=r"Bandit: plot needs a history, got none; make the bandit with history=1000"):
        _season(1).plot()
    with pytest.raises(ValueError, match="at least one decision"):
        _season(0, history=3).plot()


def test_contexts_that_were_known_are_points() -> None:
    bandit = oc.Bandit(["a", "b"], oc.LinearModel(oc.features.Disjoint(2)), oc.UCB(), history=9)
    for belief in ([1.0], oc.Gaussian([5.0], 1.0), [3.0]):
        bandit.decide(belief)
    ax: Any = bandit.plot().axes[-1]
    known = next(line for line in ax.lines if line.get_label() == "known")
    assert known.get_xydata().tolist() == [[1.0, 1.0], [3.0, 3.0]]
    plt.close("all")


def test_long_names_can_be_told_apart_in_the_legend() -> None:
    names = [f"a rather long name of an action, number {i}" for i in range(6)]
    bandit = oc.Bandit(names, oc.LinearModel(oc.features.Disjoint(6)), oc.UCB(), history=9)
    for _ in range(6):
        bandit.learn(bandit.decide([1.0]), 0.0)
    legend: Any = bandit.plot().axes[1].get_legend()
    assert len({text.get_text() for text in legend.get_texts()}) == len(legend.get_texts()) > 1
    plt.close("all")
