"""Rounds that are awaited, against learning what is expected of them and against dense formulas."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import overcast as oc
from kernel_support import ARMS, KERNELS, SMOOTH, C, belief_of, log_of
from overcast.kernels import RBF, Product
from overcast.models.kernel import untuned
from overcast.models.kernel.awaited import Awaited
from overcast.models.kernel.learner import Evidence, KernelLearner
from overcast.models.kernel.untuned import Seen, UntunedLearner

BELIEF = oc.Gaussian([0.2, -0.1], 0.1)


def _learnt(model: oc.KernelModel, t: int, seed: int = 0) -> UntunedLearner:
    learner = model.start(ARMS, C)
    points = learner.at(ARMS)
    assert isinstance(learner, UntunedLearner)
    for index, belief, reward in log_of("mixed", t, seed):
        learner.learn(learner.evidence(points, learner.view(belief), index), 3.0 + reward)
    return learner


def _open(learner: UntunedLearner, n: int) -> list[Seen]:
    rng = np.random.default_rng(9)
    points = learner.at(ARMS)
    return [learner.evidence(points, learner.view(belief_of("mixed", rng)), i % len(ARMS)) for i in range(n)]


@pytest.mark.parametrize("model", [oc.KernelModel(), *map(oc.KernelModel, KERNELS.values())], ids=repr)
def test_widths_are_those_after_learning_what_is_expected(model: oc.KernelModel) -> None:
    learner = _learnt(model, 13)
    points = learner.at(ARMS)
    waiting, twin = _open(learner, 7), copy.deepcopy(learner)
    twin._due = 1000  # scales stay, as they do while rewards are awaited
    for one in waiting:
        taken = int(np.flatnonzero((one.action == ARMS).all(axis=1))[0])
        twin.learn(one, float(twin.estimate(points, one.clouds).mean[taken]))
    before = learner.estimate(points, learner.view(BELIEF))
    got, expected = (
        learner.awaiting(waiting).estimate(points, learner.view(BELIEF)),
        twin.estimate(points, twin.view(BELIEF)),
    )
    np.testing.assert_allclose(got.mean, before.mean, rtol=1e-12)
    np.testing.assert_allclose(got.mean, expected.mean, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(got.width, expected.width, rtol=1e-6, atol=1e-9)
    assert (got.width < before.width).all()
    after = learner.estimate(points, learner.view(BELIEF))
    np.testing.assert_array_equal(after.width, before.width)


def test_a_share_of_the_rounds_makes_their_noise_larger() -> None:
    """Against the posterior covariance of rounds and actions, from an inverse of the whole matrix."""
    learner = KernelLearner(oc.KernelModel(SMOOTH, 0.3), ARMS, C)
    points = learner.at(ARMS)
    views = [learner.view(belief) for _, belief, _ in log_of("mixed", 9)]
    rounds = [Evidence(ARMS[i % len(ARMS)], view) for i, view in enumerate(views)]
    for one in rounds[:5]:
        learner.learn(one, 0.0)
    own = learner.view(BELIEF)
    asked = [*rounds, *(Evidence(x, own) for x in ARMS)]
    gram = learner.covariance(asked)
    by_action = np.array([learner.between([one], points, own)[0] for one in asked])
    np.testing.assert_allclose(gram[:, 9:], by_action, rtol=1e-12)
    np.testing.assert_allclose(gram, gram.T, rtol=1e-12)
    inverse, ones = np.linalg.inv(gram[:5, :5] + 0.3 * np.eye(5)), learner.factor.solve(np.ones((5, 1)))[:, 0]
    rest = 1.0 - inverse.sum(axis=0) @ gram[:5]
    posterior = gram - gram[:, :5] @ inverse @ gram[:5] + np.outer(rest, rest) / inverse.sum()
    for share in (0.25, 1.0):
        cross = posterior[5:9, 9:]
        expected = np.diag(cross.T @ np.linalg.inv(posterior[5:9, 5:9] + 0.3 / share * np.eye(4)) @ cross)
        got = Awaited(learner, rounds[5:], share, ones).reduction(points, own, rest[9:])
        np.testing.assert_allclose(got, expected, rtol=1e-9)


@pytest.mark.parametrize("model", [oc.KernelModel(), oc.KernelModel(Product(RBF(1.0), RBF(1.0)))], ids=repr)
def test_without_rewards_all_actions_are_tried(model: oc.KernelModel) -> None:
    learner = model.start(np.eye(6), C)
    points = learner.at(np.eye(6))
    waiting: list[Seen] = []
    for _ in range(6):
        now = learner.awaiting(waiting) if waiting else learner
        view = learner.view(BELIEF)
        waiting.append(learner.evidence(points, view, int(now.estimate(points, view).width.argmax())))
    assert {int(one.action.argmax()) for one in waiting} == set(range(6))


def test_the_latest_rounds_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(untuned, "MOST_AWAITED", 4)
    learner = _learnt(oc.KernelModel(SMOOTH), 8)
    points = learner.at(ARMS)
    waiting = _open(learner, 7)
    view = learner.view(BELIEF)
    few, many = (learner.awaiting(rounds).estimate(points, view).width for rounds in (waiting[3:], waiting))
    np.testing.assert_array_equal(few, many)
