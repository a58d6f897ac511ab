"""Estimates of the linear learner against the formulas, lock-step against single learners, blocks against none."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from linear_support import BLOCK_ACTIONS, GIVEN, MAPS, C, K, course, ensemble, pair, ratio, same_fit, teach
from overcast._check import Array
from overcast.beliefs import Belief, Ensemble, Gaussian, NoClosedForm, PointMass, Sampler
from overcast.beliefs.stacked import Catalogue, GaussianStack, PointStack
from overcast.features import Bilinear, Disjoint, FeatureMap, Function, Linear, Polynomial, Quadratic, Row, separable
from overcast.features.separable import MAX_TABLE, MAX_TABULATED_TERMS
from overcast.models import Estimate, LinearModel
from overcast.models.linear import LinearLearner, weighted
from overcast.models.linear.rows import GroupedRows, Rows
from overcast.models.linear.weighted import Settings, Weighted
from overcast.policies import Outlook

RIDGE = 0.4


CASES: dict[str, tuple[FeatureMap, Array]] = {
    "quadratic": (Quadratic(), np.random.default_rng(0).normal(size=(6, C))),
    "bilinear": (Bilinear(), np.random.default_rng(1).normal(size=(6, 2))),
    "linear": (Linear(), np.random.default_rng(2).normal(size=(6, 2))),
    "polynomial": (Polynomial(2), np.random.default_rng(3).normal(size=(6, 2))),
    "direct": (Polynomial(3), np.random.default_rng(4).normal(size=(6, 4))),
    "wide bilinear": (Bilinear(), np.random.default_rng(5).normal(size=(6, MAX_TABULATED_TERMS + 1))),
    "function": (Function(ratio, C + 1), np.random.default_rng(6).normal(size=(6, C))),
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
    """Rounds are hidden, sampled and revealed in turn."""
    rng = np.random.default_rng(7)
    d = features.size(actions.shape[1], C)
    learner = LinearModel(features, RIDGE).start(actions, C)
    points = learner.at(actions)
    reference = Reference(d, RIDGE)
    for t in range(30):
        belief = _belief(features, rng)
        psi = features.expected(actions, belief)
        view = learner.view(belief)
        _same(learner.estimate(points, view), reference.estimate(psi))
        if t % 3 == 1:
            seed = int(rng.integers(1 << 30))
            psi = features.sampled(actions, belief, 5, np.random.default_rng(seed))
            view = learner.view(belief, 5, np.random.default_rng(seed))
            _same(learner.estimate(points, view), reference.estimate(psi))
        elif t % 3 == 2:
            context = belief.sample(1, rng)
            psi, view = features(actions, context)[:, 0], learner.view(PointMass(context[0]))
        index, reward = int(rng.integers(len(actions))), float(rng.normal())
        evidence = learner.evidence(points, view, index)
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
    points = learner.at(np.eye(k))
    A = [RIDGE * np.eye(C) for _ in range(k)]
    b = [np.zeros(C) for _ in range(k)]
    for _ in range(40):
        c = rng.normal(size=C)
        view = learner.view(PointMass(c))
        estimate = learner.estimate(points, view)
        for i in range(k):
            inverse = np.linalg.inv(A[i])
            assert estimate.mean[i] == pytest.approx(c @ inverse @ b[i], abs=1e-10)
            assert estimate.width[i] == pytest.approx(np.sqrt(c @ inverse @ c), abs=1e-10)
        i, y = int(rng.integers(k)), float(rng.normal())
        learner.learn(learner.evidence(points, view, i), y)
        A[i] += np.outer(c, c)
        b[i] += y * c


@each
@pytest.mark.parametrize("own_actions", [False, True], ids=["shared actions", "actions of each trial"])
def test_lock_step_is_every_trial_on_its_own(features: FeatureMap, actions: Array, own_actions: bool) -> None:
    rng = np.random.default_rng(9)
    trials = 3
    each_trial = [actions] * trials
    if own_actions:
        moved = isinstance(features, Disjoint)  # whose actions are unit vectors
        each_trial = [np.roll(actions, i, axis=0) if moved else actions + 0.1 * i for i in range(trials)]
    model = LinearModel(features, RIDGE)
    together = model.start_all(np.stack(each_trial) if own_actions else actions, C, trials)
    alone = [model.start(a, C) for a in each_trial]
    points = together.at(np.stack(each_trial) if own_actions else actions)
    each_points = [learner.at(a) for learner, a in zip(alone, each_trial, strict=True)]
    rewards = rng.normal(size=(12, trials))
    for t in range(12):
        beliefs = [_belief(features, rng) for _ in range(trials)]
        views = [learner.view(belief) for learner, belief in zip(alone, beliefs, strict=True)]
        view = together.view(Catalogue(beliefs).pick(np.arange(trials)))
        if t % 3 == 1:
            one, two = ([np.random.default_rng((t, i)) for i in range(trials)] for _ in range(2))
            sets = zip(alone, beliefs, one, strict=True)
            views = [learner.view(belief, 6, generator) for learner, belief, generator in sets]
            view = together.view(Catalogue(beliefs).pick(np.arange(trials)), 6, two)
        elif t % 3 == 2:
            contexts = rng.normal(size=(trials, C))
            views = [learner.view(PointMass(c)) for learner, c in zip(alone, contexts, strict=True)]
            view = together.view(PointStack(contexts))
        estimates = [learner.estimate(at, v) for learner, at, v in zip(alone, each_points, views, strict=True)]
        _same(
            together.estimate(points, view),
            Estimate(np.stack([e.mean for e in estimates]), np.stack([e.width for e in estimates])),
            tolerance=1e-10,
        )
        index = rng.integers(len(actions), size=trials)
        evidence = together.evidence(points, view, index)
        separate = [
            learner.evidence(at, v, int(i)) for learner, at, v, i in zip(alone, each_points, views, index, strict=True)
        ]
        np.testing.assert_allclose(evidence.psi, [e.psi for e in separate], rtol=1e-12, atol=1e-13)
        assert evidence.cov is None
        if isinstance(features, Disjoint):
            np.testing.assert_array_equal(evidence.block, [e.block for e in separate])
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


def test_a_gaussian_stack_is_viewed_like_its_beliefs() -> None:
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
        expected = [alone.view(belief).terms for belief in beliefs]
        got = learner.view(GaussianStack(mean, variance)).terms
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-14)


@each
def test_state_and_merge(features: FeatureMap, actions: Array) -> None:
    rng = np.random.default_rng(11)
    model = LinearModel(features, RIDGE)
    first, second, whole = (model.start(actions, C) for _ in range(3))
    points = first.at(actions)
    for t, part in itertools.product(range(10), (first, second)):
        view = part.view(_belief(features, rng))
        evidence, reward = part.evidence(part.at(actions), view, t % len(actions)), float(rng.normal())
        part.learn(evidence, reward)
        whole.learn(evidence, reward)
    copy = model.start(actions, C)
    copy.restore(first.state())
    probe = copy.view(_belief(features, rng))
    for got, expected in zip(copy.estimate(points, probe), first.estimate(points, probe), strict=True):
        np.testing.assert_array_equal(got, expected)
    copy.merge(second)
    _same(copy.estimate(points, probe), whole.estimate(points, probe), tolerance=1e-10)
    np.testing.assert_allclose(copy.log_det, whole.log_det, rtol=1e-10)


@each
def test_evidence_of_a_round_is_its_own_array(features: FeatureMap, actions: Array) -> None:
    """A decision may wait for its reward while the view it came from is gone or changed."""
    learner = LinearModel(features, ridge=1.0).start(actions, C)
    points = learner.at(actions)
    view = learner.view(_belief(features, np.random.default_rng(12)))
    evidence = learner.evidence(points, view, 1)
    assert evidence.psi.base is None or evidence.psi.base.size <= evidence.psi.size
    assert not np.shares_memory(evidence.psi, points.features(view.terms))
    if isinstance(view.terms, np.ndarray):
        assert not np.shares_memory(evidence.psi, view.terms)


@pytest.mark.parametrize("name", [name for name in CASES if name != "function"])
def test_no_closed_form_without_exact_moments(name: str) -> None:
    features, actions = CASES[name]
    sampler = Sampler(lambda n, rng: rng.normal(size=(n, C)), dim=C)
    with pytest.raises(NoClosedForm, match=rf"^{type(features).__name__}: .*Sampler.*samples=") as caught:
        LinearModel(features, ridge=1.0).start(actions, C).view(sampler)
    assert "\n" not in str(caught.value)


each_map = pytest.mark.parametrize(("features", "actions"), MAPS.values(), ids=MAPS.keys())
DISJOINT = {"disjoint": (Disjoint(3), np.eye(3)[[1, 0, 2, 1]])}


def _taught(features: FeatureMap, actions: Array, rounds: int = 12, **given: Any) -> Any:
    """Return a learner that has seen hidden and revealed rounds."""
    rng = np.random.default_rng(rounds)
    learner = LinearModel(features, **given).start(actions, C)
    points = learner.at(actions)
    for t in range(rounds):
        view = learner.view(PointMass(rng.normal(size=C)) if t % 3 == 0 else ensemble(rng))
        evidence = learner.evidence(points, view, int(rng.integers(len(actions))))
        learner.learn(evidence, 3.0 * float(evidence.psi.sum()) + float(rng.normal()))
    return learner


def _variance(learner: LinearLearner, row: Row) -> float:
    """Return the variance of a reward as the fit weighs it."""
    fit = learner.fit
    assert isinstance(fit, Weighted)
    psi, cov = row.psi[None], None if row.cov is None else row.cov[None]
    rows = Rows(psi, cov) if row.block is None else GroupedRows(psi, cov, np.array([row.block]), fit.shape[0])
    return float(fit.variance(rows)[0] if fit.aware else fit.noise2)


def _own(learner: LinearLearner) -> tuple[Array, Array, Array]:
    """Return theta and its covariance over the map's own features, and the matrix that makes these standard ones."""
    fit = learner.fit
    matrix = learner.design.coefficients(fit.frame)
    if matrix is None:
        matrix = np.eye(fit.theta.shape[-1])
    return matrix.T @ fit.theta, matrix.T @ fit.inverse @ matrix, matrix


