"""Decide each morning how much to irrigate, with an ensemble forecast of the day's rain.

The field needs 6 mm of water a day, from the sky or from the pump, and water has a price. The gauge is read on two days
out of three; on the other days only the growth is known. Run it with

    python examples/irrigation.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import overcast as oc

DAYS = 400
AMOUNTS = {"none": 0.0, "a little": 2.0, "half": 4.0, "all": 6.0}  # mm


def growth(amount: float, rain: float) -> float:
    return 1.0 - ((amount + rain - 6.0) / 6.0) ** 2 - 0.02 * amount


def main() -> None:
    rng = np.random.default_rng(7)
    # Growth is a polynomial of degree two in amount and rain, which are both scaled to about one. The polynomial has a
    # constant, so that "none" has features too; under Bilinear() it would have none, and amounts would go beside a one.
    actions = {name: [amount / 6.0] for name, amount in AMOUNTS.items()}
    bandit = oc.Bandit(actions, oc.LinearModel(oc.features.Polynomial(2), ridge=0.01), oc.UCB(0.5))

    earned, best = np.zeros(DAYS), np.zeros(DAYS)
    for day in range(DAYS):
        centre = rng.gamma(1.5, 2.0)
        members = np.abs(centre + 1.5 * rng.normal(size=20))  # the forecast: 20 equally likely amounts of rain
        rain = float(rng.choice(members))

        decision = bandit.decide(members[:, None] / 6.0)
        earned[day] = growth(AMOUNTS[decision.action], rain)
        context = [rain / 6.0] if day % 3 else None  # on every third day nobody reads the gauge
        bandit.learn(decision, earned[day] + 0.05 * rng.normal(), context=context)

        # This is the best choice for somebody who knows the field and the forecast, but not the rain.
        best[day] = growth(max(AMOUNTS.values(), key=lambda a: np.mean([growth(a, m) for m in members])), rain)

    with tempfile.TemporaryDirectory() as folder:
        bandit.save(Path(folder) / "field.bandit")
        bandit = oc.Bandit.load(Path(folder) / "field.bandit")  # next season

    loss = best - earned
    print(f"lost against the best choice under the forecast: {loss[:100].mean():.3f} a day in the first 100 days,")
    print(f"{loss[-100:].mean():.3f} in the last 100")
    for rain in (0.0, 3.0, 6.0):
        forecast = oc.Gaussian([rain / 6.0], [(1.0 / 6.0) ** 2])
        ranking = ", ".join(f"{option.action} {option.mean:.2f}" for option in bandit.decide(forecast).top(4))
        print(f"rain {rain:.0f} ± 1 mm: {ranking}")


if __name__ == "__main__":
    main()
