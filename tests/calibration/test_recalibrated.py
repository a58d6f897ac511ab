"""Forecasts corrected by what happened after earlier ones."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import numpy as np
import pytest
import scipy.stats

import overcast as oc
from overcast import testing
from overcast._check import Array
from overcast.calibration import check, recalibrate
from support import refused

POINTS = np.random.default_rng(3).normal(size=(9, 2))
#: a forecast of two dimensions around a centre, of each kind
KINDS: dict[str, Callable[[Array], oc.Belief]] = {
    "PointMass": lambda m: oc.PointMass(m),
    "Gaussian": lambda m: oc.Gaussian(m, [[1.0, 0.3], [0.3, 0.5]]),
    "Ensemble": lambda m: oc.Ensemble(m + 0.5 * POINTS),
    "Mixture": lambda m: oc.Mixture([oc.Gaussian(m - 1.0, 0.3), oc.Gaussian(m + 1.0, 0.3)]),
    "Independent": lambda m: oc.Independent([oc.Gaussian(m[:1], 0.5), oc.Ensemble(m[1] + POINTS[:, :1])]),
    "Quantiles": lambda m: oc.Quantiles([0.1, 0.5, 0.9], [m - 1.0, m, m + 1.0]),
    "Sampler": lambda m: oc.Sampler(lambda n, rng: m + rng.normal(size=(n, 2)), 2),
    "Frozen": lambda m: oc.Frozen(scipy.stats.multivariate_t(m, np.eye(2), df=9)),
}


def taught(kind: str, days: int = 150, seed: int = 0) -> tuple[oc.Recalibrated, Array, Array]:
    """Return a corrector taught by forecasts that are 3 too low and 2 too high, with errors of 4 and 0.5."""
    rng = np.random.default_rng(seed)
    fixed = oc.Recalibrated()
    centres = rng.normal([10.0, -5.0], [6.0, 3.0], (days, 2))
    contexts = rng.normal(centres + np.array([3.0, -2.0]), [4.0, 0.5])
    for centre, context in zip(centres, contexts, strict=True):
        fixed.learn(KINDS[kind](centre), context)
    return fixed, centres, contexts


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "Sampler"])
def test_corrected_beliefs_have_the_errors_mean_and_spread_and_conform(kind: str) -> None:
    """Standard errors are 0.33 and 0.04 of the means, 7 % of the spreads; four of them, and 2 % less correction."""
    fixed, *_ = taught(kind)
    better = fixed(KINDS[kind](np.array([10.0, -5.0])))
    testing.check_belief(better)
    assert (np.abs(better.mean() - [13.0, -7.0]) < [1.4, 0.2]).all()
    deviation = np.sqrt(better.variance())
    shrunk = 0.8 if kind in ("Ensemble", "Independent") else 1.0  # sqrt((n - 1) / (n + 1)) of nine members is 0.89
    assert shrunk * 0.7 * 4.0 < deviation[0] < 1.3 * 4.0
    assert shrunk * 0.7 * 0.5 < deviation[1] < 1.3 * 0.5
    kept = "Gaussian" if kind == "PointMass" else "Moved" if kind == "Frozen" else kind
    assert type(better).__name__ == kept


def test_draws_are_corrected_too() -> None:
    fixed, *_ = taught("Sampler", days=12)
    better = fixed(KINDS["Sampler"](np.array([10.0, -5.0])))
    assert isinstance(better, oc.Sampler)
    assert better.mean()[0] > 11.0
    testing.check_belief(better)


def test_correlations_are_kept() -> None:
    fixed, *_ = taught("Gaussian")
    raw = KINDS["Gaussian"](np.array([1.0, 2.0]))
    better = fixed(raw)

    def correlation(cov: Array) -> float:
        return float(cov[0, 1] / np.sqrt(cov[0, 0] * cov[1, 1]))

    assert correlation(better.cov()) == pytest.approx(correlation(raw.cov()))


def test_nothing_learnt_changes_nothing() -> None:
    belief = oc.Gaussian([1.0], 2.0)
    assert oc.Recalibrated()(belief) is belief
    assert repr(oc.Recalibrated()) == "Recalibrated(nothing learnt)"
    assert repr(oc.Recalibrated(50)) == "Recalibrated(memory=50; nothing learnt)"


def test_constants_stay_exactly_as_they_are() -> None:
    rng = np.random.default_rng(0)
    fixed = oc.Recalibrated()
    for m in rng.normal(0.1, 5.0, 30):
        fixed.learn(oc.Gaussian([1.0, m, 0.1], [0.0, 1.0, 0.0]), [1.0, m + rng.normal(2.0, 3.0), 0.1])
    better = fixed(oc.Gaussian([1.0, 4.0, 0.1], [0.0, 1.0, 0.0]))
    assert better.mean()[[0, 2]].tolist() == [1.0, 0.1]
    assert better.variance()[[0, 2]].tolist() == [0.0, 0.0]
    assert better.variance()[1] > 2.0
    assert fixed.bias[[0, 2]].tolist() == [0.0, 0.0]
    assert fixed.factor[[0, 2]].tolist() == [1.0, 1.0]


def test_what_was_learnt_can_be_seen() -> None:
    """Standard errors are 0.33 and 0.04 of the biases, 0.06 and 0.014 of the slopes, 7 % of the factors; four of them,
    and 2 % less correction of the bias."""
    fixed, *_ = taught("Gaussian")
    assert (np.abs(fixed.bias - [3.0, -2.0]) < [1.4, 0.2]).all()
    assert (np.abs(fixed.slope - 1.0) < [0.25, 0.06]).all()
    np.testing.assert_allclose(fixed.factor, [4.0, 0.5 / np.sqrt(0.5)], rtol=0.28)
    assert fixed.outcomes == 150
    assert repr(fixed).startswith("Recalibrated(150 outcomes, bias=[")
    assert ((fixed.memories > 10.0) & (fixed.memories <= 150.0)).all()
    assert taught("PointMass", days=5)[0].factor.tolist() == [np.inf, np.inf]


def test_it_never_looks_ahead() -> None:
    """Whatever comes later, the forecasts before stay the same."""
    _, centres, contexts = taught("Ensemble", 80)
    beliefs = [KINDS["Ensemble"](centre) for centre in centres]
    changed = contexts.copy()
    changed[50:] = 1e6
    before, after = recalibrate(beliefs, contexts), recalibrate(beliefs, changed)
    for one, other in zip(before[:51], after[:51], strict=True):
        assert one.to_json() == other.to_json()
    assert before[53].to_json() != after[53].to_json()
    assert before[0] is beliefs[0]


def test_only_the_latest_outcomes_count() -> None:
    """The forecasts' provider changes its model: the bias turns from 5 to -5."""
    rng = np.random.default_rng(0)
    fixed = oc.Recalibrated(memory=50)
    for day in range(150):
        fixed.learn(oc.Gaussian([0.0], 1.0), [rng.normal(5.0 if day < 75 else -5.0)])
    assert fixed.outcomes == 50
    assert fixed.bias[0] == pytest.approx(-5.0, abs=0.8)


