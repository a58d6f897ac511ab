"""Conformance checks to run on classes of your own: beliefs, feature maps, kernels, policies and environments.

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
from overcast.beliefs.cloud import Cloud
from overcast.beliefs.stacked import GaussianStack
from overcast.environments import Environment, Round, VectorEnvironment
from overcast.features import Bilinear, FeatureMap, Separable
from overcast.kernels import JointKernel, Kernel
from overcast.models import LinearModel, Outlook, Progress
from overcast.policies import Policy

__all__ = ["check_belief", "check_environment", "check_features", "check_kernel", "check_policy"]

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
    gaussian = _gaussian(s)
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


def check_kernel(kernel: JointKernel, points: ArrayLike) -> None:
    """Check Gram matrices, mean embeddings, and parameters with their derivatives, for distinct points (n, p).

    A kernel of actions and contexts, such as `Product`, is checked part by part, with the points as both.

    Examples
    --------
    >>> from overcast.kernels import RBF
    >>> check_kernel(RBF(0.5), points=[[0.0, 1.0], [0.5, -1.0], [2.0, 0.3]])
    """
    name, u = type(kernel).__name__, np.array(points, dtype=float)
    twin = kernel.with_parameters(kernel.parameters())
    _same(name, "parameters after with_parameters(parameters())", twin.parameters(), kernel.parameters())
    _require(all(value > 0 for value in kernel.parameters()), name, "parameters must be > 0")
    if not isinstance(kernel, Kernel):
        for part in (part for term in kernel.terms(u.shape[1]) for part in term):
            check_kernel(part, u)
        return
    n = len(u)
    gram = kernel(u, u)
    _shape(name, "kernel(points, points)", gram, (n, n))
    _same(name, "k(u, v) and k(v, u)", gram.T, gram)
    for i, j in np.ndindex(n, n):
        _same(name, f"k of points {i} and {j} on their own", kernel(u[i : i + 1], u[j : j + 1])[0, 0], gram[i, j])
    smallest = float(np.linalg.eigvalsh(gram)[0])
    positive = smallest >= -1e-9 * float(np.trace(gram))
    _require(positive, name, f"the matrix of k(u, v) must have no negative eigenvalue, got {smallest:.3g}")
    _same(name, "diagonal and k(u, u)", kernel.diagonal(u), np.diagonal(gram))
    _same(name, "k after with_parameters(parameters())", kernel.with_parameters(kernel.parameters())(u, u), gram)
    _embeddings(name, kernel, u, gram)
    _derivatives(name, kernel, [Cloud(np.full(n, 1.0 / n), u)])
    for _, atom in kernel.atoms():
        known: list[Belief] = [PointMass(u[0]), Ensemble(u)]
        with suppress(NoClosedForm):
            atom.embed(_gaussian(u))
            known.append(_gaussian(u))
        _derivatives(name, atom, [atom.embed(belief) for belief in known])
        _series(name, atom, u)


def _embeddings(name: str, kernel: Kernel, u: Array, gram: Array) -> None:
    weights = np.arange(1.0, len(u) + 1) / (len(u) * (len(u) + 1) / 2)
    at, members, gaussian = [PointMass(point) for point in u], Ensemble(u, weights), _gaussian(u)
    _same(name, "expected between PointMass beliefs and k", kernel.expected(at, at), gram)
    _same(name, "expected under Ensemble and the average", kernel.expected([members], at)[0], weights @ gram)
    double = weights @ gram @ weights
    _same(name, "expected between Ensembles and the average", kernel.expected([members], [members])[0, 0], double)
    rng = np.random.default_rng(1)
    left, right = gaussian.sample(20, rng), gaussian.sample(20, rng)
    sampled = kernel.sampled([gaussian], [gaussian], 20, np.random.default_rng(1))[0, 0]
    _same(name, "sampled and the average over the same draws", sampled, kernel(left, right).mean())
    try:
        mean, double = kernel.expected([gaussian], at)[0], kernel.expected([gaussian], [gaussian])[0, 0]
    except NoClosedForm as error:
        _require("samples=" in str(error), name, f"NoClosedForm must say to pass samples=, got {error}")
        return
    draws, others = _draws(gaussian, DRAWS), gaussian.sample(DRAWS, np.random.default_rng(2))
    _average(name, "expected under Gaussian", kernel(draws, u), mean)
    parts = zip(np.split(draws, DRAWS // 100), np.split(others, DRAWS // 100), strict=True)
    pairs = np.concatenate([np.diagonal(kernel(one, other)) for one, other in parts])
    _average(name, "expected between Gaussians", pairs, np.asarray(double))


def _derivatives(name: str, kernel: Kernel, clouds: list[Cloud]) -> None:
    """Compare `gradient` with central differences of `compare`."""
    values, step = np.array(kernel.parameters()), 1e-5
    for left in clouds if len(values) else ():
        for right in clouds:
            n, m = len(left.weights), len(right.weights)
            got = kernel.gradient(left, right)
            _shape(name, "gradient", got, (len(values), n, m))
            for i, row in enumerate(got):
                factors = np.exp(step * np.eye(len(values))[i])
                high, low = (kernel.with_parameters((values * f).tolist()) for f in (factors, 1.0 / factors))
                slope = (high.compare(left, right) - low.compare(left, right)) / (2.0 * step)
                off = float(np.abs(row - slope).max())
                close = off <= 1e-6 * (1.0 + float(np.abs(slope).max()))
                _require(close, name, f"gradient by parameter {i} must be the slope of compare, got {off:.3g} off it")


def _series(name: str, kernel: Kernel, u: Array) -> None:
    """Compare the cosine series of a smooth kernel with the kernel."""
    series = kernel.series(np.ptp(u, axis=0))
    if series is None:
        return
    product = np.ones((len(u), len(u)))
    for column, (step, weights) in zip(u.T, series, strict=True):
        waves = np.cos(np.multiply.outer(np.subtract.outer(column, column), step * np.arange(len(weights))))
        product *= 2.0 * (waves @ weights) - weights[0]
    _same(name, "series and k", product, kernel(u, u))


def check_policy(policy: Policy) -> None:
    """Check that scores are finite or -inf, repeat by seed, treat trials in lock-step as alone, and drive a bandit.

    Examples
    --------
    >>> from overcast import UCB
    >>> check_policy(UCB(beta=2.0))
    """
    name, (r, k, c) = type(policy).__name__, (3, 4, 2)
    rng = np.random.default_rng(0)
    model, actions = LinearModel(Bilinear(), ridge=1.0), rng.normal(size=(k, 2))
    all_trials, trials = model.start_all(actions, c, r), [model.start(actions, c) for _ in range(r)]
    for t in range(1, 31):
        means = rng.normal(size=(r, c))
        views = [learner.encode(Gaussian(m, 0.5)) for learner, m in zip(trials, means, strict=True)]
        view = all_trials.encode(GaussianStack(means, 0.5))
        if t in (1, 2, 30):
            outlook, rngs = Outlook(all_trials, view), [np.random.default_rng(i) for i in range(r)]
            alone = []
            for i, (learner, own) in enumerate(zip(trials, views, strict=True)):
                given = Outlook(learner, own), Progress(t, float(learner.log_det), model.ridge, k)
                alone.append(_scores(name, policy, *given, np.random.default_rng(i)))
                again = _scores(name, policy, *given, np.random.default_rng(i))
                _same_scores(name, "scores with the same seed", again, alone[-1])
            together = _scores(name, policy, outlook, Progress(t, all_trials.log_det, model.ridge, k), rngs)
            _same_scores(name, "scores in lock-step and trial by trial", together, np.stack(alone))
        index, rewards = rng.integers(k, size=r), rng.normal(size=r)
        all_trials.learn(all_trials.evidence(view, index), rewards)
        for learner, own, i, y in zip(trials, views, index, rewards, strict=True):
            learner.learn(learner.evidence(own, int(i)), float(y))
    bandits = [Bandit(np.eye(3), LinearModel(Bilinear(), ridge=1.0), policy, seed=1) for _ in range(2)]
    for t in range(20):
        available = [0, 2] if t % 3 == 2 else None
        one, two = (bandit.decide(Gaussian([1.0, -0.5], 0.1), available) for bandit in bandits)
        _require(one.index == two.index, name, f"bandits with the same seed must decide alike, not at round {t + 1}")
        for bandit, decision in zip(bandits, (one, two), strict=True):
            bandit.learn(decision, reward=float(decision.index))


def _scores(name: str, policy: Policy, outlook: Outlook, progress: Progress, rng: Any) -> Array:
    """Return the scores, finite or -inf."""
    before = outlook.mean.copy(), outlook.width.copy()
    scores = policy.scores(outlook, progress, rng)
    _shape(name, "scores", np.where(np.equal(scores, -np.inf), 0.0, scores), before[0].shape)
    for got, kept in zip((outlook.mean, outlook.width), before, strict=True):
        _require(np.array_equal(got, kept), name, "scores must leave the estimate as it was")
    return scores


def _same_scores(name: str, what: str, got: Array, expected: Array) -> None:
    never = np.equal(expected, -np.inf)
    _require(np.array_equal(np.equal(got, -np.inf), never), name, f"{what} must be -inf for the same actions")
    _same(name, what, np.where(never, 0.0, got), np.where(never, 0.0, expected))


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
        alike = len({np.ndim(now.noise) for now in rounds}) == 1
        _require(alike, name, "noise must be one number in all rounds, or (k,) in all")
        luck = np.stack([now.rewards - now.expected for now in rounds])
        _average(name, "rewards - expected", luck, np.zeros(len(actions)))
        if np.ndim(rounds[0].noise) == 0:  # one that depends on the action may be cut off at the ends of a scale
            _average(name, "noise", np.array([now.noise for now in rounds]), np.zeros(()))
        _finite_beliefs(name, rounds)
        if isinstance(env, VectorEnvironment):
            _lock_step(name, env, seed, taken, rounds)


def _round(name: str, now: Round, k: int) -> None:
    _shape(name, "context", now.context, (now.belief.dim,))
    _shape(name, "rewards", now.rewards, (k,))
    _shape(name, "expected", now.expected, (k,))
    _shape(name, "noise", now.noise, (k,) if np.ndim(now.noise) else ())


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
        _alike(name, f"round {t + 1} in lock-step and alone", both.of(1), now)
        if trials.theta is not None:
            theta = trials.theta if trials.theta.ndim == 1 else trials.theta[1]
            phi = env.features(actions, now.context[None])[:, 0]
            _same(name, "rewards and features times theta", phi @ theta, now.rewards)
            with suppress(NoClosedForm):
                psi = env.features.expected(actions, now.belief)
                _same(name, "expected and expected features times theta", psi @ theta, now.expected)


def _gaussian(points: Array) -> Gaussian:
    """Return a normal belief around the points, with a full covariance."""
    c = points.shape[1]
    return Gaussian(points.mean(axis=0), np.cov(points.T, bias=True).reshape(c, c) + np.eye(c))


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
