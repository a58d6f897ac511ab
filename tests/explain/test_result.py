"""Why a decision came out as it did."""

from __future__ import annotations

import copy
import json
from itertools import permutations
from typing import Any

import numpy as np
import pytest
import scipy.stats

import overcast as oc
from life_support import CONFIGS, Life
from overcast.explain.result import _rounded_up
from overcast.features import Linear, Polynomial

RNG = np.random.default_rng
POLICIES = [
    oc.UCB(),
    oc.UCB(0.5),
    oc.Greedy(),
    oc.MostlyGreedy(),
    oc.IDS(),
    oc.Thompson(),
    oc.EpsilonGreedy(0.5),
    oc.PerturbedHistory(),
    oc.Proportional(),
    oc.Repeated(oc.Thompson(), 5),
]


def _message(call: Any, *args: Any) -> str:
    with pytest.raises((ValueError, TypeError)) as error:
        call(*args)
    assert "\n" not in str(error.value)
    return str(error.value)


def _belief(rng: np.random.Generator, c: int, kind: int) -> oc.Belief:
    mean = rng.normal(size=c)
    root = rng.normal(size=(c, c)) / c
    kinds: list[Any] = [
        lambda: oc.Gaussian(mean, np.full(c, 0.3)),
        lambda: oc.Gaussian(mean, root @ root.T + 0.1 * np.eye(c)),
        lambda: oc.Ensemble(mean + rng.normal(size=(7, c))),
        lambda: oc.Mixture([oc.PointMass(mean), oc.Gaussian(mean + 1.0, 0.2)], [0.3, 0.7]),
    ]
    return kinds[kind % len(kinds)]()  # type: ignore[no-any-return]


def _taught(c: int, policy: Any, features: Any = None, rounds: int = 25, **options: Any) -> oc.Bandit:
    """Return a bandit of four actions that has learnt, and waits for two rewards."""
    rng = RNG(c)
    vectors = dict(zip("abcd", rng.normal(size=(4, 2)), strict=True))
    bandit = oc.Bandit(vectors, oc.LinearModel(features or Polynomial(2)), policy, **options)
    for t in range(rounds):
        belief = _belief(rng, c, t)
        decision = bandit.decide(belief)
        if t < rounds - 2:
            context = belief.sample(1, rng)[0] if t % 2 else None
            bandit.learn(decision, float(decision.index * np.sin(belief.mean()).sum() + 0.1 * rng.normal()), context)
    return bandit


def _estimated(bandit: oc.Bandit, belief: oc.Belief, usual: Any, group: tuple[bool, ...], index: int) -> float:
    """Return the estimate if the dimensions outside of a group are known, written as a law of its own."""
    finite = belief.support()
    inside = np.array(group)
    if finite is not None:
        hybrid: oc.Belief = oc.Ensemble(np.where(inside, finite[0], usual), finite[1])
    elif isinstance(belief, oc.Mixture):
        parts = [part.moved(np.where(inside, 0.0, usual), inside.astype(float)) for part in belief.beliefs]
        hybrid = oc.Mixture(parts, belief.weights)
    else:
        hybrid = oc.Gaussian(np.where(inside, belief.mean(), usual), belief.cov() * np.outer(inside, inside))
    return float(bandit.estimate(hybrid).mean[index])


@pytest.mark.parametrize("kind", range(4))
@pytest.mark.parametrize("c", [1, 2, 3, 4])
def test_contributions_are_averages_over_all_orders_of_the_dimensions(c: int, kind: int) -> None:
    bandit, belief = _taught(c, oc.UCB()), _belief(RNG(9), c, kind)
    decision = bandit.decide(belief)
    why = decision.explain()
    assert why.usual.number == 26
    index, usual, orders = decision.index, why.usual.mean, list(permutations(range(c)))
    expected = np.zeros(c)
    for order in orders:
        group = [False] * c
        for i in order:
            before = _estimated(bandit, belief, usual, tuple(group), index)
            group[i] = True
            expected[i] += _estimated(bandit, belief, usual, tuple(group), index) - before
    np.testing.assert_allclose(why.contributions, expected / len(orders), atol=1e-10)
    assert why.exact
    assert abs(why.contributions.sum() - (decision.mean - why.baseline)) < 1e-10
    assert abs(why.baseline - bandit.estimate(usual).mean[index]) < 1e-10


