"""The tasks of the race: rounds that all entries run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from overcast._check import Array
from overcast._linalg import Indices
from overcast.features import Bilinear, FeatureMap, Quadratic

Kind = Literal["blocks", "shared", "curved"]
#: ridge, and multiplier of the width in the score, for all entries with these parameters
RIDGE, BETA = 1.0, 1.0
#: length scale and noise variance of the curved task
LENGTH, NOISE = 1.0, 0.25
# Number of distinct contexts, used in turn; their features are computed before the clock starts.
DISTINCT = 64


@dataclass(frozen=True)
class Task:
    """Rounds with known contexts: in round t, action i pays rewards[t, i].

    kind : "blocks" learns one linear model of the context per action, "shared" one linear model of features of action
        and context, "curved" a Gaussian process over both
    actions : (k, a)
    contexts : (n, c), used in turn
    rewards : (steps, k)
    features : the map of the shared model
    """

    name: str
    kind: Kind
    actions: Array
    contexts: Array
    rewards: Array
    features: FeatureMap | None = None
    cached: dict[int, Array] = field(default_factory=dict, repr=False, compare=False)

    @property
    def k(self) -> int:
        return len(self.actions)

    @property
    def steps(self) -> int:
        return len(self.rewards)

    def context(self, t: int) -> Array:
        """Return the context of a round, (c,)."""
        return np.asarray(self.contexts[t % len(self.contexts)])

    def psi(self, t: int) -> Array:
        """Return the features of all actions in a round, (k, d), which other packages take as input."""
        i = t % len(self.contexts)
        if i not in self.cached:
            self.cached[i] = self._psi(self.contexts[i])
        return self.cached[i]

    def _psi(self, context: Array) -> Array:
        if self.features is not None:
            return np.ascontiguousarray(self.features(self.actions, context[None])[:, 0])
        return np.hstack([self.actions, np.tile(context, (self.k, 1))])

    def first(self) -> tuple[Indices, Array, Array]:
        """Return initial rounds for all entries to learn: actions (n,), contexts (n, c) and rewards (n,).

        With one model per action, each action comes once: otherwise all would tie, and entries would differ by chance.
        """
        n = self.k if self.kind == "blocks" else 10
        rng = np.random.default_rng(7)
        return np.arange(n) % self.k, rng.standard_normal((n, self.contexts.shape[1])), rng.standard_normal(n)


def tasks(quick: bool = False) -> list[Task]:
    """Return the tasks of the race, with few rounds if `quick`."""
    few = 60 if quick else None
    return [
        _linear("k = 100, d = 15, one model per action", "blocks", 100, 0, 15, few or 2000),
        _linear("k = 100, d = 15, one model", "shared", 100, 5, 5, few or 2000, Quadratic),
        _linear("k = 3706, d = 6, one model per action", "blocks", 3706, 0, 6, few or 600),
        _linear("k = 3706, d = 36, one model", "shared", 3706, 6, 6, few or 600, Bilinear),
        _curved(few or 300),
    ]


def _linear(
    name: str, kind: Kind, k: int, a: int, c: int, steps: int, features: Callable[[], FeatureMap] | None = None
) -> Task:
    rng = np.random.default_rng(0)
    actions = rng.standard_normal((k, a)) if a else np.eye(k)
    contexts = rng.standard_normal((DISTINCT, c))
    noise = rng.standard_normal((steps, k))
    task = Task(name, kind, actions, contexts, noise, features() if features else None)
    if kind == "blocks":
        mean = contexts @ rng.standard_normal((k, c)).T  # (n, k)
    else:
        mean = np.stack([task.psi(t) for t in range(DISTINCT)]) @ rng.standard_normal(task.psi(0).shape[1])
    noise += mean[np.arange(steps) % DISTINCT]
    return task


def _curved(steps: int) -> Task:
    rng = np.random.default_rng(0)
    actions, contexts = rng.uniform(-2.0, 2.0, (50, 1)), rng.uniform(-2.0, 2.0, (DISTINCT, 1))
    mean = np.sin(2.0 * actions[:, 0] + contexts) * np.cos(contexts)  # (n, k)
    rewards = mean[np.arange(steps) % DISTINCT] + np.sqrt(NOISE) * rng.standard_normal((steps, 50))
    return Task("GP-UCB, k = 50, T = 300", "curved", actions, contexts, rewards)
