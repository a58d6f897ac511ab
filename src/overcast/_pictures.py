"""What pictures share: axes, colours that show on light and on dark ground, and marks that need no colour."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from overcast._check import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: colours that stand out on white and on black
MAIN, OTHER = "#2b8cdb", "#e08214"


def pyplot(owner: str) -> Any:
    """Return matplotlib.pyplot, or raise ImportError that names the extra."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(f"{owner}: plot needs matplotlib; install it with pip install 'overcast[plot]'") from None
    return plt


def axes(owner: str, ax: Axes | None, size: tuple[float, float] | None = None) -> Axes:
    """Return the axes that were given, or new ones."""
    plt = pyplot(owner)
    made: Axes = plt.subplots(layout="constrained", figsize=size)[1] if ax is None else ax
    return made


def ink(ax: Axes) -> Any:
    """Return the colour in which the axes write: black on light ground, white on dark."""
    return ax.xaxis.label.get_color()


def options(
    ax: Axes,
    labels: Sequence[str],
    means: Array,
    half: Array,
    scores: Array,
    unit: bool,
    what: str,
    left_out: int,
) -> Axes:
    """Draw actions, the chosen one first: mean, whisker of length `half` either way, and score.

    unit : whether scores have the unit of rewards, and so a place on the axis
    """
    own, at = ink(ax), np.arange(len(labels))
    ax.errorbar(means, at, xerr=half, fmt="none", ecolor=own, elinewidth=1.2, capsize=3, alpha=0.8)
    ax.plot(means[1:], at[1:], "o", markerfacecolor=ax.get_facecolor(), markeredgecolor=own, label="mean")
    ax.plot(means[:1], at[:1], "D", color=MAIN, markersize=8, label="chosen", markeredgecolor=own)
    if unit:
        ax.plot(scores, at, "|", color=OTHER, markersize=15, markeredgewidth=2.5, label="score")
    ax.set_yticks(at, labels)
    ax.set_ylim(len(labels) - 0.4, -0.6)
    for text in ax.get_yticklabels()[:1]:
        text.set_fontweight("bold")
    side = ax.secondary_yaxis("right")
    side.set_yticks(at, [f"{score:.4g}" for score in scores])
    side.tick_params(length=0)
    side.set_ylabel("score")
    side.spines["right"].set_visible(False)
    for spine in ("top", "right"):
        ax.spines[spine].set_visible(False)
    ax.set_xlabel(f"expected reward ({what})")
    ax.set_title(
        f"{labels[0]} chosen" + (f"; {left_out:,} with lower scores left out" if left_out else ""), fontsize=10
    )
    return ax