def _covariances(features: FeatureMap, actions: Array, belief: Ensemble) -> Array:
    """Cov(phi) of all actions, from the support, (k, d, d)."""
    contexts, weights = belief.support()
    phi = features(actions, contexts)
    mean = np.einsum("n,knd->kd", weights, phi)
    return np.asarray(np.einsum("n,knd,kne->kde", weights, phi, phi) - np.einsum("kd,ke->kde", mean, mean))


@each_map
def test_the_variance_of_every_action_by_enumeration(features: FeatureMap, actions: Array) -> None:
    """kappa E[theta^T Cov theta] + sigma^2 = kappa tr(Cov (theta-hat theta-hat^T + P^-1)) + sigma^2."""
    learner = _taught(features, actions)
    points = learner.at(actions)
    belief = ensemble(np.random.default_rng(1))
    view, fit = learner.view(belief), learner.fit
    theta, inverse, matrix = _own(learner)
    np.testing.assert_allclose(learner.theta, theta, rtol=1e-9, atol=1e-12)
    covs = _covariances(features, actions, belief)
    expected = fit.kappa * np.einsum("kde,de->k", covs, np.outer(theta, theta) + inverse) + fit.noise2
    assert expected.max() > 1.05 * float(fit.noise2)  # contexts matter
    np.testing.assert_allclose(learner.noise(points, view) ** 2, expected, rtol=1e-9)
    for index in (0, len(actions) - 1):
        evidence = learner.evidence(points, view, index)
        assert _variance(learner, evidence) == pytest.approx(expected[index], rel=1e-9)
        psi = features.expected(actions, belief)[index]
        np.testing.assert_allclose(fit._standardised(evidence.psi), matrix @ psi, rtol=1e-8, atol=1e-9)
    point = learner.view(PointMass(np.ones(C)))
    np.testing.assert_allclose(learner.noise(points, point), np.sqrt(fit.noise2), rtol=1e-12)


