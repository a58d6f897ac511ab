"""Fit a kernel's parameters and the ridge to past rewards, by the marginal likelihood."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from overcast import _check
from overcast._check import Array
from overcast.models.base import Learner, Model
from overcast.models.kernel.learner import SAFE, KernelLearner
from overcast.models.kernel.likelihood import Likelihood
from overcast.models.kernel.model import KernelModel
from overcast.models.kernel.untuned import UntunedLearner

# A parameter may grow or shrink by this factor.
REACH = 1e3
# The ridge stays between these multiples of the mean of k(x, x): below, rounding dominates; above, noise does.
RIDGES = 1e-6, 1e3
# The likelihood is evaluated at these multiples of all parameters together before the search.
FACTORS = 1.0, 0.01, 0.1, 1 / 3, 3.0, 10.0, 100.0
# The search ends when a step adds less than this share of log p.
TOLERANCE = 1e-7
# Replaces an infinite -log p, where K + lambda I has no Cholesky factor, in the search.
IMPOSSIBLE = 1e25


class Fitted(NamedTuple):
    """The result of `fit_hyperparameters`.

    model : the model with the likeliest kernel and ridge; without a ridge if the original had none, so that it
        continues to learn its scales
    noise : sigma, the standard deviation of the noise. Given the rewards, the expected reward of an action has the
        standard deviation noise * width, so that `UCB(z * noise)` adds z standard deviations
    log_likelihood : log p of the rewards under this model
    log_likelihood_before : log p of the rewards under the original model, which is never higher

    Examples
    --------
    >>> import overcast as oc
    >>> model = oc.KernelModel(oc.kernels.Product(oc.kernels.RBF(1.0), oc.kernels.RBF(1.0)), ridge=1.0)
    >>> bandit = oc.Bandit({"low": [0.0], "high": [1.0]}, model, oc.UCB())
    >>> bandit.observe(["low", "high"] * 10, [[i / 20] for i in range(20)], [i % 2 + i / 20 for i in range(20)])
    >>> fitted = bandit.fit_hyperparameters()
    >>> fitted.log_likelihood > fitted.log_likelihood_before
    True
    """

    model: KernelModel
    noise: float
    log_likelihood: float
    log_likelihood_before: float


def fit_hyperparameters(model: Model, learner: Learner | None) -> Fitted:
    """Choose the parameters of a kernel and the ridge by the marginal likelihood of past rewards.

    In terms of a Gaussian process, y ~ N(0, tau^2 (K + lambda I)). K holds the inner products of embeddings that
    `KernelModel` describes, and tau^2 has its best value, y^T (K + lambda I)^-1 y / t. The search is deterministic and
    runs over the logarithms of `kernel.parameters()` and lambda; a parameter changes by a factor of a thousand at most.

    Only the ratio of kernel and ridge matters, so a factor of the whole kernel keeps its value. The prior mean of
    rewards is zero, or their level if the model learns its scales. If the mean is far from zero and the ridge is given,
    add an intercept to the kernel, such as `10.0 * Constant()`. A model without a kernel starts from its learnt
    lengths, and the fitted model has fixed ones. Have several rounds per parameter; with fewer, many values fit and
    the likeliest are often extreme.

    A step of the search costs t^3 operations, plus the comparisons of all components of all beliefs.

    Parameters
    ----------
    model : a `KernelModel`
    learner : the learner of this model after its rounds; `Bandit.fit_hyperparameters` passes it

    Examples
    --------
    >>> from overcast.beliefs import Gaussian
    >>> from overcast.kernels import RBF, Product
    >>> model = KernelModel(Product(RBF(0.1), RBF(0.1)), ridge=1.0)
    >>> learner = model.start(np.array([[0.0], [1.0]]), 1)
    >>> points = learner.at(np.array([[0.0], [1.0]]))
    >>> for i in range(30):  # the second action pays what is forecast, up to noise; the first pays nothing
    ...     c, noise = math.cos(i), 0.1 * math.sin(9 * i)
    ...     learner.learn(learner.evidence(points, learner.view(Gaussian([c], 0.01)), i % 2), i % 2 * c + noise)
    >>> fit = fit_hyperparameters(model, learner)
    >>> 0.05 < fit.noise < 0.1  # it was 0.07
    True
    >>> fit.log_likelihood > fit.log_likelihood_before
    True
    """
    if not isinstance(model, KernelModel):
        got = f"got {_check.short(model)}; others have no kernel to fit"
        raise TypeError(f"fit_hyperparameters: model must be a KernelModel, {got}")
    if learner is not None and not isinstance(learner, (KernelLearner, UntunedLearner)):
        raise TypeError(f"fit_hyperparameters: learner must be the model's own, got {_check.short(learner)}")
    if learner is not None and learner.model != model:
        raise ValueError(f"fit_hyperparameters: learner must be the model's own, got one of {learner.model}")
    seen = 0 if learner is None else len(learner)
    if learner is None or seen < 2:
        raise ValueError(f"fit_hyperparameters: learner must have at least 2 rewards, got {seen}; learn more first")
    if isinstance(learner, KernelLearner):
        return _search(learner, learner.rewards)
    fit = _search(learner.inner, learner.rewards - learner.level)
    return fit._replace(model=replace(fit.model, ridge=None))


def _search(learner: KernelLearner, rewards: Array) -> Fitted:
    """Return the likeliest point of searches from several starts, or the original if none is likelier."""
    from scipy.optimize import Bounds, minimize  # here, as it takes as long to import as the rest of the package

    if not rewards.any():
        raise ValueError("fit_hyperparameters: rewards must not all be zero, got zeros only; learn more first")
    model, kernel = learner.model, learner.kernel
    likelihood, start = Likelihood(kernel, learner, rewards), np.array(kernel.parameters())
    size, whole = likelihood.size(start)
    if not size > 0.0:
        raise ValueError("fit_hyperparameters: kernel must not vanish in all rounds, got K = 0; learn others first")
    free, (low, high) = ~whole, (bound * size for bound in RIDGES)
    bounds = Bounds(np.log([*start[free] / REACH, low]), np.log([*start[free] * REACH, high]))

    def unpack(logs: Array) -> tuple[Array, float]:
        parameters = start.copy()
        parameters[free] = np.exp(logs[:-1])
        return parameters, math.exp(logs[-1])

    before = best = likelihood(start, learner.ridge)
    parameters, ridge = start, learner.ridge

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
        got = f"got a K without a Cholesky factor; {SAFE}"
        raise ValueError(f"fit_hyperparameters: kernel must be positive semi-definite, {got}")
    fitted = replace(model, kernel=kernel.with_parameters(parameters.tolist()), ridge=ridge)
    return Fitted(fitted, best.noise, best.log_likelihood, before.log_likelihood)


def _starts(likelihood: Likelihood, start: Array, free: NDArray[np.bool_], ridges: Array) -> list[Array]:
    """Return two starts of the search, in logarithms: the parameters, and their likeliest multiple."""
    candidates = []
    for factor in FACTORS if free.any() else FACTORS[:1]:
        parameters = np.where(free, factor * start, start)
        value, ridge = likelihood.best_ridge(parameters, ridges)
        candidates.append((value, np.log([*parameters[free], ridge])))
    others = sorted(candidates[1:], key=lambda pair: -pair[0])
    return [logs for _, logs in (candidates[0], *others[:1])]
