"""A model that reads draws of the belief as contexts seen with an error, and corrects the regression for it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.linalg

from overcast import _check
from overcast._check import Array
from overcast.beliefs.base import Belief, NoClosedForm
from overcast.beliefs.stacked import BeliefStack
from overcast.features import FeatureMap
from overcast.features.base import check_map
from overcast.models.base import Estimate, Generators, Index, LastingLearner, Model

# Further draws from which the covariance of the features is taken where the belief has no finite support. It is
# unbiased for any number of them, and what is off in one round averages out over the rounds.
COVARIANCE_DRAWS = 100


@dataclass(frozen=True)
class NoisyContext(Model):
    """Linear rewards of contexts that are seen with an error: the regression corrected for errors in its variables.

    Of each belief the learner sees one reading, phi averaged over L fresh draws (`samples=1` for a single perturbed
    vector), and Sigma, its covariance under the belief over L. Draws and c_t scatter alike and independently around
    psi-bar = E_mu[phi], so that the squares of readings are too large by Sigma. This attenuates least squares on them,
    not theta-hat_t = M_t^-1 sum_s psi_s y_s with M_t = lambda I + sum_s psi_s psi_s^T - Sigma_s.
    Chance may leave M_t close to singular or negative in some direction, so that no direction gives up more than the
    share 1 - t^-1/4 of its squares: with V_t = R R^T the uncorrected matrix, the eigenvalues of R^-1 M_t R^-T are kept
    at t^-1/4 or above. The width of a reading is its norm under M_t^-1; a revealed context is a reading without error.

    After NLinRel (Yun, Nam, Mo & Shin, "Contextual multi-armed bandits under feature uncertainty", 2017), where the
    reading scatters around the context itself. Whole expectations have no error and leave nothing to correct, so
    `samples=None` is refused: that is the `LinearModel`. Consistent for theta where `LinearModel` with few samples is
    not, it pays with variance, and the attenuated fit may yet predict better from readings with errors.

    Parameters
    ----------
    features : phi
    ridge : lambda > 0

    Examples
    --------
    >>> from overcast.features import Bilinear
    >>> NoisyContext(Bilinear(), ridge=0.5)
    NoisyContext(features=Bilinear(), ridge=0.5)
    """

    features: FeatureMap
    ridge: float = 1.0

    def __post_init__(self) -> None:
        check_map("NoisyContext", self.features)
        object.__setattr__(self, "ridge", _check.number("NoisyContext", "ridge", self.ridge, above=0.0))

    def start(self, actions: Array, context_dim: int) -> NoisyLearner:
        return NoisyLearner(self, actions, context_dim)


class Reading(NamedTuple):
    """What is seen of a belief.

    psi : (k, d) the features of all actions
    points, weights : (n, c) and (n,), such that the weighted scatter of phi over the points is Sigma
    """

    psi: Array
    points: Array
    weights: Array


class Evidence(NamedTuple):
    """A round to learn from: the features psi (d,) of the action taken and their covariance (d, d)."""

    psi: Array
    covariance: Array


class Sums(NamedTuple):
    """Over the rounds: their number, psi psi^T (d, d), Sigma (d, d) and psi y (d,)."""

    rounds: Array
    squares: Array
    errors: Array
    target: Array


class NoisyLearner(LastingLearner):
    """Sums over the rounds, and the corrected fit to them."""

    def __init__(self, model: NoisyContext, actions: Array, context_dim: int) -> None:
        self._features, self._ridge = model.features, model.ridge
        self._at = model.features.at(actions, context_dim)
        self._actions = actions
        d = model.features.size(actions.shape[1], context_dim)
        self._take(Sums(np.zeros(()), np.zeros((d, d)), np.zeros((d, d)), np.zeros(d)))

    def _take(self, sums: Sums) -> None:
        """Fit to the sums, or raise and change nothing."""
        try:
            if not all(np.isfinite(part).all() for part in sums):
                raise np.linalg.LinAlgError
            root = np.linalg.cholesky(sums.squares + self._ridge * np.eye(len(sums.target)))  # V = R R^T
        except np.linalg.LinAlgError:
            raise ValueError(
                "NoisyContext: features must be of a size that numbers can hold, got larger; scale the contexts"
            ) from None
        left = scipy.linalg.solve_triangular(root, sums.errors, lower=True, check_finite=False)
        share = scipy.linalg.solve_triangular(root, left.T, lower=True, check_finite=False)  # R^-1 C R^-T
        errors, vectors = np.linalg.eigh(share)
        kept = np.maximum(1.0 - errors, max(float(sums.rounds), 1.0) ** -0.25)
        half = scipy.linalg.solve_triangular(root, vectors, lower=True, trans="T", check_finite=False)
        self._sums = sums
        self._half = half / np.sqrt(kept)  # M^-1 = half half^T
        self.theta = self._half @ (self._half.T @ sums.target)
        log_det = 2.0 * np.log(np.diagonal(root) / math.sqrt(self._ridge)).sum() + np.log(kept).sum()
        self._log_det = max(0.0, float(log_det))  # negative where the correction outweighs what was seen

    def encode(self, belief: Belief | BeliefStack) -> Reading:
        assert isinstance(belief, Belief)
        finite = belief.support()
        if finite is None or len(finite[1]) > 1:
            raise NoClosedForm(
                f"NoisyContext: a reading is a draw, and without samples= none is taken of {type(belief).__name__}; "
                "pass samples=1, or use LinearModel"
            )
        return Reading(self._at.expected(belief), *finite)

    def encode_sampled(self, belief: Belief | BeliefStack, samples: int, rng: Generators) -> Reading:
        assert isinstance(belief, Belief)
        assert isinstance(rng, np.random.Generator)
        psi = self._at.sampled(belief, samples, rng)
        finite = belief.support()
        if finite is not None:
            return Reading(psi, finite[0], finite[1] / samples)
        n = COVARIANCE_DRAWS
        # n / (n - 1): the draws' own average lies closer to them than the expectation does
        return Reading(psi, belief.sample(n, rng), np.full(n, 1.0 / ((n - 1) * samples)))

    def estimate(self, view: Reading) -> Estimate:
        return Estimate(view.psi @ self.theta, np.linalg.norm(view.psi @ self._half, axis=-1))

    def prior(self, view: Reading) -> Array:
        """Return the width of all actions before anything was learnt, (k,)."""
        return np.asarray(np.linalg.norm(view.psi, axis=-1) / math.sqrt(self._ridge))

    def noise(self, view: Reading) -> Array:
        """Return the standard deviation of a reward, in whose unit the widths are, (k,)."""
        return np.ones(len(self._actions))

    def draw(self, view: Reading, rng: Generators) -> Array:
        """Return a joint normal deviation of the means with standard deviation `width`, (k,)."""
        assert isinstance(rng, np.random.Generator)
        return np.asarray(view.psi @ (self._half @ rng.standard_normal(len(self.theta))))

    def perturb(self, view: Reading, rng: Generators) -> Array:
        """Return, in law, how far the means move with standard normal noise added to every reward, (k,)."""
        assert isinstance(rng, np.random.Generator)
        values, vectors = np.linalg.eigh(self._sums.squares)
        noise = vectors @ (np.sqrt(np.maximum(values, 0.0)) * rng.standard_normal(len(values)))  # sum_s psi_s z_s
        return np.asarray(view.psi @ (self._half @ (self._half.T @ noise)))

    def evidence(self, view: Reading, index: Index) -> Evidence:
        phi = self._features._evaluate(self._actions[index][None], view.points)[0]  # (n, d)
        away = phi - view.weights @ phi / view.weights.sum()
        return Evidence(view.psi[index].copy(), (away.T * view.weights) @ away)

    def learn(self, evidence: Evidence, reward: float | Array) -> None:
        psi, covariance = evidence
        with np.errstate(over="ignore", invalid="ignore"):
            self._add(Sums(np.ones(()), np.multiply.outer(psi, psi), covariance, np.asarray(psi * reward)))

    def _add(self, more: Sums) -> None:
        self._take(Sums(*(mine + theirs for mine, theirs in zip(self._sums, more, strict=True))))

    def norm(self, evidence: Evidence) -> Array:
        return np.asarray(np.linalg.norm(evidence.psi))

    @property
    def log_det(self) -> float:
        return self._log_det

    def state(self) -> dict[str, Array]:
        return self._sums._asdict()

    def restore(self, state: dict[str, Array]) -> None:
        for name, fresh in self.state().items():
            if state[name].shape != fresh.shape:
                raise ValueError(f"NoisyContext: {name} must have shape {fresh.shape}, got {state[name].shape}")
        self._take(Sums(*(np.array(state[name]) for name in Sums._fields)))

    def pack(self, evidence: Sequence[Evidence]) -> dict[str, Array]:
        n, d = len(evidence), len(self.theta)
        return {
            "psi": np.array([item.psi for item in evidence]).reshape(n, d),
            "covariance": np.array([item.covariance for item in evidence]).reshape(n, d, d),
        }

    def unpack(self, arrays: dict[str, Array]) -> Sequence[Evidence]:
        d = len(self.theta)
        if arrays["psi"].shape[1:] != (d,) or arrays["covariance"].shape[1:] != (d, d):
            raise ValueError("its rounds were seen with other features")
        return [Evidence(*item) for item in zip(arrays["psi"], arrays["covariance"], strict=True)]

    def merge(self, other: NoisyLearner) -> None:
        self._add(other._sums)
