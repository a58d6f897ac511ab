"""A model that assumes the same context distribution in every round."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg

from overcast import _check
from overcast._check import Array
from overcast._linalg import Indices
from overcast.beliefs.base import Beliefs, Generators
from overcast.features.base import FeatureMap, check_map
from overcast.features.design import Index, View, gathered
from overcast.models.base import Estimate, LastingLearner, Model, Parameters, normals, restored, too_large


@dataclass(frozen=True)
class FixedProfile(Model):
    """Linear rewards of actions whose expected features, their profiles, are assumed to be the same in every round.

    The profile psi_x of an action is the average of its features over all rounds, including this one: expected
    features, averages of draws, or features at a revealed context. All rounds are fitted anew on the present profiles:
    theta-hat = V^-1 sum_x psi_x b_x with V = lambda I + sum_x n_x psi_x psi_x^T,
    where n_x rounds took action x and their rewards sum to b_x, and
    width_x = ||psi_x||_{V^-1} + rho_x / lambda^{1/2},
    where rho_x is the standard error of the profile: the distance of rounds from it, over the root of their number.

    If mu_t never changes, profiles have no error, and this is the `LinearModel`. If mu_t changes, this is a baseline.

    After SampLinUCB (Lamprier, Gisselbrecht & Gallinari, "Profile-based bandit with unknown profiles", JMLR 19, 2018),
    which bounds the error rho_x by a known size of the features, while this model estimates it. SampLinUCB also adds
    rho_x ||theta-hat|| to the score, beside the product of beta and the width; this model does not. A round counts once
    its reward has arrived.

    Parameters
    ----------
    features : phi
    ridge : lambda > 0

    Examples
    --------
    >>> import overcast as oc
    >>> bandit = oc.Bandit({"a": [1.0], "b": [2.0]}, FixedProfile(oc.features.Bilinear()), oc.UCB(beta=1.0))
    >>> bandit.learn(bandit.decide(oc.Gaussian([1.0], 0.1)), reward=3.0)
    >>> bandit.learnt.rounds
    1
    """

    features: FeatureMap
    ridge: float = 1.0

    def __post_init__(self) -> None:
        check_map("FixedProfile", self.features)
        object.__setattr__(self, "ridge", _check.number("FixedProfile", "ridge", self.ridge, above=0.0))

    def start(self, actions: Array, context_dim: int) -> ProfileLearner:
        return ProfileLearner(self, actions, context_dim)


class Evidence(NamedTuple):
    """A round to learn from: the action's index, and the terms of its view."""

    action: int
    seen: Array


class Profile(NamedTuple):
    """The average of the terms over the rounds, and the sum of squares around it."""

    mean: Array
    squares: Array


