"""Look at a belief, a decision and a season of irrigation, and ask why.

    python examples/look.py [FOLDER]

The pictures go to FOLDER, or to the present one: each on light ground, and with "-dark" in its name on dark.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

import overcast as oc

DAYS = 240
AMOUNTS = {"none": 0.0, "a little": 2.0, "half": 4.0, "all": 6.0}  # mm


def forecast(day: int, rng: np.random.Generator) -> oc.Belief:
    """Return 20 equally likely pairs of temperature and rain."""
    warm = 18.0 + 7.0 * np.sin(2 * np.pi * day / DAYS) + rng.normal()
    rain = rng.gamma(1.2, 2.0)
    members = np.column_stack([warm + 1.5 * rng.normal(size=20), np.abs(rain + 1.2 * rng.normal(size=20))])
    return oc.Ensemble(members).named(["temperature", "rain"])


def growth(amount: float, temperature: float, rain: float) -> float:
    """The field needs more water on a warm day, and water has a price."""
    need = 1.0 + 0.25 * temperature
    return 1.0 - ((amount + rain - need) / 6.0) ** 2 - 0.02 * amount


def season() -> oc.Bandit:
    rng = np.random.default_rng(3)
    actions = {name: [amount] for name, amount in AMOUNTS.items()}
    bandit = oc.Bandit(actions, oc.LinearModel(oc.features.Polynomial(2)), oc.UCB(), history=1000)
    for day in range(DAYS):
        belief = forecast(day, rng)
        weather = belief.sample(1, rng)[0]
        decision = bandit.decide(belief)
        reward = growth(AMOUNTS[decision.action], *weather) + 0.05 * rng.normal()
        bandit.learn(decision, reward, context=weather if day % 3 else None)  # every third day nobody measures
    return bandit


def written(figure: Figure, path: Path) -> None:
    figure.savefig(path, dpi=90)
    plt.close(figure)


def main(folder: Path) -> None:
    matplotlib.use("Agg")
    bandit = season()
    decision = bandit.decide(forecast(DAYS, np.random.default_rng(12)))
    print(decision.explain())
    for style, ending in (("default", ""), ("dark_background", "-dark")):
        with plt.style.context(style):
            written(decision.belief.plot()[0].figure, folder / f"look-belief{ending}.png")
            figure = decision.plot().figure
            assert isinstance(figure, Figure)
            written(figure, folder / f"look-decision{ending}.png")
            written(bandit.plot(), folder / f"look-season{ending}.png")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
