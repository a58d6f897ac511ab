"""Coba: one regression on features of the actions."""

from __future__ import annotations

from importlib import import_module

from overcast.bench.race import Entry, Racer
from overcast.bench.tasks import BETA


class LinUCB(Racer):
    def start(self) -> None:
        assert self.task.features is not None
        self._learner = import_module("coba.learners").LinUCBLearner(alpha=BETA, features=["a"])
        self._actions = [list(map(tuple, self.task.psi(t).tolist())) for t in range(len(self.task.contexts))]
        self._places = [{action: i for i, action in enumerate(actions)} for actions in self._actions]
        indices, contexts, rewards = self.task.first()
        for i, context, y in zip(indices, contexts, rewards, strict=True):
            psi = self.task.features(self.task.actions[i : i + 1], context[None])[0, 0]
            self._learner.learn(None, tuple(psi.tolist()), float(y), 1.0)

    def step(self, t: int) -> int:
        at = t % len(self._actions)
        action, probability = self._learner.predict(None, self._actions[at])[:2]
        i = self._places[at][action]
        self._learner.learn(None, action, float(self.task.rewards[t, i]), probability)
        return i


ENTRIES = [Entry("coba", "coba", "UCB", ("shared",), LinUCB)]
