"""An adversary that picks the belief by the learner's past actions (section 2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from overcast import _check
from overcast.beliefs import Ensemble
from overcast.beliefs.stacked import Catalogue
from overcast.environments.base import Rngs, Rounds, Stream, Trials, VectorEnvironment
from overcast.features import Bilinear


@dataclass(frozen=True)
class Adversarial(VectorEnvironment):
    """An adversary picks the ensemble under which the learner's most frequent action has the largest regret.

    Rewards are bilinear, f(x, c) = x^T Theta c. Actions, contexts and Theta lie in the unit ball, so the paper's
    assumptions hold with norm 1 as long as the noise is stated correctly.

    Parameters
    ----------
    k : number of actions
    dim : dimension of actions and of contexts
    choices : number of ensembles that the adversary picks from
    members : number of members of each ensemble
    noise : standard deviation of the reward noise

    Examples
    --------
    >>> import overcast as oc
    >>> env = Adversarial(k=5)
    >>> runs = oc.simulate(env, oc.LinearModel(env.features), oc.UCB(), steps=10, trials=2)
    >>> runs.expected_regret.shape
    (2, 10)
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

    def start_all(self, rngs: Rngs) -> Trials:
        return _AdversarialTrials(self, rngs)


class _AdversarialTrials(Trials):
    def __init__(self, env: Adversarial, rngs: Rngs) -> None:
        self._env = env
        r, k, d = len(rngs), env.k, env.dim
        self._rows = np.arange(r)
        # Uniform in the unit ball: on the sphere all actions would tie before the first reward.
        self.actions = np.stack([_unit(rng.standard_normal((k, d))) * rng.random((k, 1)) ** (1 / d) for rng in rngs])
        self.theta = np.stack([_unit(rng.standard_normal(d * d)) for rng in rngs])
        members = np.stack([_unit(rng.standard_normal((env.choices, env.members, d))) for rng in rngs])
        self._members = members  # (r, choices, members, c)
        self._by_action = self.actions @ self.theta.reshape(r, d, d)  # (r, k, c): f(x, c) = row @ c
        self._expected = np.einsum("rkc,rbc->rbk", self._by_action, members.mean(axis=2))
        self._loss = self._expected.max(axis=-1, keepdims=True) - self._expected  # (r, choices, k)
        self._catalogue = Catalogue([Ensemble(points) for trial in members for points in trial])
        self._counts = np.zeros((r, env.k), dtype=np.intp)
        draws, epsilon = zip(*(rng.spawn(2) for rng in rngs), strict=True)
        self._draws = Stream(draws, 1, normal=False)
        self._epsilon = Stream(epsilon, 1)

    def step(self, past: NDArray[np.intp]) -> Rounds:
        if past.shape[1]:
            self._counts[self._rows, past[:, -1]] += 1
        favourite = self._counts.argmax(axis=-1)
        choice = self._loss[self._rows, :, favourite].argmax(axis=-1)
        context = self._members[self._rows, choice, self._draws.pick(self._env.members)]
        belief = self._catalogue.pick(self._rows * self._env.choices + choice)
        rewards = (self._by_action @ context[..., None])[..., 0]
        epsilon = self._env.noise * self._epsilon.next()[:, 0]
        return Rounds(belief, context, rewards, self._expected[self._rows, choice], epsilon)


def _unit(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))
