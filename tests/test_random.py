"""Random numbers by seed and number."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import overcast as oc
from overcast._random import OBSERVATION, POLICY, Stream, drawn_by
from support import refused


def test_draws_follow_from_seed_and_number_alone() -> None:
    one, two = Stream(5), Stream(5)
    first = one.at(3).normal(size=4)
    one.at(1).normal(size=100)
    one.at(3, repetition=2).integers(10)
    two.at(9).random()
    np.testing.assert_array_equal(two.at(3).normal(size=4), first)
    np.testing.assert_array_equal(one.at(3).normal(size=4), first)
    others: list[Callable[[], np.random.Generator]] = [
        lambda: Stream(6).at(3),
        lambda: one.at(4),
        lambda: one.at(3, 1),
        lambda: one.at(3, kind=OBSERVATION),
        lambda: one.at(3, kind=POLICY),
    ]
    for other in others:
        assert (other().normal(size=4) != first).all()


def test_half_of_a_word_is_not_left_over() -> None:
    """A generator keeps 32 bits that it did not need; they must not turn up in another decision."""
    stream = Stream(0)
    fresh = stream.at(2).integers(2**31, dtype=np.int32)
    stream.at(1).integers(2**31, dtype=np.int32)
    assert stream.at(2).integers(2**31, dtype=np.int32) == fresh


def test_neighbouring_numbers_are_independent() -> None:
    """The correlation of 20,000 pairs has a standard error of 0.007; five of them are exceeded once in 1e6 runs."""
    stream = Stream(1)
    draws = np.array([stream.at(t).normal(size=2) for t in range(20_001)])
    for one, two in ((draws[:-1, 0], draws[1:, 0]), (draws[:, 0], draws[:, 1])):
        assert abs(np.corrcoef(one, two)[0, 1]) < 5 / np.sqrt(20_000)
    assert abs(draws.mean()) < 5 / np.sqrt(40_000)


def test_a_seed_sequence_counts_with_its_key() -> None:
    sequence = np.random.SeedSequence(3, spawn_key=(1, 2))
    assert Stream(sequence).key == Stream(np.random.SeedSequence(3, spawn_key=(1, 2))).key
    assert Stream(sequence).key != Stream(3).key


@pytest.mark.parametrize("twin", [copy.copy, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
def test_copies_draw_the_same_and_do_not_disturb_each_other(twin: Any) -> None:
    stream = Stream(4)
    other = twin(stream)
    mine = stream.at(2)
    other.at(7).random(50)
    np.testing.assert_array_equal(mine.random(3), Stream(4).at(2).random(3))
    assert other.key == stream.key == Stream.of(stream.key).key


def test_a_record_tells_its_draws() -> None:
    bandit = oc.Bandit(np.eye(2), oc.LinearModel(oc.features.Bilinear(), ridge=1.0), oc.UCB(1.0), samples=3, seed=8)
    bandit.decide([1.0])
    decision = bandit.decide([1.0])
    assert len(decision.seed) == 64
    np.testing.assert_array_equal(drawn_by(decision.seed).random(5), Stream(8).at(2).random(5))


@pytest.mark.parametrize("seed", [None, 3, "", "12", "z" * 64, "0" * 63])
def test_other_seeds_are_refused(seed: Any) -> None:
    with refused(ValueError, "Decision", "seed must have 64 hexadecimal digits"):
        drawn_by(seed)


def test_a_named_stream_follows_from_the_key_and_the_name() -> None:
    stream = Stream(3)
    draws = [Stream(3).named("a").at(1).random(), stream.named("b").at(1).random(), Stream(4).named("a").at(1).random()]
    assert stream.named("a").at(1).random() == stream.named("a").at(2).random() == draws[0]
    assert len({*draws, stream.at(1).random()}) == 4
