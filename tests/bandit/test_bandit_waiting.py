"""Decisions that wait for their rewards, and forecasts that were only asked about."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pytest

import overcast as oc
from overcast import kernels
from overcast.features import Bilinear, Disjoint
from overcast.models import Model
from overcast.policies import Policy

NAMES = [f"arm {i}" for i in range(5)]


def _bandit(policy: Policy | None = None, ridge: float | None = None) -> oc.Bandit:
    return oc.Bandit(NAMES, oc.LinearModel(Disjoint(5), ridge=ridge), policy or oc.UCB())


def _taught(bandit: oc.Bandit, rounds: int = 20) -> oc.Bandit:
    rng = np.random.default_rng(0)
    for _ in range(rounds):
        decision = bandit.decide([1.0])
        bandit.learn(decision, decision.index + float(rng.normal()))
    return bandit


@pytest.mark.parametrize("policy", [oc.UCB(), oc.IDS()], ids=repr)
def test_decisions_before_the_first_reward_spread_over_the_actions(policy: Policy) -> None:
    bandit = _bandit(policy)
    assert {bandit.decide([1.0]).action for _ in NAMES} == set(NAMES)


def test_a_model_with_a_ridge_waits_as_the_paper_does() -> None:
    bandit = _bandit(oc.UCB(2.0), ridge=1.0)
    assert {bandit.decide([1.0]).index for _ in NAMES} == {0}


def test_open_decisions_shrink_widths_and_leave_means() -> None:
    bandit = _taught(_bandit())
    known = bandit.estimate([1.0])
    first, second = bandit.decide([1.0]), bandit.decide([1.0])
    np.testing.assert_array_equal(first.top(5)[0].width, known.width[first.index])
    by_name = {option.action: option for option in second.top(5)}
    for i, name in enumerate(NAMES):
        assert by_name[name].mean == pytest.approx(known.mean[i])
        if i == first.index:
            assert by_name[name].width < known.width[i]
        else:
            assert by_name[name].width == pytest.approx(known.width[i])
    np.testing.assert_array_equal(bandit.estimate([1.0]).width, known.width)  # which says what is known


def test_rewards_in_order_count_in_full_and_rewards_that_never_come_count_less() -> None:
    in_order, sparse = _bandit(), _bandit()
    for t in range(40):
        decision = in_order.decide([1.0])
        if t >= 10:
            in_order.learn(next(iter(in_order.state.pending.open)), 1.0)
        decision = sparse.decide([1.0])
        if t % 10 == 9:  # one in ten, at once
            sparse.learn(decision, 1.0)
    evidence, share = in_order.state.pending.awaited()
    assert len(evidence) == 10
    assert share == 1.0
    evidence, share = sparse.state.pending.awaited()
    assert len(evidence) == 36
    assert share == pytest.approx(0.1)


def test_a_file_keeps_what_is_awaited(tmp_path: Path) -> None:
    bandit = _taught(_bandit())
    for _ in range(3):
        bandit.decide([1.0])
    bandit.save(tmp_path / "bandit")
    loaded = oc.Bandit.load(tmp_path / "bandit")
    assert loaded.state.pending.awaited()[1] == bandit.state.pending.awaited()[1]
    assert [loaded.decide([1.0]).index for _ in range(10)] == [bandit.decide([1.0]).index for _ in range(10)]


def test_a_question_and_a_forgotten_decision_leave_no_trace() -> None:
    """Standard features follow from the beliefs that rewards were learnt for, and from no others."""
    rng = np.random.default_rng(1)
    plain, asked = (oc.Bandit(np.eye(3), oc.LinearModel(Bilinear()), oc.UCB()) for _ in range(2))
    for t in range(30):
        far = oc.Gaussian(1e3 * rng.normal(size=2), 1e4)
        asked.estimate(far)
        asked.forget(asked.decide(far))
        belief = oc.Gaussian([1.0, rng.normal()], [0.0, 0.2])
        one, two = plain.decide(belief), asked.decide(belief)
        assert one.index == two.index
        np.testing.assert_array_equal(one.score, two.score)
        reward = float(rng.normal())
        context = [1.0, 0.3] if t % 3 == 0 else None
        plain.learn(one, reward, context=context)
        asked.learn(two, reward, context=context)


@pytest.mark.parametrize("missing", [1e9, -1e20, 9.97e36, 1e150, -1.79e308])
@pytest.mark.parametrize(
    "model",
    [
        oc.LinearModel(Bilinear()),
        oc.LinearModel(Bilinear(), ridge=0.3, noise=0.2),
        oc.LinearModel(Bilinear(), window=7),
        oc.KernelModel(kernels.Product(kernels.RBF(1.3), kernels.RBF(0.7))),
        oc.KernelModel(),
    ],
    ids=repr,
)
@pytest.mark.parametrize("policy", [oc.UCB(), oc.Greedy()], ids=repr)
def test_a_missing_value_that_was_taken_for_a_context_stops_no_later_decision(
    model: Model, policy: Policy, missing: float
) -> None:
    """The decision about it is refused, or waits without harm: other widths stay finite, and do not vanish."""
    rng, bandit = np.random.default_rng(0), oc.Bandit({"a": [1.0, 2.0], "b": [0.5, -1.0]}, model, policy)
    for _ in range(10):
        bandit.learn(bandit.decide(oc.Gaussian(rng.normal(size=2), 0.1)), float(rng.normal()))
    known = bandit.estimate([1.0, 2.0])
    with contextlib.suppress(ValueError), np.errstate(over="ignore", invalid="ignore"):
        bandit.decide([missing, 0.0])
    found = bandit.decide([1.0, 2.0]).top(2)
    widths = np.array([option.width for option in sorted(found, key=lambda option: option.index)])
    assert (widths <= 1.001 * known.width).all()
    assert widths.max() > 1e-3 * known.width.max()
    oc.Bandit.from_bytes(bandit.to_bytes())
