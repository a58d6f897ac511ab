"""A baseline that takes draws of the belief as contexts with measurement error, and corrects the regression for it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import repeat
from typing import Any, NamedTuple, overload

import numpy as np
import scipy.linalg

from overcast import _check
from overcast._check import Array
from overcast._linalg import Indices
from overcast._units import Vectors
from overcast.beliefs.base import STAND_IN_DRAWS, Belief, Beliefs, Generators, NoClosedForm
from overcast.features.base import FeatureMap, check_map
from overcast.features.design import DesignPoints, Index, View
from overcast.models.base import Estimate, LastingLearner, Model, Parameters, normals, restored, too_large


@dataclass(frozen=True)
class NoisyContext(Model):
    """Linear rewards of contexts with measurement error, by least squares corrected for errors in variables.

    The learner gets one reading of each belief: phi averaged over L new draws (`samples=1` for a single perturbed
    vector), and Sigma, the covariance of phi under the belief divided by L. Draws and c_t scatter independently about
    psi-bar = E_mu[phi] with the same law, so the squares of readings are too large by Sigma. Plain least squares on
    readings are attenuated; theta-hat_t = M_t^-1 sum_s psi_s y_s with M_t = lambda I + sum_s psi_s psi_s^T - Sigma_s is
    not. M_t may by chance be nearly singular or negative in some direction, so no direction loses more than the share
    1 - t^-1/4 of its squares: with V_t = R R^T the uncorrected matrix, the eigenvalues of R^-1 M_t R^-T are at least
    t^-1/4. The width of a reading is its norm under M_t^-1; a revealed context is a reading without error.

    After NLinRel (Yun, Nam, Mo & Shin, "Contextual multi-armed bandits under feature uncertainty", 2017), where the
    reading scatters around the context itself. Exact expectations have no error to correct, so `samples=None` raises
    NoClosedForm: use `LinearModel`. This estimate of theta is consistent, which that of `LinearModel` with few samples
    is not, but it has more variance, and the attenuated fit may predict better from such readings.

    Parameters
    ----------
    features : phi
    ridge : lambda > 0

    Examples
    --------
    >>> import overcast as oc
    >>> model = NoisyContext(oc.features.Bilinear())
    >>> bandit = oc.Bandit({"a": [1.0], "b": [2.0]}, model, oc.UCB(beta=1.0), samples=1)
    >>> bandit.learn(bandit.decide(oc.Gaussian([1.0], 0.1)), reward=3.0)
    >>> bandit.learnt.rounds
    1
    """

    features: FeatureMap
    ridge: float = 1.0

    def __post_init__(self) -> None:
        check_map("NoisyContext", self.features)
        object.__setattr__(self, "ridge", _check.number("NoisyContext", "ridge", self.ridge, above=0.0))

    def size(self, a: int, c: int) -> int:
        return self.features.size(a, c)

    def silent(self, actions: Vectors) -> Indices:
        return self.features.silent(actions)

    def start(self, reference: Vectors, context_dim: int) -> NoisyLearner:
        return NoisyLearner(self, reference.shape[1], context_dim)


class Reading(NamedTuple):
    """One reading of a belief: the view of its features, and weighted contexts for their scatter.

    seen : the view of the belief or of its draws
    contexts, weights : (n, c) and (n,), over which the weighted scatter of phi is Sigma
    """

    seen: View
    contexts: Array
    weights: Array


class Evidence(NamedTuple):
    """A round to learn: the features psi (d,) of the chosen action and their covariance (d, d)."""

    psi: Array
    covariance: Array


class Sums(NamedTuple):
    """Sums over the rounds: their number, psi psi^T (d, d), Sigma (d, d) and psi y (d,)."""

    rounds: Array
    squares: Array
    errors: Array
    target: Array


class NoisyLearner(LastingLearner):
    """Sums over the rounds, and the corrected fit to them."""

    evidence_type = Evidence

    def __init__(self, model: NoisyContext, a: int, context_dim: int) -> None:
        self._features, self._ridge = model.features, model.ridge
        self._design = model.features.design(a, context_dim)
        d = model.features.size(a, context_dim)
        self._fit(Sums(np.zeros(()), np.zeros((d, d)), np.zeros((d, d)), np.zeros(d)))

    def _fit(self, sums: Sums) -> None:
        """Fit the sums, or raise and change nothing."""
        try:
            if not all(np.isfinite(part).all() for part in sums):
                raise np.linalg.LinAlgError
            root = np.linalg.cholesky(sums.squares + self._ridge * np.eye(len(sums.target)))  # V = R R^T
        except np.linalg.LinAlgError:
            raise too_large("NoisyContext") from None
        left = scipy.linalg.solve_triangular(root, sums.errors, lower=True, check_finite=False)
        share = scipy.linalg.solve_triangular(root, left.T, lower=True, check_finite=False)  # R^-1 C R^-T
        errors, vectors = np.linalg.eigh(share)
        kept = np.maximum(1.0 - errors, max(float(sums.rounds), 1.0) ** -0.25)
        half = scipy.linalg.solve_triangular(root, vectors, lower=True, trans="T", check_finite=False)
        self._sums = sums
        self._half = half / np.sqrt(kept)  # M^-1 = half half^T
        self.theta = self._half @ (self._half.T @ sums.target)
        log_det = 2.0 * np.log(np.diagonal(root) / math.sqrt(self._ridge)).sum() + np.log(kept).sum()
        self._log_det = max(0.0, float(log_det))  # negative where the correction outweighs the readings

    def at(self, vectors: Vectors) -> DesignPoints:
        return self._design.at(np.asarray(vectors))

    @overload
    def view(self, beliefs: Belief, samples: int | None = None, rng: Any = None) -> Reading: ...

    @overload
    def view(self, beliefs: Beliefs, samples: int | None = None, rng: Any = None) -> Reading | list[Reading]: ...

    def view(self, beliefs: Beliefs, samples: int | None = None, rng: Any = None) -> Reading | list[Reading]:
        if not isinstance(beliefs, Belief):
            rngs = repeat(rng) if rng is None else rng  # one for each belief
            return [self._reading(belief, samples, g) for belief, g in zip(beliefs.singles(), rngs, strict=False)]
        return self._reading(beliefs, samples, rng)

    def _reading(self, belief: Belief, samples: int | None, rng: Any) -> Reading:
        """Return one reading of a belief."""
        finite = belief.support()
        if samples is None:
            if finite is None or len(finite[1]) > 1:
                raise NoClosedForm(
                    f"NoisyContext: samples must say how many draws of {type(belief).__name__} a reading takes, got "
                    "none; pass samples=1, or use LinearModel"
                )
            return Reading(self._design.view(belief), *finite)
        seen = self._design.view(belief, samples, rng)
        if finite is not None:
            return Reading(seen, finite[0], finite[1] / samples)
        # New draws, so that errors average out over the rounds. The factor n / (n - 1) corrects for centring at the
        # average of the draws, which is closer to them than the expectation.
        n = STAND_IN_DRAWS
        return Reading(seen, belief.sample(n, rng), np.full(n, 1.0 / ((n - 1) * samples)))

    def _psi(self, points: DesignPoints, view: Reading | list[Reading]) -> Array:
        """Return the features of all points, (..., k, d)."""
        if isinstance(view, list):
            return np.stack([self._psi(points, single) for single in view])
        return points.features(view.seen.terms)

    def estimate(self, points: DesignPoints, view: Reading | list[Reading]) -> Estimate:
        psi = self._psi(points, view)
        return Estimate(psi @ self.theta, np.linalg.norm(psi @ self._half, axis=-1))

    def prior(self, points: DesignPoints, view: Reading | list[Reading]) -> Array:
        return np.asarray(np.linalg.norm(self._psi(points, view), axis=-1) / math.sqrt(self._ridge))

    def noise(self, points: DesignPoints, view: Reading | list[Reading]) -> Array:
        """Return ones: the standard deviation of a reward is the unit of the widths."""
        return np.ones((len(view), len(points)) if isinstance(view, list) else len(points))

    def draw(self, points: DesignPoints, view: Reading | list[Reading], rng: Generators) -> Array:
        return np.asarray(self._psi(points, view) @ (self._half @ normals(rng, len(self.theta))))

    def perturb(self, points: DesignPoints, view: Reading | list[Reading], rng: Generators) -> Array:
        values, vectors = np.linalg.eigh(self._sums.squares)
        moved = vectors @ (np.sqrt(np.maximum(values, 0.0)) * normals(rng, len(values)))  # sum_s psi_s z_s
        return np.asarray(self._psi(points, view) @ (self._half @ (self._half.T @ moved)))

    def evidence(self, points: DesignPoints, view: Reading, index: Index) -> Evidence:
        phi = self._features._evaluate(np.asarray(points.vectors[index])[None], view.contexts)[0]  # (n, d)
        away = phi - view.weights @ phi / view.weights.sum()
        return Evidence(self._psi(points, view)[index].copy(), (away.T * view.weights) @ away)

    def learn(self, evidence: Evidence, reward: float | Array) -> None:
        psi, covariance = evidence
        with np.errstate(over="ignore", invalid="ignore"):
            self._add(Sums(np.ones(()), np.multiply.outer(psi, psi), covariance, np.asarray(psi * reward)))

    def _add(self, more: Sums) -> None:
        self._fit(Sums(*(total + addend for total, addend in zip(self._sums, more, strict=True))))

    @property
    def log_det(self) -> float:
        return self._log_det

    @property
    def parameters(self) -> Parameters:
        return Parameters(ridge=self._ridge, theta=dict(zip(self._design.names, self.theta.tolist(), strict=True)))

    def state(self) -> dict[str, Array]:
        return self._sums._asdict()

    def restore(self, state: dict[str, Array]) -> None:
        self._fit(Sums(**restored("NoisyContext", self.state(), state)))

    def check(self, evidence: Evidence) -> None:
        d = len(self.theta)
        if evidence.psi.shape != (d,) or evidence.covariance.shape != (d, d):
            raise ValueError("its rounds were seen with other features")

    def merge(self, other: NoisyLearner) -> None:
        self._add(other._sums)
