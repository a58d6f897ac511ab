"""Vowpal Wabbit: one linear model of features, by gradient steps, with SquareCB for exploration."""

from __future__ import annotations

from importlib import import_module

import numpy as np

from overcast.bench.race import Entry, Racer


class SquareCB(Racer):
    def start(self) -> None:
        self._vw = import_module("vowpalwabbit").Workspace("--cb_explore_adf --squarecb --quiet --noconstant")
        self._rng = np.random.default_rng(0)
        self._lines = [
            ["|a " + " ".join(f"{j}:{value:.7g}" for j, value in enumerate(row)) for row in self.task.psi(t)]
            for t in range(len(self.task.contexts))
        ]

    def step(self, t: int) -> int:
        lines = self._lines[t % len(self._lines)]
        probabilities = np.array(self._vw.predict(lines))
        i = int(self._rng.choice(len(lines), p=probabilities / probabilities.sum()))
        label = f"0:{-self.task.rewards[t, i]:.7g}:{probabilities[i]:.7g} "
        self._vw.learn([label + line if j == i else line for j, line in enumerate(lines)])
        return i


ENTRIES = [Entry("vowpalwabbit", "vowpalwabbit", "SquareCB, gradient steps", ("shared",), SquareCB, same=False)]
