"""The latest decisions as arrays."""

from __future__ import annotations

import copy
import json
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import overcast as oc
from life_support import closed_log
from overcast import events
from overcast.decisions.history import LEVELS, Journal, summary

MADE = ["a", "b"], oc.LinearModel(oc.features.Disjoint(2)), oc.UCB()


def _lived(history: int | None = 10, n: int = 6, **options: Any) -> tuple[oc.Bandit, list[Any]]:
    """Return a bandit, and the events of its life; the reward of every third decision has not come."""
    bandit, happened, rng = oc.Bandit(*MADE, history=history, **options), [], np.random.default_rng(0)
    for t in range(n):
        decision = bandit.decide(oc.Gaussian(rng.normal(size=2), [0.3, 0.2]), id=f"day {t}")
        happened.append(events.decided(decision))
        if t % 3 != 2:
            context = rng.normal(size=2) if t % 2 else None
            bandit.learn(decision, float(t), context)
            happened.append(events.learnt(decision, float(t), context))
    return bandit, happened


def _content(bandit: oc.Bandit) -> dict[str, Any]:
    history = bandit.history
    assert history is not None
    return {name: value for name, value in vars(history).items() if name != "actions"}


def _same(one: oc.Bandit, other: oc.Bandit) -> None:
    for name, value in _content(one).items():
        np.testing.assert_array_equal(value, _content(other)[name], err_msg=name)


def test_it_is_off_unless_asked_for() -> None:
    assert _lived(history=None)[0].history is None
    for wrong in (0, 1.5, True):
        with pytest.raises((ValueError, TypeError), match="Bandit: history must be"):
            oc.Bandit(*MADE, history=wrong)  # type: ignore[arg-type]


def test_it_holds_decisions_forecasts_rewards_and_contexts() -> None:
    bandit, rng = oc.Bandit(*MADE, history=10, context=["warm"]), np.random.default_rng(1)
    belief = oc.Ensemble(rng.normal(size=(9, 1)))
    first, second = bandit.decide(belief), bandit.decide(oc.Gaussian([1.0], sd=2.0))
    bandit.learn(second, 3.0, context=oc.Gaussian([1.5], 0.1))
    history = bandit.history
    assert history is not None
    assert len(history) == 2
    assert history.id == (first.id, second.id)
    assert history.action == [first.action, second.action]
    assert history.round.tolist() == [1, 2]
    np.testing.assert_array_equal(history.reward, [np.nan, 3.0])
    np.testing.assert_array_equal(history.context, [[np.nan], [1.5]])
    np.testing.assert_array_equal(history.probability, [1.0, 1.0])
    for name in ("mean", "width", "score", "time"):
        np.testing.assert_array_equal(getattr(history, name), [getattr(first, name), getattr(second, name)])
    np.testing.assert_allclose(history.forecast[:, 0], [belief.points.mean(), 1.0])
    np.testing.assert_allclose(history.sd[:, 0], [belief.points.std(), 2.0])
    np.testing.assert_allclose(history.quantiles[1, :, 0], oc.Gaussian([1.0], sd=2.0).quantile(LEVELS)[:, 0])
    assert history.names == ("warm",)


def test_it_is_bounded_and_late_rewards_of_dropped_decisions_are_no_trouble() -> None:
    bandit, _ = _lived(history=3, n=10)
    history = bandit.history
    assert history is not None
    assert history.id == ("day 7", "day 8", "day 9")
    bandit.learn("day 2", 5.0)
    bandit.learn("day 8", 6.0)
    assert bandit.history is not None
    assert bandit.history.reward.tolist() == [7.0, 6.0, 9.0]
    assert bandit.learnt.rounds == 9


def test_files_copies_and_replays_keep_it(tmp_path: Path) -> None:
    bandit, happened = _lived()
    bandit.save(tmp_path / "bandit")
    _same(bandit, oc.Bandit.load(tmp_path / "bandit"))
    _same(bandit, copy.deepcopy(bandit))
    config = events.config(*MADE, history=10)
    given, *log = json.loads(json.dumps(closed_log(config, *happened)))
    _same(bandit, oc.replay(given, log))
    assert "history" not in events.config(*MADE)


def test_nothing_else_depends_on_it() -> None:
    """Bandits with and without a history decide the same, and have learnt the same to the last bit."""
    with_it, without = _lived()[0], _lived(history=None)[0]
    a, b = with_it.state.learner, without.state.learner
    assert a is not None
    assert b is not None
    for name, array in a.state().items():
        np.testing.assert_array_equal(array, b.state()[name])
    assert with_it.decide([1.0, 2.0]).score == without.decide([1.0, 2.0]).score


def test_a_merge_leaves_it_as_it_is_and_observed_rounds_are_not_in_it() -> None:
    mine, other = _lived()[0], _lived(n=9)[0]
    before = _content(mine)
    mine.merge(other)
    mine.observe("a", [1.0, 2.0], 1.0)
    for name, value in _content(mine).items():
        np.testing.assert_array_equal(value, before[name])


