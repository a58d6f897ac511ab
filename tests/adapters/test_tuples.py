"""Tuples, as scikit-learn, MAPIE, pmdarima and statsmodels return them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

import overcast as oc
from support import follow, refused

MEAN, SD = np.array([20.0, 21.0]), np.array([2.0, 1.0])
LOW, HIGH = MEAN - 3.0, MEAN + 4.0


def both(obj: Any, write: str) -> Any:
    """Return what the advice gives, which as_belief and as_beliefs share."""
    with refused(ValueError, "as_belief", write):
        oc.as_beliefs(obj)
    return follow(oc.as_belief, obj, write)


@pytest.mark.parametrize("kind", [np.asarray, list, pd.Series], ids=lambda kind: kind.__name__)
def test_mean_and_standard_deviation(kind: Any) -> None:
    """GaussianProcessRegressor.predict(X, return_std=True), for two rows and for one."""
    first, second = both((kind(MEAN), kind(SD)), "[oc.Gaussian(m, sd=s) for m, s in zip(*obj)]")
    assert (repr(first), repr(second)) == ("Gaussian(mean=[20.0], cov=[4.0])", "Gaussian(mean=[21.0], cov=[1.0])")
    one = both((kind(MEAN), kind(SD)), "oc.Gaussian(obj[0], sd=obj[1])")
    assert one.variance().tolist() == [4.0, 1.0]
    assert both((kind(MEAN), kind(SD)), "oc.Ensemble(obj)").members == 2
    m, s = kind(MEAN[:1]), kind(SD[:1])
    with refused(ValueError, "as_belief", "write oc.Gaussian(m, sd=s) with m, s = obj for mean and standard deviation"):
        oc.as_belief((m, s))
    assert repr(oc.Gaussian(m, sd=s)) == "Gaussian(mean=[20.0], cov=[4.0])"


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame, np.ndarray.tolist], ids=str)
@pytest.mark.parametrize("c", [1, 2, 3])
def test_columns_of_means_and_standard_deviations(kind: Any, c: int) -> None:
    """Regressors that were fitted to y[:, None], or to several columns, return (n, c)."""
    obj = kind(np.repeat(MEAN[:, None], c, axis=1)), kind(np.repeat(SD[:, None], c, axis=1))
    first, second = both(obj, "[oc.Gaussian(m, sd=s) for m, s in zip(*map(np.asarray, obj))]")
    assert (first.mean().tolist(), first.variance().tolist()) == ([20.0] * c, [4.0] * c)
    assert (second.mean().tolist(), second.variance().tolist()) == ([21.0] * c, [1.0] * c)
    assert [belief.members for belief in both(obj, "oc.as_beliefs(list(obj))")] == [2, 2]


def test_numbers() -> None:
    with refused(ValueError, "as_belief", "got a tuple of 2 numbers; write oc.Gaussian(m, sd=s) with m, s = obj"):
        oc.as_belief((20.0, np.float64(2.0)))
    assert both((20.0, 2.0), "list(obj)") == [20.0, 2.0]
    assert oc.as_belief([20.0, 2.0]).dim == 2
    assert both((20.0, 18.0, 22.0), "list(obj)") == [20.0, 18.0, 22.0]
    assert oc.as_belief((20.0,)).dim == 1


def test_pairs() -> None:
    pairs = list(zip(MEAN.tolist(), SD.tolist(), strict=True))
    first, _ = follow(oc.as_belief, pairs, "[oc.Gaussian(m, sd=s) for m, s in obj]")
    assert repr(first) == "Gaussian(mean=[20.0], cov=[4.0])"
    assert follow(oc.as_belief, pairs, "oc.Ensemble(obj)").members == 2
    with refused(ValueError, "as_belief", "a tuple of 2 numbers"):
        oc.as_beliefs(pairs)[0]
    with refused(ValueError, "as_belief", "a tuple of 2 numbers"):
        oc.calibration.check(pairs, [20.0, 21.0])


def test_a_bandit_takes_tuples_of_its_dimension() -> None:
    def bandit(**options: Any) -> oc.Bandit:
        return oc.Bandit(["a", "b"], oc.LinearModel(oc.features.Disjoint(2)), oc.UCB(), **options)

    fresh, known = bandit(), bandit(context=["warm", "wet"])
    for read in (fresh.decide, fresh.estimate):
        with refused(ValueError, "as_belief", "oc.Gaussian(m, sd=s)"):
            read((20.0, 2.0))
    with refused(ValueError, "Bandit", "belief must", "oc.Gaussian(m, sd=s)"):
        fresh.observe("a", (20.0, 2.0), 1.0)
    with refused(ValueError, "as_belief", "oc.Gaussian(m, sd=s)"):
        fresh.observe(["a", "b"], [(20.0, 2.0), (21.0, 1.0)], [0.0, 1.0])
    with refused(ValueError, "as_belief", "oc.Gaussian(m, sd=s)"):
        fresh.observe(["a", "b"], (MEAN, SD), [0.0, 1.0])
    with refused(ValueError, "as_belief", "oc.Gaussian(m, sd=s)"):
        fresh.observe(["a", "b"], (MEAN.tolist(), SD.tolist()), [0.0, 1.0])
    assert known.decide((20.0, 2.0)).belief.mean().tolist() == [20.0, 2.0]
    known.learn(known.decide((20.0, 2.0)), 1.0, context=(21.0, 1.0))
    known.observe("a", (20.0, 2.0), 1.0)
    known.observe(["a", "b"], [(20.0, 2.0), (21.0, 1.0)], [0.0, 1.0])
    assert known.learnt.rounds == 4
    fresh.decide([1.0])
    with refused(ValueError, "as_belief", "oc.Gaussian(m, sd=s)"):
        fresh.decide((20.0, 2.0))


@pytest.mark.parametrize("shape", [(2, 2), (2, 2, 1), (2, 2, 3)], ids=str)
def test_a_forecast_and_its_bounds(shape: tuple[int, ...]) -> None:
    """MapieRegressor.predict(X, alpha=...) has (n, 2, levels), pmdarima's predict(return_conf_int=True) (n, 2)."""
    bounds = np.stack([LOW, HIGH], axis=1)
    bounds = bounds if len(shape) == 2 else np.repeat(bounds[:, :, None], shape[2], axis=2)
    write = f"[oc.Quantiles([0.1, 0.9], row) for row in obj[1]{'[:, :, 0]' * (shape == (2, 2, 3))}]"
    first, _ = both((MEAN, bounds), write)
    assert first.values.tolist() == [[17.0], [24.0]]
    if len(shape) == 3:
        alone = both(bounds, write.replace("obj[1]", "obj"))
        assert alone[0].values.tolist() == [[17.0], [24.0]]
        assert len(both(bounds, "[oc.Ensemble(row) for row in obj]")) == 2


