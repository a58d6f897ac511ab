"""The variance-aware linear model: variances by enumeration, lock-step, units, files, and what it refuses."""

from __future__ import annotations

import copy
import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import overcast as oc
from overcast import _storage
from overcast._check import Array
from overcast.beliefs import Belief, Ensemble, Gaussian, PointMass
from overcast.beliefs.stacked import Catalogue, GaussianStack, PointStack
from overcast.features import Bilinear, Disjoint, FeatureMap, Fourier, Function, Linear, Polynomial, Quadratic
from overcast.kernels import RBF, Product
from overcast.models import LinearModel, Outlook
from overcast.models.stacked import LearnerStack
from overcast.models.weighted import Settings, Weighted
from overcast.policies import Policy
from support import outlook, refused

C = 3


def _ratio(x: Array, c: Array) -> Array:
    u = x[:, None, :] - c[None, :, :]
    return np.concatenate([u / (1 + u**2), np.ones((*u.shape[:2], 1))], axis=-1)


def _actions(seed: int, a: int) -> Array:
    return np.random.default_rng(seed).normal(size=(6, a))


MAPS: dict[str, tuple[FeatureMap, Array]] = {
    "quadratic": (Quadratic(), _actions(0, C)),
    "bilinear": (Bilinear(), _actions(1, 2)),
    "many actions": (Bilinear(), np.random.default_rng(2).normal(size=(1500, 2))),
    "linear": (Linear(), _actions(3, 2)),
    "polynomial": (Polynomial(2), _actions(4, 2)),
    "function": (Function(_ratio, C + 1), _actions(5, C)),
    "fourier": (Fourier(Product(RBF(1.0), RBF(2.0)), n=10), _actions(6, 2)),
    "unit vectors": (Bilinear(), np.eye(3)[[1, 0, 2, 1]]),
}
DISJOINT = {"disjoint": (Disjoint(3), np.eye(3)[[1, 0, 2, 1]])}  # its blocks are compared with unit vectors elsewhere
each = pytest.mark.parametrize(("features", "actions"), MAPS.values(), ids=MAPS.keys())


def _ensemble(rng: np.random.Generator) -> Ensemble:
    return Ensemble(rng.normal(size=(5, C)), rng.dirichlet(np.ones(5)))


def _taught(features: FeatureMap, actions: Array, rounds: int = 12, **given: Any) -> Any:
    """Return a learner that has seen hidden and revealed rounds."""
    rng = np.random.default_rng(rounds)
    learner = LinearModel(features, **given).start(actions, C)
    for t in range(rounds):
        view = learner.encode(PointMass(rng.normal(size=C)) if t % 3 == 0 else _ensemble(rng))
        evidence = learner.evidence(view, int(rng.integers(len(actions))))
        learner.learn(evidence, 3.0 * float(evidence[: len(learner.theta)].sum()) + float(rng.normal()))
    return learner


def _covariances(features: FeatureMap, actions: Array, belief: Ensemble) -> Array:
    """Cov(phi) of all actions, from the support, (k, d, d)."""
    points, weights = belief.support()
    phi = features(actions, points)
    mean = np.einsum("n,knd->kd", weights, phi)
    return np.asarray(np.einsum("n,knd,kne->kde", weights, phi, phi) - np.einsum("kd,ke->kde", mean, mean))


