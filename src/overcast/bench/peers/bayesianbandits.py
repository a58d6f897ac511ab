"""bayesianbandits: one regression per action, or one for all; its upper bound is a quantile of 1000 samples."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from overcast.bench.race import Entry, Racer
from overcast.bench.tasks import RIDGE


class _Agent(Racer):
    def start(self) -> None:
        theirs = import_module("bayesianbandits")
        arms = [theirs.Arm(i, learner=theirs.NormalRegressor(alpha=RIDGE, beta=1.0)) for i in range(self.task.k)]
        self._agent = theirs.ContextualAgent(arms, self._policy(), random_seed=0)
        indices, contexts, rewards = self.task.first()
        for i, context, y in zip(indices, contexts, rewards, strict=True):
            self._agent.select_for_update(int(i)).update(context[None], np.array([y]))

    def _policy(self) -> Any:
        raise NotImplementedError

    def step(self, t: int) -> int:
        context = self.task.context(t)[None]
        (i,) = self._agent.pull(context)
        self._agent.update(context, self.task.rewards[t, i : i + 1])
        return int(i)


class Quantile(_Agent):
    def _policy(self) -> Any:
        return import_module("bayesianbandits").UpperConfidenceBound(alpha=0.84)


class Thompson(_Agent):
    def _policy(self) -> Any:
        return import_module("bayesianbandits").ThompsonSampling()


ENTRIES = [
    Entry("bayesianbandits", "bayesianbandits", "UCB by 1000 samples", ("blocks",), Quantile, same=False),
    Entry("bayesianbandits", "bayesianbandits", "Thompson", ("blocks",), Thompson, same=False),
]
