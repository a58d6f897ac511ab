"""Greedy takes the highest mean."""

from __future__ import annotations

import numpy as np

import overcast as oc
from overcast import Greedy
from overcast.models import Progress
from overcast.policies import Policy
from support import outlook

EXAMPLES: list[Policy] = [oc.Greedy()]


def test_greedy_takes_the_highest_mean() -> None:
    given = outlook([0.5, -1.0, 0.6], [9.0, 9.0, 0.0])
    progress = Progress(1, 0.0, 1.0, 3)
    np.testing.assert_array_equal(Greedy().scores(given, progress, np.random.default_rng(0)), given.mean)
