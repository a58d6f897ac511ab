"""The contract of a feature map phi(x, c), and the separable maps that make it cheap."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from overcast import _check
from overcast._check import Array
from overcast.beliefs._moments import Powers, average
from overcast.beliefs.base import Belief, NoClosedForm
from overcast.beliefs.point import PointMass
from overcast.beliefs.stacked import BeliefStack, PointStack
from overcast.kernels.base import check_joint

Indices = NDArray[np.intp]

# Draws that stand for a belief where a covariance has no closed form; it sets weights only, so that these will do.
DRAWS = 256


class FeatureMap(ABC):
    """phi(x, c) in R^d; the reward is assumed linear in it: f(x, c) = phi(x, c)^T theta."""

    @abstractmethod
    def size(self, a: int, c: int) -> int:
        """Return d for actions of dimension `a` and contexts of dimension `c`, or raise where they do not fit."""

    @abstractmethod
    def _evaluate(self, actions: Array, contexts: Array) -> Array:
        """Return phi for checked arrays (k, a) and (n, c), shape (k, n, d)."""

    @abstractmethod
    def _expected(self, actions: Array, belief: Belief) -> Array:
        """Return E_mu[phi(x, c)] for checked actions (k, a), shape (k, d), or raise NoClosedForm."""

    def __call__(self, actions: ArrayLike, contexts: ArrayLike) -> Array:
        """Return phi(x, c) for every pair: (k, a) and (n, c) give (k, n, d)."""
        name = type(self).__name__
        actions = _check.array(name, "actions", actions, ("k", "a"))
        contexts = _check.array(name, "contexts", contexts, ("n", "c"))
        self.size(actions.shape[1], contexts.shape[1])
        return self._evaluate(actions, contexts)

    def expected(self, actions: ArrayLike, belief: Belief) -> Array:
        """Return psi-bar = E_mu[phi(x, c)] exactly: (k, a) gives (k, d).

        Raises
        ------
        NoClosedForm
            Where the expectation has no exact form under this belief; the message says to pass `samples=`.
        """
        name = type(self).__name__
        actions = _check.array(name, "actions", actions, ("k", "a"))
        if not isinstance(belief, Belief):
            raise TypeError(f"{name}: belief must be a belief, got {_check.short(belief)}; try as_belief")
        self.size(actions.shape[1], belief.dim)
        return self._expected(actions, belief)

    def at(self, actions: ArrayLike, c: int) -> FeaturesAt:
        """Return phi(x, .) of fixed actions (k, a) for contexts of dimension `c`.

        Whoever asks for the same actions round after round asks through this: arguments are checked once, and a map
        that overrides `_at` computes what depends on the actions alone once.
        """
        name = type(self).__name__
        actions = _check.array(name, "actions", actions, ("k", "a"))
        self.size(actions.shape[1], _check.integer(name, "c", c, at_least=1))
        return self._at(actions, c)

    def _at(self, actions: Array, c: int) -> FeaturesAt:
        return _Unprepared(self, actions)

    def sampled(self, actions: ArrayLike, belief: Belief, samples: int, rng: np.random.Generator) -> Array:
        """Return psi-tilde, the average of phi over `samples` draws (section 4): (k, a) gives (k, d)."""
        name = type(self).__name__
        actions = _check.array(name, "actions", actions, ("k", "a"))
        self.size(actions.shape[1], belief.dim)
        return self._sampled(actions, belief, _check.integer(name, "samples", samples, at_least=1), rng)

    def _sampled(self, actions: Array, belief: Belief, samples: int, rng: np.random.Generator) -> Array:
        return np.asarray(self._evaluate(actions, belief.sample(samples, rng)).mean(axis=1))


class FeaturesAt(ABC):
    """phi(x, .) of fixed actions (k, a), made by `FeatureMap.at`; beliefs must have the dimension given there."""

    @abstractmethod
    def expected(self, belief: Belief) -> Array:
        """Return E_mu[phi(x, c)], shape (k, d), or raise NoClosedForm."""

    @abstractmethod
    def sampled(self, belief: Belief, samples: int, rng: np.random.Generator) -> Array:
        """Return the average of phi over `samples` draws, shape (k, d)."""


class _Unprepared(FeaturesAt):
    """Asks the map anew in every round."""

    def __init__(self, features: FeatureMap, actions: Array) -> None:
        self._features = features
        self._actions = actions

    def expected(self, belief: Belief) -> Array:
        return self._features._expected(self._actions, belief)

    def sampled(self, belief: Belief, samples: int, rng: np.random.Generator) -> Array:
        return self._features._sampled(self._actions, belief, samples, rng)


class Separable(FeatureMap):
    """A map whose every feature is a product of one action term and one context term.

    phi_i(x, c) = z_{j(i)}(x) s_{m(i)}(c), so that phi is linear in the statistic s(c) and its expectation needs
    E_mu[s(c)] alone, whatever the number of actions. With E the 0/1 matrix that maps terms z to features and
    S = diag(E[s]_m) E, the width of an action is z^T (S^T V^-1 S) z.
    """

    @abstractmethod
    def action_terms(self, actions: Array) -> Array:
        """Return z(x): (..., k, a) gives (..., k, p)."""

    @abstractmethod
    def context_terms(self, contexts: Array) -> Array:
        """Return s(c): (..., c) gives (..., q)."""

    @abstractmethod
    def pairs(self, a: int, c: int) -> tuple[Indices, Indices]:
        """Return j and m, shape (d,): feature i is action term j[i] times context term m[i]."""

    @abstractmethod
    def _expected_terms(self, belief: Belief | BeliefStack) -> Array:
        """Return E_mu[s(c)] from exact moments, shape (q,), or (r, q) for a stack of beliefs."""

    def expected_terms(self, belief: Belief | BeliefStack) -> Array:
        """Return E_mu[s(c)], shape (q,), or (r, q) for a stack of beliefs."""
        if not belief.exact:
            raise no_closed_form(self, belief)
        return self._expected_terms(belief)

    def sampled_terms(self, belief: Belief | BeliefStack, samples: int, rng: Any) -> Array:
        """Return the average of s(c) over fresh draws, shape (q,), or (r, q) for a stack and its r generators."""
        return average(self.context_terms(belief.sample(samples, rng)))

    def term_covariance(self, belief: Belief | BeliefStack) -> Array:
        """Return Cov_mu(s(c)), shape (q, q), or (r, q, q) for a stack; from draws where it has no closed form."""
        if isinstance(belief, (PointMass, PointStack)):
            terms = self.context_terms(belief.mean())
            return np.zeros((*terms.shape, terms.shape[-1]))
        try:
            return self._term_covariance(belief)
        except NoClosedForm:
            if isinstance(belief, BeliefStack):
                return np.stack([self.term_covariance(belief[trial]) for trial in range(len(belief))])
            draws = belief.sample(DRAWS, np.random.default_rng(0))  # the same for the same belief
            return _covariance(self.context_terms(draws), np.full(DRAWS, 1.0 / DRAWS))

    def _term_covariance(self, belief: Belief | BeliefStack) -> Array:
        """Return Cov_mu(s(c)) from a finite support, or raise NoClosedForm; maps that know more override it."""
        if isinstance(belief, BeliefStack):
            return np.stack([self._term_covariance(belief[trial]) for trial in range(len(belief))])
        finite = belief.support()
        if finite is None:
            raise no_closed_form(self, belief)
        return _covariance(self.context_terms(finite[0]), finite[1])

    def size(self, a: int, c: int) -> int:
        return len(self.pairs(a, c)[0])

    def _evaluate(self, actions: Array, contexts: Array) -> Array:
        j, m = self.pairs(actions.shape[1], contexts.shape[1])
        return np.asarray(self.action_terms(actions)[:, None, j] * self.context_terms(contexts)[None, :, m])

    def _expected(self, actions: Array, belief: Belief) -> Array:
        j, m = self.pairs(actions.shape[1], belief.dim)
        return np.asarray(self.action_terms(actions)[:, j] * self.expected_terms(belief)[m])

    def _sampled(self, actions: Array, belief: Belief, samples: int, rng: np.random.Generator) -> Array:
        j, m = self.pairs(actions.shape[1], belief.dim)
        return np.asarray(self.action_terms(actions)[:, j] * self.sampled_terms(belief, samples, rng)[m])


def _covariance(points: Array, weights: Array) -> Array:
    centred = points - weights @ points
    return np.asarray((centred * weights[:, None]).T @ centred)


def covariance_of_monomials(belief: Belief | BeliefStack, powers: Powers) -> Array:
    """Return the covariance of the monomials with these exponents (q, c), shape (..., q, q)."""
    q = len(powers)
    i, j = np.triu_indices(q)
    mean = belief.moments(powers)
    out = np.empty((*mean.shape, q))
    out[..., i, j] = belief.moments(powers[i] + powers[j]) - mean[..., i] * mean[..., j]
    out[..., j, i] = out[..., i, j]
    return out


def no_closed_form(features: FeatureMap, belief: object) -> NoClosedForm:
    return NoClosedForm(
        f"{type(features).__name__}: the expectation under {type(belief).__name__} has no exact form that can be "
        "computed; pass samples= to average over draws"
    )


def check_map(owner: str, features: object) -> None:
    """Refuse what is no feature map."""
    if not isinstance(features, FeatureMap):
        raise TypeError(f"{owner}: features must be a feature map such as Bilinear(), got {_check.short(features)}")


def check_hashable(owner: str, kernel: object) -> None:
    """Refuse what is no kernel of actions and contexts, or cannot be looked up."""
    check_joint(owner, kernel)
    try:
        hash(kernel)
    except TypeError:
        raise TypeError(
            f"{owner}: kernel must be hashable, such as a frozen dataclass without arrays, got {_check.short(kernel)}"
        ) from None
