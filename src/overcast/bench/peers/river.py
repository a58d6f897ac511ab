"""River: one Bayesian regression per action; its score adds the noise to the squared width."""

from __future__ import annotations

from importlib import import_module

from overcast._check import Array
from overcast.bench.race import Entry, Racer
from overcast.bench.tasks import RIDGE


class LinUCB(Racer):
    def start(self) -> None:
        self._policy = import_module("river.bandit").LinUCBDisjoint(alpha=RIDGE, beta=1.0, seed=0)
        self._arms = list(range(self.task.k))
        for i, context, y in zip(*self.task.first(), strict=True):
            self._policy.update(int(i), _by_index(context), float(y))

    def step(self, t: int) -> int:
        context = _by_index(self.task.context(t))
        i = int(self._policy.pull(self._arms, context=context))
        self._policy.update(i, context, float(self.task.rewards[t, i]))
        return i


def _by_index(context: Array) -> dict[int, float]:
    return dict(enumerate(context.tolist()))


ENTRIES = [Entry("river", "river", "UCB of its own", ("blocks",), LinUCB, same=False)]
