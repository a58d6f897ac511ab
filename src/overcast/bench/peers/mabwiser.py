"""MABWiser: one regression per action."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from overcast.bench.race import Entry, Racer
from overcast.bench.tasks import BETA, RIDGE


class LinUCB(Racer):
    def start(self) -> None:
        self._mab = import_module("mabwiser.mab").MAB(list(range(self.task.k)), self._policy())
        indices, contexts, rewards = self.task.first()
        self._mab.fit(indices.tolist(), rewards.tolist(), contexts)

    def _policy(self) -> Any:
        return import_module("mabwiser.mab").LearningPolicy.LinUCB(alpha=BETA, l2_lambda=RIDGE)

    def step(self, t: int) -> int:
        context = self.task.context(t)[None]
        i = int(self._mab.predict(context))
        self._mab.partial_fit([i], [self.task.rewards[t, i]], context)
        return i


class LinGreedy(LinUCB):
    def _policy(self) -> Any:
        return import_module("mabwiser.mab").LearningPolicy.LinGreedy(epsilon=0.1, l2_lambda=RIDGE)


ENTRIES = [
    Entry("mabwiser", "mabwiser", "UCB", ("blocks",), LinUCB),
    Entry("mabwiser", "mabwiser", "epsilon-greedy", ("blocks",), LinGreedy, same=False),
]