class ProfileLearner(LastingLearner):
    """Counts and sums of rewards by action, and the average of the terms of all views.

    Features are linear in the terms, so the average of the terms gives the average of the features.
    """

    evidence_type = Evidence

    def __init__(self, model: FixedProfile, actions: Array, context_dim: int) -> None:
        self._design = model.features.at(actions, context_dim)
        self._ridge, self._d = model.ridge, model.features.size(actions.shape[1], context_dim)
        self._rounds = 0
        self._profile = Profile(np.zeros(self._design.terms_shape), np.zeros(self._design.terms_shape))
        self._counts, self._sums = np.zeros(len(actions)), np.zeros(len(actions))
        self._log_det: float | None = 0.0  # None until it is needed

    def view(self, beliefs: Beliefs, samples: int | None = None, rng: Any = None) -> View:
        return self._design.view(beliefs, samples, rng)

    def _with(self, seen: Array) -> Profile:
        """Return the profile with one more round."""
        mean, squares = self._profile
        away = seen - mean
        mean = mean + away / (self._rounds + 1)
        return Profile(mean, squares + away * (seen - mean))

    def _root(self, psi: Array) -> Array:
        """Return a triangular R with R^T R = V, (d, d)."""
        taken = self._counts > 0
        rows = np.sqrt(self._counts[taken])[:, None] * psi[taken]
        return np.asarray(np.linalg.qr(np.concatenate([rows, math.sqrt(self._ridge) * np.eye(self._d)]), mode="r"))

    def _now(self, view: View) -> tuple[Array, Array, Array]:
        """Return the profiles with this round (k, d), rho_x / lambda^{1/2} (k,) and the root of V (d, d)."""
        profile, n = self._with(view.terms), self._rounds + 1
        psi = self._design.features(profile.mean)
        away = self._design.features(np.sqrt(np.maximum(profile.squares, 0.0)))
        error = np.linalg.norm(away, axis=-1) / math.sqrt(n * max(n - 1, 1) * self._ridge)
        return psi, error, self._root(psi)

    def estimate(self, view: View) -> Estimate:
        psi, error, root = self._now(view)
        width = np.linalg.norm(_half(root, psi), axis=0)
        return Estimate(psi @ _solve(root, self._sums @ psi), width + error)

    def prior(self, view: View) -> Array:
        psi, *_ = self._now(view)
        return np.asarray(np.linalg.norm(psi, axis=-1) / math.sqrt(self._ridge))

    def noise(self, view: View) -> Array:
        """Return ones: the standard deviation of a reward is the unit of the widths."""
        return np.ones(len(self._counts))

    def draw(self, view: View, rng: Generators) -> Array:
        """Return a joint deviation of the means, correlated by theta alone, with standard deviation `width`, (k,)."""
        psi, error, root = self._now(view)
        half = _half(root, psi)
        width = np.linalg.norm(half, axis=0)
        more = np.divide(error, width, out=np.zeros_like(width), where=width > 0.0)
        return np.asarray((1.0 + more) * (normals(rng, self._d) @ half))

    def perturb(self, view: View, rng: Generators) -> Array:
        psi, _, root = self._now(view)
        moved = np.sqrt(self._counts) * normals(rng, len(psi))  # rounds of one action have one profile
        return np.asarray(psi @ _solve(root, moved @ psi))

    def evidence(self, view: View, index: Index) -> Evidence:
        return Evidence(int(index), view.terms)

    def learn(self, evidence: Evidence, reward: float | Array) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            profile = self._with(evidence.seen)
            size = self._design.features(profile.mean)
            sound = np.isfinite((self._rounds + 1) * size * size).all() and np.isfinite(profile.squares).all()
        if not sound:
            raise too_large("FixedProfile")
        total = self._sums[evidence.action] + reward
        self._profile = profile
        self._rounds += 1
        self._counts[evidence.action] += 1.0
        self._sums[evidence.action] = total
        self._log_det = None

    @property
    def log_det(self) -> float:
        if self._log_det is None:
            diagonal = np.abs(np.diagonal(self._root(self._design.features(self._profile.mean))))
            self._log_det = 2.0 * float(np.log(diagonal / math.sqrt(self._ridge)).sum())
        return self._log_det

    @property
    def parameters(self) -> Parameters:
        return Parameters(ridge=self._ridge)

    def state(self) -> dict[str, Array]:
        arrays = {"rounds": np.array(float(self._rounds)), "counts": self._counts.copy(), "sums": self._sums.copy()}
        return arrays | self._profile._asdict()

    def restore(self, state: dict[str, Array]) -> None:
        kept = restored("FixedProfile", self.state(), state)
        self._rounds, self._counts, self._sums = int(kept["rounds"]), kept["counts"], kept["sums"]
        self._profile = Profile(kept["mean"], kept["squares"])
        self._log_det = None

    def check(self, evidence: Evidence) -> None:
        if evidence.seen.shape != self._design.terms_shape or not 0 <= evidence.action < len(self._counts):
            raise ValueError("its rounds were seen with other features")

    def with_actions(self, actions: Array, of: Indices) -> ProfileLearner:
        if len(np.setdiff1d(np.arange(len(self._counts)), of)):
            raise ValueError("FixedProfile: actions must keep their vectors, got others; add them under new names")
        out = copy.copy(self)
        out._design, out._log_det = self._design.with_actions(actions, of), None
        new = np.zeros(int((of < 0).sum()))
        out._counts, out._sums = (gathered(array, of, new) for array in (self._counts, self._sums))
        return out

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