def test_the_usual_mean_is_that_of_all_forecasts_so_far() -> None:
    bandit = oc.Bandit(["a", "b"], oc.LinearModel(oc.features.Disjoint(2)), oc.UCB())
    first = bandit.decide(oc.Gaussian([1.0], 1.0))
    bandit.observe("a", [3.0], 1.0)
    bandit.observe(["a", "b"], [[5.0], [7.0]], [1.0, 2.0])
    second = bandit.decide(oc.Ensemble([[8.0], [10.0]]))
    bandit.decide([100.0])
    assert _message(first.explain).startswith("Decision: explain needs the bandit as it was")
    assert second.explain().usual.mean == pytest.approx([5.0])  # (1 + 3 + 5 + 7 + 9) / 5
    assert second.explain().usual.number == 5


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
@pytest.mark.parametrize("options", [{}, {"samples": 20}, {"recalibrate": True}], ids=["exact", "sampled", "corrected"])
def test_the_stated_move_changes_the_choice_and_a_little_less_does_not(policy: Any, options: Any) -> None:
    """For random policies with the same random numbers, which a copy of the bandit draws."""
    bandit = _taught(2, policy, **options)
    found = 0
    for seed in range(3):
        before, belief = copy.deepcopy(bandit), _belief(RNG(seed), 2, seed)
        decision = bandit.decide(belief)
        why = decision.explain()

        def chosen(at: int, move: float, belief: oc.Belief = belief, before: oc.Bandit = before) -> Any:
            return copy.deepcopy(before).decide(belief.moved(np.where(np.arange(2) == at, move, 0.0))).action

        assert chosen(0, 0.0) == decision.action
        for i, change in enumerate(why.changes):
            if change is not None:
                found += 1
                assert chosen(i, change.move) == change.action != decision.action
                assert chosen(i, 0.99 * change.move) == decision.action
                assert change.deviations == pytest.approx(abs(change.move) / why.forecast[1, i])
        bandit.forget(decision)
    assert found


@pytest.mark.parametrize("name", CONFIGS)
def test_every_model_and_policy_explains_its_decisions(name: str) -> None:
    life = Life(name, 3)
    life.live(30)
    belief, before = oc.Gaussian([0.4, -0.7], [0.3, 0.2]), copy.deepcopy(life.bandit)
    decision = life.bandit.decide(belief)
    why = decision.explain()
    assert why.action == (decision.index if life.bandit.actions.names is None else decision.action)
    assert abs(why.contributions.sum() - (why.mean - why.baseline)) < 1e-10
    assert why.mean == pytest.approx(decision.mean, rel=1e-9, abs=1e-12)
    scores = {option.index: option.score for option in why.options}
    assert [scores[option.index] for option in decision.top(100)] == [option.score for option in decision.top(100)]
    assert json.loads(json.dumps(why.to_json(), allow_nan=False))["index"] == decision.index
    assert str(why).count("\n") > 6
    for i, change in enumerate(why.changes):
        if change is not None:
            moves = [belief.moved(np.where(np.arange(2) == i, share * change.move, 0.0)) for share in (1.0, 0.99)]
            far, near = (copy.deepcopy(before).decide(moved).index for moved in moves)
            assert far != near == decision.index


def test_waiting_rewards_count_as_they_did_at_the_decision() -> None:
    bandit = _taught(2, oc.UCB())
    decision = bandit.decide(oc.Gaussian([0.5, 0.5], 0.3))
    for _ in range(5):
        bandit.decide(oc.Gaussian([-0.5, 0.5], 0.3))  # their rewards are awaited now, and were not then
    why = decision.explain()
    assert why.present is None
    assert [option.score for option in why.options] == [option.score for option in decision.top(9)]


def test_bonus_is_score_minus_mean_where_scores_are_such_sums() -> None:
    belief = oc.Gaussian([0.5, 0.5], 0.3)
    why = _taught(2, oc.UCB(2.0)).decide(belief).explain()
    np.testing.assert_allclose(why.bonus, [2.0 * option.width for option in why.options], rtol=1e-9)
    assert _taught(2, oc.Greedy()).decide(belief).explain().bonus == (0.0,) * 4
    assert _taught(2, oc.IDS()).decide(belief).explain().bonus is None
    drawn = _taught(2, oc.EpsilonGreedy(0.5)).decide(belief)
    assert drawn.explain().bonus is None
    assert f"the choice was drawn, with probability {drawn.probability:.3g}" in str(drawn.explain())
    assert "the choice was drawn." in str(_taught(2, oc.Thompson()).decide(belief).explain())


