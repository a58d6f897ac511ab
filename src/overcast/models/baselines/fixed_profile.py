"""A baseline that assumes the same context distribution in every round."""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg

from overcast import _check
from overcast._check import Array
from overcast._linalg import Indices
from overcast._units import Vectors
from overcast.beliefs.base import Beliefs, Generators
from overcast.features.base import FeatureMap, check_map
from overcast.features.design import DesignPoints, Index, View
from overcast.models.base import Estimate, LastingLearner, Model, Parameters, normals, restored, too_large


@dataclass(frozen=True)
class FixedProfile(Model):
    """Linear rewards of actions whose expected features, their profiles, are taken as the same in every round.

    The profile psi_x of an action is the average of its features over all rounds, including this one: expected
    features, averages of draws, or features at a revealed context. All rounds are refitted on the current profiles:
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

    def size(self, a: int, c: int) -> int:
        return self.features.size(a, c)

    def silent(self, actions: Vectors) -> Indices:
        return self.features.silent(actions)

    def start(self, reference: Vectors, context_dim: int) -> ProfileLearner:
        return ProfileLearner(self, np.asarray(reference), context_dim)


class Evidence(NamedTuple):
    """A round to learn: the vector (a,) of the action, and the part of its view that profiles average."""

    action: Array
    seen: Array


class Profile(NamedTuple):
    """The average of the terms over the rounds, and the sum of squares about it."""

    mean: Array
    squares: Array


class CurrentFit(NamedTuple):
    """Profiles that include a round, and the fit on them.

    psi : (k, d) profiles of the points
    error : (k,) rho_x / lambda^{1/2}
    taken : (u, d) profiles of past actions
    root : (d, d) triangular root of V
    """

    psi: Array
    error: Array
    taken: Array
    root: Array


class ProfileLearner(LastingLearner):
    """Counts and sums of rewards by action, and the average of the terms of all views.

    Features of most maps are linear in the terms, so the average of the terms gives the average of the features of any
    action. For maps of any form, the features of the reference set are averaged, and other actions are refused.
    """

    evidence_type = Evidence

    def __init__(self, model: FixedProfile, reference: Array, context_dim: int) -> None:
        a = reference.shape[1]
        self._design, self._ridge = model.features.design(a, context_dim), model.ridge
        self._d, self._reference = model.features.size(a, context_dim), reference
        self._known = self._design.at(reference) if self._design.terms_shape is None else None
        shape = self._design.terms_shape or (len(reference), self._d)
        self._rounds = 0
        self._profile = Profile(np.zeros(shape), np.zeros(shape))
        #: vectors of past actions, (u, a), the number of rounds of each, and the sum of their rewards
        self._taken, self._counts, self._sums = np.empty((0, a)), np.empty(0), np.empty(0)
        self._log_det: float | None = 0.0  # None if it must be recomputed

    def at(self, vectors: Vectors) -> DesignPoints:
        return self._design.at(np.asarray(vectors))

    def view(self, beliefs: Beliefs, samples: int | None = None, rng: Any = None) -> View:
        return self._design.view(beliefs, samples, rng)

    def _seen(self, view: View) -> Array:
        """Return the quantity that is averaged over rounds: the terms, or the features of the reference set."""
        return np.asarray(view.terms if self._known is None else self._known.features(view.terms))

    def _features(self, points: DesignPoints, seen: Array) -> Array:
        """Return the features of points (k, d) from an average over rounds."""
        if self._known is None:
            return points.features(seen)
        return seen[[self._row(vector) for vector in np.asarray(points.vectors)]]

    def _row(self, vector: Array) -> int:
        """Return the row of an action in the reference set, for maps of any form."""
        assert self._known is not None
        rows = np.flatnonzero((np.asarray(self._known.vectors) == vector).all(axis=1))
        if not len(rows):
            raise ValueError(
                "FixedProfile: actions must be those that it started with, got others; take features such as Bilinear, "
                "of which profiles of new actions follow from the contexts"
            )
        return int(rows[0])

    def _updated_profile(self, seen: Array) -> Profile:
        """Return the profile with another round."""
        mean, squares = self._profile
        away = seen - mean
        mean = mean + away / (self._rounds + 1)
        return Profile(mean, squares + away * (seen - mean))

    def _past_profiles(self, profile: Profile) -> Array:
        """Return the profiles of past actions, (u, d)."""
        return (
            self._features(self._design.at(self._taken), profile.mean) if len(self._taken) else np.empty((0, self._d))
        )

    def _root(self, taken: Array) -> Array:
        """Return a triangular R with R^T R = V, (d, d), from the profiles of past actions, (u, d)."""
        rows = np.sqrt(self._counts)[:, None] * taken
        return np.asarray(np.linalg.qr(np.concatenate([rows, math.sqrt(self._ridge) * np.eye(self._d)]), mode="r"))

    def _current_fit(self, points: DesignPoints, view: View) -> CurrentFit:
        """Return profiles and fit with the round of this view."""
        profile, n = self._updated_profile(self._seen(view)), self._rounds + 1
        psi, taken = self._features(points, profile.mean), self._past_profiles(profile)
        away = self._features(points, np.sqrt(np.maximum(profile.squares, 0.0)))
        error = np.linalg.norm(away, axis=-1) / math.sqrt(n * max(n - 1, 1) * self._ridge)
        return CurrentFit(psi, error, taken, self._root(taken))

    def _each(self, ask: Callable[[View], Array], view: View) -> Array:
        """Return `ask(view)`, stacked over beliefs if there are several."""
        return np.stack([ask(single) for single in view.each()]) if view.beliefs.leading else ask(view)

    def estimate(self, points: DesignPoints, view: View) -> Estimate:
        if view.beliefs.leading:
            means, widths = zip(*(self.estimate(points, single) for single in view.each()), strict=True)
            return Estimate(np.stack(means), np.stack(widths))
        psi, error, taken, root = self._current_fit(points, view)
        width = np.linalg.norm(_half(root, psi), axis=0)
        return Estimate(psi @ _solve(root, self._sums @ taken), width + error)

    def prior(self, points: DesignPoints, view: View) -> Array:
        def prior(single: View) -> Array:
            return np.asarray(np.linalg.norm(self._current_fit(points, single).psi, axis=-1) / math.sqrt(self._ridge))

        return self._each(prior, view)

    def noise(self, points: DesignPoints, view: View) -> Array:
        """Return ones: the standard deviation of a reward is the unit of the widths."""
        return np.ones((*view.beliefs.leading, len(points)))

    def draw(self, points: DesignPoints, view: View, rng: Generators) -> Array:
        """Return a joint deviation of the means, correlated by theta alone, with standard deviation `width`."""
        z = normals(rng, self._d)

        def deviation(single: View) -> Array:
            psi, error, _, root = self._current_fit(points, single)
            half = _half(root, psi)
            width = np.linalg.norm(half, axis=0)
            more = np.divide(error, width, out=np.zeros_like(width), where=width > 0.0)
            return np.asarray((1.0 + more) * (z @ half))

        return self._each(deviation, view)

    def perturb(self, points: DesignPoints, view: View, rng: Generators) -> Array:
        moved = np.sqrt(self._counts) * normals(rng, len(self._taken))  # rounds of one action have one profile

        def perturbation(single: View) -> Array:
            psi, _, taken, root = self._current_fit(points, single)
            return np.asarray(psi @ _solve(root, moved @ taken))

        return self._each(perturbation, view)

    def evidence(self, points: DesignPoints, view: View, index: Index) -> Evidence:
        return Evidence(np.asarray(points.vectors[int(index)]), self._seen(view))

    def learn(self, evidence: Evidence, reward: float | Array) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            profile = self._updated_profile(evidence.seen)
            size = self._features(self._design.at(evidence.action[None]), profile.mean)
            sound = np.isfinite((self._rounds + 1) * size * size).all() and np.isfinite(profile.squares).all()
        if not sound:
            raise too_large("FixedProfile")
        self._add(evidence.action, 1.0, float(reward))
        self._profile = profile
        self._rounds += 1

    def _place(self, action: Array) -> int:
        """Return the index for a new past action: in the order of the reference set, others at the end.

        The signs of the root of V, and with them draws, depend on this order.
        """
        ranks = [self._rank(vector) for vector in self._taken]
        return bisect.bisect_right(ranks, self._rank(action))

    def _rank(self, action: Array) -> int:
        """Return the index of an action in the reference set, its size for other actions."""
        rows = np.flatnonzero((self._reference == action).all(axis=1))
        return int(rows[0]) if len(rows) else len(self._reference)

    def _add(self, action: Array, count: float, total: float) -> None:
        """Add rounds of an action, and the sum of their rewards."""
        places = np.flatnonzero((self._taken == action).all(axis=1))
        place = int(places[0]) if len(places) else self._place(action)
        if not len(places):
            self._taken = np.insert(self._taken, place, action, axis=0)
            self._counts, self._sums = np.insert(self._counts, place, 0.0), np.insert(self._sums, place, 0.0)
        self._counts[place] += count
        self._sums[place] += total
        self._log_det = None

    @property
    def log_det(self) -> float:
        if self._log_det is None:
            diagonal = np.abs(np.diagonal(self._root(self._past_profiles(self._profile))))
            self._log_det = 2.0 * float(np.log(diagonal / math.sqrt(self._ridge)).sum())
        return self._log_det

    @property
    def parameters(self) -> Parameters:
        return Parameters(ridge=self._ridge)

    def state(self) -> dict[str, Array]:
        sums = {"action": self._taken.copy(), "counts": self._counts.copy(), "sums": self._sums.copy()}
        return {"rounds": np.array(float(self._rounds))} | sums | self._profile._asdict()

    def restore(self, state: dict[str, Array]) -> None:
        kept = restored("FixedProfile", self.state(), state, growing=dict.fromkeys(("action", "counts", "sums"), 0))
        self._rounds, self._taken = int(kept["rounds"]), kept["action"]
        self._counts, self._sums = kept["counts"], kept["sums"]
        self._profile = Profile(kept["mean"], kept["squares"])
        self._log_det = None

    def extend(self, reference: Vectors) -> None:
        if self._known is not None:
            for vector in np.asarray(reference):
                self._row(vector)

    def check(self, evidence: Evidence) -> None:
        shapes = evidence.action.shape, evidence.seen.shape
        if shapes != (self._taken.shape[1:], self._profile.mean.shape):
            raise ValueError("its rounds were seen with other features")

    def merge(self, other: ProfileLearner) -> None:
        n, m = self._rounds, other._rounds
        if not m:
            return
        apart = other._profile.mean - self._profile.mean
        squares = self._profile.squares + other._profile.squares + apart**2 * (n * m / (n + m))
        self._profile = Profile(self._profile.mean + apart * (m / (n + m)), squares)
        self._rounds = n + m
        for action, count, total in zip(other._taken, other._counts, other._sums, strict=True):
            self._add(action, float(count), float(total))


def _solve(root: Array, target: Array) -> Array:
    """Return V^-1 target, (d,)."""
    return np.asarray(scipy.linalg.cho_solve((root, False), target, check_finite=False))


def _half(root: Array, psi: Array) -> Array:
    """Return R^-T psi of all actions, (d, k), whose column norms are those of psi under V^-1."""
    return np.asarray(scipy.linalg.solve_triangular(root, psi.T, trans="T", check_finite=False))