@each
def test_the_variance_of_every_action_by_enumeration(features: FeatureMap, actions: Array) -> None:
    """E[theta^T Cov theta] + sigma^2 = tr(Cov (theta-hat theta-hat^T + P^-1)) + sigma^2."""
    learner = _taught(features, actions)
    belief = _ensemble(np.random.default_rng(1))
    view, fit = learner.encode(belief), learner.fit
    second = np.outer(fit.theta, fit.theta) + fit.inverse
    expected = np.einsum("kde,de->k", _covariances(features, actions, belief), second) + fit.sigma2
    assert expected.max() > 1.05 * float(fit.sigma2)  # contexts matter
    np.testing.assert_allclose(learner.noise(view) ** 2, expected, rtol=1e-9)
    for index in (0, len(actions) - 1):
        evidence = learner.evidence(view, index)
        assert float(fit.variance(evidence[None])[0]) == pytest.approx(expected[index], rel=1e-9)
        psi = features.expected(actions, belief)[index]
        np.testing.assert_allclose(evidence[: len(psi)], psi, rtol=1e-12, atol=1e-14)
        assert float(learner.norm(evidence)) == pytest.approx(float(np.linalg.norm(psi)), rel=1e-12)
    point = learner.encode(PointMass(np.ones(C)))
    np.testing.assert_allclose(learner.noise(point), np.sqrt(fit.sigma2), rtol=1e-12)


@each
def test_the_variance_is_that_of_rewards_when_theta_is_drawn(features: FeatureMap, actions: Array) -> None:
    """theta from N(theta-hat, P^-1): the mean of theta^T Cov theta over 20 000 draws, within six standard errors, which
    is 2e-9 an action."""
    actions = actions[:6]
    learner = _taught(features, actions)
    belief, rng = _ensemble(np.random.default_rng(2)), np.random.default_rng(3)
    theta = rng.multivariate_normal(learner.theta, learner.fit.inverse, size=20_000, method="cholesky")
    for index, cov in enumerate(_covariances(features, actions, belief)):
        draws = np.vecdot(theta @ cov, theta)
        got = learner.noise(learner.encode(belief))[index] ** 2 - learner.fit.sigma2
        assert abs(got - draws.mean()) < 6 * draws.std() / math.sqrt(len(draws)) + 1e-12


@each
@pytest.mark.parametrize("samples", [1, 4])
def test_an_average_over_draws_has_a_share_of_variance_more(features: FeatureMap, actions: Array, samples: int) -> None:
    learner, belief = _taught(features, actions), _ensemble(np.random.default_rng(4))
    exact = learner.encode(belief)
    sampled = learner.encode_sampled(belief, samples, np.random.default_rng(5))
    psi = features.sampled(actions, belief, samples, np.random.default_rng(5))
    np.testing.assert_allclose(learner.estimate(sampled).mean, psi @ learner.theta, rtol=0, atol=1e-9)
    sigma2 = learner.fit.sigma2
    more = (learner.noise(sampled) ** 2 - sigma2) / (learner.noise(exact) ** 2 - sigma2)
    np.testing.assert_allclose(more, 1 + 1 / samples, rtol=1e-6)
    d = psi.shape[1]
    expected = learner.evidence(exact, 1)[d:] * (1 + 1 / samples)
    np.testing.assert_allclose(learner.evidence(sampled, 1)[d:], expected, rtol=1e-9, atol=1e-14)


def test_an_average_over_draws_and_the_reward_differ_by_that_variance() -> None:
    """Of 20 000 averages of L draws each against one draw of the context: within six standard errors, 2e-9."""
    rng, theta, L, n = np.random.default_rng(6), np.array([1.0, -2.0, 0.5]), 3, 20_000
    belief = _ensemble(rng)
    draws = belief.sample((L + 1) * n, rng).reshape(n, L + 1, C) @ theta
    gap = draws[:, 0] - draws[:, 1:].mean(axis=1)
    expected = (1 + 1 / L) * float(theta @ belief.cov() @ theta)
    squares = gap**2
    assert abs(squares.mean() - expected) < 6 * squares.std() / math.sqrt(n)