def test_the_middle_of_a_long_record_is_covered_as_stated() -> None:
    """80 % of 700 outcomes, four standard errors, for forecasts five times too sure."""
    rng = np.random.default_rng(0)
    means, spreads = rng.normal(0.0, 5.0, 1000), rng.gamma(4.0, 0.25, 1000)
    outcomes = rng.normal(1.5 * means + 4.0, 5.0 * spreads)
    fixed = recalibrate([oc.Gaussian([m], s**2) for m, s in zip(means, spreads, strict=True)], outcomes)
    found = check(fixed[300:], outcomes[300:])
    assert found.coverage(0.8)[0] == pytest.approx(0.8, abs=0.06)
    assert found.coverage(0.5)[0] == pytest.approx(0.5, abs=0.08)


def test_right_forecasts_lose_little() -> None:
    """The score of 50 records of 100 right forecasts gets worse by less than a twentieth, the start included."""
    sr = pytest.importorskip("scoringrules")
    rng = np.random.default_rng(0)
    raw, fixed = 0.0, 0.0
    for _ in range(50):
        means, spreads = rng.normal(0.0, 5.0, 100), rng.gamma(4.0, 0.25, 100)
        outcomes = rng.normal(means, spreads)
        better = recalibrate([oc.Gaussian([m], s**2) for m, s in zip(means, spreads, strict=True)], outcomes)
        moved = np.array([(b.mean()[0], np.sqrt(b.variance()[0])) for b in better])
        raw += sr.crps_normal(outcomes, means, spreads).mean()
        fixed += sr.crps_normal(outcomes, moved[:, 0], moved[:, 1]).mean()
    assert fixed < 1.05 * raw


