"""A season of irrigation as a story: forecasts, decisions, rain and earnings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

import overcast as oc
from overcast._check import Array
from overcast._linalg import Indices

DAYS, MEMBERS = 200, 20
AMOUNTS = np.array([0.0, 2.0, 4.0, 6.0])  # mm
# The field's need in mm per day, the earnings of the best day in euros per hectare, and the price of a millimetre.
NEED, WORTH, PRICE = 6.0, 40.0, 0.8
# Number of last days in the picture.
SHOWN = 40
BAND, CAME, CHOSEN = "#2b8cdb", "#d55e00", "#7a7a7a"


@dataclass(frozen=True)
class Season:
    """The season, day by day.

    members : (n, members) the forecasts of rain, mm
    rain : (n,) the rain, mm
    chosen : (n,) index of the chosen amount
    earned : (n, amounts) earnings of each amount, euros per hectare
    """

    members: Array
    rain: Array
    chosen: Indices
    earned: Array

    @property
    def fixed(self) -> int:
        """The index of the best fixed amount in hindsight."""
        return int(self.earned.sum(axis=0).argmax())

    @property
    def saved(self) -> Array:
        """(n,) cumulative earnings minus those of the best fixed amount, euros per hectare."""
        return np.cumsum(self.earned[np.arange(len(self.rain)), self.chosen] - self.earned[:, self.fixed])


def play(days: int = DAYS, seed: int = 0) -> Season:
    """Simulate a season in which a bandit decides by forecasts, and never sees the rain gauge."""
    rng = np.random.default_rng(seed)
    centre = rng.gamma(1.2, 2.5, size=days)
    members = np.abs(centre[:, None] + 1.2 * rng.normal(size=(days, MEMBERS)))
    rain = members[np.arange(days), rng.integers(MEMBERS, size=days)]
    earned = worth(AMOUNTS, rain[:, None])
    actions = {f"{amount:.0f} mm": [amount] for amount in AMOUNTS}
    bandit = oc.Bandit(actions, oc.LinearModel(oc.features.Polynomial(2)), oc.UCB())
    chosen = np.empty(days, dtype=np.intp)
    for day in range(days):
        decision = bandit.decide(oc.Ensemble(members[day][:, None]))
        chosen[day] = decision.index
        bandit.learn(decision, float(earned[day, decision.index] + 2.0 * rng.normal()))
    return Season(members, rain, chosen, earned)


def worth(amount: Any, rain: Any) -> Array:
    """Return the earnings of a day, euros per hectare, which fall with the distance of the water from the need."""
    return np.asarray(WORTH * (1.0 - ((amount + rain - NEED) / NEED) ** 2) - PRICE * amount)


def tell(season: Season) -> list[str]:
    """Return the story in lines of text."""
    n = len(season.rain)
    lines = [
        f"A field needs {NEED:.0f} mm of water a day. Every morning a forecast says how much rain may come, and",
        "a bandit that knows nothing else decides how much to irrigate.",
        "",
    ]
    low, high = np.quantile(season.members, [0.1, 0.9], axis=1)
    for day in range(n - 5, n):
        amount = f"{AMOUNTS[season.chosen[day]]:.0f} mm"
        lines.append(
            f"  day {day + 1}: {low[day]:4.1f} to {high[day]:4.1f} mm forecast, {amount} irrigated, "
            f"{season.rain[day]:4.1f} mm came"
        )
    saved = season.saved
    per_day = (saved[-1] - saved[n // 2 - 1]) / (n - n // 2)
    fixed = f"{AMOUNTS[season.fixed]:.0f} mm on every day"
    lines += [
        "",
        f"After {n} days it is {saved[-1]:,.0f} € per hectare ahead of {fixed}, the best fixed amount in",
        f"hindsight: {per_day:.2f} € a day in the second half.",
    ]
    return lines


def draw(season: Season) -> Figure:
    """Draw the picture: forecasts and rain, chosen amounts, and cumulative savings."""
    n, amounts = len(season.rain), AMOUNTS[season.chosen]
    last = np.arange(max(0, n - SHOWN), n)
    bounds = np.append(last + 0.5, last[-1] + 1.5)  # a day is as wide as any other, the first and the last too
    style: Any = {"axes.spines.top": False, "axes.spines.right": False, "font.size": 10, "legend.frameon": False}
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(9.0, 6.4), layout="constrained")
        top, middle, bottom = figure.subplots(3, 1, height_ratios=[1.5, 1.0, 1.2])
        for low, high, alpha in ((0.05, 0.95, 0.25), (0.25, 0.75, 0.45)):
            edges = np.quantile(season.members[last], [low, high], axis=1)[:, [*range(len(last)), -1]]
            label = f"forecast, {high - low:.0%} of it"
            top.fill_between(bounds, *edges, color=BAND, alpha=alpha, lw=0, step="post", label=label)
        top.plot(last + 1, season.rain[last], "o", ms=4, color=CAME, label="rain that came")
        top.set(ylabel="rain, mm", xlim=(bounds[0] - 0.5, bounds[-1] + 0.5))
        top.set_title(f"What was forecast, and what came: the last {len(last)} of {n} days", fontsize=10, loc="left")
        top.legend(ncols=3, fontsize=9, loc="upper left")
        top.set_ylim(0.0, 1.25 * float(season.members[last].max()))
        middle.bar(last + 1, amounts[last], width=0.8, color=CHOSEN)
        middle.set(ylabel="irrigated, mm", xlim=top.get_xlim(), yticks=AMOUNTS)
        middle.set_title("What was decided in the morning, by the forecast alone", fontsize=10, loc="left")
        bottom.plot(np.arange(1, n + 1), season.saved, color=BAND, lw=2)
        bottom.axhline(0.0, color="#999999", lw=0.8)
        bottom.set(ylabel="€ per hectare", xlabel="day", xlim=(1, n))
        bottom.set_title(
            f"What it saved, beside {AMOUNTS[season.fixed]:.0f} mm on every day, the best fixed amount in hindsight",
            fontsize=10,
            loc="left",
        )
        figure.align_ylabels()
    return figure
