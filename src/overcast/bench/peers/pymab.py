"""PyMAB: one regression per action, in Rust."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from overcast.bench.race import Entry, Racer
from overcast.bench.tasks import BETA, RIDGE


class _Policy(Racer):
    def start(self) -> None:
        self._policy, self._rng = self._build(), np.random.default_rng(0)
        for i, context, y in zip(*self.task.first(), strict=True):
            self._policy.update(action=int(i), reward=float(y), context=np.tile(context, (self.task.k, 1)))
        self._contexts = [np.tile(context, (self.task.k, 1)) for context in self.task.contexts]

    def _build(self) -> Any:
        raise NotImplementedError

    def step(self, t: int) -> int:
        context = self._contexts[t % len(self._contexts)]
        i = int(self._policy.select_action(context=context, rng=self._rng))
        self._policy.update(action=i, reward=float(self.task.rewards[t, i]), context=context)
        return i

    @property
    def _shape(self) -> dict[str, int]:
        return {"n_arms": self.task.k, "n_features": self.task.contexts.shape[1]}


class LinUCB(_Policy):
    def _build(self) -> Any:
        return import_module("pymab.policies").LinUCBPolicy(**self._shape, alpha=BETA, l2=RIDGE)


class EpsilonGreedy(_Policy):
    def _build(self) -> Any:
        return import_module("pymab.policies").LinearEpsilonGreedyPolicy(**self._shape)


ENTRIES = [
    Entry("pymab", "pymab", "UCB", ("blocks",), LinUCB),
    Entry("pymab", "pymab", "epsilon-greedy, gradient steps", ("blocks",), EpsilonGreedy, same=False),
]
