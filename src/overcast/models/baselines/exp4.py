"""EXP4: exponential weights over experts, each a candidate for the reward function."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from overcast import _check
from overcast._check import Array
from overcast._linalg import Indices
from overcast._units import Vectors
from overcast.beliefs.base import Beliefs, Generators
from overcast.features.base import FeatureMap, check_map
from overcast.features.design import DesignPoints, Index, View
from overcast.models.base import Estimate, LastingLearner, Model, restored

# Relative tolerance of ties between scores; the expert then advises the lowest index.
TIE = 1e-12


@dataclass(frozen=True)
class Exp4(Model):
    """EXP4 over n experts, where expert j advises the action with the highest E_mu[phi]^T theta_j.

    It competes with the best expert, assumes only that rewards have a range, and therefore learns slowly. Use it with
    `policies.Proportional`: means are log p_t(x), and widths zero, with p_t(x) = (1 - gamma_t) q_t(x) + gamma_t / k,
    where q_t(x) is the share of the experts that advise x, with weights proportional to exp(-eta_t L_j). L_j is the sum
    of the losses of expert j: (high - y_s) / (high - low) / p_s(x_s) in rounds where it advised the chosen action, and
    zero in others.
    With m = min(k, n), eta_t = (log n / (m t))^{1/2} and gamma_t = min(1/2, eta_t), the regret against the best expert
    is in expectation at most (high - low) (3 (m T log n)^{1/2} + 2 (T log n / m)^{1/2}), for all T.

    After Auer, Cesa-Bianchi, Freund & Schapire, "The nonstochastic multiarmed bandit problem" (SIAM J. Comput. 32,
    2002), with losses in place of gains and a rate that needs no horizon, as in Bubeck & Cesa-Bianchi, "Regret analysis
    of stochastic and nonstochastic multi-armed bandit problems" (2012).

    The set of actions is fixed, because experts advise among all of them. Rounds decided elsewhere cannot be learnt,
    because their probabilities are unknown.

    A context revealed afterwards does not change the probability of the choice, and is not used. With `available=`, an
    action is drawn from p_t over the available actions, but weighted by p_t over all: experts whose advice is often
    unavailable are then rated too high.

    Parameters
    ----------
    features : phi
    experts : (n, d) array of theta_j, or the number of random directions, 2 or more
    low, high : range to which rewards are clipped. None for the range of past rewards, by which all of them are
        rescaled; the bound does not cover this case
    rate : factor that multiplies eta_t
    seed : seed of the random directions

    Examples
    --------
    >>> from overcast.features import Bilinear
    >>> Exp4(Bilinear(), experts=[[1.0, 0.0], [0.0, 1.0]], low=0.0, high=5.0)
    Exp4(Bilinear(), 2 experts, low=0.0, high=5.0, rate=1.0)
    """

    features: FeatureMap
    experts: Any
    low: float | None = None
    high: float | None = None
    rate: float = 1.0
    seed: int = 0

    uses_context = False
    takes_history = False
    fixed_actions = True

    def __post_init__(self) -> None:
        check_map("Exp4", self.features)
        if np.ndim(self.experts) == 0:
            object.__setattr__(self, "experts", _check.integer("Exp4", "experts", self.experts, at_least=2))
        else:
            experts = _check.array("Exp4", "experts", self.experts, ("n", "d"))
            _check.integer("Exp4", "number of experts", len(experts), at_least=2)
            # Tuples can be compared, hashed and written to files.
            object.__setattr__(self, "experts", tuple(map(tuple, experts.tolist())))
        if (self.low is None) != (self.high is None):
            raise ValueError(f"Exp4: low and high must both be given or both be None, got {self.low} and {self.high}")
        if self.low is not None:
            low = _check.number("Exp4", "low", self.low)
            object.__setattr__(self, "low", low)
            object.__setattr__(self, "high", _check.number("Exp4", "high", self.high, above=low))
        object.__setattr__(self, "rate", _check.number("Exp4", "rate", self.rate, above=0.0))
        _check.integer("Exp4", "seed", self.seed, at_least=0)

    def __repr__(self) -> str:
        n = self.experts if isinstance(self.experts, int) else len(self.experts)
        return f"Exp4({self.features}, {n} experts, low={self.low}, high={self.high}, rate={self.rate})"

    def directions(self, d: int) -> Array:
        """Return theta_j of the experts, (n, d)."""
        if isinstance(self.experts, int):
            draws = np.random.default_rng(self.seed).standard_normal((self.experts, d))
            return np.asarray(draws / np.linalg.norm(draws, axis=-1, keepdims=True))
        experts = np.array(self.experts)
        if experts.shape[1] != d:
            raise ValueError(f"Exp4: experts must have the {d} dimensions of the features, got {experts.shape[1]}")
        return experts

    def size(self, a: int, c: int) -> int:
        return self.features.size(a, c)

    def silent(self, actions: Vectors) -> Indices:
        return self.features.silent(actions)

    def start(self, reference: Vectors, context_dim: int) -> Exp4Learner:
        return Exp4Learner(self, reference, context_dim)


class Evidence(NamedTuple):
    """A round to learn.

    advisers : (n,) 1 for each expert that advised the chosen action, else 0
    probability : p_t of the chosen action
    """

    advisers: Array
    probability: float


class Exp4Learner(LastingLearner):
    """Sums of 1 / p and of y / p over the rounds in which an expert advised the chosen action.

    L_j = (high sum 1 / p - sum y / p) / (high - low) is linear in both sums, so the range may change later.
    """

    evidence_type = Evidence

    def __init__(self, model: Exp4, reference: Vectors, context_dim: int) -> None:
        k, a = reference.shape
        self._design = model.features.design(a, context_dim)
        self._experts = model.directions(model.features.size(a, context_dim))
        n = len(self._experts)
        self._fixed_range = None if model.low is None or model.high is None else (model.low, model.high)
        self._rate = model.rate * math.sqrt(math.log(n) / min(k, n))
        self._rounds = 0
        self._range = (0.0, 0.0) if self._fixed_range is None else self._fixed_range
        self._weight, self._gain = np.zeros(n), np.zeros(n)

    def at(self, vectors: Vectors) -> DesignPoints:
        return self._design.at(np.asarray(vectors))

    def view(self, beliefs: Beliefs, samples: int | None = None, rng: Any = None) -> View:
        return self._design.view(beliefs, samples, rng)

    def _advice(self, points: DesignPoints, view: View) -> NDArray[np.intp]:
        """Return the index of the point that each expert advises, (..., n)."""
        scores = self._experts @ points.features(view.terms).swapaxes(-1, -2)  # (..., n, k)
        top = scores.max(axis=-1, keepdims=True)
        return np.asarray((scores >= top - TIE * np.abs(top)).argmax(axis=-1))

    @property
    def weights(self) -> Array:
        """The shares of the experts, (n,)."""
        low, high = self._range
        if not high > low:
            return np.full(len(self._weight), 1.0 / len(self._weight))
        losses = (high * self._weight - self._gain) / (high - low)
        shares = np.exp(-self._eta * (losses - losses.min()))
        return np.asarray(shares / shares.sum())

    @property
    def _eta(self) -> float:
        return self._rate / math.sqrt(self._rounds + 1)

    def _probabilities(self, advice: NDArray[np.intp], k: int) -> Array:
        """Return p_t of k points, (k,), from each expert's advice, (n,)."""
        gamma = min(0.5, self._eta)
        q = np.bincount(advice, self.weights, k)
        return np.asarray((1.0 - gamma) * q + gamma / k, dtype=np.float64)

    def estimate(self, points: DesignPoints, view: View) -> Estimate:
        advice, k = self._advice(points, view), len(points)
        probabilities = (
            self._probabilities(advice, k)
            if advice.ndim == 1
            else np.stack([self._probabilities(row, k) for row in advice])
        )
        return Estimate(np.log(probabilities), np.zeros(probabilities.shape))

    def prior(self, points: DesignPoints, view: View) -> Array:
        """Return zeros: there are no widths."""
        return np.zeros((*view.beliefs.leading, len(points)))

    def noise(self, points: DesignPoints, view: View) -> Array:
        """Return ones: rewards have no relation to the means."""
        return np.ones((*view.beliefs.leading, len(points)))

    def draw(self, points: DesignPoints, view: View, rng: Generators) -> Array:
        """Return zeros: probabilities are known exactly."""
        return np.zeros((*view.beliefs.leading, len(points)))

    perturb = draw

    def evidence(self, points: DesignPoints, view: View, index: Index) -> Evidence:
        advice, i = self._advice(points, view), int(index)
        probabilities = self._probabilities(advice, len(points))
        return Evidence((advice == i) * 1.0, math.exp(float(np.log(probabilities[i]))))  # rounded as in `as_decided`

    def as_decided(self, evidence: Evidence, mean: float) -> Evidence:
        return evidence._replace(probability=math.exp(mean))

    def learn(self, evidence: Evidence, reward: float | Array) -> None:
        y = float(reward)
        if self._fixed_range is None:
            low, high = self._range if self._rounds else (y, y)
            bounds = min(low, y), max(high, y)
        else:
            bounds, y = self._range, min(max(y, self._fixed_range[0]), self._fixed_range[1])
        weight = self._weight + evidence.advisers / evidence.probability
        gain = self._gain + evidence.advisers * (y / evidence.probability)
        self._range, self._weight, self._gain = bounds, weight, gain
        self._rounds += 1

    def state(self) -> dict[str, Array]:
        return {
            "rounds": np.array(float(self._rounds)),
            "range": np.array(self._range),
            "weight": self._weight.copy(),
            "gain": self._gain.copy(),
        }

    def restore(self, state: dict[str, Array]) -> None:
        kept = restored("Exp4", self.state(), state)
        self._rounds = int(kept["rounds"])
        self._range = float(kept["range"][0]), float(kept["range"][1])
        self._weight, self._gain = kept["weight"], kept["gain"]

    def check(self, evidence: Evidence) -> None:
        if evidence.advisers.shape != self._weight.shape or not 0.0 < evidence.probability <= 1.0:
            raise ValueError("its rounds were learnt with other experts")

    def merge(self, other: Exp4Learner) -> None:
        if not other._rounds:
            return
        own_range, other_range = self._range if self._rounds else other._range, other._range
        self._range = min(own_range[0], other_range[0]), max(own_range[1], other_range[1])
        self._rounds += other._rounds
        self._weight += other._weight
        self._gain += other._gain
