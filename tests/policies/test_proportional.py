"""Draws with given odds."""

from __future__ import annotations

import numpy as np
from scipy import stats

import overcast as oc
from overcast.models import Progress
from overcast.policies import Policy
from overcast.policies.base import highest
from support import outlook

EXAMPLES: list[Policy] = [
    oc.Proportional(),
]

ODDS = np.array([0.5, 0.2, 0.05, 0.25])
DRAWS = 20_000


def _draw(mask: list[bool]) -> list[int]:
    rng = np.random.default_rng(0)
    estimate, progress = outlook(np.log(ODDS), np.zeros(4)), Progress(1, 0.0, 1.0, 4)
    draws = (oc.Proportional().scores(estimate, progress, rng) for _ in range(DRAWS))
    return [int(highest(np.where(mask, scores, -np.inf))) for scores in draws]


def test_the_highest_score_is_a_draw() -> None:
    """Chi-square at 1e-6, over all actions and over those available."""
    for mask in ([True] * 4, [True, False, True, True]):
        p = np.where(mask, ODDS, 0.0) / ODDS[mask].sum()
        counts = np.bincount(_draw(mask), minlength=4)
        assert not counts[~np.array(mask)].any()
        assert stats.chisquare(counts[mask], DRAWS * p[mask]).pvalue > 1e-6


def test_trials_draw_from_their_own_generators() -> None:
    estimate = outlook(np.log(np.stack([ODDS, ODDS])), np.zeros((2, 4)))
    scores = oc.Proportional().scores(
        estimate, Progress(1, np.zeros(2), 1.0, 4), [np.random.default_rng(i) for i in (3, 4)]
    )
    np.testing.assert_array_equal(scores[1], np.log(ODDS) + np.random.default_rng(4).gumbel(size=4))
