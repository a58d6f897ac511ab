"""contextualbandits: one regression per action, in Cython."""

from __future__ import annotations

from importlib import import_module

import numpy as np

from overcast.bench.race import Entry, Racer
from overcast.bench.tasks import BETA, RIDGE


class LinUCB(Racer):
    def start(self) -> None:
        options = {"alpha": BETA, "lambda_": RIDGE, "fit_intercept": False, "use_float": False, "random_state": 1}
        self._policy = import_module("contextualbandits.online").LinUCB(self.task.k, **options)
        indices, contexts, rewards = self.task.first()
        self._policy.partial_fit(contexts, indices, rewards)

    def step(self, t: int) -> int:
        context = self.task.context(t)[None]
        i = int(self._policy.predict(context)[0])
        self._policy.partial_fit(context, np.array([i]), self.task.rewards[t, i : i + 1])
        return i


ENTRIES = [Entry("contextualbandits", "contextualbandits", "UCB", ("blocks",), LinUCB)]
