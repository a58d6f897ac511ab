"""What the names of columns say."""

from __future__ import annotations

import pytest

from overcast.adapters import columns
from overcast.adapters.pairs import Column


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        # Nixtla: statsforecast 2.1 forecast(level=[80]); neuralforecast's quantile losses; TimeGPT's quantiles=
        ("AutoARIMA-lo-80", Column("AutoARIMA", "lo", 0.8)),
        ("AutoARIMA-hi-99.5", Column("AutoARIMA", "hi", 0.995)),
        ("NHITS-median", Column("NHITS", "median")),
        ("NHITS_ql0.1", Column("NHITS", "quantile", 0.1)),
        ("NHITS-ql0.25", Column("NHITS", "quantile", 0.25)),
        ("TimeGPT-q-10", Column("TimeGPT", "quantile", 0.1)),
        # statsmodels 0.15 summary_frame(); Prophet 1.5 predict()
        ("mean_se", Column("", "mean se")),
        ("obs_ci_lower", Column("", "obs lower")),
        ("pi_upper", Column("", "pi upper")),
        ("yhat_lower", Column("", "yhat lower")),
        # AutoGluon and Chronos write levels alone; others put a letter or a sign to them
        ("0.1", Column("", "quantile", 0.1)),
        (0.1, Column("", "quantile", 0.1)),
        ("q0.1", Column("", "quantile", 0.1)),
        ("Q_0.975", Column("", "quantile", 0.975)),
        ("quantile_0.5", Column("", "quantile", 0.5)),
        ("2.5%", Column("", "quantile", 0.025)),
        ("p90", Column("", "percentile", 0.9)),
        ("mean", Column("", "mean")),
        ("std", Column("", "sd")),
        # Darts 0.48: components of predict_likelihood_parameters
        ("load_q0.10", Column("load", "quantile", 0.1)),
        ("trend_lower", Column("", "other")),
        ("moisture_0.5", Column("", "other")),
        ("quantile", Column("", "other")),
        ("lower load", Column("", "lower")),
        # bounds that tell how much lies between them: R's forecast, statsmodels, and others
        ("Lo 80", Column("", "lo", 0.8)),
        ("Hi.95", Column("", "hi", 0.95)),
        ("lower 80%", Column("", "lo", 0.8)),
        ("upper_0.9", Column("", "hi", 0.9)),
        ("95% CI upper", Column("", "hi", 0.95)),
        ("lower PI (alpha=0.050000)", Column("", "lo", 0.95)),
        ("lower 2.5%", Column("", "other")),  # a quantile, or an interval of 2.5 %
        ("hi100", Column("", "other")),
        # levels are rounded: 1 - 0.32 is 0.6799999999999999, and 0.7 / 100 is 0.006999999999999999
        ("lower PI (alpha=0.32)", Column("", "lo", 0.68)),
        ("0.7%", Column("", "quantile", 0.007)),
        ("10th percentile", Column("", "percentile", 0.1)),
        ("yhat1 10.0%", Column("yhat1", "quantile", 0.1)),
        ("hdi_3%", Column("", "other")),  # ArviZ: ends of a highest density interval are no quantiles
        ("se.fit", Column("", "other")),
        ("Point Forecast", Column("", "point")),
        # contexts
        ("rain", None),
        ("temperature_2m", None),
        ("q", None),
        (0, None),
        (1.5, None),
        (("load", 0.1), None),
    ],
)
def test_names(label: object, expected: Column | None) -> None:
    assert columns.read(label) == expected


def test_letters_with_numbers_are_percentiles_only_beside_others() -> None:
    assert columns.read_all(["p1", "p2", "p3"]) == {}
    assert columns.read_all(["p50", "rain"]) == {}
    assert list(columns.read_all(["p5", "p50", "p95", "rain"])) == ["p5", "p50", "p95"]


def test_a_mean_and_a_spread_of_one_name_stand_together() -> None:
    found = columns.read_all(["wind_mean", "wind_std", "rain_mean", "gust_sd"])
    assert found == {"wind_mean": Column("wind", "mean"), "wind_std": Column("wind", "sd")}
    assert columns.read_all(["temp", "temp_sd"]) == {"temp": Column("temp", "mean"), "temp_sd": Column("temp", "sd")}
    assert set(columns.read_all(["fc_mean", "fc_spread", "rain"])) == {"fc_mean", "fc_spread"}
    assert columns.read_all(["rain", "temp_sd"]) == {}
    assert columns.read_all(["loc", "temperature", "mu"]) == {}
    assert list(columns.read_all(["loc", "scale"])) == ["loc", "scale"]
    assert list(columns.read_all(["low", "mid", "high"])) == ["low", "mid", "high"]
    assert set(columns.read_all(["load_mu", "load_sigma"])) == {"load_mu", "load_sigma"}  # normal or log-normal


def test_columns_come_in_the_order_of_the_labels() -> None:
    labels = ["wind_std", "q0.9", "wind_mean", "q0.1"]
    assert list(columns.read_all(labels)) == labels
    assert list(columns.read_all(["upper_bound", "0.5", "lower_bound"])) == ["upper_bound", "0.5", "lower_bound"]


def test_what_a_name_says_alone_counts_unless_others_say_more() -> None:
    assert columns.read_all(["yhat", "yhat_std"])["yhat"] == Column("yhat", "mean")
    assert columns.read_all(["rain_lower", "rain_upper"])["rain_lower"] == Column("rain", "lower")
    assert columns.read_all(["rain_lower"]) == {"rain_lower": Column("", "other")}
    prophet = columns.read_all(["yhat", "yhat_lower", "yhat_upper", "trend_lower", "trend_upper"])
    assert [column.kind for column in prophet.values()] == ["yhat", "yhat lower", "yhat upper", "other", "other"]


def test_dimensions_that_a_bandit_knows_by_name_are_no_summary() -> None:
    assert columns.read_all(["temp_min", "temp_max"], ["temp_min", "temp_max", "rain"]) == {}
    assert set(columns.read_all(["temp", "temp_sd"], ["temp"])) == {"temp", "temp_sd"}