@each
def test_widths_draws_and_priors_are_those_of_the_fit(features: FeatureMap, actions: Array) -> None:
    learner, belief = _taught(features, actions), _ensemble(np.random.default_rng(7))
    psi, view, fit = features.expected(actions, belief), learner.encode(belief), learner.fit
    np.testing.assert_allclose(learner.estimate(view).mean, psi @ fit.theta, rtol=0, atol=1e-9)
    widths = np.sqrt(np.vecdot(psi @ fit.inverse, psi))
    np.testing.assert_allclose(learner.estimate(view).width, widths, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(learner.prior(view), np.sqrt((psi**2).sum(axis=1) / fit.ridge), rtol=1e-9)
    z = np.random.default_rng(8).normal(size=psi.shape[1])
    for name in ("draw", "perturb"):
        got = getattr(learner, name)(view, np.random.default_rng(8))
        np.testing.assert_allclose(got, psi @ getattr(fit, name)(z), rtol=0, atol=1e-9)


@pytest.mark.parametrize(("features", "actions"), (MAPS | DISJOINT).values(), ids=(MAPS | DISJOINT).keys())
@pytest.mark.parametrize("given", [{}, {"ridge": 0.5, "noise": "aware", "discount": 0.9}], ids=str)
def test_lock_step_is_every_trial_on_its_own(features: FeatureMap, actions: Array, given: Any) -> None:
    rng, trials = np.random.default_rng(9), 3
    actions, model = actions[:6], LinearModel(features, **given)
    together, alone = model.start_all(actions, C, trials), [model.start(actions, C) for _ in range(trials)]
    for t in range(14):
        beliefs: list[Belief] = [_ensemble(rng) for _ in range(trials)]
        points = rng.normal(size=(trials, C))
        if t % 3 == 0:
            beliefs = [PointMass(c) for c in points]
            view = together.encode(PointStack(points))
        elif t % 3 == 1:
            view = together.encode(Catalogue(beliefs).pick(np.arange(trials)))
        views = [learner.encode(belief) for learner, belief in zip(alone, beliefs, strict=True)]
        if t % 3 == 2:
            stack = Catalogue(beliefs).pick(np.arange(trials))
            view = together.encode_sampled(stack, 4, [np.random.default_rng((t, i)) for i in range(trials)])
            views = [
                learner.encode_sampled(belief, 4, np.random.default_rng((t, i)))
                for i, (learner, belief) in enumerate(zip(alone, beliefs, strict=True))
            ]
        own = [Outlook(learner, v) for learner, v in zip(alone, views, strict=True)]
        both = Outlook(together, view)
        for name in ("mean", "width", "noise", "prior", "slack"):
            expected = [getattr(o, name) for o in own]
            np.testing.assert_allclose(getattr(both, name), expected, rtol=1e-7, atol=1e-9, err_msg=name)
        index, rewards = rng.integers(len(actions), size=trials), rng.normal(size=trials)
        together.learn(together.evidence(view, index), rewards)
        for learner, v, i, y in zip(alone, views, index, rewards, strict=True):
            learner.learn(learner.evidence(v, int(i)), float(y))
    assert isinstance(together, LearnerStack) == (type(features) in (Function, Fourier))
    np.testing.assert_allclose(np.asarray(together.log_det), [float(one.log_det) for one in alone], rtol=1e-8)


@pytest.mark.parametrize("setting", ["hidden", "observed"])
def test_the_size_of_blocks_does_not_matter(setting: Any) -> None:
    env = oc.environments.Synthetic(k=20, dim=2)
    large, small = LinearModel(env.features), LinearModel(env.features)
    object.__setattr__(small, "block", 2)
    first, second = (oc.simulate(env, model, oc.UCB(), steps=60, trials=5, setting=setting) for model in (large, small))
    np.testing.assert_array_equal(first.choices, second.choices)
    np.testing.assert_allclose(first.log_det, second.log_det, rtol=1e-8)


def test_a_simulation_is_a_bandit() -> None:
    """One trial of a simulation, and a bandit in the same world."""
    env, model = oc.environments.Synthetic(k=20, dim=2), LinearModel(Quadratic())
    runs = oc.simulate(env, model, oc.UCB(), steps=60, trials=1)
    world = env.start_all([np.random.default_rng(np.random.SeedSequence(0, spawn_key=(0, 0)))])
    bandit, choices = oc.Bandit(world.actions[0], model, oc.UCB()), np.empty((1, 0), dtype=np.intp)
    for t in range(60):
        now = world.step(choices)
        decision = bandit.decide(now.belief[0])
        assert decision.index == runs.choices[0, t]
        choices = np.append(choices, [[decision.index]], axis=1)
        bandit.learn(decision, float(now.reward(choices[:, -1])[0]))


def _course(
    policy: Policy,
    setting: str,
    rewards: float = 1.0,
    contexts: float = 1.0,
    actions: float = 1.0,
    zeros: int = 0,
    steps: int = 300,
) -> list[int]:
    """Return the decisions in a bilinear world whose rewards, contexts and actions come in these units."""
    rng = np.random.default_rng(0)
    vectors, M = rng.normal(size=(12, 2)), rng.normal(size=(2, C))
    bandit, out = oc.Bandit(actions * vectors, LinearModel(Bilinear()), policy), []
    for t in range(steps):
        mean, variance = rng.normal(size=C), rng.random(C)
        context = mean + np.sqrt(variance) * rng.normal(size=C)
        # Before the first round there is no unit of the rewards, against which policies may hold their widths.
        decision = bandit.decide(Gaussian(contexts * mean, contexts**2 * variance), available=None if t else [5])
        out.append(decision.index)
        reward = 0.0 if t < zeros else rewards * float(vectors[decision.index] @ M @ context + 0.1 * rng.normal())
        seen = setting == "observed" or (setting == "mixed" and t % 2 == 0)
        bandit.learn(decision, reward, context=contexts * context if seen else None)
    return out


@pytest.mark.parametrize("setting", ["hidden", "observed", "mixed"])
@pytest.mark.parametrize("zeros", [0, 6])
def test_units_change_no_decision(setting: str, zeros: int) -> None:
    expected = _course(oc.UCB(), setting, zeros=zeros)
    assert len(set(expected)) > 3
    units: list[dict[str, Any]] = [{"rewards": 1e3}, {"rewards": 1e-6}, {"contexts": 1e3}, {"actions": 1e3}]
    for unit in units:
        assert _course(oc.UCB(), setting, zeros=zeros, **unit) == expected, unit


@pytest.mark.parametrize("policy", [oc.Thompson(), oc.IDS()], ids=repr)
def test_units_change_no_decision_of_other_policies(policy: Policy) -> None:
    expected = _course(policy, "mixed", zeros=3, steps=150)
    units: list[dict[str, Any]] = [{"rewards": 1e3}, {"rewards": 1e-6}, {"contexts": 1e3}, {"actions": 1e3}]
    for unit in units:
        assert _course(policy, "mixed", zeros=3, steps=150, **unit) == expected, unit


def _world(bandit: oc.Bandit, steps: int, seed: int) -> list[tuple[oc.Decision, float]]:
    rng, out = np.random.default_rng(seed), []
    for t in range(steps):
        decision = bandit.decide(Gaussian(rng.normal(size=C), rng.random(C)))
        reward = float(rng.normal() + decision.index)
        out.append((decision, reward))
        if t % 4:
            bandit.learn(decision, reward, context=rng.normal(size=C) if t % 4 == 1 else None)
    return out


COMBINATIONS: list[dict[str, Any]] = [
    dict(zip(("ridge", "noise", "sigma", "discount", "window"), values, strict=True))
    for values in itertools.product((None, 0.5), (None, "aware", "constant"), (None, 0.3), (None, 0.9), (None, 7))
]


@pytest.mark.parametrize(
    "given", [{}, {"window": 9}, {"discount": 0.9, "sigma": 0.5}, {"noise": "constant"}, {"ridge": 2.0, "sigma": 1.0}]
)
@pytest.mark.parametrize("features", [Quadratic(), Disjoint(3)], ids=repr)
def test_a_loaded_bandit_goes_on_alike(tmp_path: Path, features: FeatureMap, given: Any) -> None:
    """With decisions that are open when it is saved, and rewards late and out of order; so does a copy."""
    bandit = oc.Bandit(np.eye(3), LinearModel(features, **given), oc.UCB())
    waiting = [(decision, y) for t, (decision, y) in enumerate(_world(bandit, 40, 0)) if t % 4 == 0]
    bandit.save(tmp_path / "bandit.npz")
    loaded, twin = oc.Bandit.load(tmp_path / "bandit.npz"), copy.deepcopy(bandit)
    assert loaded.model == bandit.model
    for decision, y in reversed(waiting):
        for one in (bandit, loaded, twin):
            one.learn(decision.id, y)
    courses = [[decision.index for decision, _ in _world(one, 40, 1)] for one in (bandit, loaded, twin)]
    assert courses[0] == courses[1] == courses[2]
    belief = Gaussian(np.ones(C), 0.5)
    for one in (loaded, twin):
        np.testing.assert_array_equal(one.estimate(belief).mean, bandit.estimate(belief).mean)
        np.testing.assert_array_equal(one.estimate(belief).width, bandit.estimate(belief).width)


def test_merged_bandits_know_what_both_have_learnt() -> None:
    """The same rounds in one; the fixed points agree, and a few sweeps come within a tenth of a width of them."""
    model = LinearModel(Quadratic())
    first, second, whole = (oc.Bandit(np.eye(3), model, oc.UCB()) for _ in range(3))
    rng = np.random.default_rng(10)
    for t in range(160):
        belief, part = Gaussian(rng.normal(size=C), 0.3), first if t < 90 else second
        reward = float(rng.normal())
        index = part.decide(belief, available=[t % 3]).index
        part.learn(f"{part._tokens[-1]}-{part._round}", reward)
        decision = whole.decide(belief, available=[index])
        whole.learn(decision, reward)
    first.merge(second)
    belief = Gaussian(np.ones(C), 0.5)
    got, expected = first.estimate(belief), whole.estimate(belief)
    assert (np.abs(got.mean - expected.mean) < 0.1 * expected.width).all()
    np.testing.assert_allclose(got.width, expected.width, rtol=0.1)
    fresh = oc.Bandit(np.eye(3), model, oc.UCB())
    fresh.merge(whole)
    np.testing.assert_array_equal(fresh.estimate(belief).mean, expected.mean)


@pytest.mark.parametrize("given", COMBINATIONS, ids=str)
def test_every_combination_has_a_repr_a_hash_and_a_place_in_files(given: Any) -> None:
    model = LinearModel(Bilinear(), **given)
    assert eval(repr(model), {"LinearModel": LinearModel, "Bilinear": Bilinear}) == model
    assert _storage._decode(_storage.config(model)) == model
    assert hash(LinearModel(Bilinear(), **given)) == hash(model)
    assert model.noise == (given["noise"] or (None if given["ridge"] is None else "constant"))
    assert model.plain == (
        given["ridge"] is not None
        and model.noise == "constant"
        and given["sigma"] is given["discount"] is given["window"] is None
    )
    assert model.theory_ridge == (0.5 if model.plain else None)
    learner = model.start(np.eye(2), 2)
    assert isinstance(learner.fit, Weighted) != model.plain
    view = learner.encode(Gaussian([1.0, 2.0], 0.5))
    for reward in (1.0, 0.0, 2.0):
        learner.learn(learner.evidence(view, 1), reward)
    assert np.isfinite(learner.estimate(view)).all()


def test_models_differ_where_a_parameter_does() -> None:
    models = [LinearModel(Bilinear(), **given) for given in COMBINATIONS]
    assert len(set(models)) == (3 + 2) * 2 * 2 * 2  # with a ridge, noise=None is "constant"
    assert LinearModel(Bilinear(), 1.0) == LinearModel(Bilinear(), ridge=1, noise="constant")
    assert LinearModel(Bilinear()) != LinearModel(Bilinear(), sigma=1.0)


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        ({"ridge": 0}, ValueError, "ridge must be"),
        ({"ridge": True}, TypeError, "ridge must be"),
        ({"noise": "loud"}, ValueError, "noise must be 'constant' or 'aware', got str 'loud'"),
        ({"noise": 1.0}, ValueError, "noise must be 'constant' or 'aware', got float 1.0"),
        ({"noise": np.array(["aware", "loud"])}, ValueError, "noise must be 'constant' or 'aware', got"),
        ({"sigma": -1.0}, ValueError, "sigma must be"),
        ({"sigma": 0.0}, ValueError, "sigma must be"),
        ({"sigma": math.nan}, ValueError, "sigma must be"),
        ({"discount": 1.5}, ValueError, "discount must be <= 1, got 1.5"),
        ({"discount": 0.0}, ValueError, "discount must be"),
        ({"discount": "0.9"}, TypeError, "discount must be"),
        ({"window": 0}, ValueError, "window must be"),
        ({"window": 2.5}, TypeError, "window must be"),
        ({"window": True}, TypeError, "window must be"),
    ],
    ids=str,
)
def test_parameters_that_make_no_sense(given: Any, kind: type[Exception], words: str) -> None:
    with refused(kind, "LinearModel", words):
        LinearModel(Bilinear(), **given)


