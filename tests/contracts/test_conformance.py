"""Every belief, feature map, kernel, model, policy and environment of the package passes the checks that users run.

Classes are found by themselves: one without an example below fails `test_every_class_has_an_example`.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import scipy.stats

import overcast as oc
from overcast import beliefs, confidence, environments, features, kernels, models, policies, testing
from overcast._check import Array
from overcast.beliefs.base import Belief
from overcast.environments import CoinFlip, Environment, Round, Trial, Trials
from overcast.features import FeatureMap
from overcast.kernels import JointKernel, Kernel
from overcast.models import Model, Outlook, Progress
from overcast.models.base import Generators
from overcast.policies import Policy

POINTS = np.random.default_rng(0).normal(size=(6, 2))

BELIEFS: list[Belief] = [
    oc.PointMass([1.5, -2.0]),
    oc.Gaussian([1.0, -1.0], 0.5),
    oc.Gaussian([1.0, -1.0, 0.0], [0.5, 2.0, 0.0]),
    oc.Gaussian([100.0, -1.0], [[2.0, 0.7], [0.7, 1.0]]),
    oc.Ensemble(POINTS),
    oc.Ensemble(POINTS, [0.1, 0.3, 0.0, 0.2, 0.15, 0.25]),
    oc.Mixture([oc.Gaussian([0.0, 1.0], 0.3), oc.PointMass([2.0, 2.0]), oc.Ensemble(POINTS)], [0.5, 0.2, 0.3]),
    oc.Mixture([oc.Sampler(lambda n, rng: rng.normal(size=(n, 1)), 1), oc.PointMass(5.0)]),
    oc.Independent([oc.Gaussian([1.0], 0.5), oc.Ensemble(POINTS), oc.PointMass(3.0)]),
    oc.Quantiles([0.1, 0.4, 0.9], [[0.0, -3.0], [1.0, -1.0], [4.0, -1.0]]),
    oc.Sampler(lambda n, rng: rng.gamma(2.0, 3.0, size=(n, 2)), 2),
    oc.Frozen(scipy.stats.gamma(2.5, scale=0.5)),
    oc.Frozen(scipy.stats.cauchy()),
    oc.Frozen(scipy.stats.dirichlet([1.0, 2.0, 3.0])),
    beliefs.Moved(oc.Frozen(scipy.stats.gamma(2.5, scale=0.5)), shift=-1.0, scale=2.0),
    beliefs.Moved(oc.Gaussian([1.0, -1.0], [[2.0, 0.7], [0.7, 1.0]]), shift=[1.0, 0.0], scale=[3.0, 0.0]),
]
FEATURES: list[tuple[FeatureMap, Any]] = [
    (features.Quadratic(), POINTS[:3]),
    (features.Bilinear(), POINTS[:3, :1]),
    (features.Linear(), POINTS[:3]),
    (features.Polynomial(1), POINTS[:3]),
    (features.Polynomial(3), POINTS[:3]),
    (features.Disjoint(3), np.eye(3)),
    (features.Function(lambda x, c: np.tanh(x[:, None] - c[None]), 2), POINTS[:3]),
    (features.Fourier(kernels.Product(kernels.RBF(0.8), kernels.Matern(2.5, 1.2)), 10), POINTS[:3]),
    (features.QuadratureFourier(2.0 * kernels.RBF((1.0, 0.7, 2.0)), 3), POINTS[:3, :1]),
    (features.Nystrom(kernels.Product(kernels.RBF(0.8), kernels.RBF(1.2)), POINTS[1:5], POINTS[:4]), POINTS[:3]),
]
KERNELS: list[JointKernel] = [
    kernels.RBF(0.8),
    kernels.RBF((0.5, 2.0)),
    kernels.Matern(0.5, 0.8),
    kernels.Matern(1.5, (0.5, 2.0)),
    kernels.Matern(2.5),
    kernels.Linear(),
    kernels.Constant(),
    kernels.Polynomial(2, 0.5, 2.0),
    kernels.Polynomial(3, offset=0.0),
    2.5 * kernels.RBF(0.8),
    0.5 * kernels.Polynomial(2) + 2.0 * kernels.Matern(1.5) + kernels.RBF((0.5, 2.0)),
    kernels.Product(2.0 * kernels.Matern(2.5), kernels.RBF(0.8) + kernels.Linear()),
]
BILINEAR = features.Bilinear()
FUNCTION = features.Function(lambda x, c: np.tanh(x[:, None] - c[None]), 2)
PRODUCT = kernels.Product(kernels.RBF(0.8), kernels.RBF(1.2))
MODELS: list[tuple[Model, Any]] = [
    (oc.LinearModel(BILINEAR), POINTS[:3]),
    (oc.LinearModel(BILINEAR, ridge=0.5), POINTS[:3]),
    (oc.LinearModel(BILINEAR, ridge=0.5, noise="aware"), POINTS[:3]),
    (oc.LinearModel(BILINEAR, discount=0.9), POINTS[:3]),
    (oc.LinearModel(BILINEAR, window=8), POINTS[:3]),
    (oc.LinearModel(BILINEAR, ridge=1.0, discount=0.9), POINTS[:3]),
    (oc.LinearModel(features.Disjoint(3)), np.eye(3)),
    (oc.LinearModel(features.Disjoint(3), ridge=0.5), np.eye(3)),
    (oc.LinearModel(FUNCTION), POINTS[:3]),
    (oc.LinearModel(FUNCTION, ridge=0.5), POINTS[:3]),
    (oc.KernelModel(PRODUCT, ridge=0.1), POINTS[:3]),
    (oc.KernelModel(kernels.Product(kernels.RBF(0.8), kernels.Matern(1.5) + kernels.Linear())), POINTS[:3]),
    (models.MeanContext(oc.LinearModel(BILINEAR)), POINTS[:3]),
    (models.MeanContext(oc.KernelModel(PRODUCT, ridge=0.1)), POINTS[:3]),
    (models.MeanContext(models.Exp4(BILINEAR, experts=8)), POINTS[:3]),
    (models.FixedProfile(BILINEAR), POINTS[:3]),
    (models.FixedProfile(FUNCTION), POINTS[:3]),
    (models.NoisyContext(BILINEAR), POINTS[:3]),
    (models.Exp4(BILINEAR, experts=8), POINTS[:3]),
    (models.Exp4(BILINEAR, experts=8, low=-2.0, high=3.0), POINTS[:3]),
]
POLICIES: list[Policy] = [
    oc.UCB(2.0),
    oc.UCB(lambda t: float(np.sqrt(t))),
    oc.UCB(confidence.Expected()),
    oc.UCB(confidence.Sampled(0.1)),
    oc.UCB(confidence.Observed(reward_range=1.0)),
    oc.UCB(confidence.Kernel(0.1)),
    oc.Thompson(),
    oc.Thompson(0.0),
    oc.PerturbedHistory(),
    oc.PerturbedHistory(0.2),
    oc.Greedy(),
    oc.EpsilonGreedy(),
    oc.EpsilonGreedy(0.5),
    oc.EpsilonGreedy(lambda t: 1.0 / t),
    oc.MostlyGreedy(),
    oc.MostlyGreedy(confidence.Expected(), slack=0.5),
    oc.IDS(),
    oc.IDS(0.0),
    oc.IDS(confidence.Observed()),
    oc.IDS(lambda t: float(np.sqrt(t))),
    oc.UCB(confidence.Kernel(norm=2.0)),
    oc.Proportional(),
]
#: four seasons at one site and two at another, with both told apart by the last two factors
SEASONS: dict[str, Any] = {
    "varieties": POINTS[:3],
    "weather": np.hstack([POINTS, np.repeat(np.eye(2), (4, 2), axis=0)]),
    "loading": np.random.default_rng(1).normal(size=(4, 2)),
    "sites": ["Reckenholz"] * 4 + ["Changins"] * 2,
    "noise_values": [-0.2, -0.1, 0.3],
}
#: all seasons of the site, this one included: the season is then one of those that the belief holds
CLIMATE = np.stack([SEASONS["weather"][rows] for rows in [[0, 1, 2, 3]] * 4 + [[4, 5, 4, 5]] * 2])
ENVIRONMENTS: list[Environment] = [
    environments.Synthetic(k=6, dim=3),
    environments.Synthetic(k=1, dim=1, noise=0.0, spread=0.0),
    environments.CoinFlip(),
    environments.CoinFlip(p=0.25, noise=0.0),
    environments.Adversarial(k=4, dim=2, choices=3, members=2),
    environments.Drifting(k=4, dim=2),
    environments.Drifting(k=1, dim=3, noise=0.0, spread=0.0, speed=0.0),
    environments.RKHS(k=4, context_dim=2),
    environments.MovieLens(users=2.0 * POINTS, movies=[[1.0, 0.5], [0.2, -1.0], [2.0, 0.0]], groups=[0, 0, 1, 1, 1, 2]),
    environments.MovieLens(users=2.0 * POINTS, movies=[[1.0, 0.5]], groups=list("aaabbb"), noise_values=[0.0]),
    environments.CropTrials(**SEASONS),
    environments.CropTrials(**SEASONS, belief="centred"),
    environments.CropTrials(**SEASONS, belief="climatology", climate=CLIMATE),
]


def _is_environment(kind: type) -> bool:
    return callable(getattr(kind, "start", None)) and not getattr(kind, "_is_protocol", False)


PACKAGES: dict[str, tuple[ModuleType, Callable[[type], bool], set[type]]] = {
    "beliefs": (beliefs, lambda kind: issubclass(kind, Belief), {type(b) for b in BELIEFS}),
    "features": (features, lambda kind: issubclass(kind, FeatureMap), {type(f) for f, _ in FEATURES}),
    "kernels": (kernels, lambda kind: issubclass(kind, JointKernel), {type(k) for k in KERNELS}),
    "models": (models, lambda kind: issubclass(kind, Model), {type(m) for m, _ in MODELS}),
    "policies": (policies, lambda kind: issubclass(kind, Policy), {type(p) for p in POLICIES}),
    "environments": (environments, _is_environment, {type(e) for e in ENVIRONMENTS}),
}


def _classes(package: ModuleType, wanted: Callable[[type], bool]) -> Iterator[type]:
    """Yield the concrete public classes that the package exports or that any of its modules defines."""
    names = [module.name for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}.")]
    modules = [package, *(importlib.import_module(name) for name in names)]
    for module in modules:
        for name, kind in inspect.getmembers(module, inspect.isclass):
            here = kind.__module__.startswith(package.__name__)
            if here and not name.startswith("_") and not inspect.isabstract(kind) and wanted(kind):
                yield kind


@pytest.mark.parametrize(("package", "wanted", "examples"), PACKAGES.values(), ids=PACKAGES.keys())
def test_every_class_has_an_example(package: ModuleType, wanted: Callable[[type], bool], examples: set[type]) -> None:
    found = set(_classes(package, wanted))
    assert found, f"no classes found in {package.__name__}"
    missing = sorted(kind.__name__ for kind in found - examples)
    assert not missing, f"add an example of {', '.join(missing)} to this file"
    hidden = sorted(kind.__name__ for kind in found if kind.__name__ not in package.__all__)
    assert not hidden, f"export {', '.join(hidden)} from {package.__name__}"


def test_the_top_level_exports_nothing_unchecked() -> None:
    known = {Belief, *(kind for _, _, examples in PACKAGES.values() for kind in examples)}
    for name in oc.__all__:
        kind = getattr(oc, name)
        if inspect.isclass(kind) and issubclass(kind, (Belief, FeatureMap, Model, Policy)):
            assert kind in known, f"add an example of {name} to this file"


@pytest.mark.parametrize("belief", BELIEFS, ids=repr)
def test_beliefs(belief: Belief) -> None:
    """Six standard errors, about 1e-8 a number, 1e-6 over all of them."""
    testing.check_belief(belief)


@pytest.mark.parametrize(("feature_map", "actions"), FEATURES, ids=[repr(f)[:20] for f, _ in FEATURES])
def test_features(feature_map: FeatureMap, actions: Any) -> None:
    """Six standard errors, about 1e-8 a number, 1e-6 over all of them."""
    testing.check_features(feature_map, actions, POINTS)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_kernels(kernel: JointKernel) -> None:
    """Six standard errors, about 1e-8 a number, 1e-6 over all of them."""
    testing.check_kernel(kernel, POINTS)


@pytest.mark.parametrize(("model", "actions"), MODELS, ids=[type(m).__name__ for m, _ in MODELS])
def test_models(model: Model, actions: Any) -> None:
    testing.check_model(model, actions, POINTS)


@pytest.mark.parametrize("policy", POLICIES)
def test_policies(policy: Policy) -> None:
    testing.check_policy(policy)


@pytest.mark.parametrize("env", ENVIRONMENTS, ids=repr)
def test_environments(env: Environment) -> None:
    """Six standard errors, about 1e-8 a number, 1e-6 over all of them."""
    testing.check_environment(env)


class _Belief(Belief):
    """Uniform on [0, 1], with one part of it replaced."""

    dim = 1

    def __init__(self, **parts: Any) -> None:
        for name, part in parts.items():
            setattr(self, name, part)

    def mean(self) -> Array:
        return np.array([0.5])

    def cov(self) -> Array:
        return np.array([[1 / 12]])

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        return rng.random((n, 1))

    def moments(self, powers: Any) -> Array:
        return np.array([1 / (1 + p) for (p,) in powers])

    def to_json(self) -> dict[str, Any]:
        return {"type": "_Belief"}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> _Belief:
        return cls()


def test_a_belief_of_ones_own() -> None:
    """Six standard errors: 1e-8."""
    testing.check_belief(_Belief())


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"dim": 2}, "shape"),
        ({"sample": lambda n, rng: rng.random(n)}, "sample.* must have shape"),
        ({"sample": lambda n, rng: np.full((n, 1), np.nan)}, "must be finite"),
        ({"sample": lambda n, rng: np.random.default_rng().random((n, 1))}, "same seed"),
        ({"sample": lambda n, rng: rng.random((n, 1)) + 0.05}, "mean must be the average of draws"),
        ({"sample": lambda n, rng: (rng.random((n, 1)) - 0.5) * 1.1 + 0.5}, "cov must be the average of draws"),
        ({"mean": lambda: 0.5}, "mean must have shape"),
        ({"cov": lambda: np.array([1 / 12])}, "cov must have shape"),
        ({"cov": lambda: np.array([[-1.0]])}, "no negative eigenvalue"),
        ({"variance": lambda: np.array([1.0])}, "diagonal of cov"),
        ({"moments": lambda powers: np.full(len(powers), 0.5)}, "moments of degree 2"),
        ({"support": lambda: (np.array([[0.5]]), np.array([1.0]))}, "cov and that of the support"),
        ({"support": lambda: (np.array([[0.0], [1.0]]), np.array([0.5, 0.6]))}, "sum of the support's weights"),
        ({"to_json": lambda: {"type": "Uniform"}}, "to_json must hold"),
    ],
)
def test_faulty_beliefs(parts: dict[str, Any], words: str) -> None:
    with pytest.raises(AssertionError, match=rf"^_Belief: .*{words}"):
        testing.check_belief(_Belief(**parts))


class _Shifted(features.Bilinear):
    """The wrong mean."""

    def _expected_terms(self, belief: Any) -> Array:
        return np.asarray(belief.mean() + 0.1)


class _Paired(features.Bilinear):
    """Terms that are not those of the features."""

    def sampled_terms(self, belief: Any, samples: int, rng: Any) -> Array:
        return np.asarray(belief.sample(samples, rng)[0])


def _depends_on_the_batch(x: Array, c: Array) -> Array:
    return np.asarray((x[:, None] * c[None]) - c.mean())


@pytest.mark.parametrize(
    ("feature_map", "words"),
    [
        (_Shifted(), "expected under PointMass"),
        (_Paired(), "sampled"),
        (features.Function(_depends_on_the_batch, 2), "on its own"),
    ],
)
def test_faulty_features(feature_map: FeatureMap, words: str) -> None:
    with pytest.raises(AssertionError, match=rf"^{type(feature_map).__name__}: .*{words}"):
        testing.check_features(feature_map, POINTS[:3], POINTS)


class _Kernel(Kernel):
    """A squared exponential with one part of it replaced."""

    def __init__(self, lengthscale: float = 0.8, **parts: Any) -> None:
        self.rbf, self.parts = kernels.RBF(lengthscale), parts
        for name, part in parts.items():
            setattr(self, name, part)

    def _evaluate(self, left: Array, right: Array) -> Array:
        return self.rbf._evaluate(left, right)

    def embed(self, belief: Belief) -> Any:
        return self.rbf.embed(belief)

    def compare(self, left: Any, right: Any) -> Array:
        return self.rbf.compare(left, right)

    def parameters(self) -> tuple[float, ...]:
        return self.rbf.parameters()

    def with_parameters(self, values: Sequence[float]) -> _Kernel:
        return _Kernel(values[0], **self.parts)

    def gradient(self, left: Any, right: Any) -> Array:
        return self.rbf.gradient(left, right)

    def series(self, reach: Array) -> Any:
        return self.rbf.series(reach)


class _Plain(Kernel):
    """The least that a kernel has to give."""

    def _evaluate(self, left: Array, right: Array) -> Array:
        return np.asarray(1.0 / (1.0 + ((left[:, None] - right[None]) ** 2).sum(axis=-1)))


def test_kernels_of_ones_own() -> None:
    """Six standard errors, about 1e-8 a number."""
    for kernel in (_Kernel(), _Plain(), kernels.Product(_Plain(), 2.0 * _Kernel())):
        testing.check_kernel(kernel, POINTS)


def _no_help(belief: Belief) -> Any:
    if belief.support() is None:
        raise beliefs.NoClosedForm("_Kernel: too hard")
    return belief.cloud()


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"_evaluate": lambda u, v: np.ones(len(u))}, "kernel.points, points. must have shape"),
        ({"_evaluate": lambda u, v: np.full((len(u), len(v)), np.nan)}, "must be finite"),
        ({"_evaluate": lambda u, v: u[:, :1] - v.T[:1]}, r"k.u, v. and k.v, u. must agree"),
        ({"_evaluate": lambda u, v: np.tanh(u @ v.T - 1.0)}, "no negative eigenvalue, got -"),
        ({"_evaluate": lambda u, v: (u - u.mean(axis=0)) @ (v - v.mean(axis=0)).T}, "on their own must agree"),
        ({"diagonal": lambda u: np.zeros(len(u))}, "diagonal and k"),
        ({"compare": lambda left, right: np.ones((len(left.weights), len(right.weights)))}, "PointMass"),
        ({"embed": lambda belief: oc.PointMass(belief.mean()).cloud()}, "Ensemble"),
        (
            {"embed": lambda b: b.cloud() if b.support() else oc.Gaussian(b.mean(), 0.1).cloud()},
            "expected under Gaussian",
        ),
        ({"embed": _no_help}, "must say to pass samples="),
        ({"embed_points": lambda points, weights: kernels.RBF().embed(oc.PointMass(points[0]))}, "sampled"),
        ({"parameters": lambda: (-1.0,), "with_parameters": lambda values: _Kernel(parameters=lambda: (-1.0,))}, "> 0"),
        ({"with_parameters": lambda values: _Kernel(2.0)}, "parameters after with_parameters"),
        ({"gradient": lambda left, right: np.zeros((0, 1, 1))}, "gradient must have shape"),
        ({"gradient": lambda left, right: kernels.RBF(0.9).gradient(left, right)}, "slope of compare"),
        ({"series": lambda reach: kernels.RBF(0.9).series(reach)}, "series and k"),
    ],
)
def test_faulty_kernels(parts: dict[str, Any], words: str) -> None:
    with pytest.raises(AssertionError, match=rf"^_Kernel: .*{words}"):
        testing.check_kernel(_Kernel(**parts), POINTS)


def test_faulty_parts_of_a_product() -> None:
    with pytest.raises(AssertionError, match=r"^_Kernel: diagonal"):
        testing.check_kernel(kernels.Product(kernels.RBF(), _Kernel(diagonal=lambda u: np.zeros(len(u)))), POINTS)


class _Policy(Policy):
    def __init__(self, scores: Callable[[Outlook, Progress, Any], Any]) -> None:
        self._scores = scores

    def scores(self, outlook: Outlook, progress: Progress, rng: Generators) -> Array:
        return np.asarray(self._scores(outlook, progress, rng))


def _in_place(outlook: Outlook, progress: Progress, rng: Any) -> Array:
    np.maximum(outlook.mean, 0.0, out=outlook.mean)
    return outlook.mean


def _perturbed(outlook: Outlook, progress: Progress, rng: Any) -> Array:
    if isinstance(rng, np.random.Generator):
        return outlook.mean + rng.normal(size=outlook.mean.shape)
    return np.stack([m + g.normal(size=m.shape) for m, g in zip(outlook.mean, rng, strict=True)])


def test_a_random_policy_of_ones_own() -> None:
    testing.check_policy(_Policy(_perturbed))


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        (lambda e, p, rng: e.mean[..., :-1], "scores must have shape"),
        (lambda e, p, rng: e.mean * np.nan, "must be finite"),
        (lambda e, p, rng: np.where(e.width > 0.5, np.inf, e.mean), "must be finite"),
        (lambda e, p, rng: np.where(e.mean.ndim == 2, -np.inf, e.mean), "lock-step.* -inf for the same actions"),
        (lambda e, p, rng: e.mean + np.random.default_rng().random(e.mean.shape), "same seed"),
        (lambda e, p, rng: e.mean - e.mean.mean(), "lock-step"),
        (_in_place, "leave the estimate"),
    ],
)
def test_faulty_policies(scores: Callable[[Outlook, Progress, Any], Any], words: str) -> None:
    with pytest.raises(AssertionError, match=rf"^_Policy: .*{words}"):
        testing.check_policy(_Policy(scores))


class _Env:
    """A coin flip whose rounds are changed on the way; not in lock-step."""

    def __init__(self, change: Callable[[Round], Round]) -> None:
        self._change = change

    def start(self, rng: np.random.Generator) -> Trial:
        return _Changed(CoinFlip().start(rng), self._change)


class _Changed:
    def __init__(self, trial: Trial, change: Callable[[Round], Round]) -> None:
        self.actions = trial.actions
        self._trial, self._change = trial, change

    def step(self, past: Any) -> Round:
        return self._change(self._trial.step(past))


def test_an_environment_of_ones_own() -> None:
    """Six standard errors, about 1e-8 a number."""
    testing.check_environment(_Env(lambda now: now))


def test_the_noise_of_ones_own_environment_may_depend_on_the_action() -> None:
    """Then it need not have mean zero, as where it is cut off at the end of a scale. Six standard errors, 1e-8."""
    testing.check_environment(_Env(lambda now: now._replace(noise=now.noise * np.array([1.0, -2.0]))))
    testing.check_environment(_Env(lambda now: now._replace(noise=np.maximum(now.noise, [0.0, -np.inf]))))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda now: now._replace(context=now.context[:1]), "context must have shape"),
        (lambda now: now._replace(rewards=now.rewards[:1]), "rewards must have shape"),
        (lambda now: now._replace(expected=now.expected * np.inf), "expected must be finite"),
        (lambda now: now._replace(noise=np.zeros(3)), r"noise must have shape \(2,\), got \(3,\)"),
        (lambda now: now._replace(noise=np.zeros((2, 2))), r"noise must have shape \(2,\), got \(2, 2\)"),
        (lambda now: now._replace(noise=np.array([0.0, np.nan])), "noise must be finite"),
        (
            lambda now: now._replace(noise=np.random.default_rng().normal(size=2)),
            "noise of round 1 with the same seed",
        ),
        (
            lambda now: now._replace(noise=float(np.random.default_rng().normal())),
            "noise of round 1 with the same seed",
        ),
        (lambda now: now._replace(noise=now.noise + 1.0), "noise must be the average"),
        (lambda now: now._replace(rewards=now.rewards + 0.5), "rewards - expected"),
        (lambda now: now._replace(context=now.context + 0.5), "point of the belief's support"),
        (lambda now: now._replace(belief=oc.Ensemble(np.eye(2))), "average of rewards over the support"),
    ],
)
def test_faulty_environments(change: Callable[[Round], Round], words: str) -> None:
    with pytest.raises(AssertionError, match=rf"^_Env: .*{words}"):
        testing.check_environment(_Env(change))


class _Boastful(CoinFlip):
    """States a parameter that is not the one behind its rewards."""

    def start_all(self, rngs: Sequence[np.random.Generator]) -> Trials:
        trials = super().start_all(rngs)
        trials.theta = np.array([0.0, 1.0, 0.9, 0.0])
        return trials


class _Entangled(CoinFlip):
    """Trials that share one generator."""

    def start_all(self, rngs: Sequence[np.random.Generator]) -> Trials:
        return super().start_all([np.random.default_rng(5 * len(rngs)) for _ in rngs])


@pytest.mark.parametrize(
    ("env", "words"), [(_Boastful(), "features times theta"), (_Entangled(), "in lock-step and alone")]
)
def test_faulty_lock_step(env: Environment, words: str) -> None:
    with pytest.raises(AssertionError, match=rf"^{type(env).__name__}: .*{words}"):
        testing.check_environment(env)


def test_a_class_without_an_example_is_found() -> None:
    package, wanted, examples = PACKAGES["features"]
    with pytest.raises(AssertionError, match="add an example of Quadratic to this file"):
        test_every_class_has_an_example(package, wanted, examples - {features.Quadratic})


def test_something_else_is_no_environment() -> None:
    with pytest.raises(AssertionError, match=r"^object: must have a method start"):
        testing.check_environment(object())  # type: ignore[arg-type]