def test_the_mean_context_is_the_mean_of_the_forecast_for_certain() -> None:
    """A curved reward: insurance pays if the context may go far."""
    bandit = oc.Bandit({"bare": [0.0], "insured": [1.0]}, oc.LinearModel(Polynomial(3), ridge=0.01), oc.UCB(0.0))
    for context in np.linspace(-3.0, 3.0, 40):
        bandit.observe(["bare", "insured"], [[context]] * 2, [-(context**2), -2.0])
    wide = bandit.decide(oc.Gaussian([0.0], 4.0))
    assert wide.action == "insured"
    assert wide.explain().at_mean == "bare" == bandit.decide([0.0]).action
    assert "bare would have been chosen" in str(wide.explain())


def test_a_constant_and_a_first_point_do_not_move() -> None:
    bandit = oc.Bandit(["a", "b"], oc.LinearModel(oc.features.Disjoint(2)), oc.UCB())
    first = bandit.decide([1.0, 3.0])
    assert first.explain().changes == (None, None)
    assert first.explain().nearest is None
    assert "No move of the forecast" in str(first.explain())
    for t in range(20):
        context = np.array([1.0, float(np.sin(t))])
        bandit.observe("ab"[t % 2], context, float(context[1] * (1 if t % 2 else -1)))
    why = bandit.decide([1.0, 0.5]).explain()
    assert why.changes[0] is None
    assert why.changes[1] is not None
    assert why.changes[1].deviations is None
    assert why.nearest == why.changes[1]


def test_after_learning_the_bandit_explains_by_what_it_knows_now() -> None:
    bandit = _taught(2, oc.Greedy())
    decision, kept = bandit.decide(oc.Gaussian([0.5, 0.5], 0.3)), bandit.decide(oc.Gaussian([0.5, 0.5], 0.3))
    before = kept.explain()
    record = oc.Decision.from_json(json.loads(json.dumps(decision.to_json())))
    bandit.learn(decision, -50.0)
    assert "bandit.explain(decision)" in _message(decision.explain)
    assert kept.explain() is before
    now = bandit.explain(decision)
    assert now.present == bandit.decide(decision.belief).action != decision.action
    assert now.action == decision.action
    assert "has learnt since" in str(now)
    assert str(bandit.explain(record)) == str(bandit.explain(decision))
    assert "got a record or a copy" in _message(record.explain)
    assert "got a record or a copy" in _message(copy.deepcopy(decision).explain)


@pytest.mark.parametrize(
    "change",
    [
        lambda bandit: bandit.observe("a", [0.0, 1.0], 1.0),
        lambda bandit: bandit.retire("a"),
        lambda bandit: bandit.add_actions({"e": [1.0, 2.0]}),
        lambda bandit: setattr(bandit, "policy", oc.Greedy()),
        lambda bandit: bandit.forget(next(iter(bandit.state.pending.open))),
        lambda bandit: bandit.merge(_taught(2, oc.UCB(), rounds=4)),
    ],
)
def test_whatever_changes_the_bandit_is_noticed(change: Any) -> None:
    bandit = _taught(2, oc.UCB())
    decision = bandit.decide(oc.Gaussian([0.5, 0.5], 0.3))
    change(bandit)
    assert "has learnt or changed since" in _message(decision.explain)
    assert bandit.explain(decision).present is not None


def test_decisions_of_others_are_refused_if_they_do_not_fit() -> None:
    bandit = _taught(2, oc.UCB())
    one = oc.Bandit(["x", "y"], oc.LinearModel(oc.features.Disjoint(2)), oc.UCB()).decide([1.0, 2.0])
    assert _message(bandit.explain, one) == "Bandit: decision must hold one of the actions' names, got str 'x'"
    assert _message(bandit.explain, "x") == "Bandit: decision must be a Decision, got str 'x'"