def test_a_context_measured_in_part_teaches_what_was_measured() -> None:
    fixed = oc.Recalibrated()
    for m in np.random.default_rng(0).normal(size=20):
        fixed.learn(oc.Gaussian([m, m], 1.0), oc.Independent([oc.PointMass([m + 5.0]), oc.Gaussian([m], 1.0)]))
    assert fixed.bias[0] > 3.0
    assert fixed.bias[1] == 0.0
    better = fixed(oc.Gaussian([0.0, 0.7], 1.0))
    assert better.mean()[1] == 0.7
    assert better.variance()[1] == 1.0


def test_copies_and_pickles_go_their_own_ways() -> None:
    fixed, *_ = taught("Gaussian", 20)
    raw = KINDS["Gaussian"](np.array([1.0, 2.0]))
    for twin in (copy.deepcopy(fixed), copy.copy(fixed), pickle.loads(pickle.dumps(fixed))):
        assert twin(raw).to_json() == fixed(raw).to_json()
        before = fixed(raw).to_json()
        twin.learn(raw, [50.0, 50.0])
        assert fixed(raw).to_json() == before


def test_state_round_trip_refits_at_the_same_outcomes() -> None:
    """With 120 outcomes a correction is renewed after every third one: the count goes along."""
    fixed, centres, contexts = taught("Gaussian", 121)
    twin = oc.Recalibrated()
    twin.restore(fixed.state())
    for centre, context in zip(centres[:5], contexts[:5], strict=True):
        raw = KINDS["Gaussian"](centre)
        assert twin(raw).to_json() == fixed(raw).to_json()
        fixed.learn(raw, context)
        twin.learn(raw, context)


def test_joined_records_are_those_of_both() -> None:
    one, *_ = taught("Gaussian", 150, seed=1)
    other, *_ = taught("Gaussian", 150, seed=2)
    both = one.joined(other)
    assert both.outcomes == 300
    assert np.abs(both.bias - [3.0, -2.0]).max() < 1.0
    assert one.joined(oc.Recalibrated()).outcomes == 150
    assert oc.Recalibrated().joined(one).outcomes == 150
    short = oc.Recalibrated(memory=10).joined(one)
    assert short.outcomes == 150, "what is there is taken as it is"


