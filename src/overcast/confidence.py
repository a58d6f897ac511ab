"""The paper's confidence widths beta_t and regret bounds, theorem by theorem.

Assumptions shared by all: the noise is sigma-subgaussian, ||theta|| <= norm, ||phi(x, c)|| <= 1, ridge >= 1 for the
regret bounds, and c_t ~ mu_t. Rewards then lie in [-norm, norm], an interval of length 2 norm. With a `KernelModel`
read ||f|| for ||theta|| and k_{x,c} for phi(x, c); all of them apply.
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
    noise : sigma, the subgaussian scale of the reward noise
    norm : bound on ||theta||
    """

    delta: float = 0.05
    noise: float = 0.1
    norm: float = 1.0

    #: the simulation setting the theorem speaks of, and the samples= it needs
    setting: ClassVar[str]
    samples: ClassVar[str | None] = None

    def __post_init__(self) -> None:
        name = type(self).__name__
        _check.number(name, "delta", self.delta, above=0.0, below=1.0)
        _check.number(name, "noise", self.noise, at_least=0.0)
        _check.number(name, "norm", self.norm, above=0.0)

    @property
    def span(self) -> float:
        """The length of the interval that rewards lie in."""
        return 2.0 * self.norm

    @abstractmethod
    def beta(self, progress: Progress) -> Array:
        """Return beta_t given what was seen before round t."""

    @abstractmethod
    def regret_bound(self, progress: Progress, beta: Array) -> Array:
        """Return the bound on R_T, where `progress` holds T and log det V_T, and `beta` is beta_T."""


@dataclass(frozen=True)
class _Ranged(Confidence):
    """Adds the range of the rewards, which drives the noise that a hidden context adds.

    Parameters
    ----------
    reward_range : length of the interval that f(x, c) lies in. None takes the paper's printed constant: the hidden
        context's noise, bounded by 2 norm, counts as 2 norm-subgaussian. A given range R counts as R/2-subgaussian
        (Hoeffding's lemma), which is four times less variance when R = 2 norm.
    """

    reward_range: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.reward_range is not None:
            _check.number(type(self).__name__, "reward_range", self.reward_range, above=0.0)

    @property
    def proxy(self) -> float:
        """rho = sqrt(4 + sigma^2) as printed, for norm 1: the scale of reward noise and hidden context together."""
        hidden = 2.0 * self.norm if self.reward_range is None else self.reward_range / 2.0
        return math.hypot(hidden, self.noise)

    @property
    def span(self) -> float:
        return super().span if self.reward_range is None else self.reward_range


@dataclass(frozen=True)
class Expected(_Ranged):
    """Theorem 1, expected features: beta_t(sqrt(4 + sigma^2), delta / 2). For hidden contexts.

    It stays valid when some contexts are revealed, whose noise is smaller.

    Examples
    --------
    >>> float(Expected(delta=0.1, noise=0.1).beta(Progress(round=1, log_det=0.0, ridge=1.0, actions=10))).__round__(2)
    5.9
    """

    setting: ClassVar[str] = "hidden"

    def beta(self, progress: Progress) -> Array:
        return _ellipsoid(self.proxy, self.delta / 2, progress) + _root_ridge(progress) * self.norm

    def regret_bound(self, progress: Progress, beta: Array) -> Array:
        """beta_T sqrt(8 T log(det V_T / det V_0)) + 4 sqrt(2 T log(4 / delta))."""
        luck = 2.0 * self.span * np.sqrt(2 * progress.round * math.log(4 / self.delta))
        return _ucb_regret(progress, beta) + luck


@dataclass(frozen=True)
class Sampled(_Ranged):
    """Theorem 1, sampled features with L = t: beta~_t of the appendix. For hidden contexts and `samples="t"`.

    Two constants are corrected: the last term is lambda^{1/2} norm, and sum_{s<=t} 1/s <= 1 + log t, so that t = 1
    is covered.
    """

    setting: ClassVar[str] = "hidden"
    samples: ClassVar[str | None] = "t"

    def beta(self, progress: Progress) -> Array:
        t = progress.round
        tail = np.log(math.pi**2 * t**2 * progress.actions / (3 * self.delta))
        bias = np.sqrt(2 * self.span**2 * (1 + np.log(t)) * tail)
        return _ellipsoid(self.proxy, self.delta / 2, progress) + bias + _root_ridge(progress) * self.norm

    def regret_bound(self, progress: Progress, beta: Array) -> Array:
        """beta~_T sqrt(8 T log(det V_T / det V_0)) + 4 sqrt(2 T log(2 |X| pi T / (3 delta)))."""
        tail = np.log(2 * progress.actions * math.pi * progress.round / (3 * self.delta))
        return _ucb_regret(progress, beta) + 2.0 * self.span * np.sqrt(2 * progress.round * tail)


