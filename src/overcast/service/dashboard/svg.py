"""The parts of a chart as SVG: axes with ticks at round numbers and times, and marks in the units of the data.

Charts are made here and not in the browser: they can be read without scripts, and text in them is escaped in one place.
Colours and type come from the style sheet, by classes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from markupsafe import Markup, escape

from overcast.service.messages import END

WIDTH, HEIGHT = 380, 226
_TOP, _RIGHT, _BOTTOM = 12, 12, 40
_STEPS = (
    *(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800),
    *(3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 1209600, 2592000, 7776000, 31536000),
)

Span = tuple[float, float]
Points = Iterable[tuple[float, float]]


def number(value: float) -> str:
    """Return a number as people read it, with a true minus sign.

    >>> number(-12345.678), number(0.00012345), number(2.0)
    ('−12,346', '0.000123', '2')
    """
    if not math.isfinite(value):
        return "–"
    size = abs(value)
    if size >= 1e7 or 0 < size < 1e-5:
        text = f"{value:.2e}"
    elif size >= 1000:
        text = f"{value:,.0f}"
    else:
        text = f"{value:.3g}"
    return text.replace("-", "−")


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Return round numbers from low to high, about `count` of them.

    >>> ticks(0.0, 10.0)
    [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    """
    raw = (high - low) / max(count, 1)
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= 0.999 * raw)
    first = math.ceil(low / step - 1e-9)
    return [i * step for i in range(first, math.floor(high / step + 1e-9) + 1)]


def time_ticks(low: float, high: float, count: int = 4) -> list[tuple[float, str]]:
    """Return times from low to high at round steps, and their labels in UTC."""
    raw = (high - low) / max(count, 1)
    if not 0.0 <= low <= high < END:  # beyond the calendar
        return []
    step = next((one for one in _STEPS if one >= raw), math.ceil(raw / _STEPS[-1]) * _STEPS[-1])
    form = "%H:%M:%S" if step < 60 else "%H:%M" if step < 86400 else "%d %b" if step < 7776000 else "%b %Y"
    out = []
    for i in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1):
        at = datetime.fromtimestamp(i * step, UTC)
        text = f"{at:%H:%M:%S}.{at.microsecond // 1000:03d}" if step < 1 else f"{at:{form}}"
        out.append((i * step, text))
    return out