@pytest.mark.parametrize("given", [{}, {"ridge": 1.0, "noise": "aware"}, {"ridge": 1.0, "window": 9}], ids=str)
def test_the_papers_confidence_is_refused_where_more_than_theta_is_learnt(given: Any) -> None:
    env = oc.environments.CoinFlip()
    model = LinearModel(env.features, **given)
    line = "the paper's beta_t is for least squares with a given ridge"
    bandit = oc.Bandit(np.eye(2), model, oc.UCB(oc.confidence.Expected()))
    with refused(ValueError, "confidence", line, "UCB()"):
        bandit.decide([1.0, 0.0])
    assert "0 decisions" in repr(bandit)
    with refused(ValueError, "confidence", line):
        oc.simulate(env, model, oc.UCB(oc.confidence.Expected()), steps=2, trials=2)
    runs = oc.simulate(env, model, oc.UCB(), steps=5, trials=2)
    with refused(ValueError, "Runs", "bound needs a policy with the paper's beta_t"):
        _ = runs.bound


def test_the_default_beta_is_one_deviation_and_what_residuals_show_of_another() -> None:
    """1 + sqrt(1 - gamma / t) with gamma = d - ridge tr P^-1 = sum_s psi_s^T P^-1 psi_s / v_s, from the rounds."""
    env = oc.environments.Synthetic(k=9, dim=2)
    bandit = oc.Bandit(np.random.default_rng(0).normal(size=(9, 2)), LinearModel(env.features), oc.UCB())
    rng, seen = np.random.default_rng(1), []
    for t in range(50):
        belief = Gaussian(rng.normal(size=2), 0.5)
        decision = bandit.decide(belief)
        if t:
            fit: Any = bandit._learner.fit  # type: ignore[union-attr]
            gamma = 6 - float(fit.ridge) * np.trace(fit.inverse)
            weights = fit.state()["weights"]
            P = np.linalg.inv(fit.inverse)
            psi = fit.rounds()[0][:, :6]
            assert gamma == pytest.approx(float(np.sum((psi.T * weights) @ psi * np.linalg.inv(P))), abs=1e-6)
            beta = 1 + math.sqrt(1 - gamma / t)
            seen.append(beta)
            for option in decision.top(9):
                assert option.score == pytest.approx(option.mean + beta * option.width, rel=1e-8)
        else:
            assert decision.score == pytest.approx(2.0 * decision.width, rel=1e-12)
        bandit.learn(decision, float(rng.normal()))
    assert 1.0 <= min(seen) < 1.7 < max(seen) <= 2.0