@dataclass(frozen=True)
class Observed(_Ranged):
    """Theorem 2: beta_t(sigma, delta / 3). For contexts that are revealed after every decision.

    `reward_range` enters the regret bound alone.
    """

    setting: ClassVar[str] = "observed"

    def beta(self, progress: Progress) -> Array:
        return _ellipsoid(self.noise, self.delta / 3, progress) + _root_ridge(progress) * self.norm

    def regret_bound(self, progress: Progress, beta: Array) -> Array:
        """beta_T sqrt(8 T log(det V_T / det V_0)) + 4 (1 + lambda^{-1/2} beta_T) sqrt(2 T log(3 / delta))."""
        luck = np.sqrt(2 * progress.round * math.log(3 / self.delta))
        return _ucb_regret(progress, beta) + (2.0 * self.span + 4.0 * beta / _root_ridge(progress)) * luck


@dataclass(frozen=True)
class Kernel(_Ranged):
    """Theorem 3 and its lemma: beta_t = rho sqrt(2 log(det(I + K_t / lambda)^{1/2} / delta)) + lambda^{1/2} norm.

    For `KernelModel` with exact embeddings and hidden contexts; `norm` bounds ||f|| in the kernel's Hilbert space, and
    ||k_{x,c}|| <= 1. As printed, rho enters the determinant and multiplies the last term; read so, it equals the
    linear beta_t for a linear kernel.

    The band f-hat_t(x) +- beta_t width_t(x) holds for all x and t with probability at least 1 - delta. All of delta is
    spent on it, so that the regret bound, which needs the luck of the contexts too, holds with at least
    1 - delta - (delta / 2)^4: the printed constant of the luck is twice what rewards in an interval need.

    Examples
    --------
    >>> float(Kernel(delta=0.1, noise=0.1).beta(Progress(round=1, log_det=0.0, ridge=1.0, actions=10))).__round__(2)
    5.3
    """

    setting: ClassVar[str] = "hidden"

    def beta(self, progress: Progress) -> Array:
        return _ellipsoid(self.proxy, self.delta, progress) + _root_ridge(progress) * self.norm

    def regret_bound(self, progress: Progress, beta: Array) -> Array:
        """beta_T sqrt(8 T log det(I + K_T / lambda)) + 4 sqrt(2 T log(2 / delta))."""
        luck = 2.0 * self.span * np.sqrt(2 * progress.round * math.log(2 / self.delta))
        return _ucb_regret(progress, beta) + luck


def information_gain(gram: ArrayLike, ridge: float) -> float:
    """Return log det(I + K / lambda) / 2 for a Gram matrix K (t, t): what t rounds tell of f, in nats.

    The largest over all choices of T rounds is the paper's gamma_T; `runs.information_gain` has that of a run.

    Examples
    --------
    >>> information_gain([[1.0, 0.0], [0.0, 1.0]], ridge=1.0).__round__(4)
    0.6931
    """
    size = np.shape(gram)[-1] if np.ndim(gram) else 0
    K = _check.array("information_gain", "gram", gram, (size, size))
    ridge = _check.number("information_gain", "ridge", ridge, above=0.0)
    if np.abs(K - K.T).max() > 1e-8 * np.abs(K).max():
        raise ValueError("information_gain: gram must be symmetric, got another; pass kernel(points, points)")
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
    """rho sqrt(2 log(det(V_t)^{1/2} / (delta det(V_0)^{1/2}))), Lemma 1 without its last term."""
    return np.asarray(proxy * np.sqrt(progress.log_det + 2 * math.log(1 / delta)))


def _ucb_regret(progress: Progress, beta: Array) -> Array:
    """beta_T sqrt(8 T log(det V_T / det V_0)), Lemma 2."""
    return np.asarray(beta * np.sqrt(8 * progress.round * np.asarray(progress.log_det)))
