"""The coin that no policy can predict (section 2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from overcast import _check
from overcast.beliefs import Ensemble
from overcast.beliefs.stacked import Catalogue
from overcast.environments.base import Rngs, Rounds, Stream, Trials, VectorEnvironment
from overcast.features import Bilinear


@dataclass(frozen=True)
class CoinFlip(VectorEnvironment):
    """A coin flip to guess: c_t ~ Bernoulli(p), f(0, c) = c and f(1, c) = 1 - c.

    Regret against the clairvoyant, who sees c_t, grows linearly for every policy; regret against x*_t need not. Both
    outcomes of the coin and both actions are unit vectors, so f is bilinear: vec(x c^T)^T (0, 1, 1, 0).

    Parameters
    ----------
    p : probability of c = 1
    noise : standard deviation of the reward noise

    Examples
    --------
    >>> import overcast as oc
    >>> env = CoinFlip(p=0.6)
    >>> runs = oc.simulate(env, oc.LinearModel(env.features), oc.UCB(), steps=10, trials=2)
    >>> runs.expected_regret.shape
    (2, 10)
    """

    p: float = 0.6
    noise: float = 0.1

    features = Bilinear()

    def __post_init__(self) -> None:
        _check.number("CoinFlip", "p", self.p, above=0.0, below=1.0)
        _check.number("CoinFlip", "noise", self.noise, at_least=0.0)

    def start_all(self, rngs: Rngs) -> Trials:
        return _CoinFlipTrials(self, rngs)


class _CoinFlipTrials(Trials):
    def __init__(self, env: CoinFlip, rngs: Rngs) -> None:
        self._env = env
        self.actions = np.eye(2)
        self.theta = np.array([0.0, 1.0, 1.0, 0.0])
        belief = Ensemble(np.eye(2), [1 - env.p, env.p])
        self._belief = Catalogue([belief]).pick(np.zeros(len(rngs), dtype=np.intp))
        self._expected = np.tile([env.p, 1 - env.p], (len(rngs), 1))
        coins, epsilon = zip(*(rng.spawn(2) for rng in rngs), strict=True)
        self._coins = Stream(coins, 1, normal=False)
        self._epsilon = Stream(epsilon, 1)

    def step(self, past: NDArray[np.intp]) -> Rounds:
        heads = self._coins.next() < self._env.p  # (r, 1): c = 1
        context = np.where(heads, [0.0, 1.0], [1.0, 0.0])
        rewards = np.where(heads, [1.0, 0.0], [0.0, 1.0])
        return Rounds(self._belief, context, rewards, self._expected, self._env.noise * self._epsilon.next()[:, 0])
