"""What tests of the kernel model share: beliefs of every kind, and Algorithm 3 from the definitions."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

import overcast as oc
from overcast._check import Array
from overcast.beliefs import Belief, Ensemble, Gaussian, Independent, Mixture, PointMass
from overcast.kernels import RBF, Constant, JointKernel, Kernel, Linear, Matern, Polynomial, Product, Scaled, Sum
from overcast.models import Estimate
from overcast.models.kernel import KernelLearner

K, A, C = 4, 2, 2
ACTIONS = np.random.default_rng(0).normal(size=(K, A))
COV = np.array([[0.5, -0.3], [-0.3, 0.4]])
RIDGE = 0.3
Maker = Callable[[np.random.Generator], Belief]


def _mixture(rng: np.random.Generator) -> Mixture:
    parts = [Gaussian(rng.normal(size=C), 0.2), PointMass(rng.normal(size=C)), Gaussian(rng.normal(size=C), COV)]
    return Mixture(parts, rng.dirichlet(np.ones(3)))


MAKERS: dict[str, Maker] = {
    "points": lambda rng: PointMass(rng.normal(size=C)),
    "diagonal": lambda rng: Gaussian(rng.normal(size=C), rng.random(C)),
    "full": lambda rng: Gaussian(rng.normal(size=C), COV * rng.uniform(0.1, 2.0)),
    "ensembles": lambda rng: Ensemble(rng.normal(size=(5, C)), rng.dirichlet(np.ones(5))),
    "mixtures": _mixture,
}
MAKERS["all of them"] = lambda rng: list(MAKERS.values())[int(rng.integers(5))](rng)


def _product(kernel: JointKernel, x: Array, mu: Belief, y: Array, nu: Belief) -> float:
    """<k_{x,mu}, k_{y,nu}>, from the definitions."""
    if isinstance(kernel, Product):
        return float(kernel.action_kernel(x[None], y[None])[0, 0] * kernel.context_kernel.expected([mu], [nu])[0, 0])
    if isinstance(kernel, Sum):
        return sum(_product(part, x, mu, y, nu) for part in kernel.kernels)
    if isinstance(kernel, Scaled):
        return kernel.scale * _product(kernel.kernel, x, mu, y, nu)
    assert isinstance(kernel, Kernel)
    both = Independent([PointMass(x), mu]), Independent([PointMass(y), nu])
    return float(kernel.expected([both[0]], [both[1]])[0, 0])


class Naive:
    """Algorithm 3 with an explicit inverse of the whole matrix every time."""

    def __init__(self, kernel: JointKernel, ridge: float, actions: Array) -> None:
        self.kernel, self.ridge, self.actions = kernel, ridge, actions
        self.rounds: list[tuple[Array, Belief]] = []
        self.rewards: list[float] = []
        self.gram = np.empty((0, 0))

    def _past(self, x: Array, belief: Belief) -> Array:
        return np.array([_product(self.kernel, y, nu, x, belief) for y, nu in self.rounds])

    def add(self, index: int, belief: Belief, reward: float) -> None:
        x, t = self.actions[index], len(self.rounds)
        gram = np.zeros((t + 1, t + 1))
        gram[:t, :t] = self.gram
        gram[t, :t] = gram[:t, t] = self._past(x, belief)
        gram[t, t] = _product(self.kernel, x, belief, x, belief)
        self.gram = gram
        self.rounds.append((x, belief))
        self.rewards.append(reward)

    def estimate(self, belief: Belief) -> Estimate:
        inverse = np.linalg.inv(self.gram + self.ridge * np.eye(len(self.gram)))
        mean, width = [], []
        for x in self.actions:
            cross, own = self._past(x, belief), _product(self.kernel, x, belief, x, belief)
            mean.append(float(cross @ inverse @ self.rewards))
            width.append(math.sqrt((own - float(cross @ inverse @ cross)) / self.ridge))
        return Estimate(np.array(mean), np.array(width))

    @property
    def log_det(self) -> float:
        return float(np.linalg.slogdet(np.eye(len(self.gram)) + self.gram / self.ridge)[1])


def same(got: Estimate, expected: Estimate, tolerance: float = 1e-8) -> None:
    np.testing.assert_allclose(got.mean, expected.mean, rtol=0, atol=tolerance)
    np.testing.assert_allclose(got.width, expected.width, rtol=0, atol=tolerance)


def learner_of(bandit: oc.Bandit) -> KernelLearner:
    assert isinstance(bandit._learner, KernelLearner)
    return bandit._learner


KERNELS: dict[str, JointKernel] = {
    "product": Product(RBF(0.8), RBF((0.7, 1.4))),
    "of both": RBF((0.8, 0.9, 0.7, 1.4)),
    "polynomial": 0.1 * Polynomial(2),
    "sum": Product(Matern(1.5), RBF(0.7)) + 0.5 * Product(Linear(), Linear()) + Product(Constant(), Polynomial(2, 0.3)),
    "product of sums": Product(RBF(0.8) + Constant(), 2.0 * RBF(0.7) + 0.3 * Linear()),
}
