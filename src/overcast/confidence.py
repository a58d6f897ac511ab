"""The paper's confidence widths beta_t and regret bounds, theorem by theorem.

All theorems assume that the noise is sigma-subgaussian, ||theta|| <= norm, ||phi(x, c)|| <= 1, and c_t ~ mu_t; the
regret bounds also assume ridge >= 1. Rewards then lie in [-norm, norm], an interval of length 2 norm. All theorems also
apply to a `KernelModel`, with ||f|| for ||theta|| and k_{x,c} for phi(x, c).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from overcast import _check
from overcast._check import Array
from overcast.models.base import Progress

__all__ = ["Confidence", "Expected", "Kernel", "Observed", "Sampled", "information_gain"]


@dataclass(frozen=True)
class Confidence(ABC):
    """beta_t such that ||theta - theta-hat_t||_{V_t} <= beta_t for all t with probability at least 1 - delta.

    Parameters
    ----------
    delta : failure probability, in (0, 1)
    noise : sigma, the subgaussian scale of the noise of rewards
    norm : bound on ||theta||
    reward_range : length of the interval that holds f(x, c). None takes the paper's printed constant: the noise from
        the hidden context, which 2 norm bounds, counts as (2 norm)-subgaussian. With a given range R it counts as
        (R / 2)-subgaussian (Hoeffding's lemma), which is a quarter of the variance when R = 2 norm.

    Examples
    --------
    >>> from overcast.models import Progress
    >>> theorem = Expected(delta=0.05, noise=0.1)
    >>> isinstance(theorem, Confidence), round(float(theorem.beta(Progress(1, 0.0, 1.0, 5))), 3)
    (True, 6.439)
    """

    delta: float = 0.05
    noise: float = 0.1
    norm: float = 1.0
    reward_range: float | None = None

    #: the simulation setting of the theorem, and the `samples=` that it needs
    setting: ClassVar[str]
    samples: ClassVar[str | None] = None

    def __post_init__(self) -> None:
        name = type(self).__name__
        _check.number(name, "delta", self.delta, above=0.0, below=1.0)
        _check.number(name, "noise", self.noise, at_least=0.0)
        _check.number(name, "norm", self.norm, above=0.0)
        if self.reward_range is not None:
            _check.number(name, "reward_range", self.reward_range, above=0.0)

    @property
    def proxy(self) -> float:
        """rho, the joint subgaussian scale of noise and hidden context: sqrt(4 + sigma^2) as printed, for norm 1."""
        hidden = 2.0 * self.norm if self.reward_range is None else self.reward_range / 2.0
        return math.hypot(hidden, self.noise)

    @property
    def span(self) -> float:
        """The length of the interval that holds all rewards."""
        return 2.0 * self.norm if self.reward_range is None else self.reward_range

    @abstractmethod
    def beta(self, progress: Progress) -> Array:
        """Return beta_t from the progress before round t."""

    @abstractmethod
    def regret_bound(self, progress: Progress, beta: Array) -> Array:
        """Return the bound on R_T; `progress` holds T and log det V_T, and `beta` is beta_T."""


@dataclass(frozen=True)
class Expected(Confidence):
    """Theorem 1, expected features: beta_t(sqrt(4 + sigma^2), delta / 2). For hidden contexts.

    It stays valid when some contexts are revealed, because their noise is smaller.

    Examples
    --------
    >>> float(Expected(delta=0.1, noise=0.1).beta(Progress(round=1, log_det=0.0, ridge=1.0, actions=10))).__round__(2)
    5.9
    """

    setting: ClassVar[str] = "hidden"

    def beta(self, progress: Progress) -> Array:
        return _ellipsoid(self.proxy, self.delta / 2, progress) + _root_ridge(progress) * self.norm

    def regret_bound(self, progress: Progress, beta: Array) -> Array:
        """Return beta_T sqrt(8 T log(det V_T / det V_0)) + 4 sqrt(2 T log(4 / delta))."""
        deviation = 2.0 * self.span * np.sqrt(2 * progress.round * math.log(4 / self.delta))
        return _ucb_regret(progress, beta) + deviation


@dataclass(frozen=True)
class Sampled(Confidence):
    """Theorem 1, sampled features with L = t: beta~_t of the appendix. For hidden contexts and `samples="t"`.

    Two constants differ from the print: the last term is lambda^{1/2} norm, and sum_{s<=t} 1/s <= 1 + log t, which
    also covers t = 1.

    Examples
    --------
    >>> import overcast as oc
    >>> env = oc.environments.Adversarial()
    >>> policy = oc.UCB(Sampled(noise=env.noise))
    >>> runs = oc.simulate(env, oc.LinearModel(env.features, ridge=1.0), policy, samples="t", steps=20, trials=2)
    >>> bool((runs.regret <= runs.bound).all())
    True
    """

    setting: ClassVar[str] = "hidden"
    samples: ClassVar[str | None] = "t"

    def beta(self, progress: Progress) -> Array:
        t = progress.round
        tail = np.log(math.pi**2 * t**2 * progress.actions / (3 * self.delta))
        bias = np.sqrt(2 * self.span**2 * (1 + np.log(t)) * tail)
        return _ellipsoid(self.proxy, self.delta / 2, progress) + bias + _root_ridge(progress) * self.norm

    def regret_bound(self, progress: Progress, beta: Array) -> Array:
        """Return beta~_T sqrt(8 T log(det V_T / det V_0)) + 4 sqrt(2 T log(2 |X| pi T / (3 delta)))."""
        tail = np.log(2 * progress.actions * math.pi * progress.round / (3 * self.delta))
        return _ucb_regret(progress, beta) + 2.0 * self.span * np.sqrt(2 * progress.round * tail)


@dataclass(frozen=True)
class Observed(Confidence):
    """Theorem 2: beta_t(sigma, delta / 3). For contexts that are revealed after every decision.

    Only the regret bound uses `reward_range`.

    Examples
    --------
    >>> from overcast.models import Progress
    >>> hidden, revealed = Expected(noise=0.1), Observed(noise=0.1)
    >>> start = Progress(round=1, log_det=0.0, ridge=1.0, actions=5)
    >>> bool(revealed.beta(start) < hidden.beta(start))
    True
    """

    setting: ClassVar[str] = "observed"

    def beta(self, progress: Progress) -> Array:
        return _ellipsoid(self.noise, self.delta / 3, progress) + _root_ridge(progress) * self.norm

    def regret_bound(self, progress: Progress, beta: Array) -> Array:
        """Return beta_T sqrt(8 T log(det V_T / det V_0)) + 4 (1 + lambda^{-1/2} beta_T) sqrt(2 T log(3 / delta))."""
        deviation = np.sqrt(2 * progress.round * math.log(3 / self.delta))
        return _ucb_regret(progress, beta) + (2.0 * self.span + 4.0 * beta / _root_ridge(progress)) * deviation


@dataclass(frozen=True)
class Kernel(Confidence):
    """Theorem 3 and its lemma: beta_t = rho sqrt(2 log(det(I + K_t / lambda)^{1/2} / delta)) + lambda^{1/2} norm.

    For `KernelModel` with exact embeddings and hidden contexts; `norm` bounds ||f|| in the kernel's Hilbert space, and
    ||k_{x,c}|| <= 1. The paper prints rho inside the determinant and as a factor of the last term. The formula above
    equals the linear beta_t for a linear kernel.

    The band f-hat_t(x) +- beta_t width_t(x) holds for all x and t with probability at least 1 - delta, and so uses all
    of delta. The regret bound also depends on the realised contexts, so it holds with probability at least
    1 - delta - (delta / 2)^4: the printed constant for them is twice what rewards in an interval need.

    Examples
    --------
    >>> float(Kernel(delta=0.1, noise=0.1).beta(Progress(round=1, log_det=0.0, ridge=1.0, actions=10))).__round__(2)
    5.3
    """

    setting: ClassVar[str] = "hidden"

    def beta(self, progress: Progress) -> Array:
        return _ellipsoid(self.proxy, self.delta, progress) + _root_ridge(progress) * self.norm

    def regret_bound(self, progress: Progress, beta: Array) -> Array:
        """Return beta_T sqrt(8 T log det(I + K_T / lambda)) + 4 sqrt(2 T log(2 / delta))."""
        deviation = 2.0 * self.span * np.sqrt(2 * progress.round * math.log(2 / self.delta))
        return _ucb_regret(progress, beta) + deviation


def information_gain(gram: ArrayLike, ridge: float) -> float:
    """Return log det(I + K / lambda) / 2, the information in nats of t rounds about f, for a Gram matrix K (t, t).

    The paper's gamma_T is the maximum over all choices of T rounds; `runs.information_gain` is the value of a run.

    Examples
    --------
    >>> information_gain([[1.0, 0.0], [0.0, 1.0]], ridge=1.0).__round__(4)
    0.6931
    """
    size = np.shape(gram)[-1] if np.ndim(gram) else 0
    K = _check.array("information_gain", "gram", gram, (size, size))
    ridge = _check.number("information_gain", "ridge", ridge, above=0.0)
    if np.abs(K - K.T).max() > 1e-8 * np.abs(K).max():
        raise ValueError("information_gain: gram must be symmetric, got one that is not; pass kernel(points, points)")
    sign, log_det = np.linalg.slogdet(np.eye(size) + K / ridge)
    if sign <= 0.0:
        raise ValueError("information_gain: gram must be positive semi-definite, got a negative determinant")
    return float(log_det) / 2.0


def _root_ridge(progress: Progress) -> float:
    """Return lambda^{1/2}."""
    if progress.ridge is None:
        raise ValueError(
            "confidence: the paper's beta_t is for least squares with a given ridge, got a model that learns more than "
            "theta; take LinearModel(features, ridge=1.0), or UCB() for the model as it is"
        )
    return math.sqrt(progress.ridge)


def _ellipsoid(proxy: float, delta: float, progress: Progress) -> Array:
    """Return rho sqrt(2 log(det(V_t)^{1/2} / (delta det(V_0)^{1/2}))): Lemma 1 without its last term."""
    return np.asarray(proxy * np.sqrt(progress.log_det + 2 * math.log(1 / delta)))


def _ucb_regret(progress: Progress, beta: Array) -> Array:
    """Return beta_T sqrt(8 T log(det V_T / det V_0)): Lemma 2."""
    return np.asarray(beta * np.sqrt(8 * progress.round * np.asarray(progress.log_det)))
