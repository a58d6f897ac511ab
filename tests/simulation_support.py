"""What tests of the simulation share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import overcast as oc
from overcast._check import Array
from overcast.environments import (
    CoinFlip,
)
from overcast.models import Progress
from overcast.policies import Outlook, Policy


def generator(seed: int, trial: int, stream: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(trial, stream)))


def learner_seed(seed: int, trial: int) -> np.random.SeedSequence:
    """Return the seed of a bandit that draws as the learner of a trial does."""
    return np.random.SeedSequence(seed, spawn_key=(trial, 1))


@dataclass(frozen=True)
class Constant(Policy):
    """Takes one action, whatever the estimates say."""

    index: int

    lockstep = True

    def scores(self, outlook: Outlook, progress: Progress, rng: object) -> Array:
        return np.where(np.arange(outlook.mean.shape[-1]) == self.index, 1.0, np.zeros(outlook.mean.shape))


GOOD: dict[str, Any] = {
    "env": CoinFlip(),
    "model": oc.LinearModel(CoinFlip.features, ridge=1.0),
    "policy": oc.UCB(1.0),
    "steps": 2,
    "trials": 2,
}