def test_the_default_beta_is_two_for_models_that_cannot_say() -> None:
    told = outlook([0.5, 1.0], [1.0, 2.0])
    told._learner.slack = None  # type: ignore[misc]
    progress: Any = None
    np.testing.assert_array_equal(oc.UCB().scores(told, progress, np.random.default_rng(0)), [2.5, 5.0])
    bandit = oc.Bandit(np.eye(2), LinearModel(Bilinear(), ridge=1.0), oc.UCB())
    decision = bandit.decide([1.0, 3.0])
    assert decision.score == pytest.approx(2.0 * decision.width, rel=1e-12)


def test_every_trial_has_its_own_beta() -> None:
    told = outlook(np.zeros((3, 2)), np.ones((3, 2)))
    told._learner.slack = np.array([0.0, 0.25, 1.0])  # type: ignore[misc]
    progress: Any = None
    scores = oc.UCB().scores(told, progress, np.random.default_rng(0))
    np.testing.assert_array_equal(scores, [[1.0, 1.0], [1.5, 1.5], [2.0, 2.0]])


ODD: dict[str, Any] = {
    "zero contexts": lambda t, rng: (PointMass(np.zeros(C)), rng.normal()),
    "one context": lambda t, rng: (PointMass(np.ones(C)), rng.normal()),
    "constant rewards": lambda t, rng: (Gaussian(rng.normal(size=C), 1.0), 3.0),
    "zero rewards": lambda t, rng: (Gaussian(rng.normal(size=C), 1.0), 0.0),
    "huge contexts": lambda t, rng: (Gaussian(1e60 * rng.normal(size=C), 1e100), rng.normal()),
    "pascals and fractions": lambda t, rng: (Gaussian([1e5, 300.0, 1e-6], [1e4, 9.0, 1e-14]), rng.normal()),
    "huge rewards": lambda t, rng: (Gaussian(rng.normal(size=C), 1.0), 1e140 * rng.normal()),
    "booleans": lambda t, rng: (Gaussian(rng.normal(size=C), 1.0), bool(t % 3)),
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD.keys())
@pytest.mark.parametrize("features", [Quadratic(), Bilinear(), Polynomial(2)], ids=repr)
@pytest.mark.parametrize("k", [1, 4])
def test_whatever_comes_decisions_are_made_without_warnings(odd: Any, features: FeatureMap, k: int) -> None:
    """Warnings are errors in this suite; there are more features than rounds, and a single action in some."""
    rng = np.random.default_rng(11)
    for policy in (oc.UCB(), oc.IDS(), oc.Thompson()):
        bandit = oc.Bandit(rng.normal(size=(k, C)), LinearModel(features), policy)
        for t in range(14):
            belief, reward = odd(t, rng)
            decision = bandit.decide(belief)
            bandit.learn(decision, reward, context=belief.mean() if t % 5 == 4 else None)
            assert np.isfinite(bandit.estimate(belief)).all()


