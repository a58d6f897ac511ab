"""Conformance checks to run on classes of your own: beliefs, feature maps, policies and environments.

Each check is a plain function that raises AssertionError with the class, what it must do and what it did. Draws come
from fixed seeds, so a check that passes once passes always. Comparisons of draws with stated moments allow six standard
errors: a correct class is refused with a probability of about 1e-8 a number, as long as averages are close to normal (a
belief should not hide much of its variance in outcomes rarer than one in a thousand).
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from overcast._check import Array
from overcast.bandit import Bandit
from overcast.beliefs import Belief, Ensemble, Gaussian, NoClosedForm, PointMass
from overcast.environments import Environment, Round, VectorEnvironment
from overcast.features import Bilinear, FeatureMap, Separable
from overcast.models import Estimate, LinearModel, Progress
from overcast.policies import Policy

__all__ = ["check_belief", "check_environment", "check_features", "check_policy"]

DRAWS = 10_000
STANDARD_ERRORS = 6.0


def check_belief(belief: Belief) -> None:
    """Check shapes, draws by seed, moments against draws and support, and the JSON form where there is one.

    Examples
    --------
    >>> from overcast import Gaussian
    >>> check_belief(Gaussian([21.0, 0.4], [4.0, 0.1]))
    """
    name, c = type(belief).__name__, belief.dim
    for n in (0, 1, 3):
        _shape(name, f"sample({n}, rng)", _draws(belief, n), (n, c))
    draws = _draws(belief, DRAWS)
    _shape(name, f"sample({DRAWS}, rng)", draws, (DRAWS, c))
    _same(name, "draws with the same seed", _draws(belief, DRAWS), draws)
    try:
        mean, cov = belief.mean(), belief.cov()
    except NoClosedForm as error:
        _require("samples=" in str(error), name, "where moments do not exist, the error must say to pass samples=")
        return
    _shape(name, "mean", mean, (c,))
    _shape(name, "cov", cov, (c, c))
    _same(name, "cov and its transpose", cov.T, cov)
    _same(name, "variance and the diagonal of cov", belief.variance(), np.diagonal(cov))
    spread = float(np.linalg.eigvalsh(cov)[0])
    _require(spread >= -1e-9 * (1 + np.abs(cov).max()), name, f"cov must have no negative eigenvalue, got {spread}")
    slack = 1.0 if belief.exact else 1.5  # moments that are estimates have an error of their own
    _average(name, "mean", draws, mean, slack)
    centred = draws - mean
    _average(name, "cov", centred[:, :, None] * centred[:, None, :], cov, slack)
    rng = np.random.default_rng(2)
    few = np.array([belief.sample_moments(3, rng) for _ in range(DRAWS // 5)])  # (n, 2, c)
    _average(name, "sample_moments", few, np.stack([mean, np.diagonal(cov) + mean**2]), slack)
    _average(name, "sample_moments, the spread of the mean", (few[:, 0] - mean) ** 2, np.diagonal(cov) / 3, slack)
    means = np.array([belief.sample_mean(3, rng) for _ in range(DRAWS // 5)])
    _average(name, "sample_mean", means, mean, slack)
    _average(name, "sample_mean, its spread", (means - mean) ** 2, np.diagonal(cov) / 3, slack)
    finite = belief.support()
    if finite is not None:
        points, weights = finite
        _shape(name, "points of the support", points, (len(weights), c))
        _require(bool((weights >= 0).all()), name, "weights of the support must be >= 0")
        _same(name, "sum of the support's weights", weights.sum(), 1.0)
        _same(name, "mean and that of the support", weights @ points, mean)
        _same(name, "cov and that of the support", (points - mean).T @ ((points - mean) * weights[:, None]), cov)
    if belief.exact:
        i, j = np.triu_indices(c)
        powers = np.eye(c, dtype=np.int64)
        _same(name, "moments of degree 1", belief.moments(powers), mean)
        _same(name, "moments of degree 2", belief.moments(powers[i] + powers[j]), cov[i, j] + mean[i] * mean[j])
    try:
        data = belief.to_json()
    except TypeError:
        return  # a distribution given as code
    _require(data.get("type") == name, name, f'to_json must hold "type": "{name}", got {data.get("type")!r}')
    twin = type(belief).from_json(json.loads(json.dumps(data, allow_nan=False)))
    _same(name, "draws after to_json and from_json", _draws(twin, 5), _draws(belief, 5))


def check_features(features: FeatureMap, actions: ArrayLike, contexts: ArrayLike) -> None:
    """Check shapes and expectations for actions (k, a) and contexts (n, c) that the map takes.

    Examples
    --------
    >>> from overcast.features import Quadratic
    >>> check_features(Quadratic(), actions=[[1.0, 2.0], [0.5, -1.0]], contexts=[[3.0, 4.0], [0.0, 1.0]])
    """
    name = type(features).__name__
    x, s = np.array(actions, dtype=float), np.array(contexts, dtype=float)
    (k, a), (n, c) = x.shape, s.shape
    d = features.size(a, c)
    phi = features(x, s)
    _shape(name, "features(actions, contexts)", phi, (k, n, d))
    for i, j in np.ndindex(k, n):
        pair = features(x[i : i + 1], s[j : j + 1])[0, 0]
        _same(name, f"phi of action {i} and context {j} on its own", pair, phi[i, j])
    weights = np.arange(1.0, n + 1) / (n * (n + 1) / 2)
    average = np.einsum("knd,n->kd", phi, weights)
    _same(name, "expected under PointMass and phi", features.expected(x, PointMass(s[0])), phi[:, 0])
    _same(name, "expected under Ensemble and the average", features.expected(x, Ensemble(s, weights)), average)
    gaussian = Gaussian(s.mean(axis=0), np.cov(s.T, bias=True).reshape(c, c) + np.eye(c))
    draws = features(x, _draws(gaussian, DRAWS))
    members = Ensemble(s, weights)
    sampled = features.sampled(x, members, 20, np.random.default_rng(1))
    _same(name, "sampled and the average over the same draws", sampled, features(x, _draws(members, 20)).mean(axis=1))
    try:
        mean = features.expected(x, gaussian)
    except NoClosedForm as error:
        _require("samples=" in str(error), name, f"NoClosedForm must say to pass samples=, got {error}")
    else:
        _shape(name, "expected", mean, (k, d))
        _average(name, "expected under Gaussian", draws.swapaxes(0, 1), mean)
    if isinstance(features, Separable):
        j_of, m_of = features.pairs(a, c)
        z, terms = features.action_terms(x), features.context_terms(s)
        _same(name, "products of action and context terms", z[:, None, j_of] * terms[None, :, m_of], phi)
        drawn = features.context_terms(_draws(members, 20))
        sampled = features.sampled_terms(members, 20, np.random.default_rng(1))
        _same(name, "sampled_terms and the mean of context_terms", sampled, drawn.mean(axis=0))
        _same(name, "action_terms with a leading axis", features.action_terms(x[None])[0], z)
        _same(name, "context_terms with a leading axis", features.context_terms(s[None])[0], terms)


def check_policy(policy: Policy) -> None:
    """Check that scores are finite, repeat by seed, treat trials in lock-step as on their own, and drive a bandit.

    Examples
    --------
    >>> from overcast import UCB
    >>> check_policy(UCB(beta=2.0))
    """
    name, (r, k) = type(policy).__name__, (3, 4)
    rng = np.random.default_rng(0)
    estimates, log_det = Estimate(rng.normal(size=(r, k)), rng.random((r, k))), rng.random(r)
    kept = Estimate(estimates.mean.copy(), estimates.width.copy())
    for t in (1, 2, 50):
        alone = []
        for i in range(r):
            given = (Estimate(estimates.mean[i], estimates.width[i]), Progress(t, float(log_det[i]), 1.0, k))
            scores = policy.scores(*given, np.random.default_rng(i))
            _shape(name, "scores", scores, (k,))
            _same(name, "scores with the same seed", policy.scores(*given, np.random.default_rng(i)), scores)
            alone.append(scores)
        rngs = [np.random.default_rng(i) for i in range(r)]
        together = policy.scores(estimates, Progress(t, log_det, 1.0, k), rngs)
        _same(name, "scores in lock-step and trial by trial", together, np.stack(alone))
    for got, before in zip(estimates, kept, strict=True):
        _require(np.array_equal(got, before), name, "scores must leave the estimate as it was")
    bandits = [Bandit(np.eye(3), LinearModel(Bilinear()), policy, seed=1) for _ in range(2)]
    for t in range(20):
        one, two = (bandit.decide(Gaussian([1.0, -0.5], 0.1)) for bandit in bandits)
        _require(one.index == two.index, name, f"bandits with the same seed must decide alike, not at round {t + 1}")
        for bandit, decision in zip(bandits, (one, two), strict=True):
            bandit.learn(decision, reward=float(decision.index))


def check_environment(env: Environment, steps: int = 200) -> None:
    """Check the rounds of two trials: shapes, luck by seed, and rewards whose average under the belief is `expected`.

    Examples
    --------
    >>> from overcast.environments import CoinFlip
    >>> check_environment(CoinFlip())
    """
    name = type(env).__name__
    _require(isinstance(env, Environment), name, "must have a method start(rng)")
    past = np.random.default_rng(0).integers(1 << 30, size=steps)
    for seed in (0, 1):
        trial, twin = env.start(np.random.default_rng(seed)), env.start(np.random.default_rng(seed))
        actions = np.asarray(trial.actions)
        _shape(name, "actions", actions, (len(actions), actions.shape[-1]))
        _same(name, "actions with the same seed", twin.actions, actions)
        taken = past % len(actions)
        rounds = [trial.step(taken[:t]) for t in range(steps)]
        for t, now in enumerate(rounds):
            _round(name, now, len(actions))
            _alike(name, f"round {t + 1} with the same seed", twin.step(taken[:t]), now)
        luck = np.stack([now.rewards - now.expected for now in rounds])
        _average(name, "rewards - expected", luck, np.zeros(len(actions)))
        _average(name, "noise", np.array([now.noise for now in rounds]), np.zeros(()))
        _finite_beliefs(name, rounds)
        if isinstance(env, VectorEnvironment):
            _lock_step(name, env, seed, taken, rounds)


def _round(name: str, now: Round, k: int) -> None:
    _shape(name, "context", now.context, (now.belief.dim,))
    _shape(name, "rewards", now.rewards, (k,))
    _shape(name, "expected", now.expected, (k,))
    _shape(name, "noise", now.noise, ())


def _alike(name: str, which: str, got: Round, expected: Round) -> None:
    for field in ("context", "rewards", "expected", "noise"):
        _same(name, f"{field} of {which}", getattr(got, field), getattr(expected, field))
    _same(name, f"draws of the belief of {which}", _draws(got.belief, 3), _draws(expected.belief, 3))


def _finite_beliefs(name: str, rounds: list[Round]) -> None:
    """Where the support is finite, c_t is one of its points and `expected` the average of f over all of them."""
    seen: dict[bytes, Array] = {}
    for now in rounds:
        rewards = seen.setdefault(now.context.tobytes(), now.rewards)
        _same(name, "rewards of a context that comes again", now.rewards, rewards)
    for now in rounds:
        finite = now.belief.support()
        if finite is None:
            continue
        points, weights = finite
        near = np.isclose(points, now.context, rtol=1e-12, atol=1e-12).all(axis=1)
        _require(bool(weights[near].sum() > 0), name, "the context must be a point of the belief's support")
        known = [seen.get(point.tobytes()) for point in points]
        rows = [row for row in known if row is not None]
        if len(rows) == len(points):
            _same(name, "expected and the average of rewards over the support", now.expected, weights @ np.stack(rows))


def _lock_step(name: str, env: VectorEnvironment, seed: int, taken: Any, rounds: list[Round]) -> None:
    """Trials in lock-step are those on their own, and linear in the environment's features where theta is known."""
    trials = env.start_all([np.random.default_rng(s) for s in (99, seed, 98)])
    actions = trials.actions if trials.actions.ndim == 2 else trials.actions[1]
    for t, now in enumerate(rounds):
        both = trials.step(np.stack([taken[:t]] * 3))
        alone = Round(both.belief[1], both.context[1], both.rewards[1], both.expected[1], float(both.noise[1]))
        _alike(name, f"round {t + 1} in lock-step and alone", alone, now)
        if trials.theta is not None:
            theta = trials.theta if trials.theta.ndim == 1 else trials.theta[1]
            phi = env.features(actions, now.context[None])[:, 0]
            _same(name, "rewards and features times theta", phi @ theta, now.rewards)
            with suppress(NoClosedForm):
                psi = env.features.expected(actions, now.belief)
                _same(name, "expected and expected features times theta", psi @ theta, now.expected)


