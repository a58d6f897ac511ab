"""Reference entries: the bare NumPy calls, and this package."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cholesky, solve_triangular

import overcast as oc
from overcast._check import Array
from overcast.bench.race import Entry, Racer
from overcast.bench.tasks import BETA, LENGTH, NOISE, RIDGE


class BareBlocks(Racer):
    """One ridge regression per action: V^-1 (k, d, d) and theta (k, d), updated by rank one."""

    def start(self) -> None:
        k, d = self.task.k, self.task.contexts.shape[1]
        self._inverse = np.tile(np.eye(d) / RIDGE, (k, 1, 1))
        self._target, self._theta = np.zeros((k, d)), np.zeros((k, d))
        for i, x, y in zip(*self.task.first(), strict=True):
            self._learn(i, x, y)

    def _learn(self, i: int, x: Array, y: float) -> None:
        u = self._inverse[i] @ x
        self._inverse[i] -= np.outer(u, u) / (1.0 + x @ u)
        self._target[i] += y * x
        self._theta[i] = self._inverse[i] @ self._target[i]

    def step(self, t: int) -> int:
        x = self.task.context(t)
        scores = self._theta @ x + BETA * np.sqrt((self._inverse @ x) @ x)
        i = int(scores.argmax())
        self._learn(i, x, self.task.rewards[t, i])
        return i


class BareShared(Racer):
    """One ridge regression on precomputed features."""

    def start(self) -> None:
        d = self.task.psi(0).shape[1]
        self._inverse, self._target, self._theta = np.eye(d) / RIDGE, np.zeros(d), np.zeros(d)
        indices, contexts, rewards = self.task.first()
        assert self.task.features is not None
        psi = self.task.features(self.task.actions[indices], contexts)[np.arange(len(indices)), np.arange(len(indices))]
        for row, y in zip(psi, rewards, strict=True):
            self._learn(row, y)

    def _learn(self, row: Array, y: float) -> None:
        u = self._inverse @ row
        self._inverse -= np.outer(u, u) / (1.0 + row @ u)
        self._target += y * row
        self._theta = self._inverse @ self._target

    def step(self, t: int) -> int:
        psi = self.task.psi(t)
        scores = psi @ self._theta + BETA * np.sqrt(np.einsum("kd,kd->k", psi @ self._inverse, psi))
        i = int(scores.argmax())
        self._learn(psi[i], self.task.rewards[t, i])
        return i


class BareCurved(Racer):
    """A Gaussian process with a Cholesky factor that grows by a row per round."""

    def start(self) -> None:
        indices, contexts, rewards = self.task.first()
        self._points = np.hstack([self.task.actions[indices], contexts])
        self._rewards = rewards
        self._factor = cholesky(_rbf(self._points, self._points) + NOISE * np.eye(len(rewards)), lower=True)

    def step(self, t: int) -> int:
        points = self.task.psi(t)
        across = solve_triangular(self._factor, _rbf(self._points, points), lower=True, check_finite=False)
        whitened = solve_triangular(self._factor, self._rewards, lower=True, check_finite=False)
        scores = across.T @ whitened + BETA * np.sqrt(1.0 - (across**2).sum(axis=0))
        i = int(scores.argmax())
        n, row = len(self._factor), across[:, i]
        grown = np.zeros((n + 1, n + 1))
        grown[:n, :n], grown[n, :n], grown[n, n] = self._factor, row, np.sqrt(1.0 + NOISE - row @ row)
        self._factor, self._points = grown, np.vstack([self._points, points[i]])
        self._rewards = np.append(self._rewards, self.task.rewards[t, i])
        return i


def _rbf(left: Array, right: Array) -> Array:
    distance2 = ((left[:, None] - right[None]) ** 2).sum(axis=-1)
    return np.asarray(np.exp(-0.5 * distance2 / LENGTH**2))


class Overcast(Racer):
    """A bandit of this package, with the scales of the other entries if `scales_given`, else with learnt ones."""

    scales_given = True

    def start(self) -> None:
        task, ridge = self.task, RIDGE if self.scales_given else None
        model: oc.models.Model
        beta = BETA
        if task.kind == "curved":
            kernel = oc.kernels.Product(oc.kernels.RBF(LENGTH), oc.kernels.RBF(LENGTH))
            model = oc.KernelModel(kernel, ridge=NOISE) if self.scales_given else oc.KernelModel()
            beta = BETA * float(np.sqrt(NOISE))  # widths of this model are in units of the noise
        elif task.features is None:
            model = oc.LinearModel(oc.features.Disjoint(task.k), ridge)
        else:
            model = oc.LinearModel(task.features, ridge)
        self._bandit = oc.Bandit(task.actions, model, oc.UCB(beta) if self.scales_given else oc.UCB())
        indices, contexts, rewards = task.first()
        self._bandit.observe(indices, contexts, rewards)

    def step(self, t: int) -> int:
        decision = self._bandit.decide(self.task.context(t))
        self._bandit.learn(decision, self.task.rewards[t, decision.index])
        return decision.index


class UntunedOvercast(Overcast):
    scales_given = False


_ALL = "blocks", "shared", "curved"
ENTRIES = [
    Entry("bare NumPy and SciPy", None, "UCB", ("blocks",), BareBlocks),
    Entry("bare NumPy and SciPy", None, "UCB", ("shared",), BareShared),
    Entry("bare NumPy and SciPy", None, "UCB", ("curved",), BareCurved),
    Entry("overcast", "overcast", "UCB", _ALL, Overcast),
    Entry("overcast, all scales learnt", "overcast", "UCB", _ALL, UntunedOvercast, same=False),
]