def test_failed_calls_change_nothing() -> None:
    bandit = oc.Bandit(np.eye(3), LinearModel(Bilinear()), oc.UCB())
    for decision, y in _world(bandit, 9, 2)[::4]:
        bandit.learn(decision, y)
    decision = bandit.decide(Gaussian(np.ones(C), 1.0))
    before = bandit.estimate(Gaussian(np.ones(C), 2.0))
    with refused(ValueError, "Bandit", "reward"):
        bandit.learn(decision, math.nan)
    with refused(ValueError, "Bandit", "context"):
        bandit.learn(decision, 1.0, context=[1.0, math.nan, 0.0])
    with refused(ValueError, "LinearModel", "features must be of a size that numbers can hold"):
        bandit.learn(decision, 1.0, context=Gaussian(1e160 * np.ones(C), 1.0))
    after = bandit.estimate(Gaussian(np.ones(C), 2.0))
    np.testing.assert_array_equal(after.mean, before.mean)
    np.testing.assert_array_equal(after.width, before.width)
    bandit.learn(decision, 1.0)


def test_the_default_beats_the_papers_constant_weights_when_contexts_stay_hidden() -> None:
    """Paired over 40 trials, with a beta that is among the paper's best here. Four seeds gave gaps of 3.7 to 4.5
    standard errors; three are asked for."""
    env = oc.environments.Synthetic()
    model, paper = LinearModel(env.features), LinearModel(env.features, ridge=1.0)
    default = oc.simulate(env, model, oc.UCB(), steps=300, trials=40, seed=2).regret[:, -1]
    gap = oc.simulate(env, paper, oc.UCB(2.0), steps=300, trials=40, seed=2).regret[:, -1] - default
    assert gap.mean() > 3 * gap.std(ddof=1) / math.sqrt(len(gap))


