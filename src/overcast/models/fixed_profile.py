"""A model that takes the context distribution as the same in every round."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.linalg

from overcast import _check
from overcast._check import Array
from overcast.beliefs.base import Belief
from overcast.beliefs.stacked import BeliefStack
from overcast.features import FeatureMap, Separable
from overcast.features.base import check_map
from overcast.models.base import Estimate, Generators, Index, LastingLearner, Model


@dataclass(frozen=True)
class FixedProfile(Model):
    """Linear rewards of actions whose expected features, their profiles, do not change: a baseline where they do.

    The profile psi_x is the average of what was seen of an action in all rounds, this one included: expected features,
    averages of draws, or features at a revealed context. All rounds are fitted anew on the profiles as they are now,
    theta-hat = V^-1 sum_x psi_x b_x with V = lambda I + sum_x n_x psi_x psi_x^T,
    where n_x rounds took action x and brought rewards that sum to b_x, and
    width_x = ||psi_x||_{V^-1} + rho_x / lambda^{1/2},
    where rho_x is the standard error of the profile: the distance of rounds from it, over the root of their number.

    Where mu_t never changes, expectations have no error, and this is the `LinearModel`.

    After SampLinUCB (Lamprier, Gisselbrecht & Gallinari, "Profile-based bandit with unknown profiles", JMLR 19, 2018),
    which bounds the error rho_x by a known size of the features where this estimates it, and adds rho_x ||theta-hat||
    to the score, outside of what beta multiplies, which this leaves out. Rounds count once their reward has come.

    Parameters
    ----------
    features : phi
    ridge : lambda > 0

    Examples
    --------
    >>> from overcast.features import Bilinear
    >>> FixedProfile(Bilinear(), ridge=0.5)
    FixedProfile(features=Bilinear(), ridge=0.5)
    """

    features: FeatureMap
    ridge: float = 1.0

    def __post_init__(self) -> None:
        check_map("FixedProfile", self.features)
        object.__setattr__(self, "ridge", _check.number("FixedProfile", "ridge", self.ridge, above=0.0))

    def start(self, actions: Array, context_dim: int) -> ProfileLearner:
        return ProfileLearner(self, actions, context_dim)


class Evidence(NamedTuple):
    """A round to learn from: the action's index, and what was seen."""

    action: int
    seen: Array


class Profile(NamedTuple):
    """The average of what was seen, and the sum of squares around it, in the shape of what a round shows."""

    mean: Array
    squares: Array


