"""Information-directed sampling against its formula, by hand and where it matters."""

from __future__ import annotations

import math

import numpy as np
import pytest

import overcast as oc
from overcast import IDS, confidence
from overcast._check import Array
from overcast.models import Progress
from overcast.policies import Policy
from overcast.policies.base import highest
from support import outlook

EXAMPLES: list[Policy] = [
    oc.IDS(),
    oc.IDS(0.0),
    oc.IDS(confidence.Observed()),
    oc.IDS(lambda t: float(np.sqrt(t))),
]

RNG = np.random.default_rng(0)
PROGRESS = Progress(3, 1.0, ridge=1.0, actions=3)


def _ratio(mean: Array, width: Array, noise: Array, beta: float) -> Array:
    """gap^2 / information, one action at a time."""
    top = max(m + beta * w for m, w in zip(mean, width, strict=True))
    each = zip(mean, width, noise, strict=True)
    return np.array([(top - (m - beta * w)) ** 2 / math.log(1 + w**2 / s**2) for m, w, s in each])


def test_a_case_by_hand() -> None:
    """Upper bounds 2, 3 and 1; gaps 3 - 0, 3 - (-1) and 3 - 1; information log 2, log 5 and 0 with a noise of 1.

    The third tells nothing; 9 / log 2 = 12.98 and 16 / log 5 = 9.94: the second is taken. With a noise of 2 it tells
    log 2 alone, 16 / log 2 = 23.1, and the first is taken."""
    scores = IDS(1.0).scores(outlook([1.0, 1.0, 1.0], [1.0, 2.0, 0.0]), PROGRESS, RNG)
    np.testing.assert_allclose(scores, [-3 / math.sqrt(math.log(2)), -4 / math.sqrt(math.log(5)), -math.inf])
    assert highest(scores) == 1
    noisy = outlook([1.0, 1.0, 1.0], [1.0, 2.0, 0.0], noise=[1.0, 2.0, 1.0])
    assert highest(IDS(1.0).scores(noisy, PROGRESS, RNG)) == 0


@pytest.mark.parametrize("beta", [0.1, 1.0, 7.0])
def test_scores_rank_as_the_ratio(beta: float) -> None:
    rng = np.random.default_rng(1)
    mean, width, noise = rng.normal(size=(40, 6)), rng.random((40, 6)), rng.uniform(0.2, 3.0, (40, 6))
    scores = IDS(beta).scores(outlook(mean, width, noise), PROGRESS, RNG)
    for i in range(40):
        np.testing.assert_allclose(scores[i] ** 2, _ratio(mean[i], width[i], noise[i], beta), rtol=1e-10)


def test_beta_follows_the_ways_of_ucb() -> None:
    given, theorem = outlook([1.0, 0.5], [0.3, 0.4]), confidence.Expected()
    beta = float(theorem.beta(PROGRESS))
    for policy in (IDS(theorem), IDS(lambda t: beta)):
        np.testing.assert_allclose(
            policy.scores(given, PROGRESS, RNG), IDS(beta).scores(given, PROGRESS, RNG), rtol=1e-12
        )


def test_it_prefers_an_action_of_little_noise() -> None:
    """Both may be the best; the one that looks a little worse tells far more."""
    means, widths = [1.0, 0.9], [0.5, 0.5]
    assert highest(IDS(1.0).scores(outlook(means, widths), PROGRESS, RNG)) == 0
    assert highest(IDS(1.0).scores(outlook(means, widths, noise=[2.0, 0.1]), PROGRESS, RNG)) == 1


def test_what_tells_nothing_wins_only_if_it_is_surely_the_best() -> None:
    known = outlook([5.0, 1.0, 0.0], [0.0, 1.0, 0.0])
    np.testing.assert_array_equal(IDS(1.0).scores(known, PROGRESS, RNG)[[0, 2]], [0.0, -np.inf])
    assert highest(IDS(1.0).scores(known, PROGRESS, RNG)) == 0
    rival = outlook([5.0, 4.9, 0.0], [0.0, 1.0, 0.0])
    assert highest(IDS(1.0).scores(rival, PROGRESS, RNG)) == 1
    settled = outlook([1.0, 3.0, 3.0], [0.0, 0.0, 0.0])
    assert highest(IDS(1.0).scores(settled, PROGRESS, RNG)) == 1


def test_actions_that_cannot_be_taken_set_no_standard() -> None:
    """With the first action out of reach, the others are compared with each other; one is always finite."""
    mean, width = [9.0, 1.0, 0.8], [0.0, 0.0, 0.0]
    scores = IDS(1.0).scores(outlook(mean, width, available=[1, 2]), PROGRESS, RNG)
    np.testing.assert_array_equal(scores[1:], [0.0, -np.inf])
    few = IDS(2.0).scores(outlook([9.0, 1.0, 0.8], [3.0, 0.5, 0.9], available=[1, 2]), PROGRESS, RNG)
    np.testing.assert_allclose(few[1:], IDS(2.0).scores(outlook([1.0, 0.8], [0.5, 0.9]), PROGRESS, RNG))


@pytest.mark.parametrize("size", [1e-200, 1e-12, 1e12, 1e150])
def test_sizes_that_squares_cannot_hold(size: float) -> None:
    """Rewards, widths and noise in another unit leave the ranking as it is; of vanishing widths, too, one is finite."""
    mean, width, noise = np.array([1.0, 0.9, 0.2]), np.array([0.1, 0.5, 0.4]), np.array([1.0, 2.0, 0.3])
    want = IDS(1.0).scores(outlook(mean, width, noise), PROGRESS, RNG)
    got = IDS(1.0).scores(outlook(size * mean, size * width, size * noise), PROGRESS, RNG)
    np.testing.assert_allclose(got / size, want, rtol=1e-12)
    assert np.isfinite(IDS(1.0).scores(outlook(np.zeros(3), size * width), PROGRESS, RNG)).all()


def test_without_noise_an_action_tells_all_there_is() -> None:
    scores = IDS(1.0).scores(outlook([1.0, 0.0], [0.5, 0.5], noise=[1.0, 0.0]), PROGRESS, RNG)
    assert np.isfinite(scores).all()
    assert highest(scores) == 1
