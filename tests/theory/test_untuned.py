"""What nobody tuned works: prices in any currency, and the README's varieties beside every tuned ridge of one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

import overcast as oc
from overcast._check import Array
from overcast.beliefs.stacked import GaussianStack
from overcast.environments import Rounds, Trials, VectorEnvironment
from overcast.environments.base import Rngs, Stream

PRICES = np.arange(1.0, 11.0)
# The price with the highest profit on average, 1.2 x - 0.1 x^2.
BEST = 5
STEPS, TRIALS = 300, 50


class _Forecasts(Trials):
    """Normal forecasts around means that are normal themselves, and rewards of all actions from `_rewards`."""

    def __init__(self, rngs: Rngs, centre: Array, spread: Array, variance: Array) -> None:
        self._centre, self._spread, self._variance = centre, spread, variance
        self._normals = Stream(rngs, 2 * len(centre) + 1)

    def rewards(self, contexts: Array) -> Array:
        """Return f(x, c) of every action, (r, k), which is linear in c (r, c)."""
        raise NotImplementedError

    noise = 1.0

    def step(self, past: NDArray[np.intp]) -> Rounds:
        z, c = self._normals.next(), len(self._centre)
        mean = self._centre + self._spread * z[:, :c]
        context = mean + np.sqrt(self._variance) * z[:, c : 2 * c]
        belief = GaussianStack(mean, self._variance)
        return Rounds(belief, context, self.rewards(context), self.rewards(mean), self.noise * z[:, -1])


@dataclass(frozen=True)
class Pricing(VectorEnvironment):
    """Ten prices x, and the profit x (1.2 - 0.1 x + 0.05 c) where the demand c has the forecast N(m, 0.25).

    currency : multiplies prices and profits
    centred : whether the action is the price less 5.5
    """

    currency: float
    centred: bool

    features = oc.features.Polynomial(2)

    def start_all(self, rngs: Rngs) -> _Prices:
        return _Prices(self, rngs)


class _Prices(_Forecasts):
    def __init__(self, env: Pricing, rngs: Rngs) -> None:
        super().__init__(rngs, np.zeros(1), np.ones(1), np.full(1, 0.25))
        self.actions = env.currency * (PRICES - 5.5 if env.centred else PRICES)[:, None]
        self.noise, self._currency = 0.1 * env.currency, env.currency

    def rewards(self, contexts: Array) -> Array:
        return np.asarray(self._currency * PRICES * (1.2 - 0.1 * PRICES + 0.05 * contexts))


@pytest.mark.parametrize("centred", [False, True], ids=["prices", "centred"])
@pytest.mark.parametrize("currency", [0.01, 1.0, 150.0])
def test_the_best_price_is_found_in_any_currency(currency: float, centred: bool) -> None:
    """In 49 of 50 trials, the price taken most often after round 60 is the best on average or next to it.

    Seeds are fixed, and units change decisions by rounding only, so that the six cases stand or fall together.
    """
    env = Pricing(currency, centred)
    runs = oc.simulate(env, oc.LinearModel(env.features), oc.UCB(), steps=STEPS, trials=TRIALS, seed=1)
    often = [int(np.bincount(choices[60:]).argmax()) for choices in runs.choices]
    assert sum(abs(index - BEST) <= 1 for index in often) >= 49


class Varieties(VectorEnvironment):
    """The README's varieties under forecasts of (1, temperature, rain), in the units of a weather report.

    In standardised units, theta ~ N(0, I) per variety: temperature and rain matter as much as the variety itself.
    """

    features = oc.features.Bilinear()

    def start_all(self, rngs: Rngs) -> _Varieties:
        return _Varieties(rngs)


class _Varieties(_Forecasts):
    noise = 0.5

    def __init__(self, rngs: Rngs) -> None:
        centre, spread, variance = np.array([1.0, 18.0, 0.4]), np.array([0.0, 5.0, 0.3]), np.array([0.0, 4.0, 0.02])
        standard = np.diag([1.0, 1.0 / 5.0, 1.0 / 0.3])
        standard[1:, 0] = -centre[1:] / spread[1:]
        self.actions = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
        self._weights = np.stack([rng.standard_normal((2, 3)) for rng in rngs]) @ standard  # (r, 2, 3)
        super().__init__(rngs, centre, np.sqrt(np.maximum(spread**2 - variance, 0.0)), variance)

    def rewards(self, contexts: Array) -> Array:
        return np.asarray((self._weights @ contexts[..., None])[..., 0] @ self.actions.T)


@cache
def _cost(model: oc.LinearModel, policy: oc.UCB) -> Array:
    """Return the expected regret of every trial, (trials,)."""
    return oc.simulate(Varieties(), model, policy, steps=STEPS, trials=4 * TRIALS, seed=2).expected_regret[:, -1]


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0, 5.0, 10.0])
def test_nothing_tuned_beats_a_ridge_of_one_with_any_beta(beta: float) -> None:
    """Trials are paired.

    Seeds are fixed, so nothing fails by chance; with fresh seeds, a difference of three standard errors or more would
    change its sign with a probability of at most 0.0014.
    """
    untuned = _cost(oc.LinearModel(Varieties.features), oc.UCB())
    more = _cost(oc.LinearModel(Varieties.features, ridge=1.0), oc.UCB(beta)) - untuned
    assert more.mean() > 3.0 * more.std(ddof=1) / np.sqrt(len(more))
