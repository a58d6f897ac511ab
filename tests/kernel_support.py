"""What tests of kernels and of the kernel model share: beliefs of every kind, and Algorithm 3 from the definitions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

import overcast as oc
from overcast._check import Array
from overcast.beliefs import Belief, Ensemble, Gaussian, Independent, Mixture, PointMass
from overcast.beliefs.cloud import Cloud
from overcast.kernels import (
    RBF,
    AnyKernel,
    Constant,
    JointScaled,
    JointSum,
    Kernel,
    Linear,
    Matern,
    Polynomial,
    Product,
)
from overcast.models import Estimate
from overcast.models.kernel.learner import KernelLearner
from overcast.models.kernel.likelihood import Likelihood
from overcast.models.kernel.past import Past

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


def _product(kernel: AnyKernel, x: Array, mu: Belief, y: Array, nu: Belief) -> float:
    """<k_{x,mu}, k_{y,nu}>, from the definitions."""
    if isinstance(kernel, Product):
        return float(kernel.action_kernel(x[None], y[None])[0, 0] * kernel.context_kernel.expected([mu], [nu])[0, 0])
    if isinstance(kernel, JointSum):
        return sum(_product(part, x, mu, y, nu) for part in kernel.kernels)
    if isinstance(kernel, JointScaled):
        return kernel.scale * _product(kernel.kernel, x, mu, y, nu)
    assert isinstance(kernel, Kernel)
    both = Independent([PointMass(x), mu]), Independent([PointMass(y), nu])
    return float(kernel.expected([both[0]], [both[1]])[0, 0])


class Naive:
    """Algorithm 3 with an explicit inverse of the whole matrix every time."""

    def __init__(self, kernel: AnyKernel, ridge: float, actions: Array) -> None:
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


def estimate_of(decision: oc.Decision) -> Estimate:
    """Return the estimates of all actions that a decision was made from."""
    assert decision._ranking is not None
    return decision._ranking.estimate


def learner_of(bandit: oc.Bandit) -> KernelLearner:
    assert isinstance(bandit.state.learner, KernelLearner)
    return bandit.state.learner


KERNELS: dict[str, AnyKernel] = {
    "product": Product(RBF(0.8), RBF((0.7, 1.4))),
    "of both": RBF((0.8, 0.9, 0.7, 1.4)),
    "polynomial": 0.1 * Polynomial(2),
    "sum": Product(Matern(1.5), RBF(0.7)) + 0.5 * Product(Linear(), Linear()) + Product(Constant(), Polynomial(2, 0.3)),
    "product of sums": Product(RBF(0.8) + Constant(), 2.0 * RBF(0.7) + 0.3 * Linear()),
}


# Derivatives of kernels.

STEP = 1e-5
SCALES = (0.4, 1.3, 2.5)


def random_cloud(n: int, c: int, kind: int, seed: int) -> Cloud:
    """Return n random components in R^c: points, variances or covariances for kind 0, 1 or 2."""
    rng = np.random.default_rng(seed)
    covs: list[Array | None] = [None, rng.gamma(1.0, 1.0, (n, c))]
    roots = rng.normal(size=(n, c, c))
    covs.append(roots @ np.swapaxes(roots, 1, 2))
    return Cloud(rng.dirichlet(np.ones(n)), rng.normal(size=(n, c)), covs[kind])


def _differences(kernel: Kernel, left: Cloud, right: Cloud) -> Array:
    """Return the derivatives of `compare` by central differences, (q, n, m)."""
    values = np.array(kernel.parameters())
    out = []
    for i in range(len(values)):
        step = np.zeros(len(values))
        step[i] = STEP
        high, low = (kernel.with_parameters((values * np.exp(s)).tolist()) for s in (step, -step))
        out.append((high.compare(left, right) - low.compare(left, right)) / (2.0 * STEP))
    return np.array(out)


def check_gradient(kernel: Kernel, left: Cloud, right: Cloud) -> None:
    """Compare the derivatives of a kernel with central differences."""
    got = kernel.gradient(left, right)
    assert got.shape == (len(kernel.parameters()), len(left.weights), len(right.weights))
    np.testing.assert_allclose(got, _differences(kernel, left, right), rtol=1e-7, atol=1e-9)


# Past rounds.


def filled(kernel: Kernel, clouds: Sequence[Cloud]) -> Past:
    past = Past(kernel)
    for cloud in clouds:
        past.append(cloud)
    return past


def clouds_of(kernel: Kernel, make: Maker, t: int, seed: int = 0) -> list[Cloud]:
    rng = np.random.default_rng(seed)
    return [kernel.embed(make(rng)) for _ in range(t)]


# Rounds to fit kernels to.

ARMS = np.random.default_rng(0).uniform(-1.0, 1.0, (6, 2))
Log = list[tuple[int, Belief, float]]


def belief_of(kind: str, rng: np.random.Generator) -> oc.Belief:
    centre = rng.uniform(-1.0, 1.0, C)
    root = 0.3 * rng.normal(size=(C, C))
    if kind == "mixed":
        kind = ("point", "variances", "covariance", "ensemble", "mixture")[rng.integers(5)]
    if kind == "point":
        return oc.PointMass(centre)
    if kind == "variances":
        return oc.Gaussian(centre, rng.uniform(0.01, 0.2, C))
    if kind == "covariance":
        return oc.Gaussian(centre, root @ root.T)
    if kind == "ensemble":
        return oc.Ensemble(centre + 0.3 * rng.normal(size=(rng.integers(1, 8), C)))
    return oc.Mixture([oc.Gaussian(centre, 0.1), oc.PointMass(-centre)], [0.7, 0.3])


def log_of(kind: str, t: int, seed: int = 0) -> Log:
    """Return rounds whose rewards follow the mean of the belief, with noise."""
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(t):
        index, belief = int(rng.integers(len(ARMS))), belief_of(kind, rng)
        mean = belief.mean()
        reward = ARMS[index, 0] * math.sin(3.0 * mean[0]) + ARMS[index, 1] * mean[1] + 0.1 * rng.normal()
        out.append((index, belief, reward))
    return out


def learnt(model: oc.KernelModel, log: Log) -> KernelLearner:
    learner = model.start(ARMS, C)
    assert isinstance(learner, KernelLearner)
    points = learner.at(ARMS)
    for index, belief, reward in log:
        learner.learn(learner.evidence(points, learner.view(belief), index), reward)
    return learner


def given(model: oc.KernelModel) -> tuple[AnyKernel, float]:
    """Return the kernel and the ridge of a model that has both."""
    assert model.kernel is not None
    assert model.ridge is not None
    return model.kernel, model.ridge


def likelihood_of(kernel: AnyKernel, log: Log) -> Likelihood:
    return Likelihood(kernel, learnt(oc.KernelModel(kernel, ridge=1.0), log))


def matrix_of(kernel: Product, log: Log) -> Array:
    """Return K from the definition, pair by pair."""
    beliefs = [belief for _, belief, _ in log]
    taken = ARMS[[index for index, _, _ in log]]
    return kernel.action_kernel(taken, taken) * kernel.context_kernel.expected(beliefs, beliefs)


SMOOTH = Product(RBF((0.8, 1.7)), RBF(0.6))
FITTED: list[tuple[AnyKernel, str]] = [
    (SMOOTH, "point"),
    (SMOOTH, "variances"),
    (SMOOTH, "covariance"),
    (SMOOTH, "mixed"),
    (Product(RBF(0.8), RBF((0.6, 1.1))), "mixed"),
    (RBF(0.9), "mixed"),
    (RBF((0.5, 0.7, 0.9, 1.1)), "mixed"),
    (Product(Matern(2.5, 0.7), Matern(1.5, (0.6, 0.9))), "ensemble"),
    (Product(Matern(0.5, (0.7, 0.9)), Matern(0.5, 0.5)), "ensemble"),
    (2.0 * (0.5 * SMOOTH + 3.0 * Constant()), "mixed"),
    (Product(2.0 * RBF(1.0) + 0.3 * Linear(), 0.7 * RBF(0.4) + 1.5 * Constant()), "mixed"),
    (JointSum((SMOOTH, 0.3 * Polynomial(2), Product(3.0 * Linear(), Matern(2.5, 0.5)))), "ensemble"),
]
