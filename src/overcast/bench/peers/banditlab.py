"""BanditLab: one regression per action, or one for all."""

from __future__ import annotations

from importlib import import_module

from overcast._check import Array
from overcast.bench.race import Entry, Racer
from overcast.bench.tasks import BETA, RIDGE


class LinUCB(Racer):
    def start(self) -> None:
        theirs, task = import_module("mab_framework"), self.task
        d = task.contexts.shape[1] if task.features is None else task.psi(0).shape[1]
        alone = task.features is None
        shared = theirs.OnlineRidgeRegression(d, l2_reg=RIDGE)
        models = [theirs.OnlineRidgeRegression(d, l2_reg=RIDGE) if alone else shared for _ in range(task.k)]
        self._bandit = theirs.UCBAlgorithm(task.k, models, alpha=BETA)
        indices, contexts, rewards = task.first()
        for i, context, y in zip(indices, contexts, rewards, strict=True):
            x = context if task.features is None else task.features(task.actions[i : i + 1], context[None])[0, 0]
            self._bandit.model[i].fit(x, y)

    def step(self, t: int) -> int:
        context: Array = self.task.context(t) if self.task.features is None else self.task.psi(t)
        i = int(self._bandit.select_arm(context))
        self._bandit.update([{"action": i, "reward": self.task.rewards[t, i], "context": context}])
        return i


ENTRIES = [Entry("banditlab", "banditlab", "UCB", ("blocks", "shared"), LinUCB)]