def test_asking_changes_nothing() -> None:
    bandit, again = _taught(2, oc.UCB()), _taught(2, oc.UCB())
    belief = oc.Gaussian([0.5, 0.5], 0.3)
    bandit.decide(belief, id="one").explain()
    again.decide(belief, id="one")
    assert bandit.decide(belief).score == again.decide(belief).score


def test_many_dimensions_and_actions_are_cut_short_in_the_text() -> None:
    rng = RNG(0)
    bandit = oc.Bandit(rng.normal(size=(30, 2)), oc.LinearModel(Linear(), ridge=1.0), oc.UCB(1.0))
    for _ in range(30):
        context = rng.normal(size=13)
        bandit.observe(int(rng.integers(30)), context, float(context.sum()))
    why = bandit.decide(oc.Gaussian(rng.normal(size=13), 0.1)).explain()
    assert not why.exact
    assert abs(why.contributions.sum() - (why.mean - why.baseline)) < 1e-10
    assert "… and 20 more with lower scores" in str(why)
    assert "… and 3 more, together" in str(why)
    assert len(str(why).splitlines()) < 50


def test_samplers_are_compared_with_their_own_mean_and_do_not_count() -> None:
    bandit = oc.Bandit(["a", "b"], oc.LinearModel(oc.features.Disjoint(2), ridge=1.0), oc.UCB(1.0), samples=5)
    why = bandit.decide(oc.Sampler(lambda n, rng: rng.normal(2.0, 1.0, size=(n, 1)), 1)).explain()
    assert why.usual is None
    assert "the mean of this forecast" in str(why)


def test_a_forecast_without_a_mean_is_decided_by_but_not_explained() -> None:
    bandit = oc.Bandit(["a", "b"], oc.LinearModel(oc.features.Disjoint(2), ridge=1.0), oc.UCB(1.0), samples=5)
    decision = bandit.decide(oc.as_belief(scipy.stats.cauchy()))
    bandit.observe(["a", "b"], [oc.as_belief(scipy.stats.cauchy())] * 2, [1.0, 2.0])
    assert bandit.state.climatology.snapshot().statistics() is None
    message = _message(bandit.explain, decision)
    assert message == "Decision: explain needs a belief whose mean and variance exist, got Frozen(cauchy, dim=1)"


def test_dimensions_go_by_their_names() -> None:
    bandit = oc.Bandit(["a", "b"], oc.LinearModel(oc.features.Disjoint(2), ridge=1.0), oc.UCB(1.0))
    named = oc.Gaussian([1.0, 2.0], 1.0).named(["warm", "wet"])
    why = bandit.decide(named).explain()
    record = oc.Decision.from_json(bandit.decide(named).to_json())
    other = oc.Bandit(
        ["a", "b"], oc.LinearModel(oc.features.Disjoint(2), ridge=1.0), oc.UCB(1.0), context=["wet", "warm"]
    )
    assert why.names == ("warm", "wet")
    assert [entry["name"] for entry in why.to_json()["dimensions"]] == ["warm", "wet"]
    assert other.explain(record).forecast[0].tolist() == [2.0, 1.0]


def test_the_text() -> None:
    """By hand: V is diag(5, 1) for open, theta (1.2, 0); for shut I + 11^T and (1/3, 1/3)."""
    bandit = oc.Bandit(["open", "shut"], oc.LinearModel(oc.features.Disjoint(2), ridge=1.0), oc.UCB(1.0))
    bandit.observe(["open", "shut"], [[2.0, 0.0], [1.0, 1.0]], reward=[3.0, 1.0])
    why = bandit.decide(oc.Gaussian([1.5, 0.5], [0.04, 0.01])).explain()
    assert str(why).splitlines()[:4] == [
        "open was chosen among 2 actions by UCB(beta=1.0).",
        "            mean  + bonus  score",
        "  open *     1.8   0.8367  2.637",
        "  shut    0.6667     1.08  1.747",
    ]
    assert repr(why) == "Explanation(open, by UCB(beta=1.0); print it to read it)"


def test_moves_are_rounded_away_from_zero() -> None:
    assert _rounded_up(1.00001) == pytest.approx(1.001)
    assert _rounded_up(-123.41) == pytest.approx(-123.5)
    assert _rounded_up(0.02) == pytest.approx(0.02)
