"""Draw the options of a decision: estimates and scores of actions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from overcast._check import Array
from overcast.pictures.common import MAIN, OTHER, ink, open_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: longest name of an action in the title
LONG = 24


def draw(
    ax: Axes,
    labels: Sequence[str],
    means: Array,
    half: Array,
    scores: Array,
    *,
    unit: bool,
    what: str,
    how: str = "chosen",
    left_out: int = 0,
) -> Axes:
    """Draw actions, the chosen one first: mean, whisker of half-length `half`, and score.

    unit : whether scores have the unit of rewards, and are drawn on the axis
    what : description of mean and whisker
    how : how the first action was chosen
    left_out : number of further actions
    """
    colour, at = ink(ax), np.arange(len(labels))
    ax.errorbar(means, at, xerr=half, fmt="none", ecolor=colour, elinewidth=1.2, capsize=3, alpha=0.8)
    ax.plot(means[1:], at[1:], "o", markerfacecolor=ax.get_facecolor(), markeredgecolor=colour)
    ax.plot(means[:1], at[:1], "D", color=MAIN, markersize=8, markeredgecolor=colour)
    if unit:
        ax.plot(scores, at, "|", color=OTHER, markersize=15, markeredgewidth=2.5)
    ax.set_yticks(at, labels)
    ax.set_ylim(len(labels) - 0.4, -0.6)
    ax.get_yticklabels()[0].set_fontweight("bold")
    numbers = ax.secondary_yaxis("right")
    numbers.set_yticks(at, [f"{score:.4g}" for score in scores])
    numbers.tick_params(length=0)
    numbers.spines["right"].set_visible(False)
    open_frame(ax)
    rest = f"\n{left_out:,} actions with lower scores are left out" if left_out else ""
    ax.set_xlabel(f"expected reward: {what}{', score │' if unit else ''}{rest}")
    long = max(len(name) for name in labels) > LONG  # they leave little room beside them
    ax.set_title(f"◆ {how}" if long else f"◆ {labels[0]} is {how}", fontsize=10, loc="left")
    ax.set_title("score", fontsize=10, loc="right")
    return ax