def test_a_gaussian_stack_is_encoded_like_its_beliefs() -> None:
    rng = np.random.default_rng(12)
    mean, variance = rng.normal(size=(2, C)), rng.random((2, C))
    for name, (features, actions) in MAPS.items():
        if name in ("function", "fourier"):
            continue
        model, index = LinearModel(features), np.array([1, 2])
        together, alone = model.start_all(actions, C, 2), model.start(actions, C)
        evidence = together.evidence(together.encode(GaussianStack(mean, variance)), index)
        views = [alone.encode(Gaussian(m, v)) for m, v in zip(mean, variance, strict=True)]
        expected = [alone.evidence(view, int(i)) for view, i in zip(views, index, strict=True)]
        np.testing.assert_allclose(evidence, expected, rtol=1e-10, atol=1e-12)


def test_noise_of_rewards_is_in_their_unit_and_before_any_in_that_of_the_signal() -> None:
    rng = np.random.default_rng(0)
    for given in ({}, {"noise": "constant"}, {"ridge": 1.0, "sigma": 0.1}):
        for unit in (1.0, 1000.0):
            learner = LinearModel(Bilinear(), **given).start(unit * np.eye(3), 2)
            view = learner.encode(PointMass([1.0, 2.0]))
            if "sigma" in given:
                np.testing.assert_allclose(learner.noise(view), 0.1)
                continue
            before = learner.noise(view) / learner.prior(view)
            np.testing.assert_allclose(before, 1.0)  # noise and signal are equally strong
            for _ in range(200):
                learner.learn(learner.evidence(view, int(rng.integers(3))), float(rng.normal(scale=1000.0)))
            np.testing.assert_allclose(learner.noise(view), 1000.0, rtol=0.2)  # four standard errors of a deviation


def test_a_trial_in_lock_step_does_not_depend_on_the_others() -> None:
    """The others get their first reward late, or one that a rank-one update could not take in."""
    rng = np.random.default_rng(1)
    psi, rewards = rng.normal(size=(40, 3, D := 4)), rng.normal(size=(40, 3))
    rewards[:23, 1] = 0.0
    psi[30, 2] *= 1e5
    together = Weighted(D, Settings(), False, (3,))
    alone = [Weighted(D, Settings(), False) for _ in range(3)]
    for t in range(40):
        together.add(psi[t], rewards[t])
        for i, fit in enumerate(alone):
            fit.add(psi[t, i], float(rewards[t, i]))
            for name in ("theta", "inverse", "sigma2", "ridge"):
                got, want = getattr(together, name)[i], getattr(fit, name)
                np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-9, err_msg=f"{name} of {i} at {t}")


def test_many_features_learn_one_noise_for_all_rounds() -> None:
    few, many = (LinearModel(Bilinear()).start(np.ones((2, a)), 2) for a in (128, 129))
    assert isinstance(few.fit, Weighted)
    assert isinstance(many.fit, Weighted)
    assert few.fit.noisy
    assert not many.fit.noisy
