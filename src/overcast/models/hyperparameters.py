"""The parameters of a kernel and the ridge, from the rewards so far."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from overcast import _check
from overcast._check import Array
from overcast.models.base import Learner, Model
from overcast.models.gram import Rounds
from overcast.models.kernel import KernelLearner, KernelModel
from overcast.models.likelihood import Likelihood

# A parameter may change by this factor, either way.
REACH = 1e3

# The ridge stays between these multiples of the mean of k(x, x): below, rounding decides; above, all is noise.
RIDGES = 1e-6, 1e3

# Multiples of the parameters, one for all, at which the likelihood is looked at before the search.
FACTORS = 1.0, 0.01, 0.1, 1 / 3, 3.0, 10.0, 100.0

# The search ends where a step adds less than this share of log p.
TOLERANCE = 1e-7

# What the search is told where K + lambda I has no Cholesky factor, since it cannot work with infinity.
IMPOSSIBLE = 1e25


class Fit(NamedTuple):
    """What `fit_hyperparameters` found.

    model : the kernel and the ridge under which the rewards are likeliest
    noise : sigma, the standard deviation of the noise. That of an action's expected reward, given the rewards, is
        noise * width, so that `UCB(z * noise)` adds z of them
    log_likelihood : of the rewards under this model
    log_likelihood_before : the same under the model it started from; never more
    """

    model: KernelModel
    noise: float
    log_likelihood: float
    log_likelihood_before: float


def fit_hyperparameters(model: Model, learner: Learner | None) -> Fit:
    """Choose the parameters of a kernel and the ridge by the marginal likelihood of the rewards so far.

    As a Gaussian process, y ~ N(0, tau^2 (K + lambda I)), where K holds the inner products of embeddings that
    `KernelModel` names and tau^2 is at its best, y^T (K + lambda I)^-1 y / t. The search is deterministic, over the
    logarithms of `kernel.parameters()` and lambda, within a factor of a thousand of what they were.

    Only the ratio of kernel and ridge matters, so a factor of the whole kernel stays as it is. The prior mean of
    rewards is zero: where theirs is far from it, add an intercept to the kernel, such as `10.0 * Constant()`. With
    fewer rounds than a few for each parameter, many values fit and the likeliest are often extreme.

    A step of the search costs t^3 operations, besides the comparisons of all components of all beliefs.

    Parameters
    ----------
    model : a `KernelModel`
    learner : what it learnt; `Bandit.fit_hyperparameters` passes its own

    Examples
    --------
    >>> from overcast.beliefs import Gaussian
    >>> from overcast.kernels import RBF, Product
    >>> model = KernelModel(Product(RBF(0.1), RBF(0.1)))
    >>> learner = model.start(np.array([[0.0], [1.0]]), 1)
    >>> for i in range(30):  # the second action pays what is forecast, up to noise; the first pays nothing
    ...     c, noise = math.cos(i), 0.1 * math.sin(9 * i)
    ...     learner.learn(learner.evidence(learner.encode(Gaussian([c], 0.01)), i % 2), i % 2 * c + noise)
    >>> fit = fit_hyperparameters(model, learner)
    >>> 0.05 < fit.noise < 0.1  # it was 0.07
    True
    >>> fit.log_likelihood > fit.log_likelihood_before
    True
    """
    if not isinstance(model, KernelModel):
        raise TypeError(
            f"fit_hyperparameters: model must be a KernelModel, got {_check.short(model)}; others have no kernel to fit"
        )
    if learner is not None and not isinstance(learner, KernelLearner):
        raise TypeError(f"fit_hyperparameters: learner must be the model's own, got {_check.short(learner)}")
    if learner is not None and learner.model != model:
        raise ValueError(f"fit_hyperparameters: learner must be the model's own, got one of {learner.model}")
    seen = 0 if learner is None else len(learner)
    if learner is None or seen < 2:
        raise ValueError(
            f"fit_hyperparameters: learner must have 2 rewards at least, got {seen}; learn some more first"
        )
    rounds = Rounds.of(learner)
    if not rounds.rewards.any():
        raise ValueError("fit_hyperparameters: rewards must not all be zero, got zeros only; learn from others first")
    return _search(model, Likelihood.of(model.kernel, rounds))


def _search(model: KernelModel, likelihood: Likelihood) -> Fit:
    from scipy.optimize import Bounds, minimize  # which takes as long to import as the rest of the package

    start = np.array(model.kernel.parameters())
    size, whole = likelihood.size(start)
    if not size > 0.0:
        raise ValueError(
            "fit_hyperparameters: kernel must not vanish in all rounds, got K = 0; learn from others first"
        )
    free, (low, high) = ~whole, (bound * size for bound in RIDGES)
    bounds = Bounds(np.log([*start[free] / REACH, low]), np.log([*start[free] * REACH, high]))

    def unpack(logs: Array) -> tuple[Array, float]:
        parameters = start.copy()
        parameters[free] = np.exp(logs[:-1])
        return parameters, math.exp(logs[-1])

    before = best = likelihood(start, model.ridge)
    parameters, ridge = start, model.ridge

    def objective(logs: Array) -> tuple[float, Array]:
        nonlocal best, parameters, ridge
        tried = unpack(logs)
        value = likelihood(*tried)
        if value.log_likelihood > best.log_likelihood:
            best, (parameters, ridge) = value, tried
        return -max(value.log_likelihood, -IMPOSSIBLE), -value.slopes[np.append(free, True)]

    for first in _starts(likelihood, start, free, np.geomspace(low, high, 13)):
        minimize(objective, first, jac=True, method="L-BFGS-B", bounds=bounds, options={"ftol": TOLERANCE})
    if best.log_likelihood == -math.inf:
        raise ValueError(
            "fit_hyperparameters: kernel must be positive semi-definite, got a K without a Cholesky factor; "
            "a sum or product of kernels that are so is so too"
        )
    fitted = replace(model, kernel=model.kernel.with_parameters(parameters.tolist()), ridge=ridge)
    return Fit(fitted, best.noise, best.log_likelihood, before.log_likelihood)


def _starts(likelihood: Likelihood, start: Array, free: NDArray[np.bool_], ridges: Array) -> list[Array]:
    """Return logarithms to search from: the parameters as they are, and the likeliest multiple of them."""
    found = []
    for factor in FACTORS if free.any() else FACTORS[:1]:
        parameters = np.where(free, factor * start, start)
        value, ridge = likelihood.best_ridge(parameters, ridges)
        found.append((value, np.log([*parameters[free], ridge])))
    others = sorted(found[1:], key=lambda pair: -pair[0])
    return [logs for _, logs in (found[0], *others[:1])]
