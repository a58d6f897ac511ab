"""Threads that share a bandit."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import overcast as oc
from memory_support import differences
from overcast.features import Bilinear

THREADS, CALLS = 8, 20_000


def _bandit(**options: Any) -> oc.Bandit:
    actions = {"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [0.5, 0.5]}
    return oc.Bandit(actions, oc.LinearModel(Bilinear(), ridge=1.0), oc.UCB(1.0), **options)


def _together(work: Callable[[int], None]) -> None:
    begin = threading.Barrier(THREADS)

    def run(i: int) -> None:
        begin.wait()
        work(i)

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(run, range(THREADS)))


def test_eight_threads_and_twenty_thousand_calls(tmp_path: Path) -> None:
    """Ids differ, no round is lost, and what was learnt is what one thread would have learnt."""
    bandit, rounds = _bandit(samples=2), CALLS // (2 * THREADS)
    ids: list[list[str]] = [[] for _ in range(THREADS)]
    records: list[list[tuple[oc.Decision, float]]] = [[] for _ in range(THREADS)]

    def work(i: int) -> None:
        rng = np.random.default_rng(i)
        for t in range(rounds):
            decision = bandit.decide(oc.Gaussian(rng.normal(size=2), 0.1))
            ids[i].append(decision.id)
            reward = float(rng.normal())
            bandit.learn(decision, reward)
            records[i].append((decision, reward))
            if t % 100 == 0:
                bandit.estimate([1.0, 2.0])
                assert bandit.learnt.rounds > 0
                assert repr(bandit)
            if t % 500 == 0:
                bandit.save(tmp_path / f"bandit {i}")

    _together(work)
    total = THREADS * rounds
    assert len({ticket for own in ids for ticket in own}) == total
    assert bandit.learnt.rounds == total
    assert bandit.learnt.open == 0
    made = sorted((pair for own in records for pair in own), key=lambda pair: pair[0].round)
    assert [decision.round for decision, _ in made] == list(range(1, total + 1))
    alone = _bandit(samples=2)
    for decision, reward in made:
        alone.adopt(decision)
        alone.learn(decision, reward)
    for point in ([1.0, 2.0], [-0.5, 0.3]):
        np.testing.assert_allclose(bandit.estimate(point).mean, alone.estimate(point).mean, atol=1e-8)
        np.testing.assert_allclose(bandit.estimate(point).width, alone.estimate(point).width, atol=1e-8)
    bandit.save(tmp_path / "whole")
    assert differences(oc.Bandit.load(tmp_path / "whole"), bandit) == []
    for i in range(THREADS):
        oc.Bandit.load(tmp_path / f"bandit {i}")


def test_all_calls_at_once() -> None:
    bandit = _bandit(recalibrate=True)
    bandit.learn(bandit.decide([1.0, 2.0]), 1.0)
    other = _bandit(recalibrate=True)
    other.learn(other.decide([1.0, 2.0]), 1.0)
    added = threading.Lock()

    def work(i: int) -> None:
        rng = np.random.default_rng(i)
        for t in range(60):
            decision = bandit.decide(oc.Gaussian(rng.normal(size=2), 0.2), id=f"{i} {t}")
            if t % 7 == 0:
                bandit.forget(decision)
            else:
                bandit.learn(f"{i} {t}", 1.0, context=rng.normal(size=2))
            bandit.observe(["a", "b"], rng.normal(size=(2, 2)), rng.normal(size=2))
            if t % 20 == 0:
                bandit.add_actions({f"new {i} {t}": rng.normal(size=2)})
                bandit.retire(f"new {i} {t}")
                bandit.policy = oc.Thompson()
                with added:
                    bandit.merge(other)

    _together(work)
    assert len(bandit.actions) == 3 + THREADS * 3
    assert bandit.learnt.open == 0
    assert bandit.learnt.rounds == 1 + THREADS * (60 - 9 + 2 * 60 + 3)


def test_merging_both_ways_does_not_block() -> None:
    one, two = _bandit(), _bandit()
    for bandit in (one, two):
        bandit.learn(bandit.decide([1.0, 2.0]), 1.0)

    def work(i: int) -> None:
        for _ in range(10):
            (one if i % 2 else two).merge(two if i % 2 else one)
            if (one if i % 2 else two).learnt.rounds > 1e12:
                break

    done = threading.Event()

    def both() -> None:
        _together(work)
        done.set()

    thread = threading.Thread(target=both, daemon=True)
    thread.start()
    assert done.wait(60)


def test_a_bandit_may_be_asked_about_itself_while_it_decides() -> None:
    """A function of the user's own may look at the bandit that calls it."""
    bandit = _bandit(samples=3)
    seen = []

    def draw(n: int, rng: np.random.Generator) -> Any:
        seen.append(bandit.learnt.rounds)
        return rng.normal(size=(n, 2))

    bandit.learn(bandit.decide(oc.Sampler(draw, 2)), 1.0)
    assert seen == [0]
