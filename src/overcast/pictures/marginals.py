"""Draw the marginal distributions of a belief, side by side."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from overcast._check import Array
from overcast.pictures.common import MAIN, OTHER, ink, open_frame, pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: most dimensions in a picture
SHOWN = 12
# Most points drawn as stems; more are drawn as a histogram.
STEMS = 60
# Cells of a density; a jump of at least ATOM in the distribution function is drawn as a point.
CELLS, ATOM = 160, 0.01
# The range of a picture beyond the quartiles, in interquartile ranges.
FAR = 8.0
# Number of draws from a belief without a distribution function.
DRAWS = 2000


def draw(owner: str, belief: Any, ax: Any, unknown: type[Exception]) -> Any:
    """Draw each dimension on its axes, and return the axes: one, or an array of them.

    ax : axes to draw on, one for each dimension; None for new ones
    unknown : the error of a belief without a distribution function
    """
    names, c = belief.names or tuple(f"c{i + 1}" for i in range(belief.dim)), belief.dim
    if ax is None:
        shown = min(c, SHOWN)
        columns = min(shown, 3)
        rows = math.ceil(shown / columns)
        figure, grid = pyplot(owner).subplots(
            rows, columns, layout="constrained", figsize=(3.6 * columns + 0.6, 2.5 * rows + 0.3), squeeze=False
        )
        drawn = grid.ravel()[:shown]
        for empty in grid.ravel()[shown:]:
            empty.set_visible(False)
        if c > shown:
            figure.suptitle(f"{c - shown} more dimensions are left out", fontsize=10)
    else:
        drawn = np.atleast_1d(np.asarray(ax, dtype=object)).ravel()
        if len(drawn) != c:
            raise ValueError(f"{owner}: ax must hold {c} axes, one for each dimension, got {len(drawn)}")
    for i, panel in enumerate(drawn):
        _dimension(panel, belief, i, names[i], unknown)
    return drawn[0] if c == 1 else drawn


def _dimension(ax: Axes, belief: Any, i: int, name: str, unknown: type[Exception]) -> None:
    finite, kind = belief.support(), "mean"
    if finite is not None:
        values, at = np.unique(finite[0][:, i], return_inverse=True)
        weights = np.asarray(np.bincount(at.ravel(), finite[1]), dtype=np.float64)
        mean = float(weights @ values / weights.sum())
        if len(values) <= STEMS:
            _stems(ax, values, weights)
            ax.set_ylim(0.0)
            ax.set_ylabel("probability", fontsize=9)
        else:
            _histogram(ax, values, weights)
    else:
        try:
            ends = _ends(belief.quantile([0.001, 0.25, 0.5, 0.75, 0.999]))
        except unknown:
            values = belief.sample(DRAWS, np.random.default_rng(0))[:, i]
            mean = float(values.mean())
            _histogram(ax, values, np.full(DRAWS, 1.0 / DRAWS))
            name = f"{name} ({DRAWS:,} draws)"
        else:
            try:
                mean = float(belief.mean()[i])
            except unknown:
                mean, kind = float(ends[1, i]), "median"

            def below(x: Array) -> Array:
                rows = np.tile(ends[1], (len(x), 1))
                rows[:, i] = x
                return np.asarray(belief.cdf(rows)[:, i])

            _density(ax, below, float(ends[0, i]), float(ends[2, i]))
    ax.axvline(mean, color=ink(ax), linestyle="--", linewidth=1.2)
    ax.set_xlabel(name)
    ax.set_title(f"{kind} {mean:.4g}", fontsize=9)
    ax.margins(x=0.08)
    open_frame(ax)


def _ends(quantiles: Array) -> Array:
    """Return lower end, median and upper end, (3, c), from quantiles at 0.1, 25, 50, 75, 99.9 %, without far tails."""
    low, first, middle, third, high = quantiles
    room = FAR * (third - first)
    wide = room > 0.0
    return np.array(
        [
            np.where(wide, np.maximum(low, first - room), low),
            middle,
            np.where(wide, np.minimum(high, third + room), high),
        ]
    )


def _stems(ax: Axes, values: Array, heights: Array) -> None:
    ax.vlines(values, 0.0, heights, color=MAIN, linewidth=2)
    ax.plot(values, heights, "o", color=MAIN, markeredgecolor=ink(ax), markersize=5)
    ax.set_ylim(0.0, 1.15 * float(heights.max()))
    if len(values) == 1:
        room = max(1.0, 0.1 * abs(float(values[0])))
        ax.set_xlim(values[0] - room, values[0] + room)


def _histogram(ax: Axes, values: Array, weights: Array) -> None:
    shares, edges = np.histogram(values, bins=30, weights=weights)
    _steps(ax, shares / np.diff(edges), edges)


def _steps(ax: Axes, heights: Array, edges: Array) -> None:
    ax.stairs(heights, edges, fill=True, color=MAIN, alpha=0.35)
    ax.stairs(heights, edges, color=MAIN, linewidth=1.5)
    ax.set_yticks([])
    ax.set_ylabel("density", fontsize=9)
    ax.set_ylim(0.0)


def _density(ax: Axes, below: Callable[[Array], Array], low: float, high: float) -> None:
    """Draw the density of a distribution function `below`, and its jumps with their probabilities."""
    room = 0.02 * (high - low) or max(1.0, 0.1 * abs(low))
    edges = np.linspace(low - room, high + room, CELLS + 1)
    mass = np.diff(below(edges))
    points, jumps = [], []
    for at in np.flatnonzero(mass >= ATOM):
        point, jump = _jump(below, float(edges[at]), float(edges[at + 1]))
        if jump >= ATOM:
            points.append(point)
            jumps.append(jump)
            mass[at] -= jump
    heights = np.clip(mass, 0.0, None) / np.diff(edges)
    smooth = float(mass.sum()) > 1e-9
    if smooth:
        _steps(ax, heights, edges)
    if points:
        top = float(heights.max()) if smooth else 1.0
        sizes = top * np.array(jumps) / max(jumps)
        ax.vlines(points, 0.0, sizes, color=OTHER, linewidth=2.5)
        ax.plot(points, sizes, "s", color=OTHER, markersize=6, markeredgecolor=ink(ax))
        for point, size, jump in zip(points, sizes, jumps, strict=True):
            ax.annotate(f"{jump:.0%}", (point, size), (5, -3), textcoords="offset points", fontsize=9)
        ax.set_ylim(0.0, 1.15 * top)
        ax.set_yticks([])


def _jump(below: Callable[[Array], Array], low: float, high: float) -> tuple[float, float]:
    """Find the largest jump of a distribution function between two values by bisection; return place and size."""
    ends = below(np.array([low, high]))
    for _ in range(50):
        middle = (low + high) / 2.0
        at = float(below(np.array([middle]))[0])
        if at - ends[0] >= ends[1] - at:
            high, ends = middle, np.array([ends[0], at])
        else:
            low, ends = middle, np.array([at, ends[1]])
    return high, float(ends[1] - ends[0])
