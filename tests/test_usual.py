"""The usual forecast."""

from __future__ import annotations

import numpy as np
import pytest

from overcast.usual import PENDING, Tally, of_means

MEANS = np.random.default_rng(0).normal(3.0, 2.0, size=(3 * PENDING + 5, 2))


@pytest.mark.parametrize("n", [1, 2, PENDING - 1, PENDING, PENDING + 1, len(MEANS)])
def test_mean_and_spread_are_those_of_all_means(n: int) -> None:
    tally = Tally()
    for mean in MEANS[:n]:
        tally.add(mean)
    found = tally.mark().usual()
    assert found is not None
    assert found.number == n
    np.testing.assert_allclose(found.mean, MEANS[:n].mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.spread, MEANS[:n].std(axis=0), rtol=1e-12, atol=1e-12)


def test_many_at_once_are_the_same_up_to_rounding() -> None:
    one_by_one, at_once = Tally(), Tally()
    for mean in MEANS:
        one_by_one.add(mean)
    at_once.add_all(MEANS[:3])
    at_once.add_all(MEANS[3:])
    first, second = one_by_one.mark().usual(), at_once.mark().usual()
    assert first is not None
    assert second is not None
    assert first.number == second.number
    np.testing.assert_allclose(first.mean, second.mean, rtol=1e-12)
    np.testing.assert_allclose(first.spread, second.spread, rtol=1e-12)


def test_a_mark_stays_as_it_was() -> None:
    tally = Tally()
    tally.add(MEANS[0])
    mark = tally.mark()
    for mean in MEANS[1:]:
        tally.add(mean)
    found = mark.usual()
    assert found is not None
    assert found.number == 1
    assert Tally().mark().usual() is None


def test_two_tallies_add_up() -> None:
    mine, theirs = Tally(), Tally()
    mine.add_all(MEANS[:40])
    theirs.add_all(MEANS[40:50])
    both, whole = mine.joined(theirs).mark().usual(), of_means(MEANS[:50])
    assert both is not None
    np.testing.assert_allclose(both.mean, whole.mean, rtol=1e-12)
    np.testing.assert_allclose(both.spread, whole.spread, rtol=1e-12)
    assert mine.joined(Tally()).mark().usual() == mine.mark().usual()
    assert Tally().joined(Tally()).mark().usual() is None


def test_large_and_constant_means_do_no_harm() -> None:
    tally = Tally()
    for sign in [1.0, -1.0] * PENDING:
        tally.add(np.array([sign * 1e300, 300.1]))
    found = tally.mark().usual()
    assert found is not None
    np.testing.assert_allclose(found.spread, [1e300, 0.0], rtol=1e-12, atol=0.0)


@pytest.mark.parametrize("n", [0, 1, PENDING, PENDING + 3])
def test_state_gives_the_tally_back(n: int) -> None:
    tally = Tally()
    for mean in MEANS[:n]:
        tally.add(mean)
    again = Tally.of(tally.state(), 2 if n else None)
    assert again.state().keys() == tally.state().keys()
    for name, array in tally.state().items():
        np.testing.assert_array_equal(again.state()[name], array)


@pytest.mark.parametrize(
    "broken",
    [
        {"number": np.array(0)},
        {"mean": np.zeros(3)},
        {"spread": np.zeros((2, 2))},
        {"pending": np.zeros((PENDING, 2))},
        {"pending": np.zeros((1, 3))},
        {"other": np.zeros(1)},
    ],
)
def test_a_state_that_cannot_be_is_refused(
    broken: dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float64]]],
) -> None:
    tally = Tally()
    tally.add_all(MEANS[: PENDING + 1])
    with pytest.raises(ValueError, match=r"usual|forecasts"):
        Tally.of(tally.state() | broken, 2)
    with pytest.raises(ValueError, match="no contexts"):
        Tally.of(tally.state(), None)
