"""scikit-learn: a Gaussian process that is fitted anew in every round."""

from __future__ import annotations

from importlib import import_module

import numpy as np

from overcast.bench.race import Entry, Racer
from overcast.bench.tasks import BETA, LENGTH, NOISE


class Refitted(Racer):
    def start(self) -> None:
        theirs = import_module("sklearn.gaussian_process")
        indices, contexts, rewards = self.task.first()
        self._model = theirs.GaussianProcessRegressor(theirs.kernels.RBF(LENGTH), alpha=NOISE, optimizer=None)
        self._points, self._rewards = np.hstack([self.task.actions[indices], contexts]), rewards
        self._model.fit(self._points, self._rewards)

    def step(self, t: int) -> int:
        points = self.task.psi(t)
        mean, deviation = self._model.predict(points, return_std=True)
        i = int((mean + BETA * deviation).argmax())
        self._points = np.vstack([self._points, points[i]])
        self._rewards = np.append(self._rewards, self.task.rewards[t, i])
        self._model.fit(self._points, self._rewards)
        return i


ENTRIES = [Entry("scikit-learn", "scikit-learn", "UCB", ("curved",), Refitted)]