def test_a_bandit_that_recalibrates_keeps_the_corrected_forecasts() -> None:
    bandit = oc.Bandit(*MADE, history=50, recalibrate=True)
    for _ in range(30):
        decision = bandit.decide(oc.Gaussian([1.0], 0.1))
        bandit.learn(decision, 1.0, context=[3.0])
    assert bandit.history is not None
    assert bandit.history.forecast[-1, 0] > 2.5


def test_the_frame_has_a_row_for_each_decision() -> None:
    history = _lived(context=["warm", "wet"])[0].history
    assert history is not None
    frame = history.to_frame()
    assert frame.index.name == "round"
    assert list(frame.columns) == [
        *("id", "time", "action", "mean", "width", "score", "probability", "reward"),
        *("forecast_warm", "forecast_wet", "sd_warm", "sd_wet", "context_warm", "context_wet"),
    ]
    assert frame["reward"].isna().tolist() == [False, False, True, False, False, True]
    assert str(frame["time"].dtype).startswith("datetime64[ns, UTC]")


def test_without_pandas_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    history = _lived()[0].history
    assert history is not None
    with pytest.raises(ImportError, match="History: to_frame needs pandas; install it with pip install pandas"):
        history.to_frame()


def test_before_the_first_decision_it_is_empty() -> None:
    history = oc.Bandit(*MADE, history=3).history
    assert history is not None
    assert len(history) == 0
    assert history.forecast.shape == (0, 0)
    assert repr(history) == "History(0 decisions, 0 with a reward; )"
    assert oc.Bandit.from_bytes(oc.Bandit(*MADE, history=3).to_bytes()).history is not None


def test_draws_stand_for_a_belief_that_knows_no_more() -> None:
    """The median of 256 draws lies within 0.4 of the true one but for one seed in a million; the seed is fixed."""
    found = summary(oc.Sampler(lambda n, rng: rng.normal(5.0, 1.0, size=(n, 1)), 1))
    assert found.shape == (7, 1)
    assert abs(found[4, 0] - 5.0) < 0.4
    assert (np.diff(found[2:, 0]) > 0).all()


@pytest.mark.parametrize("broken", ["shape", "action", "context", "ids", "twice", "too many"])
def test_a_damaged_history_is_refused(broken: str) -> None:
    journal = _lived()[0].state.journal
    assert journal is not None
    arrays, ids, size = journal.state(), list(journal.entries), journal.size
    if broken == "shape":
        arrays["forecast"] = arrays["forecast"][:, :3]
    elif broken == "action":
        arrays["action"] = arrays["action"] + 7
    elif broken == "context":
        arrays["context"] = np.zeros(9)
        arrays["context.shape"] = np.array([[1, 1], [1, 2], [1, 1], [1, 1], [1, 2], [1, 2]])
    elif broken == "ids":
        ids = ids[:-1]
    elif broken == "twice":
        ids[1] = ids[0]
    else:
        size = 3
    with pytest.raises(ValueError, match=r"history|must have|decisions"):
        Journal.of(size, ids, arrays, 2, 2)


def _drawn(size: float, n: int, rng: np.random.Generator) -> Any:
    return size * rng.uniform(-1.0, 1.0, size=(n, 2))


def test_a_bandit_that_met_huge_contexts_can_be_saved() -> None:
    """Squares of these overflow, and only draws tell the spread."""
    model = oc.LinearModel(oc.features.Fourier(oc.kernels.Product(oc.kernels.RBF(1.0), oc.kernels.RBF(1.0)), 10), 1.0)
    bandit = oc.Bandit({"a": [1.0, 0.0], "b": [0.0, 1.0]}, model, oc.UCB(1.0), samples=8, history=5)
    for size in (1e160, 1e290):
        bandit.learn(bandit.decide(oc.Sampler(partial(_drawn, size), 2)), 1.0)
    again = oc.Bandit.from_bytes(bandit.to_bytes()).history
    assert again is not None
    np.testing.assert_allclose(again.sd / [[1e160], [1e290]], np.sqrt(1.0 / 3.0), rtol=0.1)
    assert np.isfinite(again.quantiles).all()


@pytest.mark.parametrize("size", [1e160, 1.7e308])
def test_a_summary_is_finite(size: float) -> None:
    found = summary(oc.Sampler(lambda n, rng: np.where(rng.random((n, 1)) < 0.5, -size, size), 1))
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found[1], size, rtol=0.02)
    np.testing.assert_allclose(found[[2, -1], 0], [-size, size])


def test_estimates_beyond_all_bounds_are_kept_as_the_largest_number() -> None:
    decision = oc.Bandit(["a"], oc.LinearModel(oc.features.Disjoint(1), ridge=1.0), oc.UCB(1.0)).decide([1.0])
    decision._chosen = replace(decision.chosen, mean=-np.inf, width=np.inf)
    journal = Journal(3)
    journal.record_decision(decision, 0, 1, summary(decision.belief))
    (entry,), largest = journal.entries.values(), np.finfo(np.float64).max
    assert (entry.mean, entry.width, entry.score) == (-largest, largest, decision.score)
    assert all(np.isfinite(array).all() for array in journal.state().values())
