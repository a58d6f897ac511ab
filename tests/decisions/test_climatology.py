"""Statistics of past forecasts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from overcast.decisions.climatology import PENDING, Climatology, statistics_of_means

MEANS = np.random.default_rng(0).normal(3.0, 2.0, size=(3 * PENDING + 5, 2))


@pytest.mark.parametrize("n", [1, 2, PENDING - 1, PENDING, PENDING + 1, len(MEANS)])
def test_mean_and_spread_are_those_of_all_means(n: int) -> None:
    tally = Climatology()
    for mean in MEANS[:n]:
        tally.add(mean)
    statistics = tally.snapshot().statistics()
    assert statistics is not None
    assert statistics.number == n
    np.testing.assert_allclose(statistics.mean, MEANS[:n].mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(statistics.spread, MEANS[:n].std(axis=0), rtol=1e-12, atol=1e-12)


def test_many_at_once_are_the_same_as_one_by_one() -> None:
    one_by_one, at_once = Climatology(), Climatology()
    for mean in MEANS:
        one_by_one.add(mean)
    at_once.add_all(MEANS[:3])
    at_once.add_all(list(MEANS[3:]))
    assert one_by_one.state(2).keys() == at_once.state(2).keys()
    for name, array in one_by_one.state(2).items():
        np.testing.assert_array_equal(at_once.state(2)[name], array)


def test_a_snapshot_stays_as_it_was() -> None:
    tally = Climatology()
    tally.add(MEANS[0])
    snapshot = tally.snapshot()
    for mean in MEANS[1:]:
        tally.add(mean)
    statistics = snapshot.statistics()
    assert statistics is not None
    assert statistics.number == 1
    assert Climatology().snapshot().statistics() is None


def test_two_tallies_add_up() -> None:
    mine, theirs = Climatology(), Climatology()
    mine.add_all(MEANS[:40])
    theirs.add_all(MEANS[40:50])
    both, whole = mine.joined(theirs).snapshot().statistics(), statistics_of_means(MEANS[:50])
    assert both is not None
    np.testing.assert_allclose(both.mean, whole.mean, rtol=1e-12)
    np.testing.assert_allclose(both.spread, whole.spread, rtol=1e-12)
    alone = mine.joined(Climatology()).snapshot().statistics()
    assert alone is not None
    assert alone.number == 40
    np.testing.assert_array_equal(alone.mean, statistics_of_means(MEANS[:40]).mean)
    assert Climatology().joined(Climatology()).snapshot().statistics() is None


def test_large_and_constant_means_do_no_harm() -> None:
    tally = Climatology()
    for sign in [1.0, -1.0] * PENDING:
        tally.add(np.array([sign * 1e300, 300.1]))
    statistics = tally.snapshot().statistics()
    assert statistics is not None
    np.testing.assert_allclose(statistics.spread, [1e300, 0.0], rtol=1e-12, atol=0.0)


@pytest.mark.parametrize("n", [0, 1, PENDING, PENDING + 3])
def test_state_gives_the_tally_back(n: int) -> None:
    tally = Climatology()
    for mean in MEANS[:n]:
        tally.add(mean)
    again = Climatology.of(tally.state(2), 2)
    for name, array in tally.state(2).items():
        np.testing.assert_array_equal(again.state(2)[name], array)


@pytest.mark.parametrize(
    "broken",
    [
        {"number": np.array(-1)},
        {"number": np.array(0.5)},
        {"mean": np.zeros(3)},
        {"spread": np.zeros((2, 2))},
        {"pending": np.zeros((PENDING, 2))},
        {"pending": np.zeros((1, 3))},
        {"pending": np.zeros(2)},
        {"other": np.zeros(1)},
    ],
)
def test_a_state_that_cannot_be_is_refused(broken: dict[str, Any]) -> None:
    tally = Climatology()
    tally.add_all(MEANS[: PENDING + 1])
    with pytest.raises((ValueError, TypeError), match="usual"):
        Climatology.of(tally.state(2) | broken, 2)


@pytest.mark.parametrize("missing", ["number", "mean", "spread", "pending"])
def test_a_state_that_lacks_a_part_is_refused(missing: str) -> None:
    state = Climatology().state(2)
    del state[missing]
    with pytest.raises(ValueError, match="usual forecasts must hold number, mean, spread, pending"):
        Climatology.of(state, 2)