def test_bounds_alone_do_not_fit_a_bandit_of_one_dimension() -> None:
    bandit = oc.Bandit(["a", "b"], oc.LinearModel(oc.features.Disjoint(2)), oc.UCB(), context=["load"])
    x = np.stack([LOW, HIGH], axis=1)
    with refused(ValueError, "Bandit", "write oc.Quantiles([0.1, 0.9], x[0]) with your levels"):
        bandit.decide(x)
    bandit.decide(oc.Quantiles([0.1, 0.9], x[0]))


def test_intervals_are_no_ensembles_of_two() -> None:
    cube = np.stack([LOW, HIGH], axis=1)[:, :, None]
    with refused(ValueError, "as_belief", "three members or more"):
        oc.calibration.check(cube, MEAN)
    with refused(ValueError, "as_belief", "three members or more"):
        oc.calibration.recalibrate(cube, MEAN)


def test_mean_and_covariance() -> None:
    cov = np.diag([4.0, 1.0, 9.0])
    assert both((np.zeros(3), cov), "oc.Gaussian(*obj)").variance().tolist() == [4.0, 1.0, 9.0]
    assert both((MEAN, np.eye(2)), "oc.Gaussian(*obj)").variance().tolist() == [1.0, 1.0]


def test_the_bounds_of_vector_autoregression() -> None:
    """VARResults.forecast_interval returns three arrays (steps, variables): forecasts, lower and upper bounds."""
    mid = np.array([[20.0, 1.0], [21.0, 2.0]])
    write = "[oc.Quantiles([0.025, 0.5, 0.975], [low, mid, high]) for mid, low, high in zip(*obj)]"
    first, second = both((mid, mid - 1.0, mid + 1.0), write)
    assert first.quantile(0.5).tolist() == [20.0, 1.0]
    assert second.values.tolist() == [[20.0, 1.0], [21.0, 2.0], [22.0, 3.0]]
    assert both((mid, mid - 1.0, mid + 1.0), "oc.Ensemble(obj[0])").members == 2
    named = Bounds(mid, mid - 1.0, mid + 1.0)  # since statsmodels 0.15
    assert both(named, write)[1].values.tolist() == second.values.tolist()
    parts = (mid, mid[:1], mid[0], mid)
    assert len(both(parts, "oc.as_beliefs(list(obj))")) == 4


def test_tuples_of_forecasts_are_as_good_as_lists() -> None:
    assert len(oc.as_beliefs((oc.Gaussian([1.0], 1.0), {"mean": 20.0, "sd": 2.0}))) == 2


class Normal(NamedTuple):
    mean: Any
    sd: Any


class Bounds(NamedTuple):
    point_forecast: Any
    lower: Any
    upper: Any


class Weather(NamedTuple):
    warm: float
    wet: float


def test_named_tuples_and_records_have_names() -> None:
    assert repr(oc.as_belief(Normal(20.0, 2.0))) == "Gaussian(mean=[20.0], cov=[4.0])"
    assert len(oc.as_beliefs(Normal(MEAN, SD))) == 2
    assert oc.as_belief(Weather(20.0, 2.0)).names == ("warm", "wet")
    row = next(pd.DataFrame({"warm": [20.0], "wet": [2.0]}).itertuples())
    assert (oc.as_belief(row).names, oc.as_belief(row).mean().tolist()) == (("warm", "wet"), [20.0, 2.0])
    records = np.array([(20.0, 2.0), (21.0, 1.0)], dtype=[("mean", float), ("sd", float)])
    assert repr(oc.as_belief(records[0])) == "Gaussian(mean=[20.0], cov=[4.0])"
    assert [belief.variance()[0] for belief in oc.as_beliefs(records)] == [4.0, 1.0]
