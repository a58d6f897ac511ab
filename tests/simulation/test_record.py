"""Records: arrays by name, stacked over steps, joined over parts; means and standard errors."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import overcast as oc
from overcast.confidence import Expected
from overcast.environments import Adversarial
from overcast.simulation.record import Record, Step, arrays, join, mean_and_error, stack, two_standard_errors


@pytest.fixture(scope="module")
def runs() -> oc.Runs:
    env = Adversarial(k=4, dim=2)
    return oc.simulate(env, oc.LinearModel(env.features, ridge=1.0), oc.UCB(Expected(0.1, 0.1)), steps=12, trials=9)


def test_join_puts_trials_one_after_the_other(runs: oc.Runs) -> None:
    found = arrays(runs)
    assert {"regret", "expected_regret", "clairvoyant_regret", "choices", "log_det", "feature_norm"} < set(found)
    parts = [{name: values[rows] for name, values in found.items()} for rows in (slice(2), slice(2, 3), slice(3, 9))]
    whole = join(parts)
    assert whole.keys() == found.keys()
    for name, values in whole.items():
        np.testing.assert_array_equal(values, found[name])


def test_arrays_that_are_none_have_no_name(runs: oc.Runs) -> None:
    assert arrays(runs).keys() - arrays(replace(runs, covered=None)).keys() == {"covered"}
    assert runs.distance is None
    assert "distance" not in arrays(runs)


def test_stacked_steps_have_cumulative_regrets_and_all_else_as_it_is() -> None:
    def step(scale: int) -> Step:
        values = scale * np.array([1.0, -2.0])
        return Step(
            regret=values,
            expected_regret=2.0 * values,
            clairvoyant_regret=np.array([scale, 0]),
            choices=np.array([scale, 7]),
            log_det=values,
        )

    record = Record(**stack([step(1), step(2), step(3)]))
    np.testing.assert_array_equal(record.regret, [[1.0, 3.0, 6.0], [-2.0, -6.0, -12.0]])
    np.testing.assert_array_equal(record.expected_regret, 2.0 * record.regret)
    assert record.clairvoyant_regret.dtype == np.float64
    np.testing.assert_array_equal(record.clairvoyant_regret[0], [1.0, 3.0, 6.0])
    np.testing.assert_array_equal(record.choices, [[1, 2, 3], [7, 7, 7]])
    np.testing.assert_array_equal(record.log_det[0], [1.0, 2.0, 3.0])
    assert record.covered is None


def test_standard_errors_by_hand() -> None:
    values = np.array([[1.0, 0.0], [2.0, 0.0], [6.0, 3.0]])
    # deviations from 3: -2, -1, 3; from 1: -1, -1, 2
    np.testing.assert_allclose(two_standard_errors(values), [2 * math.sqrt(14 / 2 / 3), 2 * math.sqrt(6 / 2 / 3)])
    assert np.isnan(two_standard_errors(values[:1])).all()
    assert mean_and_error(values[:, 0]) == {"mean": 3.0, "two_se": pytest.approx(2 * math.sqrt(7 / 3))}
