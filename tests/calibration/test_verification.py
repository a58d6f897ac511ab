"""Forecasts verified in all that forecasters ask for."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import overcast as oc
from overcast._check import Array
from overcast.calibration import Verification, check, reference, scores, verify
from overcast.calibration.verification import LEVELS
from support import refused

sr: Any = pytest.importorskip("scoringrules")


def ensembles(t: int = 300, n: int = 9, sure: float = 1.0, seed: int = 0) -> tuple[list[oc.Belief], Array]:
    """Return ensembles of temperatures and outcomes drawn alike, but for a spread that may be too small."""
    rng = np.random.default_rng(seed)
    means, sizes = rng.normal(10.0, 5.0, t), rng.gamma(4.0, 0.3, t)
    members = means[:, None] + sure * sizes[:, None] * rng.standard_normal((t, n))
    return [oc.Ensemble(row[:, None]) for row in members], rng.normal(means, sizes)


@pytest.fixture(scope="module")
def found() -> Verification:
    beliefs, outcomes = ensembles()
    labels = [1 + i % 3 for i in range(300)]
    return verify(beliefs, outcomes, ["temp"], event="temp < 8", by=labels)


def test_scores_are_those_of_naive_formulas(found: Verification) -> None:
    beliefs, y = found.calibration.beliefs, found.calibration.outcomes[:, 0]
    points = np.stack([belief.support()[0][:, 0] for belief in beliefs])  # type: ignore[index]
    near = np.abs(points - y[:, None]).mean(axis=1)
    pairs = np.abs(points[:, :, None] - points[:, None]).sum(axis=(1, 2))
    assert found.crps[0] == pytest.approx((near - pairs / (2 * 81)).mean())
    assert found.fair_crps[0] == pytest.approx((near - pairs / (2 * 72)).mean())
    assert found.crps[0] == pytest.approx(check(beliefs, y).crps[0])
    low, high = found.quantiles[:, 0, 0], found.quantiles[:, -1, 0]
    score = high - low + 10.0 * np.maximum(low - y, 0.0) + 10.0 * np.maximum(y - high, 0.0)
    assert found.interval_score[0] == pytest.approx(score.mean())
    assert found.sharpness[0] == pytest.approx((high - low).mean())
    for j, level in enumerate(LEVELS):
        q = found.quantiles[:, j, 0]
        assert found.pinball[j, 0] == pytest.approx(np.where(y <= q, (1 - level) * (q - y), level * (y - q)).mean())


def test_the_interval_score_is_the_sum_of_two_pinball_scores(found: Verification) -> None:
    assert found.interval_score[0] == pytest.approx(2.0 / 0.2 * (found.pinball[0, 0] + found.pinball[-1, 0]))


def test_twice_the_mean_pinball_score_is_the_crps() -> None:
    """For a normal forecast, over 999 levels."""
    levels = np.arange(1, 1000) / 1000
    values = oc.Gaussian([1.0], 4.0).quantile(levels)[None]
    mean = 2.0 * scores.pinball(values, levels, np.array([[2.5]])).mean()
    assert mean == pytest.approx(scores.crps([oc.Gaussian([1.0], 4.0)], np.array([[2.5]]))[0, 0], rel=2e-3)


def test_skill_against_both_references(found: Verification) -> None:
    part = found.parts["2"]
    y = part.calibration.outcomes
    assert part.skill_climatology[0] == pytest.approx(1.0 - part.crps[0] / reference.climatology(y).mean())
    later = part.each_crps[1:].mean() / np.abs(np.diff(y[:, 0])).mean()
    assert part.skill_persistence[0] == pytest.approx(1.0 - later)
    assert 0.6 < part.skill_climatology[0] < 0.95


def test_the_climate_has_no_skill_and_truth_has_all() -> None:
    outcomes = np.random.default_rng(0).normal(size=(60, 1))
    climate = [oc.Ensemble(np.delete(outcomes, i, axis=0)) for i in range(60)]
    assert verify(climate, outcomes).skill_climatology[0] == pytest.approx(0.0, abs=1e-9)
    truth = verify([oc.PointMass(y) for y in outcomes], outcomes)
    assert truth.skill_climatology[0] == truth.skill_persistence[0] == 1.0
    last = [oc.PointMass(y) for y in [outcomes[-1], *outcomes[:-1]]]
    assert verify(last, outcomes).skill_persistence[0] == pytest.approx(0.0)


def test_fair_scores_do_not_depend_on_the_number_of_members() -> None:
    """Means over 3000 forecasts have standard errors of 1 %; the plain score of three members is a third too high."""
    few, many = (verify(*ensembles(3000, n)) for n in (3, 40))
    assert few.fair_crps[0] == pytest.approx(many.fair_crps[0], rel=0.05)
    assert few.crps[0] > 1.2 * many.crps[0]
    single, weighted = oc.Ensemble([[1.0]]), oc.Ensemble([[1.0], [2.0]], weights=[0.4, 0.6])
    assert np.isnan(scores.fair_crps([single, weighted], np.ones((2, 1)))).all()
    normal = oc.Gaussian([1.0], 1.0)
    assert scores.fair_crps([normal], np.ones((1, 1))) == scores.crps([normal], np.ones((1, 1)))


def test_spread_and_skill() -> None:
    """Right forecasts have equal spread and error in each tenth: within 25 %, four standard errors of 300."""
    rng = np.random.default_rng(0)
    means, sizes = rng.normal(10.0, 5.0, 3000), rng.gamma(4.0, 0.3, 3000)
    outcomes = rng.normal(means, sizes)
    right, sure = (
        verify([oc.Gaussian([m], sd=share * s) for m, s in zip(means, sizes, strict=True)], outcomes)
        for share in (1.0, 0.5)
    )
    spread, error = right.spread_and_error()[:, :, 0].T
    assert (np.diff(spread) > 0).all()
    np.testing.assert_allclose(error / spread, 1.0, atol=0.25)
    assert right.spread_skill[0] == pytest.approx(1.0, abs=0.06)
    assert sure.spread_skill[0] < 0.6
    whole = right.spread_and_error(1)[0, :, 0]
    assert whole[0] / whole[1] == pytest.approx(right.spread_skill[0])


def test_groups_are_verified_by_themselves(found: Verification) -> None:
    assert list(found.parts) == ["1", "2", "3"]
    beliefs, outcomes = ensembles()
    alone = verify(beliefs[1::3], outcomes[1::3], ["temp"], event="temp < 8")
    assert found.parts["2"].record() == alone.record()
    assert sum(len(part) for part in found.parts.values()) == len(found)


def test_labels_are_in_their_natural_order() -> None:
    beliefs, outcomes = ensembles(6)
    labels = ["10 days", "2 days", "b", "1.5 days", "a", "2 days"]
    assert list(verify(beliefs, outcomes, by=labels).parts) == ["1.5 days", "2 days", "10 days", "a", "b"]


def test_the_event_is_scored(found: Verification) -> None:
    assert found.event is not None
    y = found.calibration.outcomes[:, 0]
    p = np.array([(belief.support()[0] < 8.0).mean() for belief in found.calibration.beliefs])  # type: ignore[index]
    assert found.event.brier == pytest.approx(((p - (y < 8.0)) ** 2).mean())
    assert found.event.brier == pytest.approx(scores.brier(p, y < 8.0).mean())


def test_the_record_is_json_and_the_table_has_a_row_for_each_group(found: Verification) -> None:
    record = json.loads(json.dumps(found.record(), allow_nan=False))
    assert record["dimensions"]["temp"]["crps"] == found.crps[0]
    assert record["groups"]["3"]["outcomes"] == 100
    assert record["event"]["event"] == "temp < 8"
    text = str(found).splitlines()
    assert len(text) == 1 + 4 + 1
    assert text[1].startswith("temp ")
    assert text[2].startswith("temp, 1")
    assert text[-1].startswith("temp < 8: Brier score ")
    assert repr(found) == "Verification(300 outcomes of temp in 3 groups)"


def test_beliefs_of_every_kind_can_be_verified() -> None:
    rng = np.random.default_rng(0)
    kinds = [
        oc.Gaussian([0.0], 1.0),
        oc.PointMass([0.5]),
        oc.Quantiles([0.1, 0.5, 0.9], [-1.0, 0.0, 1.0]),
        oc.Sampler(lambda n, rng: rng.normal(size=(n, 1)), 1),
        oc.Mixture([oc.Gaussian([0.0], 1.0), oc.Ensemble([[1.0], [2.0]])]),
    ]
    found = verify(kinds * 4, rng.normal(size=20), event=lambda c: c[0] > 0.0)
    assert json.dumps(found.record(), allow_nan=False)
    assert found.fair_crps[0] == pytest.approx(found.crps[0])


def test_one_outcome_is_no_error() -> None:
    found = verify([oc.Gaussian([0.0], 1.0)], [1.0])
    assert found.record()["dimensions"]["dimension 1"]["skill_climatology"] is None
    assert "–" in str(found)


def test_what_does_not_fit_is_refused() -> None:
    beliefs, outcomes = ensembles(5)
    with refused(ValueError, "verify", "by must be one label for each of the 5 outcomes, got 2"):
        verify(beliefs, outcomes, by=[1, 2])
    with refused(ValueError, "Event", "event must be like 'temp < 0'"):
        verify(beliefs, outcomes, ["temp"], event="rain > 0")
    with refused(ValueError, "Verification", "bins must be >= 1"):
        verify(beliefs, outcomes).spread_and_error(0)
