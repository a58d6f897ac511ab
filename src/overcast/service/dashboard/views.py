"""The content of the page of a bandit, from its latest rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from overcast.beliefs import Belief
from overcast.calibration import check
from overcast.service import answers as a
from overcast.service.dashboard import charts
from overcast.service.dashboard.charts import LEVELS, Option, Share
from overcast.service.dashboard.window import Seen, Window
from overcast.service.errors import LIBRARY

#: forecasts with a known outcome that calibration is judged by, and the fewest that say something
JUDGED, ENOUGH = 200, 10
#: decisions in the table of the latest, and in that of the pending ones
TABLE = 12


@dataclass(frozen=True)
class Judged:
    """How the forecasts of one dimension did."""

    count: int
    sentence: str
    coverage: float
    level: float
    pit: Markup
    covered: Markup


@dataclass(frozen=True)
class Picture:
    """All charts of a bandit."""

    rewards: Markup | None
    mean: float | None
    among: int
    shares: Markup | None
    areas: list[Share]
    estimates: Markup | None
    widths: Markup | None
    shadow: Markup | None
    fans: Markup | None
    judged: Judged | None
    revealed: int
    dimensions: list[str]
    dim: int
    latest: list[Seen]


def picture(window: Window, options: Sequence[Option], dim: int) -> Picture:
    """Return the charts; `dim` is the dimension of the context that forecasts are shown of."""
    last = window.decisions[-1].belief if window.decisions else None
    names = [] if last is None else dimensions(last)
    dim = min(max(dim, 0), max(len(names) - 1, 0))
    areas, shares = charts.shares(window)
    values = [reward for _, reward, _ in window.rewards]
    among = min(len(values), charts.length(len(values)))
    pairs = revealed(window, len(names))
    return Picture(
        rewards=charts.rewards(window),
        mean=None if not values else float(np.mean(values[-among:])),
        among=among,
        shares=areas,
        areas=shares,
        estimates=charts.estimates(options),
        widths=charts.widths(window),
        shadow=charts.shadow(window),
        fans=None if last is None else _fans(window, len(names), dim, names[dim]),
        judged=None if last is None else judged(pairs, dim, names[dim]),
        revealed=len(pairs),
        dimensions=names,
        dim=dim,
        latest=window.decisions[::-1][:TABLE],
    )


def dimensions(belief: Belief) -> list[str]:
    """Return the names of the dimensions of a context."""
    return list(belief.names or (f"c{i + 1}" for i in range(belief.dim)))


def _fans(window: Window, dims: int, dim: int, name: str) -> Markup | None:
    drawn = []
    for seen in window.decisions[-charts.FANS :]:
        belief = seen.belief
        if belief.dim == dims:
            came = seen.observed_context(belief)
            levels = belief.quantile(np.array(LEVELS))[:, dim].tolist()
            drawn.append(charts.Fan(seen, levels, None if came is None else came[dim]))
    return charts.fans(drawn, name) if drawn else None


def revealed(window: Window, dims: int) -> list[tuple[Belief, list[float]]]:
    """Return the latest forecasts whose context came to be known, with it."""
    out: list[tuple[Belief, list[float]]] = []
    for seen in reversed(window.decisions):
        if seen.context is None:
            continue
        belief = seen.belief
        came = seen.observed_context(belief)
        if came is not None and belief.dim == dims:
            out.append((belief, came))
        if len(out) == JUDGED:
            break
    return out[::-1]


def judged(pairs: Sequence[tuple[Belief, list[float]]], dim: int, name: str) -> Judged | None:
    """Return how forecasts of one dimension did; None if there are too few, or they cannot be judged."""
    if len(pairs) < ENOUGH:
        return None
    try:
        found = check([belief.select([dim]) for belief, _ in pairs], [came[dim] for _, came in pairs], [name])
    except LIBRARY:
        return None
    level = float(found.level[0])
    cover = float(found.coverage(level)[0])
    return Judged(len(found), found.verdict, cover, level, charts.pit(found), charts.coverage(found))


@dataclass(frozen=True)
class Dimension:
    """One dimension of the belief of a decision."""

    name: str
    mean: float
    low: float
    high: float
    came: float | None
    strip: Markup | None


def dimensions_of(belief: Belief, context: Any, shown: int = 30) -> list[Dimension]:
    """Return the dimensions of a belief, with what came of each."""
    seen = Seen("", 0.0, 0, None, context=context)  # type: ignore[arg-type]
    came, mean = seen.observed_context(belief), belief.mean()
    quantiles = belief.quantile(np.array(LEVELS))
    return [
        Dimension(
            name,
            float(mean[i]),
            float(quantiles[0, i]),
            float(quantiles[-1, i]),
            None if came is None else came[i],
            charts.strip(quantiles[:, i], None if came is None else came[i]),
        )
        for i, name in enumerate(dimensions(belief)[:shown])
    ]


def options_of(record: a.DecisionRecord) -> list[Option]:
    """Return the actions as a decision saw them."""
    chosen = record.record["index"]
    return [
        Option(label(one.action), one.mean, one.width, i == chosen)
        for i, one in enumerate(record.options or ())
        if one.mean is not None and one.width is not None
    ]


def label(action: str | int) -> str:
    """Return the name of an action, or its number if it has none."""
    return action if isinstance(action, str) else f"action {action}"
