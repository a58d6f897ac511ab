"""Beta in all its forms: a number, a schedule, the paper's width, or none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import overcast as oc
from overcast import confidence
from overcast.models import Estimate, Progress
from overcast.policies import Outlook
from overcast.policies.beta import WithBeta
from support import outlook

KINDS = [oc.UCB, oc.IDS, oc.MostlyGreedy]
PROGRESS = Progress(7, 2.0, 1.0, 3)


class _Told:
    """A learner that knows how much of the noise its residuals show."""

    def __init__(self, share: Any) -> None:
        self.residual_share = share

    def estimate(self, view: None) -> Estimate:
        shape = (*np.shape(self.residual_share), 3)
        return Estimate(np.zeros(shape), np.ones(shape))


def _beta(policy: WithBeta, share: Any = None) -> Any:
    learner: Any = _Told(share)
    return policy.beta_at(Outlook(learner, None), PROGRESS)


@pytest.mark.parametrize("kind", KINDS)
def test_the_forms_of_beta(kind: Any) -> None:
    width = confidence.Expected()
    assert _beta(kind(2)) == 2.0
    assert _beta(kind(lambda t: float(t))) == 7.0
    assert _beta(kind(width)) == width.beta(PROGRESS)
    assert _beta(kind()) == 2.0  # the model does not know its residuals
    assert _beta(kind(), 0.25) == 1.5
    np.testing.assert_allclose(_beta(kind(), np.array([0.0, 0.25, 1.0])), [1.0, 1.5, 2.0])


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
    np.testing.assert_array_equal(oc.UCB().half_interval(Outlook(learner, None), PROGRESS), [[1.0] * 3, [2.0] * 3])