@each_map
def test_the_variance_is_that_of_rewards_when_theta_is_drawn(features: FeatureMap, actions: Array) -> None:
    """theta from N(theta-hat, P^-1): the mean of theta^T Cov theta over 20 000 draws, within six standard errors, which
    is 2e-9 per action."""
    actions = actions[:6]
    learner = _taught(features, actions)
    points = learner.at(actions)
    belief, rng = ensemble(np.random.default_rng(2)), np.random.default_rng(3)
    mean, inverse, _ = _own(learner)
    theta = rng.multivariate_normal(mean, inverse, size=20_000, method="eigh")
    for index, cov in enumerate(_covariances(features, actions, belief)):
        draws = np.vecdot(theta @ cov, theta)
        got = (learner.noise(points, learner.view(belief))[index] ** 2 - learner.fit.noise2) / learner.fit.kappa
        assert abs(got - draws.mean()) < 6 * draws.std() / math.sqrt(len(draws)) + 1e-12


@each_map
@pytest.mark.parametrize("samples", [1, 4])
def test_an_average_over_draws_has_a_share_of_variance_more(features: FeatureMap, actions: Array, samples: int) -> None:
    learner, belief = _taught(features, actions), ensemble(np.random.default_rng(4))
    points = learner.at(actions)
    exact = learner.view(belief)
    sampled = learner.view(belief, samples, np.random.default_rng(5))
    psi = features.sampled(actions, belief, samples, np.random.default_rng(5))
    np.testing.assert_allclose(learner.estimate(points, sampled).mean, psi @ learner.theta, rtol=0, atol=1e-9)
    noise2 = learner.fit.noise2
    more = (learner.noise(points, sampled) ** 2 - noise2) / (learner.noise(points, exact) ** 2 - noise2)
    np.testing.assert_allclose(more, 1 + 1 / samples, rtol=1e-6)
    expected = learner.evidence(points, exact, 1).cov * (1 + 1 / samples)
    np.testing.assert_allclose(learner.evidence(points, sampled, 1).cov, expected, rtol=1e-9, atol=1e-14)


