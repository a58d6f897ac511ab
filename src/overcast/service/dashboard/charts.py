"""The charts of the dashboard."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup, escape

from overcast._check import Array
from overcast.calibration import Calibration
from overcast.service.dashboard.svg import HEIGHT, WIDTH, Chart, number, short, spread, widened
from overcast.service.dashboard.window import Seen, Window

#: actions with an area of their own, and with a row in the chart of estimates; points of a line
AREAS, OPTIONS, POINTS = 6, 12, 200
#: decisions that a fan is drawn for
FANS = 40
#: levels of the fans, from the outside in
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
_OTHERS = "others"


def moving(values: Sequence[float], size: int) -> list[float]:
    """Return the mean of each value and those before it, at most `size` of them."""
    sums = np.concatenate([[0.0], np.cumsum(np.asarray(values, dtype=float))])
    ends = np.arange(1, len(values) + 1)
    begins = np.maximum(ends - size, 0)
    return ((sums[ends] - sums[begins]) / (ends - begins)).tolist()  # type: ignore[no-any-return]


def length(count: int) -> int:
    """Return how many values a moving mean takes: a tenth of all, from 5 to 50."""
    return max(5, min(50, count // 10))


def rewards(window: Window) -> Markup | None:
    """Return rewards over time with their moving mean."""
    if not window.rewards:
        return None
    times, values, _ = zip(*window.rewards, strict=True)
    size = length(len(values))
    means = moving(values, size)
    title = f"Rewards over time; the mean of the last {min(size, len(values))} is {number(means[-1])}"
    chart = Chart(_span(times), spread(values), ("time, UTC", "reward"), title, times=True)
    chart.dots(((at, value) for at, value, late in window.rewards if not late), "came")
    chart.dots(((at, value) for at, value, late in window.rewards if late), "default")
    chart.line(_thinned(list(zip(times, means, strict=True))), "mean")
    return chart.svg()


@dataclass(frozen=True)
class Share:
    """One area: its class, the action, and its share of the latest decisions."""

    kind: str
    action: str
    share: float


def shares(window: Window) -> tuple[Markup | None, list[Share]]:
    """Return the share of each action over time as areas, and what the areas are, from the lowest up."""
    decisions = window.decisions
    if len(decisions) < 2:
        return None, []
    counts = Counter(seen.action for seen in decisions)
    named = [name for name, _ in counts.most_common(AREAS)]
    order = sorted(named) + ([_OTHERS] if len(counts) > AREAS else [])
    groups = [list(one) for one in np.array_split(np.arange(len(decisions)), max(2, min(20, len(decisions) // 10)))]
    times = [float(np.mean([decisions[i].time for i in group])) for group in groups]
    table = np.zeros((len(order), len(groups)))
    for column, group in enumerate(groups):
        for i in group:
            action = decisions[i].action
            table[order.index(action if action in named else _OTHERS), column] += 1.0 / len(group)
    tops = np.cumsum(table, axis=0)
    span = _span([seen.time for seen in decisions])
    times[0], times[-1] = span  # the first and the last group reach to the edges
    chart = Chart(span, (0.0, 1.0), ("time, UTC", "share of decisions"), "Share of each action over time", times=True)
    found = []
    for i, name in enumerate(order):
        low = tops[i] - table[i]
        share = float(table[i, -1])
        kind = "a-others" if name == _OTHERS else f"a{i}"
        chart.area(times, low.tolist(), tops[i].tolist(), kind, f"{name}: {share:.0%} lately")
        found.append(Share(kind, name, share))
    for i, name in enumerate(order):  # on top of all areas
        _write_on(chart, name, times, tops[i] - table[i], tops[i])
    return chart.svg(), found


def _write_on(chart: Chart, name: str, times: Sequence[float], low: Array, high: Array) -> None:
    """Write the name of an area where it is thick enough for words."""
    reach = [slice(max(0, i - 1), i + 2) for i in range(len(times))]
    floor = np.array([low[one].max() for one in reach])
    thick = np.array([high[one].min() for one in reach]) - floor
    at = int(np.argmax(thick))
    if thick[at] * HEIGHT > 30:
        x = min(max(chart.at_x(times[at]), chart.left + 44), WIDTH - 56)
        chart.text(x, chart.at_y(float(floor[at] + thick[at] / 2)) + 4, short(name, 14), "on-area", "middle")


@dataclass(frozen=True)
class Option:
    """One row of the chart of estimates."""

    action: str
    mean: float
    width: float
    chosen: bool = False


def estimates(options: Sequence[Option]) -> Markup | None:
    """Return the estimated reward of each action as a dot with an interval, the best on top."""
    known = [one for one in options if math.isfinite(one.mean) and math.isfinite(one.width)]
    best = sorted(known, key=lambda one: (-one.mean, one.action))[:OPTIONS]
    best += [one for one in known if one.chosen and one not in best]
    if not best:
        return None
    span = spread([value for one in best for value in (one.mean - one.width, one.mean + one.width)])
    height = 56 + 24 * len(best)
    chart = Chart(
        span, (len(best) - 0.4, -0.6), ("estimated reward", ""), "Estimated reward of each action", left=118, rows=True,
        height=height,
    )  # fmt: skip
    if span[0] < 0.0 < span[1]:
        chart.add(f'<path class="grid" d="M{chart.at_x(0.0):.1f} 12V{height - 40}"/>')
    for i, one in enumerate(best):
        y, left, right = chart.at_y(i), chart.at_x(one.mean - one.width), chart.at_x(one.mean + one.width)
        title = f"{one.action}: {number(one.mean)} ± {number(one.width)}{', chosen' * one.chosen}"
        chart.add(
            f'<g class="option{" chosen" * one.chosen}"><title>{escape(title)}</title>'
            f'<path class="whisker" d="M{left:.1f} {y:.1f}H{right:.1f}m0 -4v8M{left:.1f} {y - 4:.1f}v8"/>'
            f'<circle cx="{chart.at_x(one.mean):.1f}" cy="{y:.1f}" r="{5 if one.chosen else 3.5}"/></g>'
        )
        words = short(one.action, 15 if one.chosen else 17)
        chart.text(110, y + 4, f"▸ {words}" if one.chosen else words, "chosen" if one.chosen else "", "end")
    return chart.svg()


def widths(window: Window) -> Markup | None:
    """Return the uncertainty of what was chosen, over time."""
    known = [(seen.time, math.log10(seen.record.width)) for seen in window.decisions if seen.record.width > 0.0]
    if not known:
        return None
    times, values = zip(*known, strict=True)
    means = moving(values, length(len(values)))
    title = f"Width of the chosen action's estimate over time, now {number(10.0 ** means[-1])}"
    chart = Chart(_span(times), spread(values), ("time, UTC", "width (log scale)"), title, times=True, log=True)
    chart.dots(known, "came")
    chart.line(_thinned(list(zip(times, means, strict=True))), "mean")
    return chart.svg()


def shadow(window: Window) -> Markup | None:
    """Draw the gain that the shadow expects over the actions taken, decision by decision, with its moving mean."""
    seen = [(one.time, one.shadow.chosen - one.shadow.taken) for one in window.decisions if one.shadow is not None]
    if not seen:
        return None
    times, gains = zip(*seen, strict=True)
    means = moving(gains, length(len(gains)))
    title = f"What the shadow expects to gain by its own choices, lately {number(means[-1])} a decision"
    chart = Chart(_span(times), spread([*gains, 0.0]), ("time, UTC", "expected gain"), title, times=True)
    chart.line([(times[0], 0.0), (times[-1], 0.0)], "ideal")
    chart.dots(seen, "came")
    chart.line(_thinned(list(zip(times, means, strict=True))), "mean")
    return chart.svg()


@dataclass(frozen=True)
class Fan:
    """The forecast of one decision in one dimension: quantiles at LEVELS, and what came, None if it is not known."""

    seen: Seen
    quantiles: Sequence[float]
    came: float | None


def fans(drawn: Sequence[Fan], name: str) -> Markup | None:
    """Return the forecasts of the latest decisions, one beside the other, with what came."""
    values = [value for fan in drawn for value in (*fan.quantiles, fan.came) if value is not None]
    values = [value for value in values if math.isfinite(value)]
    if not values:
        return None
    first = drawn[0].seen.record.round
    last = max(drawn[-1].seen.record.round, first + 4)
    title = f"Forecasts of {name} in the last {len(drawn)} decisions, and what came"
    chart = Chart((first - 0.7, last + 0.7), spread(values), ("number of the decision", name), title)
    for fan in drawn:
        at, low, high = fan.seen.record.round, fan.quantiles[0], fan.quantiles[-1]
        if not all(map(math.isfinite, fan.quantiles)):
            continue
        told = f"decision {at}: {number(low)} to {number(high)}"
        told += "" if fan.came is None else f", {number(fan.came)} came"
        chart.bar((at - 0.32, at + 0.32), (low, high), "outer", told)
        chart.bar((at - 0.32, at + 0.32), (fan.quantiles[1], fan.quantiles[3]), "inner", told)
    chart.dots(((fan.seen.record.round, fan.came) for fan in drawn if fan.came is not None), "truth")
    return chart.svg()


def pit(found: Calibration) -> Markup:
    """Return how often what came fell into each tenth of its forecast; the band holds most bars if all is right."""
    bars = found.histogram()[:, 0].tolist()
    low, high = found.band()
    top = 1.1 * max(*bars, high)
    chart = Chart((0.0, 1.0), (0.0, top), ("place in the forecast", "share of outcomes"), "Histogram of PIT values")
    chart.bar((0.0, 1.0), (low, high), "band", f"{low:.0%} to {high:.0%} if forecasts are right")
    for i, bar in enumerate(bars):
        chart.bar(
            (i / 10 + 0.008, (i + 1) / 10 - 0.008), (0.0, bar), "histogram", f"{i * 10} to {i * 10 + 10} %: {bar:.0%}"
        )
    return chart.svg([(i / 10, f"{i * 10} %") for i in range(0, 11, 2)])


def coverage(found: Calibration) -> Markup:
    """Return the share of outcomes within central intervals, beside the level of the intervals."""
    levels = [i / 20 for i in range(1, 20)]
    shares = [float(found.coverage(level)[0]) for level in levels]
    chart = Chart(
        (0.0, 1.0), (0.0, 1.0), ("level of the interval", "share of outcomes in it"), "Coverage of central intervals"
    )
    chart.line([(0.0, 0.0), (1.0, 1.0)], "ideal")
    chart.line([(0.0, 0.0), *zip(levels, shares, strict=True)], "mean")
    chart.dots([(level, share) for level, share in zip(levels, shares, strict=True) if level in (0.5, 0.8, 0.9)], "key")
    return chart.svg([(i / 10, f"{i * 10} %") for i in range(0, 11, 2)])


def sparkline(window: Window) -> Markup | None:
    """Return the moving mean of the latest rewards as a small line without axes."""
    values = [reward for _, reward, _ in window.rewards]
    if len(values) < 2:
        return None
    means = moving(values, length(len(values)))[:: max(1, len(values) // 60)]
    low, high = widened(min(means), max(means))
    step = 116.0 / max(len(means) - 1, 1)
    points = [f"{2 + i * step:.1f} {30 - (mean - low) / (high - low) * 28:.1f}" for i, mean in enumerate(means)]
    x, _, y = points[-1].partition(" ")
    title = f"Mean reward, from {number(means[0])} to {number(means[-1])}"
    return Markup(
        f'<svg class="spark" viewBox="0 0 120 32" role="img" aria-label="{title}"><path class="line mean" '
        f'd="M{"L".join(points)}"/><circle cx="{x}" cy="{y}" r="2.5"/></svg>'
    )


def strip(quantiles: Array, came: float | None) -> Markup | None:
    """Return one dimension of a forecast as a bar on a scale of its own, with what came."""
    values = [*quantiles.tolist(), *([] if came is None else [came])]
    if not all(map(math.isfinite, values)):
        return None
    low, high = widened(min(values), max(values))

    def at(value: float) -> float:
        return 4 + (value - low) / (high - low) * 192

    marks = [
        f'<rect class="{kind}" x="{at(a):.1f}" y="{y}" width="{max(at(b) - at(a), 1):.1f}" height="{h}"/>'
        for kind, a, b, y, h in (
            ("outer", values[0], values[4], 7, 10),
            ("inner", values[1], values[3], 4, 16),
        )
    ]
    dot = "" if came is None else f'<path class="dots truth" d="M{at(came):.1f} 12h0"/>'
    middle = f'<path class="median" d="M{at(values[2]):.1f} 2v20"/>'
    return Markup(f'<svg class="strip" viewBox="0 0 200 24" aria-hidden="true">{"".join(marks)}{middle}{dot}</svg>')


def _span(times: Sequence[float]) -> tuple[float, float]:
    low, high = min(times), max(times)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _thinned(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return about POINTS of the points, the last one among them."""
    step = math.ceil(len(points) / POINTS)
    return points[::-1][::step][::-1]