def log_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Return decimal logarithms from low to high, and the round numbers that they are of.

    >>> log_ticks(-1.0, 1.0)
    [(-1.0, '0.1'), (0.0, '1'), (1.0, '10')]
    """
    factors = (1,) if high - low >= 2.0 else (1, 2, 5)
    step = max(1, round((high - low) / 5))
    powers = range(math.floor(low), math.ceil(high) + 1)
    found = [(power + math.log10(factor), factor * 10.0**power) for power in powers[::step] for factor in factors]
    return [(at, number(value)) for at, value in found if low - 1e-9 <= at <= high + 1e-9]


def widened(low: float, high: float, share: float = 0.06) -> Span:
    """Return an interval that holds another with some room, and is never empty."""
    if not high > low:
        room = max(abs(low) * 0.1, 0.5)
        return low - room, high + room
    room = share * (high - low)
    return low - room, high + room


def spread(values: Iterable[float], zero: bool = False) -> Span:
    """Return the interval of an axis for values; it holds zero if `zero` is set."""
    known = [value for value in values if abs(value) < 1e300] or [0.0, 1.0]
    low, high = min(known), max(known)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
        wide = widened(low, high)
        return (0.0 if low == 0.0 else wide[0]), (0.0 if high == 0.0 and low < 0.0 else wide[1])
    return widened(low, high)


class Chart:
    """One chart: its frame, and marks on it.

    Parameters
    ----------
    x, y : the intervals that the axes show
    labels : what the axes show, with units
    title : for whoever cannot see it
    times : whether x is in seconds since 1970
    log : whether y is the decimal logarithm of what the axis says
    rows : whether the y axis has names for its rows, which the marks bring
    left, height : pixels for what stands beside the y axis, None for as many as its numbers need; and of all
    """

    def __init__(
        self,
        x: Span,
        y: Span,
        labels: tuple[str, str],
        title: str,
        *,
        times: bool = False,
        log: bool = False,
        rows: bool = False,
        left: int | None = None,
        height: int = HEIGHT,
    ) -> None:
        self.x, self.y, self._labels, self._title, self._times = x, y, labels, title, times
        self._height = height
        self._rows = rows
        self._y_ticks = [] if rows else log_ticks(*y) if log else [(one, number(one)) for one in ticks(*y)]
        self.left = 28 + 7 * max((len(words) for _, words in self._y_ticks), default=0) if left is None else left
        self._marks: list[Markup] = []

    def at_x(self, value: float) -> float:
        low, high = self.x
        return self.left + (value - low) / (high - low) * (WIDTH - _RIGHT - self.left)

    def at_y(self, value: float) -> float:
        low, high = self.y
        return self._height - _BOTTOM - (value - low) / (high - low) * (self._height - _BOTTOM - _TOP)

    def add(self, mark: str) -> None:
        """Add a mark that is SVG already."""
        self._marks.append(Markup(mark))

    def line(self, points: Points, kind: str) -> None:
        """Add a line through points."""
        path = "L".join(f"{self.at_x(x):.1f} {self.at_y(y):.1f}" for x, y in points)
        if path:
            self.add(f'<path class="line {kind}" d="M{path}"/>')

    def dots(self, points: Points, kind: str) -> None:
        """Add dots, as one path of points without length."""
        path = "".join(f"M{self.at_x(x):.1f} {self.at_y(y):.1f}h0" for x, y in points)
        if path:
            self.add(f'<path class="dots {kind}" d="{path}"/>')

    def area(self, xs: Sequence[float], low: Sequence[float], high: Sequence[float], kind: str, title: str) -> None:
        """Add the area between two lines."""
        upper = [f"{self.at_x(x):.1f} {self.at_y(y):.1f}" for x, y in zip(xs, high, strict=True)]
        lower = [f"{self.at_x(x):.1f} {self.at_y(y):.1f}" for x, y in zip(xs, low, strict=True)]
        self.add(
            f'<path class="area {kind}" d="M{"L".join([*upper, *lower[::-1]])}Z"><title>{escape(title)}</title></path>'
        )

    def bar(self, x: Span, y: Span, kind: str, title: str = "") -> None:
        """Add a rectangle that covers an interval of x and an interval of y."""
        left, right = sorted((self.at_x(x[0]), self.at_x(x[1])))
        top, bottom = sorted((self.at_y(y[0]), self.at_y(y[1])))
        name = f"<title>{escape(title)}</title>" if title else ""
        self.add(
            f'<rect class="{kind}" x="{left:.1f}" y="{top:.1f}" width="{max(right - left, 0.8):.1f}" '
            f'height="{max(bottom - top, 0.8):.1f}">{name}</rect>'
        )

    def text(self, x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> None:
        """Add words at a pixel."""
        self.add(f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>')

    def svg(self, x_ticks: Sequence[tuple[float, str]] | None = None) -> Markup:
        """Return the chart; `x_ticks` are places and their labels, None for round ones."""
        out = [
            f'<svg class="chart" viewBox="0 0 {WIDTH} {self._height}" role="img" aria-label="{escape(self._title)}">',
            "" if self._rows else self._y_axis(),
            self._x_axis(x_ticks),
            *self._marks,
            "</svg>",
        ]
        return Markup("".join(out))

    def _y_axis(self) -> str:
        out = []
        for tick, words in self._y_ticks:
            at = self.at_y(tick)
            out.append(f'<path class="grid" d="M{self.left} {at:.1f}H{WIDTH - _RIGHT}"/>')
            out.append(f'<text x="{self.left - 6}" y="{at + 4:.1f}" text-anchor="end">{words}</text>')
        middle = (self._height - _BOTTOM + _TOP) / 2
        out.append(
            f'<text class="label" transform="translate(11 {middle:.0f}) rotate(-90)" text-anchor="middle">'
            f"{escape(self._labels[1])}</text>"
        )
        return "".join(out)

    def _x_axis(self, given: Sequence[tuple[float, str]] | None) -> str:
        floor = self._height - _BOTTOM
        out = [f'<path class="axis" d="M{self.left} {floor}H{WIDTH - _RIGHT}"/>']
        found = given
        if found is None:
            found = time_ticks(*self.x, 4) if self._times else [(one, number(one)) for one in ticks(*self.x)]
        for tick, words in found:
            at = self.at_x(tick)
            out.append(f'<path class="axis" d="M{at:.1f} {floor}v4"/>')
            near = 4.0 * len(words)
            anchor = (
                "end" if at > WIDTH - _RIGHT - near + 12 else "start" if at < self.left - 24 + near - 16 else "middle"
            )
            out.append(f'<text x="{at:.1f}" y="{floor + 16}" text-anchor="{anchor}">{escape(words)}</text>')
        middle = (self.left + WIDTH - _RIGHT) / 2
        out.append(
            f'<text class="label" x="{middle:.0f}" y="{self._height - 5}" text-anchor="middle">'
            f"{escape(self._labels[0])}</text>"
        )
        return "".join(out)


def short(words: str, size: int) -> str:
    """Return words that take at most `size` characters."""
    return words if len(words) <= size else f"{words[: size - 1]}…"
