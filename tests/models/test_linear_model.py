"""Mean, width and confidence set of every learner against the formulas, and lock-step against single learners."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from overcast._check import Array
from overcast.beliefs import Belief, Ensemble, Gaussian, NoClosedForm, PointMass, Sampler
from overcast.beliefs.stacked import Catalogue, GaussianStack, PointStack
from overcast.features import Bilinear, Disjoint, FeatureMap, Function, Linear, Polynomial, Quadratic
from overcast.models import Estimate, LinearModel
from overcast.models.learners import MAX_TABULATED_TERMS, LinearLearner

RIDGE = 0.4
C = 3


def _ratio(x: Array, c: Array) -> Array:
    u = x[:, None, :] - c[None, :, :]
    return np.concatenate([u / (1 + u**2), np.ones((*u.shape[:2], 1))], axis=-1)


CASES: dict[str, tuple[FeatureMap, Array]] = {
    "quadratic": (Quadratic(), np.random.default_rng(0).normal(size=(6, C))),
    "bilinear": (Bilinear(), np.random.default_rng(1).normal(size=(6, 2))),
    "linear": (Linear(), np.random.default_rng(2).normal(size=(6, 2))),
    "polynomial": (Polynomial(2), np.random.default_rng(3).normal(size=(6, 2))),
    "direct": (Polynomial(3), np.random.default_rng(4).normal(size=(6, 4))),
    "wide bilinear": (Bilinear(), np.random.default_rng(5).normal(size=(6, MAX_TABULATED_TERMS + 1))),
    "function": (Function(_ratio, C + 1), np.random.default_rng(6).normal(size=(6, C))),
    "disjoint": (Disjoint(4), np.eye(4)[[1, 3, 0, 2, 1]]),
}
each = pytest.mark.parametrize(("features", "actions"), CASES.values(), ids=CASES.keys())


def _belief(features: FeatureMap, rng: np.random.Generator) -> Belief:
    if isinstance(features, Function):
        return Ensemble(rng.normal(size=(4, C)), rng.dirichlet(np.ones(4)))
    return Gaussian(rng.normal(size=C), rng.random(C))


class Reference:
    """Keeps all features and rewards, and solves from scratch."""

    def __init__(self, d: int, ridge: float) -> None:
        self.ridge = ridge
        self.psi = np.zeros((0, d))
        self.rewards = np.zeros(0)

    @property
    def design(self) -> Array:
        return np.asarray(self.ridge * np.eye(self.psi.shape[1]) + self.psi.T @ self.psi)

    @property
    def theta(self) -> Array:
        return np.asarray(np.linalg.solve(self.design, self.psi.T @ self.rewards), dtype=np.float64)

    def add(self, psi: Array, reward: float) -> None:
        self.psi = np.vstack([self.psi, psi])
        self.rewards = np.append(self.rewards, reward)

    def estimate(self, psi: Array) -> Estimate:
        V = self.design
        widths = [np.sqrt(p @ np.linalg.solve(V, p)) for p in psi]
        return Estimate(psi @ self.theta, np.array(widths))


def _same(got: Estimate, expected: Estimate, tolerance: float = 1e-8) -> None:
    assert got.mean.shape == expected.mean.shape
    assert got.width.shape == expected.width.shape
    np.testing.assert_allclose(got.mean, expected.mean, rtol=0, atol=tolerance)
    np.testing.assert_allclose(got.width, expected.width, rtol=0, atol=tolerance)


def test_the_direct_cases_have_too_many_terms_for_a_table() -> None:
    for name in ("direct", "wide bilinear"):
        features, actions = CASES[name]
        assert isinstance(features, (Bilinear, Polynomial))
        assert features.action_terms(actions).shape[1] > MAX_TABULATED_TERMS


@each
def test_estimates_are_the_explicit_formulas(features: FeatureMap, actions: Array) -> None:
    """Rounds that are hidden, sampled and revealed, in turn."""
    rng = np.random.default_rng(7)
    d = features.size(actions.shape[1], C)
    learner = LinearModel(features, RIDGE).start(actions, C)
    reference = Reference(d, RIDGE)
    for t in range(30):
        belief = _belief(features, rng)
        psi = features.expected(actions, belief)
        view = learner.encode(belief)
        _same(learner.estimate(view), reference.estimate(psi))
        if t % 3 == 1:
            seed = int(rng.integers(1 << 30))
            psi = features.sampled(actions, belief, 5, np.random.default_rng(seed))
            view = learner.encode_sampled(belief, 5, np.random.default_rng(seed))
            _same(learner.estimate(view), reference.estimate(psi))
        elif t % 3 == 2:
            context = belief.sample(1, rng)
            psi, view = features(actions, context)[:, 0], learner.encode(PointMass(context[0]))
        index, reward = int(rng.integers(len(actions))), float(rng.normal())
        evidence = learner.evidence(view, index)
        assert float(learner.norm(evidence)) == pytest.approx(float(np.sqrt((psi[index] ** 2).sum())), rel=1e-12)
        learner.learn(evidence, reward)
        reference.add(psi[index], reward)
        np.testing.assert_allclose(learner.theta, reference.theta, rtol=0, atol=1e-8)
        log_det = np.linalg.slogdet(reference.design)[1] - d * np.log(RIDGE)
        assert float(np.asarray(learner.log_det)) == pytest.approx(log_det, abs=1e-8)
        theta = rng.normal(size=d)
        error = theta - reference.theta
        assert float(learner.distance(theta)) == pytest.approx(
            float(np.sqrt(error @ reference.design @ error)), rel=1e-8
        )


def test_disjoint_is_one_textbook_regression_for_each_action() -> None:
    """LinUCB with disjoint linear models: A_a = ridge I + sum c c^T and b_a = sum y c over the rounds of action a."""
    rng = np.random.default_rng(8)
    k = 4
    learner = LinearModel(Disjoint(k), RIDGE).start(np.eye(k), C)
    A = [RIDGE * np.eye(C) for _ in range(k)]
    b = [np.zeros(C) for _ in range(k)]
    for _ in range(40):
        c = rng.normal(size=C)
        view = learner.encode(PointMass(c))
        estimate = learner.estimate(view)
        for i in range(k):
            inverse = np.linalg.inv(A[i])
            assert estimate.mean[i] == pytest.approx(c @ inverse @ b[i], abs=1e-10)
            assert estimate.width[i] == pytest.approx(np.sqrt(c @ inverse @ c), abs=1e-10)
        i, y = int(rng.integers(k)), float(rng.normal())
        learner.learn(learner.evidence(view, i), y)
        A[i] += np.outer(c, c)
        b[i] += y * c


@each
@pytest.mark.parametrize("own_actions", [False, True], ids=["shared actions", "actions of each trial"])
def test_lock_step_is_every_trial_on_its_own(features: FeatureMap, actions: Array, own_actions: bool) -> None:
    if own_actions and isinstance(features, Disjoint):
        with pytest.raises(ValueError, match=r"^Disjoint: actions must be one set for all trials, got one for each$"):
            LinearModel(features, RIDGE).start_all(np.stack([actions, actions]), C, 2)
        return
    rng = np.random.default_rng(9)
    trials = 3
    each_trial = [actions + 0.1 * i for i in range(trials)] if own_actions else [actions] * trials
    model = LinearModel(features, RIDGE)
    together = model.start_all(np.stack(each_trial) if own_actions else actions, C, trials)
    alone = [model.start(a, C) for a in each_trial]
    rewards = rng.normal(size=(12, trials))
    for t in range(12):
        beliefs = [_belief(features, rng) for _ in range(trials)]
        views = [learner.encode(belief) for learner, belief in zip(alone, beliefs, strict=True)]
        view = together.encode(Catalogue(beliefs).pick(np.arange(trials)))
        if t % 3 == 1:
            one, two = ([np.random.default_rng((t, i)) for i in range(trials)] for _ in range(2))
            sets = zip(alone, beliefs, one, strict=True)
            views = [learner.encode_sampled(belief, 6, generator) for learner, belief, generator in sets]
            view = together.encode_sampled(Catalogue(beliefs).pick(np.arange(trials)), 6, two)
        elif t % 3 == 2:
            points = rng.normal(size=(trials, C))
            views = [learner.encode(PointMass(c)) for learner, c in zip(alone, points, strict=True)]
            view = together.encode(PointStack(points))
        estimates = [learner.estimate(v) for learner, v in zip(alone, views, strict=True)]
        _same(
            together.estimate(view),
            Estimate(np.stack([e.mean for e in estimates]), np.stack([e.width for e in estimates])),
            tolerance=1e-10,
        )
        index = rng.integers(len(actions), size=trials)
        evidence = together.evidence(view, index)
        separate = [learner.evidence(v, int(i)) for learner, v, i in zip(alone, views, index, strict=True)]
        np.testing.assert_allclose(evidence, separate, rtol=1e-12, atol=1e-13)
        norms = [float(learner.norm(e)) for learner, e in zip(alone, separate, strict=True)]
        np.testing.assert_allclose(together.norm(evidence), norms, rtol=1e-12)
        together.learn(evidence, rewards[t])
        for learner, e, y in zip(alone, separate, rewards[t], strict=True):
            learner.learn(e, float(y))
    theta = rng.normal(size=features.size(actions.shape[1], C))
    assert isinstance(together, LinearLearner)
    assert np.shape(together.theta) == (trials, len(theta))
    np.testing.assert_allclose(together.theta, [learner.theta for learner in alone], rtol=0, atol=1e-10)
    log_dets = [float(np.asarray(learner.log_det)) for learner in alone]
    np.testing.assert_allclose(np.asarray(together.log_det), log_dets, rtol=0, atol=1e-10)
    np.testing.assert_allclose(together.distance(theta), [learner.distance(theta) for learner in alone], rtol=1e-10)
    by_trial = rng.normal(size=(trials, len(theta)))
    distances = [learner.distance(row) for learner, row in zip(alone, by_trial, strict=True)]
    np.testing.assert_allclose(together.distance(by_trial), distances, rtol=1e-10)


def test_a_gaussian_stack_encodes_like_its_beliefs() -> None:
    rng = np.random.default_rng(10)
    mean, variance = rng.normal(size=(3, C)), rng.random((3, C))
    for name, (features, actions) in CASES.items():
        if name == "function":
            continue
        learner, alone = (
            LinearModel(features, ridge=1.0).start_all(actions, C, 3),
            LinearModel(features, ridge=1.0).start(actions, C),
        )
        beliefs = [Gaussian(m, v) for m, v in zip(mean, variance, strict=True)]
        expected = [alone.encode(belief) for belief in beliefs]
        np.testing.assert_allclose(learner.encode(GaussianStack(mean, variance)), expected, rtol=1e-12, atol=1e-14)


@each
def test_state_and_merge(features: FeatureMap, actions: Array) -> None:
    rng = np.random.default_rng(11)
    model = LinearModel(features, RIDGE)
    first, second, whole = (model.start(actions, C) for _ in range(3))
    for t, part in itertools.product(range(10), (first, second)):
        view = part.encode(_belief(features, rng))
        evidence, reward = part.evidence(view, t % len(actions)), float(rng.normal())
        part.learn(evidence, reward)
        whole.learn(evidence, reward)
    copy = model.start(actions, C)
    copy.restore(first.state())
    probe = copy.encode(_belief(features, rng))
    for got, expected in zip(copy.estimate(probe), first.estimate(probe), strict=True):
        np.testing.assert_array_equal(got, expected)
    copy.merge(second)
    _same(copy.estimate(probe), whole.estimate(probe), tolerance=1e-10)
    np.testing.assert_allclose(copy.log_det, whole.log_det, rtol=1e-10)


@each
def test_evidence_of_a_round_is_its_own_array(features: FeatureMap, actions: Array) -> None:
    """A decision may wait for its reward while the view it came from is gone or changed."""
    learner = LinearModel(features, ridge=1.0).start(actions, C)
    view = learner.encode(_belief(features, np.random.default_rng(12)))
    evidence = learner.evidence(view, 1)
    assert evidence.base is None or evidence.base.size <= evidence.size
    assert not np.shares_memory(evidence, view)


@pytest.mark.parametrize("name", [name for name in CASES if name != "function"])
def test_no_closed_form_without_exact_moments(name: str) -> None:
    features, actions = CASES[name]
    sampler = Sampler(lambda n, rng: rng.normal(size=(n, C)), dim=C)
    with pytest.raises(NoClosedForm, match=rf"^{type(features).__name__}: .*Sampler.*samples=") as caught:
        LinearModel(features, ridge=1.0).start(actions, C).encode(sampler)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("ridge", "kind"),
    [(0.0, ValueError), (-1.0, ValueError), (np.nan, ValueError), (np.inf, ValueError), ("1", TypeError)],
)
def test_bad_ridge(ridge: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind, match=r"^LinearModel: ridge must") as caught:
        LinearModel(Bilinear(), ridge)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("features", [None, "bilinear", Bilinear, np.eye(3)])
def test_bad_features(features: Any) -> None:
    with pytest.raises(TypeError, match=r"^LinearModel: features must be a feature map") as caught:
        LinearModel(features, ridge=1.0)
    assert "\n" not in str(caught.value)


def test_actions_that_do_not_fit_the_features() -> None:
    with pytest.raises(ValueError, match=r"^Quadratic: .* 2 and 3$"):
        LinearModel(Quadratic(), ridge=1.0).start(np.eye(2), 3)
    with pytest.raises(ValueError, match=r"^Disjoint: "):
        LinearModel(Disjoint(2), ridge=1.0).start(2 * np.eye(2), 3)
