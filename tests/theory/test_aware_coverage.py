"""The confidence set of the model that learns its own scales, with contexts hidden or revealed."""

from __future__ import annotations

import pytest
from scipy import stats

import overcast as oc
from overcast.environments import Synthetic
from overcast.simulation import Setting
from overcast.simulation.batch import Batch
from overcast.simulation.runner import run_batch

TRIALS = 50


@pytest.mark.parametrize("setting", ["hidden", "observed"])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_theta_lies_in_the_set_about_as_often_as_it_says_or_more_often(setting: Setting, level: float) -> None:
    """|theta - theta-hat|^2 <= chi^2_d(level) under P, with scales learnt from the same rewards.

    A set that keeps its level fails with a probability of 0.001 at each of the two rounds.
    """
    env = Synthetic(k=30)
    model = oc.LinearModel(env.features)
    runs = run_batch(Batch(env, model, oc.UCB(), None, 300, setting, 0, 0, TRIALS, watched=(100, 300)))
    assert runs.distance is not None
    assert runs.distance.shape == (TRIALS, 2)
    inside = (runs.distance**2 <= stats.chi2(15).ppf(level)).sum(axis=0)
    assert (inside >= stats.binom(TRIALS, level).ppf(0.001)).all()
