from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import overcast as oc
from memory_support import unchanged
from overcast.deciding import counted, decided
from overcast.features import Disjoint


def _bandit(**options: Any) -> oc.Bandit:
    return oc.Bandit(["a", "b"], oc.LinearModel(Disjoint(2), ridge=1.0), oc.UCB(1.0), **options)


def test_deciding_changes_nothing_and_is_what_the_bandit_does() -> None:
    bandit = _bandit(history=5)
    bandit.learn(bandit.decide([1.0, 2.0]), 3.0)
    belief = oc.Gaussian([1.0, 2.0], sd=1.0)
    with unchanged(bandit):
        made = decided(bandit.memory, belief, None, "one", bandit.memory.stream)
    decision = bandit.decide(belief, id="one")
    assert made.decision.to_json() | {"time": 0} == decision.to_json() | {"time": 0}
    assert made.waiting.action == decision.index
    assert made.waiting.round == decision.round == 2
    assert made.given is made.belief is belief


def test_a_decision_counts_in_the_tally_and_the_history() -> None:
    bandit = _bandit(history=5)
    memory = bandit.memory
    made = decided(memory, oc.Gaussian([1.0, 2.0], sd=1.0), None, "one", memory.stream)
    out = counted(memory, made)
    usual = out.tally.mark().usual()
    assert usual is not None
    np.testing.assert_array_equal(usual.mean, [1.0, 2.0])
    assert out.journal is not None
    assert list(out.journal.entries) == ["one"]
    assert out.dim == 2
    assert not out.tickets.open


def test_a_forecast_that_cannot_be_summed_up_leaves_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    bandit, belief = _bandit(history=5), oc.Gaussian([1.0, 2.0], sd=1.0)

    def fails(*_: Any) -> None:
        raise RuntimeError("no quantiles")

    monkeypatch.setattr(oc.Gaussian, "quantile", fails)
    with unchanged(bandit), pytest.raises(RuntimeError, match="no quantiles"):
        bandit.decide(belief)
    assert bandit.memory.learner is None