def test_an_average_over_draws_and_the_reward_differ_by_that_variance() -> None:
    """Of 20 000 averages of L draws each against one draw of the context: within six standard errors, 2e-9."""
    rng, theta, L, n = np.random.default_rng(6), np.array([1.0, -2.0, 0.5]), 3, 20_000
    belief = ensemble(rng)
    draws = belief.sample((L + 1) * n, rng).reshape(n, L + 1, C) @ theta
    gap = draws[:, 0] - draws[:, 1:].mean(axis=1)
    expected = (1 + 1 / L) * float(theta @ belief.cov() @ theta)
    squares = gap**2
    assert abs(squares.mean() - expected) < 6 * squares.std() / math.sqrt(n)


@each_map
def test_widths_draws_and_priors_are_those_of_the_fit(features: FeatureMap, actions: Array) -> None:
    learner, belief = _taught(features, actions), ensemble(np.random.default_rng(7))
    points = learner.at(actions)
    psi, view, fit = features.expected(actions, belief) @ _own(learner)[2].T, learner.view(belief), learner.fit
    np.testing.assert_allclose(learner.estimate(points, view).mean, psi @ fit.theta, rtol=0, atol=1e-9)
    widths = np.sqrt(np.vecdot(psi @ fit.inverse, psi))
    np.testing.assert_allclose(learner.estimate(points, view).width, widths, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(learner.prior(points, view), np.sqrt((psi**2).sum(axis=1) / fit.ridge), rtol=1e-9)
    z = np.random.default_rng(8).normal(size=psi.shape[1])
    for name in ("draw", "perturb"):
        got = getattr(learner, name)(points, view, np.random.default_rng(8))
        np.testing.assert_allclose(got, psi @ getattr(fit, name)(z), rtol=0, atol=1e-9)


@pytest.mark.parametrize(("features", "actions"), (MAPS | DISJOINT).values(), ids=(MAPS | DISJOINT).keys())
@pytest.mark.parametrize("given", [{}, {"ridge": 0.5, "weights": "variance", "discount": 0.9}], ids=str)
def test_lock_step_of_weighted_learners_is_every_trial_on_its_own(
    features: FeatureMap, actions: Array, given: Any
) -> None:
    rng, trials = np.random.default_rng(9), 3
    actions, model = actions[:6], LinearModel(features, **given)
    together, alone = model.start_all(actions, C, trials), [model.start(actions, C) for _ in range(trials)]
    at, each_points = together.at(actions), [learner.at(actions) for learner in alone]
    for t in range(14):
        beliefs: list[Belief] = [ensemble(rng) for _ in range(trials)]
        points = rng.normal(size=(trials, C))
        if t % 3 == 0:
            beliefs = [PointMass(c) for c in points]
            view = together.view(PointStack(points))
        elif t % 3 == 1:
            view = together.view(Catalogue(beliefs).pick(np.arange(trials)))
        views = [learner.view(belief) for learner, belief in zip(alone, beliefs, strict=True)]
        if t % 3 == 2:
            stack = Catalogue(beliefs).pick(np.arange(trials))
            view = together.view(stack, 4, [np.random.default_rng((t, i)) for i in range(trials)])
            views = [
                learner.view(belief, 4, np.random.default_rng((t, i)))
                for i, (learner, belief) in enumerate(zip(alone, beliefs, strict=True))
            ]
        own = [Outlook(*each) for each in zip(alone, each_points, views, strict=True)]
        both = Outlook(together, at, view)
        for name in ("mean", "width", "noise", "prior", "residual_share"):
            expected = [getattr(o, name) for o in own]
            np.testing.assert_allclose(getattr(both, name), expected, rtol=1e-7, atol=1e-9, err_msg=name)
        index, rewards = rng.integers(len(actions), size=trials), rng.normal(size=trials)
        together.learn(together.evidence(at, view, index), rewards)
        for learner, here, v, i, y in zip(alone, each_points, views, index, rewards, strict=True):
            learner.learn(learner.evidence(here, v, int(i)), float(y))
    np.testing.assert_allclose(np.asarray(together.log_det), [float(one.log_det) for one in alone], rtol=1e-8)


@pytest.mark.parametrize("own_actions", [False, True], ids=["shared actions", "actions of each trial"])
@pytest.mark.parametrize("trials", [0, 3], ids=["one bandit", "trials"])
def test_products_above_the_limit_of_the_table_are_computed_anew_in_every_round(
    monkeypatch: pytest.MonkeyPatch, trials: int, own_actions: bool
) -> None:
    """A learner that weighs rounds by their variance keeps the products of all actions' terms only if they are few."""
    rng, model = np.random.default_rng(22), LinearModel(Quadratic())
    actions = rng.normal(size=(trials, 5, C) if own_actions and trials else (5, C))
    learners: list[tuple[Any, Any, list[Any]]] = []
    for limit in (MAX_TABLE, 0):
        monkeypatch.setattr(separable, "MAX_TABLE", limit)
        learner = model.start_all(actions, C, trials) if trials else model.start(actions, C)
        points = learner.at(actions)
        rng, rows = np.random.default_rng(23), []
        for _ in range(12):
            beliefs = [Gaussian(rng.normal(size=C), rng.random(C)) for _ in range(trials or 1)]
            view = learner.view(Catalogue(beliefs).pick(np.arange(trials)) if trials else beliefs[0])
            index, rewards = rng.integers(5, size=trials or 1), rng.normal(size=trials or 1)
            rows.append(learner.evidence(points, view, index if trials else int(index[0])))
            learner.learn(rows[-1], rewards if trials else float(rewards[0]))
        learners.append((learner, points, rows))
    (table, few, expected), (anew, many, got) = learners
    assert few._products is not None
    assert many._products is None
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_allclose(one.cov, other.cov, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(anew.theta, table.theta, rtol=1e-9, atol=1e-12)


def test_a_gaussian_stack_gives_the_evidence_of_its_beliefs() -> None:
    rng = np.random.default_rng(12)
    mean, variance = rng.normal(size=(2, C)), rng.random((2, C))
    for name, (features, actions) in MAPS.items():
        if name in ("function", "fourier"):
            continue
        model, index = LinearModel(features), np.array([1, 2])
        together, alone = model.start_all(actions, C, 2), model.start(actions, C)
        points, here = together.at(actions), alone.at(actions)
        evidence = together.evidence(points, together.view(GaussianStack(mean, variance)), index)
        views = [alone.view(Gaussian(m, v)) for m, v in zip(mean, variance, strict=True)]
        expected = [alone.evidence(here, view, int(i)) for view, i in zip(views, index, strict=True)]
        for name in ("psi", "cov"):
            want = [getattr(one, name) for one in expected]
            np.testing.assert_allclose(getattr(evidence, name), want, rtol=1e-10, atol=1e-12)


def test_noise_of_rewards_is_in_their_unit_and_before_any_in_that_of_the_signal() -> None:
    rng = np.random.default_rng(0)
    for given in ({}, {"weights": "equal"}, {"ridge": 1.0, "noise": 0.1}):
        for unit in (1.0, 1000.0):
            learner = LinearModel(Bilinear(), **given).start(unit * np.eye(3), 2)
            points = learner.at(unit * np.eye(3))
            view = learner.view(PointMass([1.0, 2.0]))
            if "noise" in given:
                np.testing.assert_allclose(learner.noise(points, view), 0.1)
                continue
            before = learner.noise(points, view) / learner.prior(points, view)
            np.testing.assert_allclose(before, 1.0)  # noise and signal are equally strong
            for _ in range(200):
                learner.learn(learner.evidence(points, view, int(rng.integers(3))), float(rng.normal(scale=1000.0)))
            after = learner.noise(points, view)
            np.testing.assert_allclose(after, 1000.0, rtol=0.2)  # four standard errors of a deviation


each_setting = pytest.mark.parametrize("settings", GIVEN.values(), ids=GIVEN.keys())


each_weights = pytest.mark.parametrize("aware", [True, False], ids=["variance", "equal"])


@each_setting
@each_weights
def test_every_round_of_blocks_is_that_of_the_features_written_out(
    settings: Settings, aware: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At renewals and in between, for everything that a policy can ask.

    An average over ratios correlates blocks, which only the features written out know: draws of all blocks together
    differ then, and so does what is not a renewal.
    """
    if settings.ridge is None:
        monkeypatch.setattr(weighted, "GROWTH", 1.0)
    blocks, dense = pair(settings, aware)
    points = [one.at(BLOCK_ACTIONS) for one in (blocks, dense)]
    for t, (belief, index, reward) in enumerate(course(60)):
        views = [one.view(belief) for one in (blocks, dense)]
        if t % 5 == 2:
            views = [one.view(belief, 4, np.random.default_rng(t)) for one in (blocks, dense)]
        for name in ("estimate", "prior", "noise") if aware else ("estimate", "prior"):
            got, expected = (
                getattr(one, name)(at, view) for one, at, view in zip((blocks, dense), points, views, strict=True)
            )
            np.testing.assert_allclose(got, expected, rtol=1e-7, atol=1e-9, err_msg=name)
        for name in ("draw", "perturb") if settings.ridge is not None else ():
            got, expected = (
                getattr(one, name)(at, view, np.random.default_rng(t))
                for one, at, view in zip((blocks, dense), points, views, strict=True)
            )
            np.testing.assert_allclose(got, expected, rtol=0, atol=1e-7 if name == "draw" else 1e-5, err_msg=name)
        evidence = [one.evidence(at, view, index) for one, at, view in zip((blocks, dense), points, views, strict=True)]
        assert float(blocks.norm(evidence[0])) == pytest.approx(float(dense.norm(evidence[1])), rel=1e-12)
        variances = [_variance(one, own) for one, own in zip((blocks, dense), evidence, strict=True)]
        assert variances[0] == pytest.approx(variances[1], rel=1e-8)
        blocks.learn(evidence[0], reward)
        dense.learn(evidence[1], reward)
        same_fit(blocks, dense)
    theta = np.random.default_rng(1).normal(size=K * C)
    if settings.ridge is not None:
        assert float(blocks.distance(theta)) == pytest.approx(float(dense.distance(theta)), rel=1e-8)


@pytest.mark.parametrize("hidden", ["all", "revealed", "mixed"])
@each_weights
def test_blocks_of_hidden_revealed_and_mixed_rounds(hidden: str, aware: bool) -> None:
    both = pair(Settings(ridge=0.7), aware)
    for one in both:
        teach(one, course(150, seed=1, hidden=hidden))
    same_fit(*both)


@pytest.mark.parametrize("rounds", [24, 25, 26])
@pytest.mark.parametrize("given", [{}, {"ridge": 1.0}], ids=str)
@pytest.mark.parametrize("features", [Disjoint(K), Bilinear()], ids=repr)
def test_estimates_handed_out_are_not_changed_later(features: FeatureMap, given: Any, rounds: int) -> None:
    learner = LinearModel(features, **given).start(BLOCK_ACTIONS, C)
    teach(learner, course(rounds))
    theta, log_det = learner.theta, np.asarray(learner.fit.log_det)
    kept = theta.copy(), log_det.copy()
    teach(learner, course(10, seed=1))
    np.testing.assert_array_equal(theta, kept[0])
    np.testing.assert_array_equal(log_det, kept[1])


def test_equal_weights_have_one_deviation_for_all_actions() -> None:
    learner, _ = pair(Settings(), False)
    teach(learner, course(30))
    noise = learner.noise(learner.at(BLOCK_ACTIONS), learner.view(Gaussian(np.ones(C), 1.0)))
    np.testing.assert_array_equal(noise, np.full(len(BLOCK_ACTIONS), np.sqrt(learner.fit.noise2)))


def test_a_belief_that_can_only_be_sampled_is_weighed_by_its_draws() -> None:
    belief = Sampler(lambda n, rng: rng.normal(size=(n, C)), dim=C)
    both = pair(Settings(), True)
    views = [one.view(belief, 5, np.random.default_rng(0)) for one in both]
    evidence = [one.evidence(one.at(BLOCK_ACTIONS), view, 0) for one, view in zip(both, views, strict=True)]
    variances = [_variance(one, own) for one, own in zip(both, evidence, strict=True)]
    assert variances[0] == pytest.approx(variances[1], rel=1e-12)
    assert variances[0] > 1.0


def test_parameters_are_noise_ridge_and_the_named_theta() -> None:
    learner = LinearModel(Bilinear(), ridge=0.5, noise=0.3).start(np.eye(2), 1)
    learner.learn(learner.evidence(learner.at(np.eye(2)), learner.view(PointMass([2.0])), 1), 3.0)
    noise, ridge, theta = learner.parameters
    assert noise == pytest.approx(0.3)
    assert ridge == 0.5
    assert theta == {"x1 c1": 0.0, "x2 c1": pytest.approx(6.0 / 0.09 / (0.5 + 4.0 / 0.09))}


def test_noise_that_is_learnt_is_unknown_before_the_first_reward() -> None:
    learner = LinearModel(Disjoint(2)).start(np.eye(2), 1)
    assert learner.parameters.noise is None
    assert learner.parameters.theta == {"x1 c1": 0.0, "x2 c1": 0.0}
    learner.learn(learner.evidence(learner.at(np.eye(2)), learner.view(Gaussian([0.2], 0.1)), 1), 3.0)
    noise, ridge, theta = learner.parameters
    assert noise == pytest.approx(float(np.sqrt(learner.fit.noise2)))
    assert ridge == pytest.approx(float(learner.fit.ridge))
    assert theta is not None
    assert list(theta.values()) == learner.theta.tolist()


@pytest.mark.parametrize(
    "evidence",
    [
        Row(np.zeros(4), np.zeros(6), np.array(1)),
        Row(np.zeros(3), None, np.array(1)),
        Row(np.zeros(3), np.zeros(9), np.array(1)),
        Row(np.zeros(3), np.zeros((2, 6)), np.array(1)),
        Row(np.zeros(3), np.zeros(6), None),
        Row(np.zeros(3), np.zeros(6), np.array([1])),
        Row(np.zeros(3), np.zeros(6), np.array(K)),
        Row(np.zeros(3), np.zeros(6), np.array(-1)),
    ],
)
def test_evidence_that_does_not_fit_is_refused(evidence: Row) -> None:
    blocks, dense = pair(Settings(), True)
    blocks.check(Row(np.zeros(3), np.zeros(6), np.array(1)))
    dense.check(Row(np.zeros(K * C), np.zeros(78)))
    with pytest.raises(ValueError, match="its rounds were seen with other"):
        blocks.check(evidence)


AWAITING = MAPS | DISJOINT


@pytest.mark.parametrize(("features", "actions"), AWAITING.values(), ids=AWAITING.keys())
@pytest.mark.parametrize("rounds", [4, 30], ids=["young", "later"])
@pytest.mark.parametrize("share", [1.0, 0.4])
def test_open_decisions_narrow_what_they_will_tell(
    features: FeatureMap, actions: Array, rounds: int, share: float
) -> None:
    """Means stay. Widths are those of P and share psi psi^T for each, with the average weight of a round."""
    actions = actions[:6]
    learner, rng = _taught(features, actions, rounds), np.random.default_rng(20)
    points = learner.at(actions)
    view = learner.view(ensemble(rng))
    waiting = [learner.evidence(points, learner.view(ensemble(rng)), int(rng.integers(len(actions)))) for _ in range(3)]
    before = learner.estimate(points, view)
    found = learner.awaiting(waiting, share).estimate(points, view)
    np.testing.assert_allclose(found.mean, before.mean, rtol=1e-12, atol=1e-12)
    fit, seen = learner._fit_and_view(view)
    weight, d = share * float(fit.state()["weight"]), fit.shape[-1]
    inverse = fit.inverse.reshape(-1, d, d).copy()  # one matrix per block
    for row in waiting:
        at = 0 if row.block is None else int(row.block)
        psi = fit._standardised(row.psi)
        u = inverse[at] @ psi
        inverse[at] -= np.outer(u, u) / (1.0 / weight + psi @ u)
    expected = points.quadratic(seen, inverse.reshape(fit.inverse.shape))
    np.testing.assert_allclose(found.width**2, expected, rtol=1e-7, atol=1e-10)
    after = learner.estimate(points, view)
    np.testing.assert_array_equal(after.width, before.width)
    assert (found.width <= before.width * (1.0 + 1e-9)).all()


def test_open_decisions_of_trials_in_lock_step() -> None:
    rng, trials, model = np.random.default_rng(21), 3, LinearModel(Quadratic())
    actions = rng.normal(size=(5, C))
    together, alone = model.start_all(actions, C, trials), [model.start(actions, C) for _ in range(trials)]
    at, each_points = together.at(actions), [one.at(actions) for one in alone]
    for t in range(16):
        points = rng.normal(size=(trials, C))
        view, views = (
            together.view(PointStack(points)),
            [one.view(PointMass(c)) for one, c in zip(alone, points, strict=True)],
        )
        index, rewards = rng.integers(5, size=trials), rng.normal(size=trials)
        rows = together.evidence(at, view, index)
        own = [one.evidence(here, v, int(i)) for one, here, v, i in zip(alone, each_points, views, index, strict=True)]
        if t in (2, 15):
            width = together.awaiting([rows], 0.5).estimate(at, view).width
            each = [
                one.awaiting([row], 0.5).estimate(here, v).width
                for one, row, here, v in zip(alone, own, each_points, views, strict=True)
            ]
            np.testing.assert_allclose(width, each, rtol=1e-7)
        together.learn(rows, rewards)
        for one, row, reward in zip(alone, own, rewards, strict=True):
            one.learn(row, float(reward))


def test_least_squares_with_a_ridge_know_no_noise_to_expect() -> None:
    learner = LinearModel(Bilinear(), ridge=1.0).start(np.eye(2), C)
    points = learner.at(np.eye(2))
    view = learner.view(PointMass(np.ones(C)))
    found = learner.awaiting([learner.evidence(points, view, 0)]).estimate(points, view)
    np.testing.assert_array_equal(found.width, learner.estimate(points, view).width)
