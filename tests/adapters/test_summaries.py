"""Rows that summarise a forecast.

The columns are those that the libraries write, as `tests/adapters/real.py` met them: statsforecast 2.1.1, statsmodels
0.15.0 and Prophet 1.5.0. Those of neuralforecast, TimeGPT, AutoGluon (TimeSeriesPredictor.predict) and Chronos
(predict_df) are as documented.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import overcast as oc
from overcast.adapters import summaries
from overcast.adapters.forecasts import Options
from support import refused

DAY = pd.Timestamp("2024-05-01")
NIXTLA = {"unique_id": ["a"], "ds": [DAY], "ETS": [2.0], "ETS-lo-80": [1.0], "ETS-hi-80": [4.0]}
SUMMARY = {"mean": [5.0], "mean_se": [2.0], "mean_ci_lower": [1.0], "mean_ci_upper": [9.0]}
PROPHET = {"ds": [DAY], "trend": [1.9], "yhat_lower": [1.0], "yhat_upper": [4.0], "trend_lower": [1.8], "yhat": [2.0]}
AUTOGLUON = {"mean": [2.5], **{f"{i / 10:.1f}": [i / 4] for i in range(1, 10)}}
LABELLED = {"lower 80%": [1.0], "upper 80%": [4.0], "lower 95%": [0.0], "upper 95%": [6.0]}
R = {"Point Forecast": [2.0], "Lo 80": [1.0], "Hi 80": [4.0]}
CHRONOS = {
    "id": ["a"],
    "timestamp": [DAY],
    "target_name": ["y"],
    "predictions": [2.0],
    "0.1": [1.0],
    "0.5": [2.0],
    "0.9": [4.0],
}


@pytest.mark.parametrize(
    ("columns", "levels", "values", "options"),
    [
        (NIXTLA, [0.1, 0.5, 0.9], [1.0, 2.0, 4.0], {}),
        ({**NIXTLA, "ETS-median": [1.5]}, [0.1, 0.5, 0.9], [1.0, 1.5, 4.0], {}),
        (
            {**NIXTLA, "ETS-lo-95": [0.0], "ETS-hi-95": [6.0]},
            [0.025, 0.1, 0.5, 0.9, 0.975],
            [0.0, 1.0, 2.0, 4.0, 6.0],
            {},
        ),
        (
            {**NIXTLA, "GRU": [7.0], "GRU-lo-80": [6.0], "GRU-hi-80": [8.0]},
            [0.1, 0.5, 0.9],
            [6.0, 7.0, 8.0],
            {"model": "GRU"},
        ),
        ({"unique_id": ["a"], "NHITS_ql0.1": [1.0], "NHITS_ql0.9": [3.0]}, [0.1, 0.9], [1.0, 3.0], {}),
        ({"NHITS-ql0.1": [1.0], "NHITS-ql0.5": [2.0], "NHITS-ql0.9": [3.0]}, [0.1, 0.5, 0.9], [1.0, 2.0, 3.0], {}),
        ({"TimeGPT": [9.0], "TimeGPT-q-10": [1.0], "TimeGPT-q-90": [3.0]}, [0.1, 0.9], [1.0, 3.0], {}),
        (PROPHET, [0.1, 0.5, 0.9], [1.0, 2.0, 4.0], {"level": 0.8}),
        ({"mean": [2.0], "pi_lower": [1.0], "pi_upper": [4.0]}, [0.05, 0.5, 0.95], [1.0, 2.0, 4.0], {"level": 0.9}),
        ({"lower": [1.0], "upper": [4.0]}, [0.025, 0.975], [1.0, 4.0], {"level": 0.95}),
        ({"lower load": [1.0], "upper load": [4.0]}, [0.025, 0.975], [1.0, 4.0], {"level": 0.95}),
        (LABELLED, [0.025, 0.1, 0.9, 0.975], [0.0, 1.0, 4.0, 6.0], {}),
        ({"lower PI (alpha=0.05)": [1.0], "upper PI (alpha=0.05)": [4.0]}, [0.025, 0.975], [1.0, 4.0], {}),
        ({"lower 95%": [1.0], "upper 95%": [4.0]}, [0.025, 0.975], [1.0, 4.0], {"level": 0.95}),
        (R, [0.1, 0.5, 0.9], [1.0, 2.0, 4.0], {}),
        (AUTOGLUON, [i / 10 for i in range(1, 10)], [i / 4 for i in range(1, 10)], {}),
        (CHRONOS, [0.1, 0.5, 0.9], [1.0, 2.0, 4.0], {}),
        ({"q0.1": [1.0], "q0.5": [2.0], "q0.9": [4.0]}, [0.1, 0.5, 0.9], [1.0, 2.0, 4.0], {}),
        ({"p10": [1.0], "p50": [2.0], "p90": [4.0]}, [0.1, 0.5, 0.9], [1.0, 2.0, 4.0], {}),
        ({"2.5%": [1.0], "50%": [2.0], "97.5%": [4.0]}, [0.025, 0.5, 0.975], [1.0, 2.0, 4.0], {}),
        ({0.9: [4.0], np.float32(0.1).item(): [1.0]}, [0.1, 0.9], [1.0, 4.0], {}),
    ],
)
def test_quantiles(columns: dict[Any, Any], levels: list[float], values: list[float], options: dict[str, Any]) -> None:
    frame = pd.DataFrame(columns)
    for belief in (
        oc.as_belief(frame, **options),
        oc.as_belief(frame.iloc[0], **options),
        *oc.as_beliefs(frame, **options),
    ):
        assert isinstance(belief, oc.Quantiles)
        np.testing.assert_allclose(belief.levels, levels)
        np.testing.assert_array_equal(belief.values[:, 0], values)
    two = pd.concat([frame, frame], ignore_index=True)
    assert len(oc.as_beliefs(two, **options)) == 2
    with refused(ValueError, "as_belief", "obj must hold one forecast, got 2 rows", "as_beliefs"):
        oc.as_belief(two, **options)


def test_mean_and_standard_error() -> None:
    arima = pd.DataFrame(SUMMARY).rename_axis(columns="load")
    belief = oc.as_belief(arima)
    assert repr(belief) == "Gaussian(mean=[5.0], cov=[4.0])"
    # The bounds of the mean are two errors away, so those of an observation, six away, mean an error of three.
    ols = pd.DataFrame({**SUMMARY, "obs_ci_lower": [-1.0], "obs_ci_upper": [11.0]})
    assert oc.as_belief(ols).variance()[0] == pytest.approx(9.0)
    with pytest.warns(UserWarning, match="that of a regression is of the mean alone"):
        oc.as_belief(pd.DataFrame(SUMMARY))
    assert repr(oc.as_belief(pd.DataFrame({"mean": [1.0], "std": [2.0]}))) == "Gaussian(mean=[1.0], cov=[4.0])"
    assert repr(oc.as_belief(pd.DataFrame({"temp": [1.0], "temp_sd": [2.0]}))) == "Gaussian(mean=[1.0], cov=[4.0])"
    both = pd.DataFrame({"temp": [1.0], "temp_sd": [2.0], "rain": [3.0], "rain_sd": [4.0]})
    assert repr(oc.as_belief(both, model="rain")) == "Gaussian(mean=[3.0], cov=[16.0])"
    with refused(ValueError, "as_belief", "got temp, rain; write model='temp', or {'temp': as_belief("):
        oc.as_belief(both)
    assert repr(oc.as_belief(pd.DataFrame({"mean": [1.0], "variance": [9.0]}))) == "Gaussian(mean=[1.0], cov=[9.0])"


@pytest.mark.parametrize(
    ("columns", "options", "words"),
    [
        ({**NIXTLA, "GRU-lo-80": [6.0], "GRU-hi-80": [8.0]}, {}, ["got ETS, GRU; write model='ETS'"]),
        (NIXTLA, {"model": "GRU"}, ["model must be one of ETS, got str 'GRU'"]),
        ({"0.1": [1.0], "0.9": [2.0]}, {"model": "GRU"}, ["the columns do not tell models apart"]),
        (PROPHET, {}, ["level must be given", "Prophet's yhat_lower", "level=0.8"]),
        ({"mean": [2.0], "pi_lower": [1.0], "pi_upper": [4.0]}, {}, ["level must be given", "pi_lower", "alpha"]),
        (PROPHET, {"level": 80}, ["level must lie between 0 and 1, got 80; write 0.8"]),
        ({"mean": [2.0]}, {}, ["got the columns mean"]),
        ({"mean_se": [2.0]}, {}, ["column mean"]),
        ({"rain_lower": [2.0], "rain_upper": [3.0]}, {}, ["none for the columns rain_lower and rain_upper"]),
        ({"q0.1": [1.0], "q0.9": [2.0], "rain": [3.0]}, {}, ["also 'rain'; write frame.drop(columns='rain')"]),
        ({"quantile": [0.1, 0.9], "value": [1.0, 2.0]}, {}, ["write frame.set_index('quantile')[['value']].T"]),
        ({"moisture_0.5": [0.1], "moisture_0.9": [1.0]}, {}, ["got the columns moisture_0.5, moisture_0.9"]),
        ({"q0.1": [1.0], "q0.9": [np.nan]}, {}, ["a number at every level, got nan"]),
        (LABELLED, {"level": 0.95}, ["level must be left out, as this DataFrame tells its own", "got float 0.95"]),
        (R, {"level": 0.5}, ["level must be left out"]),
        (
            {"lower a": [1.0], "upper a": [2.0], "lower b": [0.0], "upper b": [3.0]},
            {"level": 0.9},
            ["one lower and one upper bound", "got lower a, upper a, lower b, upper b"],
        ),
        ({**R, "lower": [0.0], "upper": [3.0]}, {"level": 0.9}, ["one lower and one upper bound"]),
        ({"lower 90%": [1.0], "upper 95%": [2.0]}, {}, ["a lower and an upper bound at each level"]),
        ({"low": [1.0], "mid": [2.0], "high": [3.0]}, {}, ["got none for the columns low and high", "level=0.8"]),
        ({"fc_mean": [1.0], "fc_spread": [2.0]}, {}, ["got the columns fc_mean, fc_spread"]),
        ({"temp": [1.0], "temp_se": [2.0]}, {}, ["got the columns temp, temp_se", "help(oc.as_belief)"]),
        ({"lower": [1.0], "upper": [2.0]}, {"level": 1.0}, ["between 0 and 1, got 1.0"]),
        ({"median": [1.0], "q0.5": [1.0]}, {}, ["two levels at least, got [0.5]"]),
    ],
)
def test_refusals_say_what_to_write(columns: dict[str, Any], options: dict[str, Any], words: list[str]) -> None:
    with refused(ValueError, "as_belief", *words):
        oc.as_belief(pd.DataFrame(columns), **options)


def test_quantiles_that_cross_are_sorted_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="as_belief: quantiles cross; they were sorted"):
        belief = oc.as_belief(pd.DataFrame({"0.1": [2.0], "0.5": [1.0], "0.9": [4.0]}))
    assert belief.quantile(0.1)[0] == 1.0
    with refused(TypeError, "as_belief", "numbers in column '0.1'"):
        oc.as_belief(pd.DataFrame({"0.1": ["low"], "0.9": [4.0]}))


def test_a_table_of_contexts_is_no_summary() -> None:
    assert summaries.forecasts(summaries.of_frame(pd.DataFrame({"warm": [20.0], "wet": [0.1]})), Options()) is None
