"""Columns that only others explain."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import overcast as oc
from overcast.adapters import pairs
from overcast.adapters.pairs import Column
from support import follow, refused


def row(names: str) -> pd.DataFrame:
    """Return a table of one row, 1, 2, 3, ..., with these columns."""
    labels = names.split(", ")
    return pd.DataFrame([np.arange(1.0, len(labels) + 1.0)], columns=labels)


@pytest.mark.parametrize(
    "names",
    [
        *("tmean, tsd", "y_pred, y_std", "mean_temp, sd_temp", "temp(mean), temp(std)", "mean(temp), std(temp)"),
        *("TempMean, TempStd", "prediction, std", "yhat, yhat_std", "temp, tempsd", "t2m_ensmean, t2m_ensstd"),
        *("mean, sd, hdi_3%, hdi_97%", "yhat, sigma"),
    ],
)
def test_a_mean_and_a_standard_deviation(names: str) -> None:
    frame = row(names)
    for obj in (frame, frame.iloc[0], frame.iloc[0].to_dict(), frame.to_dict("list")):
        assert repr(oc.as_belief(obj)) == "Gaussian(mean=[1.0], cov=[4.0])"
    assert repr(oc.as_beliefs(frame)[0]) == "Gaussian(mean=[1.0], cov=[4.0])"


def test_a_mean_and_a_variance_without_a_gap() -> None:
    frame = row("tmean, tvar")
    records = frame.to_records(index=False)
    for obj in (frame, frame.iloc[0], frame.iloc[0].to_dict(), records, records[0]):
        assert oc.as_belief(obj).variance().tolist() == pytest.approx([2.0])
    bandit = oc.Bandit(["a", "b"], oc.LinearModel(oc.features.Disjoint(2)), oc.UCB())
    assert bandit.decide(frame.iloc[0]).belief.variance().tolist() == pytest.approx([2.0])


def test_an_error_may_be_several_things() -> None:
    for obj in (row("y, yerr").iloc[0], row("y, yerr").iloc[0].to_dict()):
        normal = follow(oc.as_belief, obj, "oc.Gaussian(row['y'], sd=row['yerr'])")
        assert (normal.mean().tolist(), normal.variance().tolist()) == ([1.0], [4.0])


@pytest.mark.parametrize(
    ("names", "levels"),
    [
        ("l95, u95", [0.025, 0.975]),
        ("X2.5, X97.5", [0.025, 0.975]),
        ("X2.5., X50., X97.5.", [0.025, 0.5, 0.975]),
        ("l95, pred, u95", [0.025, 0.5, 0.975]),
        ("lower_95, forecast, upper_95", [0.025, 0.5, 0.975]),
        ("lower 80%, pred, upper 80%", [0.1, 0.5, 0.9]),
        ("lo80, point, hi80", [0.1, 0.5, 0.9]),
        ("q10, pred, q90", [0.1, 0.5, 0.9]),
    ],
)
def test_bounds_that_tell_their_level(names: str, levels: list[float]) -> None:
    frame = row(names)
    for obj in (frame, frame.iloc[0], frame.iloc[0].to_dict(), frame.to_records(index=False)):
        belief = oc.as_belief(obj)
        assert isinstance(belief, oc.Quantiles)
        np.testing.assert_allclose(belief.levels, levels)
        np.testing.assert_array_equal(belief.values[:, 0], np.arange(1.0, len(levels) + 1.0))


def test_a_variance_is_no_standard_deviation() -> None:
    assert oc.as_belief(row("wind_mean, wind_var")).variance()[0] == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("names", "levels"),
    [
        ("lower_bound, pred, upper_bound", [0.1, 0.5, 0.9]),  # skforecast
        ("conf_low, mean, conf_high", [0.1, 0.5, 0.9]),
        ("conf.low, estimate, conf.high", [0.1, 0.5, 0.9]),
        ("lower, pred, upper", [0.1, 0.5, 0.9]),
        ("lwr, fit, upr", [0.1, 0.5, 0.9]),  # predict() of R
        ("fcst_lower, fcst, fcst_upper", [0.1, 0.5, 0.9]),
        ("y_lower, y_pred, y_upper", [0.1, 0.5, 0.9]),
        ("temp_min, temp_mean, temp_max", [0.1, 0.5, 0.9]),
        ("rain_lower, rain, rain_upper", [0.1, 0.5, 0.9]),
        ("low, mid, high", [0.1, 0.5, 0.9]),
        ("lower, median, upper", [0.1, 0.5, 0.9]),
        ("lower, yhat, upper", [0.1, 0.5, 0.9]),
        (".lower, .mean, .upper", [0.1, 0.5, 0.9]),
        ("temp_min, temp_max", [0.1, 0.9]),
        ("tmin, tmax", [0.1, 0.9]),
        ("min_temp, max_temp", [0.1, 0.9]),
        ("lower_ci, upper_ci", [0.1, 0.9]),
        ("interval_low, interval_high", [0.1, 0.9]),
        ("lb, ub", [0.1, 0.9]),
        ("lb, mean, ub", [0.1, 0.5, 0.9]),
    ],
)
def test_bounds_need_a_level(names: str, levels: list[float]) -> None:
    frame = row(names)
    for obj in (frame, frame.iloc[0], frame.iloc[0].to_dict()):
        belief = oc.as_belief(obj, level=0.8)
        assert isinstance(belief, oc.Quantiles)
        np.testing.assert_allclose(belief.levels, levels)
        np.testing.assert_array_equal(belief.values[:, 0], np.arange(1.0, len(levels) + 1.0))
        with refused(ValueError, "as_belief", "level must be given", "write level=0.8 if 80 % lie between them"):
            oc.as_belief(obj)
    assert oc.as_belief(follow(oc.as_belief, frame, "obj.to_numpy()")).dim == len(levels)
    assert oc.as_belief(follow(oc.as_belief, frame.iloc[0].to_dict(), "list(obj.values())")).dim == len(levels)


def test_a_bandit_that_knows_these_dimensions_takes_them() -> None:
    """A low and a high that were named as dimensions are quantities; the same beside a spread is still a forecast."""
    model = oc.LinearModel(oc.features.Disjoint(2))
    bandit = oc.Bandit(["a", "b"], model, oc.UCB(), context=["temp_min", "temp_max"])
    frame = row("temp_min, temp_max")
    assert bandit.decide(frame.iloc[0]).belief.mean().tolist() == [1.0, 2.0]
    bandit.learn(bandit.decide(frame), 1.0, context=frame.iloc[0].to_dict())
    bandit.observe(["a"], frame, [1.0])
    other = oc.Bandit(["a", "b"], model, oc.UCB(), context=["temp"])
    assert other.decide(row("temp, temp_sd")).belief.variance()[0] == 4.0


@pytest.mark.parametrize(
    ("names", "write", "mean"),
    [
        ("shape, rate", "scipy.stats.gamma(row['shape'], scale=1 / row['rate'])", 0.5),
        ("alpha, beta", "scipy.stats.beta(row['alpha'], row['beta'])", 1 / 3),
        ("location, scale", "scipy.stats.norm(row['location'], row['scale'])", 1.0),
        ("load_mu, load_sigma", "scipy.stats.norm(row['load_mu'], row['load_sigma'])", 1.0),
        ("loc, scale, df", "scipy.stats.norm(row['loc'], row['scale'])", 1.0),
        ("shape, scale", "scipy.stats.gamma(row['shape'], scale=row['scale'])", 2.0),
        ("concentration, rate", "scipy.stats.gamma(row['concentration'], scale=1 / row['rate'])", 0.5),
        ("concentration1, concentration0", "scipy.stats.beta(row['concentration1'], row['concentration0'])", 1 / 3),
        ("log_mean, log_sd", "scipy.stats.lognorm(row['log_sd'], scale=np.exp(row['log_mean']))", np.exp(3.0)),
        ("meanlog, sdlog", "scipy.stats.lognorm(row['sdlog'], scale=np.exp(row['meanlog']))", np.exp(3.0)),
    ],
)
def test_parameters_do_not_tell_their_family(names: str, write: str, mean: float) -> None:
    frame = row(names)
    for obj in (frame.iloc[0], frame.iloc[0].to_dict()):
        assert oc.as_belief(follow(oc.as_belief, obj, write)).mean()[0] == pytest.approx(mean)
    with refused(ValueError, "as_belief", write):
        oc.as_beliefs(frame)


def test_failures_before_a_success() -> None:
    frame = pd.DataFrame({"total_count": [4.0], "probs": [0.25]})
    write = "scipy.stats.nbinom(row['total_count'], 1 - row['probs'])"
    assert oc.as_belief(follow(oc.as_belief, frame.iloc[0], write)).mean()[0] == pytest.approx(4 / 3)  # as torch has it


@pytest.mark.parametrize(
    "names", ["temp, temp_unc", "estimate, std.error", "fit, se.fit", "value, error", "mean, precision", "median, mad"]
)
def test_spreads_that_may_be_several_things(names: str) -> None:
    with refused(ValueError, "as_belief", "mean and standard deviation", "help(oc.as_belief)"):
        oc.as_belief(row(names))


@pytest.mark.parametrize(
    "labels",
    [
        *(["open", "high", "low", "close"], ["rain", "temp_sd"], ["t", "tsd"], ["temp_min"], ["loc", "mu"], ["a", "b"]),
        *(["human", "woman"], ["mean_lower", "mean_upper"], [0, 1.5, ("mean", "sd")]),
    ],
    ids=str,
)
def test_what_says_nothing(labels: list[Any]) -> None:
    assert pairs.read_pairs(labels) == {}
    assert pairs.constructor_call(labels) == ""


def test_columns_of_two_forecasts_are_told_apart() -> None:
    found = pairs.read_pairs(["rain_low", "rain_high", "wind_low", "wind_high", "rain"])
    assert found["rain"] == Column("rain", "point")
    assert found["wind_high"] == Column("wind", "upper")
    with refused(ValueError, "as_belief", "got rain, wind; write model='rain'"):
        oc.as_belief(row("rain_low, rain_high, wind_low, wind_high"), level=0.8)
    assert (
        oc.as_belief(row("rain_low, rain_high, wind_low, wind_high"), level=0.8, model="wind").quantile(0.1)[0] == 3.0
    )