def _draws(belief: Belief, n: int) -> Array:
    return belief.sample(n, np.random.default_rng(1))


def _require(holds: bool, name: str, text: str) -> None:
    if not holds:
        raise AssertionError(f"{name}: {text}")


def _shape(name: str, what: str, value: Any, shape: tuple[int, ...]) -> None:
    _require(np.shape(value) == shape, name, f"{what} must have shape {shape}, got {np.shape(value)}")
    _require(bool(np.isfinite(value).all()), name, f"{what} must be finite")


def _same(name: str, what: str, got: ArrayLike, expected: ArrayLike) -> None:
    """Compare up to rounding, relative to the largest number."""
    left, right = np.asarray(got, dtype=float), np.asarray(expected, dtype=float)
    _require(left.shape == right.shape, name, f"{what} must agree, got shapes {left.shape} and {right.shape}")
    error = np.abs(left - right).max(initial=0.0)
    scale = 1.0 + np.abs(right).max(initial=0.0)
    _require(bool(error <= 1e-9 * scale), name, f"{what} must agree, got numbers {error:.3g} apart")


def _average(name: str, what: str, draws: Array, expected: Array, slack: float = 1.0) -> None:
    """Compare the average of draws (n, ...) with what it estimates."""
    error = STANDARD_ERRORS * slack * draws.std(axis=0, ddof=1) / np.sqrt(len(draws))
    off = np.abs(draws.mean(axis=0) - expected)
    rounding = 1e-9 * (1.0 + np.abs(draws).max())
    worst = float((off - error).max())
    _require(worst <= rounding, name, f"{what} must be the average of draws, got one {float(off.max()):.3g} apart")
