"""Perturbed history: the refit it stands for, and a start that is not stuck."""

from __future__ import annotations

import numpy as np
import pytest

import overcast as oc
from overcast import PerturbedHistory
from overcast.models import LinearModel, Progress
from overcast.policies import Outlook, Policy
from support import outlook

EXAMPLES: list[Policy] = [
    oc.PerturbedHistory(),
    oc.PerturbedHistory(0.2),
]

PROGRESS = Progress(3, 1.0, ridge=1.0, actions=3)
RNG = np.random.default_rng(0)


def test_scores_are_means_plus_scaled_perturbations_once_all_actions_are_known() -> None:
    given = outlook([0.5, -1.0], [1.0, 0.25], deviation=[2.0, -3.0])
    np.testing.assert_allclose(PerturbedHistory(0.5).scores(given, PROGRESS, RNG), [1.5, -2.5])


def test_actions_of_which_the_past_says_nothing_come_first() -> None:
    """1 / width^2 - 1 / prior^2 is 0, 0.05, 0.2 and 1, and 0.1 / noise^2 is 0.1, then 0.4 and 0.025."""
    prior = np.array([2.0, 1.0, 1.0, 1.0])
    width = 1.0 / np.sqrt(1.0 / prior**2 + np.array([0.0, 0.05, 0.2, 1.0]))
    mean = [0.1, 0.2, 0.3, 0.4]
    scores = PerturbedHistory().scores(outlook(mean, width, prior=prior), PROGRESS, RNG)
    np.testing.assert_array_equal(scores, [width[0], width[1], -np.inf, -np.inf])
    scores = PerturbedHistory().scores(outlook(mean, width, prior=prior, available=[2, 3]), PROGRESS, RNG)
    np.testing.assert_array_equal(scores, mean)
    scores = PerturbedHistory().scores(outlook(mean, width, noise=0.5, prior=prior), PROGRESS, RNG)
    np.testing.assert_array_equal(scores, [width[0], width[1], width[2], -np.inf])
    scores = PerturbedHistory().scores(outlook(mean, width, noise=2.0, prior=prior), PROGRESS, RNG)
    np.testing.assert_array_equal(scores, [width[0], -np.inf, -np.inf, -np.inf])
    nothing = outlook([0.0, 1.0], [0.0, 0.5], prior=[0.0, 9.0])  # features of zero are known
    np.testing.assert_array_equal(PerturbedHistory().scores(nothing, PROGRESS, RNG), [0.0, 1.0])


@pytest.mark.parametrize("ridge", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_every_independent_action_is_taken_once_to_begin_with(ridge: float, scale: float) -> None:
    """Whatever the ridge, and the unit of rewards and features."""
    bandit = oc.Bandit(list("abcde"), LinearModel(oc.features.Disjoint(5), ridge), PerturbedHistory())
    first = []
    for _ in range(5):
        decision = bandit.decide([scale])
        bandit.learn(decision, 1e6)
        first.append(decision.action)
    assert sorted(first) == list("abcde")


def test_the_law_is_that_of_fitting_perturbed_rewards_again() -> None:
    """How often action 1 is the first of three: by the policy, and by ridge regression on rewards with noise added.

    Two frequencies over n draws each differ by at most sqrt(1 / (2 n)) of standard deviation; five of them, 6e-7.
    """
    rng, n, scale = np.random.default_rng(1), 4000, 0.7
    actions, features = rng.normal(size=(3, 2)), oc.features.Bilinear()
    learner = LinearModel(features, 0.5).start(actions, 2)
    points = learner.at(actions)
    seen, rewards = [], []
    for t in range(12):
        context, reward = rng.normal(size=2), float(rng.normal())
        learner.learn(learner.evidence(points, learner.view(oc.PointMass(context)), t % 3), reward)
        seen.append(features(actions, context[None])[t % 3, 0])
        rewards.append(reward)
    context = np.array([0.5, -0.8])
    given, psi = Outlook(learner, points, learner.view(oc.PointMass(context))), features(actions, context[None])[:, 0]
    taken = [int(PerturbedHistory(scale).scores(given, PROGRESS, rng).argmax()) for _ in range(n)]
    X, y = np.array(seen), np.array(rewards)
    noisy = y[:, None] + scale * rng.normal(size=(12, n))
    again = (psi @ np.linalg.solve(0.5 * np.eye(4) + X.T @ X, X.T @ noisy)).argmax(axis=0)
    for i in range(3):
        share = np.mean(again == i)
        assert abs(np.mean(np.array(taken) == i) - share) <= 5 * np.sqrt(0.5 / n)
    assert len(set(again.tolist())) > 1
