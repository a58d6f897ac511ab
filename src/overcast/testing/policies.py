"""The conformance check of a policy."""

from __future__ import annotations

from typing import Any

import numpy as np

from overcast._check import Array
from overcast.bandit import Bandit
from overcast.beliefs import Gaussian
from overcast.beliefs.stacked import GaussianStack
from overcast.features import Bilinear
from overcast.models import LinearModel, Progress
from overcast.policies import Outlook, Policy
from overcast.testing._compare import require, require_equal, require_shape


def check_policy(policy: Policy) -> None:
    """Check that scores are finite or -inf and reproducible, that a bandit can use them, and that laws sum to one.

    A policy that sets `lockstep` must give r trials at once the scores of single trials.

    Examples
    --------
    >>> from overcast import UCB
    >>> check_policy(UCB(beta=2.0))
    """
    name, (r, k, c) = type(policy).__name__, (3, 4, 2)
    rng = np.random.default_rng(0)
    model, actions = LinearModel(Bilinear(), ridge=1.0), rng.normal(size=(k, 2))
    all_trials, trials = model.start_all(actions, c, r), [model.start(actions, c) for _ in range(r)]
    all_points, points = all_trials.at(actions), trials[0].at(actions)
    for t in range(1, 31):
        means = rng.normal(size=(r, c))
        views = [learner.view(Gaussian(m, 0.5)) for learner, m in zip(trials, means, strict=True)]
        view = all_trials.view(GaussianStack(means, 0.5))
        if t in (1, 2, 30):
            alone = []
            for i, (learner, trial_view) in enumerate(zip(trials, views, strict=True)):
                arguments = Outlook(learner, points, trial_view), Progress(t, learner.log_det, model.ridge, k)
                alone.append(_scores(name, policy, *arguments, np.random.default_rng(i)))
                again = _scores(name, policy, *arguments, np.random.default_rng(i))
                _same_scores(name, "scores with the same seed", again, alone[-1])
            if policy.lockstep:
                outlook, rngs = Outlook(all_trials, all_points, view), [np.random.default_rng(i) for i in range(r)]
                together = _scores(name, policy, outlook, Progress(t, all_trials.log_det, model.ridge, k), rngs)
                _same_scores(name, "scores in lock-step and trial by trial", together, np.stack(alone))
            outlook = Outlook(trials[0], points, views[0])
            _probabilities(name, policy, outlook, Progress(t, trials[0].log_det, model.ridge, k))
        index, rewards = rng.integers(k, size=r), rng.normal(size=r)
        all_trials.learn(all_trials.evidence(all_points, view, index), rewards)
        for learner, trial_view, i, y in zip(trials, views, index, rewards, strict=True):
            learner.learn(learner.evidence(points, trial_view, int(i)), float(y))
    bandits = [Bandit(np.eye(3), LinearModel(Bilinear(), ridge=1.0), policy, seed=1) for _ in range(2)]
    for t in range(20):
        available = [0, 2] if t % 3 == 2 else None
        first, second = (bandit.decide(Gaussian([1.0, -0.5], 0.1), available) for bandit in bandits)
        require(
            first.index == second.index, name, f"bandits with the same seed must decide alike, not at round {t + 1}"
        )
        for bandit, decision in zip(bandits, (first, second), strict=True):
            bandit.learn(decision, reward=float(decision.index))


def _scores(name: str, policy: Policy, outlook: Outlook, progress: Progress, rng: Any) -> Array:
    """Ask for scores; check that each is finite or -inf, and that asking has left the estimate unchanged."""
    before = outlook.mean.copy(), outlook.width.copy()
    scores = policy.scores(outlook, progress, rng)
    require_shape(name, "scores", np.where(np.equal(scores, -np.inf), 0.0, scores), before[0].shape)
    for got, kept in zip((outlook.mean, outlook.width), before, strict=True):
        require(np.array_equal(got, kept), name, "scores must leave the estimate as it was")
    return scores


def _probabilities(name: str, policy: Policy, outlook: Outlook, progress: Progress) -> None:
    """Check that the law, if known, sums to one."""
    law = policy.law(outlook, progress)
    if law is None:
        return
    require_shape(name, "law", law, outlook.mean.shape)
    require(float(law.min()) >= 0.0, name, f"law must be >= 0, got {law.min():.3g}")
    require(abs(law.sum() - 1.0) < 1e-9, name, f"law must add up to 1, got {law.sum():.6g}")


def _same_scores(name: str, what: str, got: Array, expected: Array) -> None:
    never = np.equal(expected, -np.inf)
    require(np.array_equal(np.equal(got, -np.inf), never), name, f"{what} must be -inf for the same actions")
    require_equal(name, what, np.where(never, 0.0, got), np.where(never, 0.0, expected))
