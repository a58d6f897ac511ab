"""An adversary that picks the belief after watching the learner (section 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from overcast import _check
from overcast.beliefs import Ensemble
from overcast.beliefs.stacked import Catalogue
from overcast.environments.base import Rounds, Stream, Trials, VectorEnvironment
from overcast.features import Bilinear


@dataclass(frozen=True)
class Adversarial(VectorEnvironment):
    """mu_t is, of a few ensembles, the one under which the learner's favourite action so far loses most.

    Rewards are bilinear, f(x, c) = x^T Theta c, with actions, contexts and Theta in the unit ball: the paper's
    assumptions hold with norm 1 whenever the noise is right.

    Parameters
    ----------
    k : number of actions
    dim : of actions and contexts
    choices : number of ensembles the adversary picks from
    members : of each ensemble
    noise : standard deviation of the reward noise
    """

    k: int = 10
    dim: int = 3
    choices: int = 5
    members: int = 4
    noise: float = 0.1

    features = Bilinear()

    def __post_init__(self) -> None:
        for name in ("k", "dim", "choices", "members"):
            _check.integer("Adversarial", name, getattr(self, name), at_least=1)
        _check.number("Adversarial", "noise", self.noise, at_least=0.0)

    def start_all(self, rngs: Sequence[np.random.Generator]) -> Trials:
        return _AdversarialTrials(self, rngs)


class _AdversarialTrials(Trials):
    def __init__(self, env: Adversarial, rngs: Sequence[np.random.Generator]) -> None:
        self._env = env
        r, d = len(rngs), env.dim
        self._rows = np.arange(r)
        self.actions = np.stack([_in_ball(rng, env.k, d) for rng in rngs])
        self.theta = np.stack([_unit(rng.standard_normal(d * d)) for rng in rngs])
        members = np.stack([_unit(rng.standard_normal((env.choices, env.members, d))) for rng in rngs])
        self._members = members  # (r, choices, members, c)
        self._by_action = self.actions @ self.theta.reshape(r, d, d)  # (r, k, c): f(x, c) = row @ c
        self._expected = np.einsum("rkc,rbc->rbk", self._by_action, members.mean(axis=2))
        self._loss = self._expected.max(axis=-1, keepdims=True) - self._expected  # (r, choices, k)
        self._catalogue = Catalogue([Ensemble(points) for trial in members for points in trial])
        self._counts = np.zeros((r, env.k), dtype=np.intp)
        draws, noise = zip(*(rng.spawn(2) for rng in rngs), strict=True)
        self._draws = Stream(draws, 1, normal=False)
        self._noise = Stream(noise, 1)

    def step(self, past: NDArray[np.intp]) -> Rounds:
        if past.shape[1]:
            self._counts[self._rows, past[:, -1]] += 1
        favourite = self._counts.argmax(axis=-1)
        choice = self._loss[self._rows, :, favourite].argmax(axis=-1)
        member = self._draws.pick(self._env.members)
        context = self._members[self._rows, choice, member]
        return Rounds(
            self._catalogue.pick(self._rows * self._env.choices + choice),
            context,
            (self._by_action @ context[..., None])[..., 0],
            self._expected[self._rows, choice],
            self._env.noise * self._noise.next()[:, 0],
        )


def _in_ball(rng: np.random.Generator, n: int, d: int) -> NDArray[np.float64]:
    """Return points spread evenly over the unit ball; on the sphere all actions would tie before the first reward."""
    return _unit(rng.standard_normal((n, d))) * rng.random((n, 1)) ** (1.0 / d)


def _unit(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))