def test_what_does_not_fit_is_refused_and_changes_nothing() -> None:
    fixed, *_ = taught("Gaussian", 5)
    raw = KINDS["Gaussian"](np.array([1.0, 2.0]))
    before = repr(fixed)
    with refused(ValueError, "Recalibrated", "belief must have dimension 2, got 1"):
        fixed(oc.Gaussian([1.0], 1.0))
    with refused(ValueError, "Recalibrated", "belief must have dimension 2, got 1"):
        fixed.learn(oc.Gaussian([1.0], 1.0), [1.0])
    with refused(ValueError, "Recalibrated", "context must be finite"):
        fixed.learn(raw, [1.0, np.nan])
    with refused(ValueError, "Recalibrated", "context must have shape (2,)"):
        fixed.learn(raw, [1.0])
    with refused(ValueError, "Recalibrated", "context must have dimension 2, got 1"):
        fixed.learn(raw, oc.PointMass([1.0]))
    with refused(ValueError, "Frozen", "mean and variance must exist", "cauchy"):
        oc.Recalibrated().learn(oc.Frozen(scipy.stats.cauchy()), [1.0])
    with refused(ValueError, "Recalibrated", "memory must be >= 2"):
        oc.Recalibrated(memory=1)
    for memory in (10**9 + 1, 10**29):
        with refused(ValueError, "Recalibrated", "memory must be 1000000000 at most"):
            oc.Recalibrated(memory=memory)
    with refused(ValueError, "recalibrate", "one for each of the 1 beliefs"):
        recalibrate([raw], [])
    assert repr(fixed) == before


def test_a_bias_that_follows_the_season_is_followed() -> None:
    """Four years; what is left in any month of the last two stays below a third of 3, and four errors of 2/sqrt(30)."""
    rng = np.random.default_rng(0)
    days = np.arange(1460)
    means = 10.0 - 8.0 * np.cos(2 * np.pi * days / 365) + rng.normal(0.0, 3.0, 1460)
    outcomes = rng.normal(means + 3.0 * np.sin(2 * np.pi * days / 365), 2.0)
    fixed = recalibrate([oc.Gaussian([m], 1.0) for m in means], outcomes)
    errors = outcomes - np.array([belief.mean()[0] for belief in fixed])
    months = errors[730:].reshape(-1, 10, 73).mean(axis=(0, 2))
    assert np.abs(months).max() < 1.0
    slow = recalibrate([oc.Gaussian([m], 1.0) for m in means], outcomes, memory=500)
    left = outcomes - np.array([belief.mean()[0] for belief in slow])
    assert np.abs(left[730:].reshape(-1, 10, 73).mean(axis=(0, 2))).max() > 1.5


def test_bounds_hold_and_are_shown() -> None:
    """Rain: nothing below zero, and dry days have their share. Ensembles and normal forecasts alike."""
    rng = np.random.default_rng(0)
    latent = rng.normal(0.0, 2.0, 300)
    outcomes = np.maximum(latent + rng.normal(size=300), 0.0)
    for kind in ("ensemble", "normal"):
        fixed = oc.Recalibrated(bounds=(0, None))
        assert repr(fixed) == "Recalibrated(bounds=(0.0, None); nothing learnt)"
        for m, y in zip(latent, outcomes, strict=True):
            members = np.maximum(m + rng.normal(size=(7, 1)), 0.0)
            belief = oc.Ensemble(members) if kind == "ensemble" else oc.Gaussian([max(m, 0.0)], 1.0)
            fixed.learn(belief, [y])
        better = fixed(oc.Ensemble(np.zeros((7, 1))) if kind == "ensemble" else oc.Gaussian([0.0], 1.0))
        assert isinstance(better, oc.Ensemble)
        assert better.points.min() == 0.0
        assert 0.4 < better.cdf([0.0])[0] < 0.95
        testing.check_belief(better)
    with refused(ValueError, "Recalibrated", "context must lie within the bounds (0.0, None), got -1.0 in dimension 0"):
        fixed.learn(oc.Gaussian([0.0], 1.0), [-1.0])
    assert oc.Recalibrated(bounds=(0, None)).joined(fixed).outcomes == 300


def test_correctors_of_other_kinds_are_not_joined() -> None:
    one, other = taught("Gaussian", 5)[0], oc.Recalibrated(memory=50)
    other.learn(KINDS["Gaussian"](np.array([1.0, 2.0])), [1.0, 2.0])
    with refused(ValueError, "Recalibrated", "memory must be that of the other, 50, got None"):
        one.joined(other)