class ProfileLearner(LastingLearner):
    """Counts and sums of rewards by action, and the average of what was seen.

    A round shows E[s(c)] (q,) of a separable map, and the features of all actions (k, d) of any other.
    """

    def __init__(self, model: FixedProfile, actions: Array, context_dim: int) -> None:
        features = model.features
        self._map = features if isinstance(features, Separable) else None
        self._at = features.at(actions, context_dim)
        self._ridge, self._d = model.ridge, features.size(actions.shape[1], context_dim)
        shape: tuple[int, ...] = (len(actions), self._d)
        if self._map is not None:
            j, self._context_term = self._map.pairs(actions.shape[1], context_dim)
            self._z = self._map.action_terms(actions)[:, j]  # (k, d)
            shape = self._map.context_terms(np.zeros((1, context_dim))).shape[1:]
        self._rounds = 0
        self._profile = Profile(np.zeros(shape), np.zeros(shape))
        self._counts, self._sums = np.zeros(len(actions)), np.zeros(len(actions))
        self._log_det: float | None = 0.0  # None until it is asked for

    def encode(self, belief: Belief | BeliefStack) -> Array:
        assert isinstance(belief, Belief)
        return self._at.expected(belief) if self._map is None else self._map.expected_terms(belief)

    def encode_sampled(self, belief: Belief | BeliefStack, samples: int, rng: Generators) -> Array:
        assert isinstance(belief, Belief)
        assert isinstance(rng, np.random.Generator)
        if self._map is None:
            return self._at.sampled(belief, samples, rng)
        return self._map.sampled_terms(belief, samples, rng)

    def _with(self, seen: Array) -> Profile:
        """Return the profile with one more round."""
        mean, squares = self._profile
        away = seen - mean
        mean = mean + away / (self._rounds + 1)
        return Profile(mean, squares + away * (seen - mean))

    def _features(self, mean: Array) -> Array:
        """Return psi of all actions, (k, d)."""
        return mean if self._map is None else np.asarray(self._z * mean[self._context_term])

    def _scatter(self, squares: Array) -> Array:
        """Return the sum of the squared distances of each action's features from its profile, (k,)."""
        if self._map is None:
            return np.asarray(squares.sum(axis=-1))
        return np.asarray((self._z**2) @ squares[self._context_term])

    def _root(self, psi: Array) -> Array:
        """Return a triangular R with R^T R = V, (d, d)."""
        taken = self._counts > 0
        rows = np.sqrt(self._counts[taken])[:, None] * psi[taken]
        return np.asarray(np.linalg.qr(np.concatenate([rows, math.sqrt(self._ridge) * np.eye(self._d)]), mode="r"))

    def estimate(self, view: Array) -> Estimate:
        psi, error, root = self._now(view)
        width = np.linalg.norm(_half(root, psi), axis=0)
        return Estimate(psi @ _solve(root, self._sums @ psi), width + error)

    def _now(self, view: Array) -> tuple[Array, Array, Array]:
        """Return the profiles with this round (k, d), rho_x / lambda^{1/2} (k,) and the root of V (d, d)."""
        profile, n = self._with(view), self._rounds + 1
        psi = self._features(profile.mean)
        error = np.sqrt(self._scatter(profile.squares) / (n * max(n - 1, 1) * self._ridge))
        return psi, error, self._root(psi)

    def prior(self, view: Array) -> Array:
        """Return the width of all actions before anything was learnt, (k,)."""
        psi, *_ = self._now(view)
        return np.asarray(np.linalg.norm(psi, axis=-1) / math.sqrt(self._ridge))

    def noise(self, view: Array) -> Array:
        """Return the standard deviation of a reward, in whose unit the widths are, (k,)."""
        return np.ones(len(self._counts))

    def draw(self, view: Array, rng: Generators) -> Array:
        """Return a joint deviation of the means, correlated by theta alone, with standard deviation `width`, (k,)."""
        assert isinstance(rng, np.random.Generator)
        psi, error, root = self._now(view)
        half = _half(root, psi)
        width = np.linalg.norm(half, axis=0)
        more = np.divide(error, width, out=np.zeros_like(width), where=width > 0.0)
        return np.asarray((1.0 + more) * (rng.standard_normal(self._d) @ half))

    def perturb(self, view: Array, rng: Generators) -> Array:
        """Return how far the means move with standard normal noise added to every reward, (k,)."""
        assert isinstance(rng, np.random.Generator)
        psi, _, root = self._now(view)
        noise = np.sqrt(self._counts) * rng.standard_normal(len(psi))  # rounds of one action have one profile
        return np.asarray(psi @ _solve(root, noise @ psi))

    def evidence(self, view: Array, index: Index) -> Evidence:
        return Evidence(int(index), view)

    def learn(self, evidence: Evidence, reward: float | Array) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            profile = self._with(evidence.seen)
            size = self._features(profile.mean)
            sound = np.isfinite(self._rounds * size * size).all() and np.isfinite(profile.squares).all()
        if not sound:
            raise ValueError(
                "FixedProfile: features must be of a size that numbers can hold, got larger; scale the contexts"
            )
        self._profile = profile
        self._rounds += 1
        self._counts[evidence.action] += 1.0
        self._sums[evidence.action] += reward
        self._log_det = None

    def norm(self, evidence: Evidence) -> Array:
        return np.asarray(np.linalg.norm(self._features(evidence.seen)[evidence.action]))

    @property
    def log_det(self) -> float:
        if self._log_det is None:
            diagonal = np.abs(np.diagonal(self._root(self._features(self._profile.mean))))
            self._log_det = 2.0 * float(np.log(diagonal / math.sqrt(self._ridge)).sum())
        return self._log_det

    def state(self) -> dict[str, Array]:
        arrays = {"rounds": np.array(float(self._rounds)), "counts": self._counts.copy(), "sums": self._sums.copy()}
        return arrays | self._profile._asdict()

    def restore(self, state: dict[str, Array]) -> None:
        for name, fresh in self.state().items():
            if state[name].shape != fresh.shape:
                raise ValueError(f"FixedProfile: {name} must have shape {fresh.shape}, got {state[name].shape}")
        self._rounds = int(state["rounds"])
        self._counts, self._sums = np.array(state["counts"]), np.array(state["sums"])
        self._profile = Profile(np.array(state["mean"]), np.array(state["squares"]))
        self._log_det = None

    def pack(self, evidence: Sequence[Evidence]) -> dict[str, Array]:
        shape = (len(evidence), *self._profile.mean.shape)
        return {
            "action": np.array([float(item.action) for item in evidence]),
            "seen": np.array([item.seen for item in evidence]).reshape(shape),
        }

    def unpack(self, arrays: dict[str, Array]) -> Sequence[Evidence]:
        if arrays["seen"].shape[1:] != self._profile.mean.shape:
            raise ValueError("its rounds were seen with other features")
        index = [range(len(self._counts))[int(i)] for i in arrays["action"]]
        return [Evidence(i, seen) for i, seen in zip(index, arrays["seen"], strict=True)]

    def merge(self, other: ProfileLearner) -> None:
        n, m = self._rounds, other._rounds
        if not m:
            return
        apart = other._profile.mean - self._profile.mean
        squares = self._profile.squares + other._profile.squares + apart**2 * (n * m / (n + m))
        self._profile = Profile(self._profile.mean + apart * (m / (n + m)), squares)
        self._rounds = n + m
        self._counts += other._counts
        self._sums += other._sums
        self._log_det = None


def _solve(root: Array, target: Array) -> Array:
    """Return V^-1 target, (d,)."""
    return np.asarray(scipy.linalg.cho_solve((root, False), target, check_finite=False))


def _half(root: Array, psi: Array) -> Array:
    """Return R^-T psi of all actions, (d, k), whose columns have the norms of psi under V^-1."""
    return np.asarray(scipy.linalg.solve_triangular(root, psi.T, trans="T", check_finite=False))
