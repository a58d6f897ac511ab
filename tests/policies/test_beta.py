"""Beta in all its forms: a number, a schedule, the paper's width, or none."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import overcast as oc
from overcast import confidence
from overcast.models import Estimate, Progress
from overcast.policies import Outlook
from overcast.policies.beta import GROWTH, OFFSET, UNKNOWN, WithBeta
from support import outlook

KINDS = [oc.UCB, oc.IDS, oc.MostlyGreedy]
PROGRESS = Progress(7, 2.0, 1.0, 3)


class _Told:
    """A learner that knows how much of the noise its residuals show, and how well an average action is known."""

    def __init__(self, share: Any, even: float = 1.0, diversity: Any = None) -> None:
        self.residual_share, self.even_variance = share, None if share is None else even * np.ones(np.shape(share))
        self.diversity = diversity

    def estimate(self, points: None, view: None) -> Estimate:
        shape = (*np.shape(self.residual_share), 3)
        return Estimate(np.zeros(shape), np.ones(shape))


def _beta(policy: WithBeta, share: Any = None, even: float = 1.0, diversity: Any = None) -> Any:
    learner: Any = _Told(share, even, diversity)
    return policy.beta_at(Outlook(learner, None, None), PROGRESS)


@pytest.mark.parametrize("kind", KINDS)
def test_the_forms_of_beta(kind: Any) -> None:
    width = confidence.Expected()
    assert _beta(kind(2)) == 2.0
    assert _beta(kind(lambda t: float(t))) == 7.0
    assert _beta(kind(width)) == width.beta(PROGRESS)
    assert _beta(kind()) == 2.0  # the model does not know its residuals


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("even", [0.01, 1.0, 50.0])
@pytest.mark.parametrize("diversity", [None, 0.0, 0.6])
def test_without_beta_what_lags_behind_decides(kind: Any, even: float, diversity: float | None) -> None:
    """beta^2 = 1 + GROWTH (1 - OFFSET q) s^2 log max(width^2 / even, 1), for widths of one."""
    shares = np.array([0.0, 0.25, 1.0])
    growth = GROWTH * (1.0 - OFFSET * (UNKNOWN if diversity is None else diversity))
    expected = [math.sqrt(1.0 + growth * s**2 * math.log(max(1.0 / even, 1.0))) for s in shares]
    by_trial = None if diversity is None else np.full(3, diversity)
    np.testing.assert_allclose(_beta(kind(), shares, even, by_trial), np.repeat(expected, 3).reshape(3, 3))
    for share, beta in zip(shares.tolist(), expected, strict=True):
        np.testing.assert_allclose(_beta(kind(), share, even, diversity), beta)


@pytest.mark.parametrize("kind", KINDS)
def test_only_the_papers_width_is_a_confidence(kind: Any) -> None:
    assert kind(confidence.Kernel()).confidence == confidence.Kernel()
    assert kind().confidence is None
    assert kind(2.0).confidence is None
    assert kind(lambda t: 1.0).confidence is None


def test_half_the_interval_is_beta_widths_trial_by_trial() -> None:
    policy = oc.UCB(lambda t: 0.5)
    np.testing.assert_array_equal(policy.half_interval(outlook([0.0, 0.0], [2.0, 4.0]), PROGRESS), [1.0, 2.0])
    learner: Any = _Told(np.array([0.0, 1.0]))
    half = oc.UCB().half_interval(Outlook(learner, None, None), PROGRESS)
    np.testing.assert_array_equal(half, oc.UCB().beta_at(Outlook(learner, None, None), PROGRESS))  # widths are one
    assert half.shape == (2, 3)


@pytest.mark.parametrize("kind", KINDS)
def test_the_policy_is_shown_as_it_is_written(kind: Any) -> None:
    assert "beta" not in repr(kind())
    for policy in (kind(), kind(2.0), kind(confidence.Observed(0.1))):
        assert eval(repr(policy), {**vars(oc), **vars(confidence)}) == policy
