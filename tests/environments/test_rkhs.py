"""Rewards from the Hilbert space of a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import overcast as oc
from overcast._check import Array
from overcast.beliefs import Belief
from overcast.beliefs.cloud import Cloud
from overcast.environments import RKHS, Environment
from overcast.kernels import RBF, AnyKernel, Constant, Kernel, Linear, Matern, Polynomial, Product
from support import refused

EXAMPLES: list[Environment] = [RKHS(k=4, context_dim=2)]

KERNELS: list[AnyKernel] = [
    Product(RBF(0.2), RBF(0.2)),
    RBF((0.2, 0.3, 0.4)),
    0.5 * Product(Matern(2.5, 0.3), RBF(0.2)) + 0.5 * Product(Constant(), Linear()),
    Product(RBF(0.5), Polynomial(2, 0.1)),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_expected_rewards_are_averages_over_the_forecast(kernel: AnyKernel) -> None:
    """Within five standard errors of 4,000 draws: 6e-7 per number."""
    env = RKHS(kernel, k=4, action_dim=1, context_dim=2 if "0.4" in repr(kernel) else 1, deviations=(0.3,))
    trials = env.start_all([np.random.default_rng(3)])
    function = trials._functions[0]  # type: ignore[attr-defined]
    now = trials.step(np.empty((1, 0), dtype=np.intp))
    np.testing.assert_allclose(function([oc.PointMass(now.context[0])]), now.rewards, atol=1e-12)
    draws = now.belief[0].sample(4_000, np.random.default_rng(0))
    values = function([oc.PointMass(draw) for draw in draws])
    error = values.std(axis=0) / np.sqrt(len(draws))
    assert (np.abs(values.mean(axis=0) - now.expected[0]) <= 5 * error).all()


def test_the_function_has_unit_norm() -> None:
    """||f||^2 = alpha^T K alpha, with K from the kernel's own values at the points of the expansion."""
    env = RKHS(k=3, points=20)
    rng = np.random.default_rng(0)
    function = env.start_all([rng])._functions[0]  # type: ignore[attr-defined]
    again = np.random.default_rng(0)
    again.random((3, 1))
    actions, contexts = again.random((20, 1)), again.random((20, 1))
    gram = RBF(0.2)(actions, actions) * RBF(0.1)(contexts, contexts)
    assert function._alpha @ gram @ function._alpha == pytest.approx(1.0)


def test_a_forecasts_width_changes_the_best_action() -> None:
    """Otherwise the mean of the context would be all that matters."""
    env = RKHS()
    runs = oc.simulate(env, oc.KernelModel(env.kernel, ridge=1.0), oc.UCB(0.2), steps=5, trials=2)
    assert runs.regret.shape == (2, 5)
    trial = env.start(np.random.default_rng(1))
    rounds = [trial.step(np.empty(0, dtype=np.intp)) for _ in range(200)]
    function = env.start_all([np.random.default_rng(1)])._functions[0]  # type: ignore[attr-defined]
    at_mean = [int(function([oc.PointMass(now.belief.mean())])[0].argmax()) for now in rounds]
    assert np.mean([best != int(now.expected.argmax()) for best, now in zip(at_mean, rounds, strict=True)]) > 0.3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"kernel": 3.0}, "kernel must be a kernel of actions and contexts"),
        ({"k": 0}, "k must be >= 1"),
        ({"points": 1.5}, "points must be a whole number"),
        ({"noise": -1.0}, "noise must be >= 0"),
        ({"deviations": ()}, "deviations must have shape"),
        ({"deviations": (-0.3, 0.1)}, "deviations must be >= 0"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], words: str) -> None:
    with refused((ValueError, TypeError), "RKHS", words):
        RKHS(**arguments)


def test_kernels_that_do_not_fit_are_refused() -> None:
    with refused(ValueError, "RKHS", "kernel must have a closed form for Gaussian beliefs, got Matern"):
        RKHS(Product(RBF(1.0), Matern(2.5, 1.0)))
    for kernel in (Product(RBF((1.0, 1.0)), RBF(1.0)), Product(RBF(1.0), RBF((1.0, 1.0))), RBF((0.3, 0.3, 0.3))):
        with refused(ValueError, "RBF", "lengthscale must have 1 entries"):
            RKHS(kernel)


@dataclass(frozen=True)
class Wrapped(Kernel):
    """An RBF under another name: nothing depends on the class."""

    def _evaluate(self, left: Array, right: Array) -> Array:
        return RBF(0.1)._evaluate(left, right)

    def embed(self, belief: Belief) -> Cloud:
        return RBF(0.1).embed(belief)

    def compare(self, left: Cloud, right: Cloud) -> Array:
        return RBF(0.1).compare(left, right)


def test_a_kernel_of_ones_own() -> None:
    own, known = (
        RKHS(Product(RBF(0.2), kernel), k=3).start(np.random.default_rng(0)) for kernel in (Wrapped(), RBF(0.1))
    )
    one, two = (trial.step(np.empty(0, dtype=np.intp)) for trial in (own, known))
    np.testing.assert_allclose(one.rewards, two.rewards)
    np.testing.assert_allclose(one.expected, two.expected)
