"""Dictionaries: Open-Meteo's answers in the form of its ensemble API, and the predictive samples of Prophet 1.5."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import xarray as xr

import overcast as oc
from support import follow, refused


def meteo(suffix: str = "") -> dict[str, Any]:
    hourly: dict[str, Any] = {"time": ["2024-05-01T00:00", "2024-05-01T01:00"]}
    for name, base in (("temperature_2m", 10.0), ("rain", 0.0)):
        hourly[f"{name}{suffix}"] = [base, base + 1.0]
        for i in (1, 2):
            hourly[f"{name}_member{i:02d}{suffix}"] = [base + i, base + i + 1.0]
    return {"latitude": 47.0, "hourly_units": {"rain": "mm"}, "hourly": hourly}


def test_open_meteo() -> None:
    first, second = oc.as_beliefs(meteo())
    assert isinstance(first, oc.Ensemble)
    assert first.names == ("temperature_2m", "rain")
    np.testing.assert_array_equal(first.points, [[10.0, 0.0], [11.0, 1.0], [12.0, 2.0]])
    assert second.mean().tolist() == [12.0, 2.0]
    with refused(ValueError, "as_belief", "got 2 times", "as_beliefs(obj)[0]"):
        oc.as_belief(meteo())
    one = meteo("_gfs_seamless")
    assert len(oc.as_beliefs(one)) == 2
    assert len(oc.as_beliefs(one, model="gfs_seamless")) == 2
    two = {"hourly": {**one["hourly"], **meteo("_icon_eu")["hourly"]}}
    with refused(ValueError, "as_belief", "got gfs_seamless, icon_eu; write model='gfs_seamless'"):
        oc.as_beliefs(two)
    assert oc.as_beliefs(two, model="icon_eu")[0].names == ("temperature_2m", "rain")
    with refused(ValueError, "as_belief", "model must be one of gfs_seamless, icon_eu, got str 'gfs'"):
        oc.as_beliefs(two, model="gfs")


def test_open_meteo_with_gaps_and_without_members() -> None:
    gap = meteo()
    gap["hourly"]["rain_member02"][1] = None
    with pytest.warns(UserWarning, match="1 of 3 members miss a number"):
        assert len(oc.as_beliefs(gap)[1].stand_in()[1]) == 2
    with refused(ValueError, "as_belief", "the members of an ensemble, got none"):
        oc.as_beliefs({"hourly": {"time": ["2024-05-01"], "rain": [1.0]}})
    with refused(ValueError, "as_belief", "series of one kind, got hourly, daily"):
        oc.as_beliefs({**meteo(), "daily": meteo()["hourly"]})
    less = meteo()
    del less["hourly"]["rain_member02"]
    with refused(ValueError, "as_belief", "the same members of all variables"):
        oc.as_beliefs(less)


def test_prophets_samples_have_one_row_for_each_time() -> None:
    draws = {"yhat": np.arange(12.0).reshape(3, 4), "trend": np.zeros((3, 4))}
    assert [belief.mean()[0] for belief in oc.as_beliefs(draws)] == [1.5, 5.5, 9.5]
    with refused(ValueError, "as_belief", "got 3 rows", "samples['yhat'][0][:, None]"):
        oc.as_belief(draws)


def test_contexts_by_name() -> None:
    assert oc.as_belief({"warm": 21, "wet": np.float32(0.5)}).mean().tolist() == [21.0, 0.5]
    both = oc.as_belief({"warm": oc.Gaussian([21.0], 4.0), "wet": 0.4})
    assert both.names == ("warm", "wet")
    assert both.variance().tolist() == [4.0, 0.0]
    assert oc.as_belief({"warm": np.array(21.0), "wet": xr.DataArray(0.5)}).mean().tolist() == [21.0, 0.5]
    with refused(TypeError, "as_belief", "obj['warm'] must be a number, got 'hot'"):
        oc.as_belief({"warm": "hot"})
    with refused(TypeError, "as_belief", "must be a string, got int 1"):
        oc.as_belief({1: 2.0})
    with refused(ValueError, "belief_from_json", "type"):
        oc.as_belief({})


def test_forecasts_of_several_quantities_are_joined_by_name() -> None:
    row = pd.DataFrame({"q0.1": [1.0], "q0.5": [2.0], "q0.9": [4.0]})
    members = xr.Dataset({"t2m": ("number", [1.0, 2.0, 6.0])})
    belief = oc.as_belief({"wet": row, "warm": members, "windy": scipy.stats.norm(5.0, 2.0), "day": 3})
    assert isinstance(belief, oc.Independent)
    assert belief.names == ("wet", "warm", "windy", "day")
    np.testing.assert_allclose(belief.mean()[1:], [3.0, 5.0, 3.0])
    np.testing.assert_allclose(belief.quantile(0.5)[0], 2.0)
    bounds = pd.Series({"yhat": 2.0, "yhat_lower": 1.0, "yhat_upper": 3.0})
    assert oc.as_belief({"load": bounds}, level=0.8).quantile(0.9)[0] == pytest.approx(3.0)
    with refused(ValueError, "as_belief", "obj['warm'] must be about one quantity, got 3", "oc.Ensemble(x[:, None])"):
        oc.as_belief({"warm": pd.Series([1.0, 2.0, 3.0])})
    with refused(TypeError, "as_belief", "numbers or forecasts of one quantity each", "under 'warm'"):
        oc.as_belief({"warm": [1.0, 2.0, 3.0]})


def test_summaries_by_name() -> None:
    """Numbers are one forecast, and arrays one for each entry, as in the columns of a table."""
    assert repr(oc.as_belief({"mean": 20.0, "sd": 2.0})) == "Gaussian(mean=[20.0], cov=[4.0])"
    many = {"mean": [20.0, 21.0], "sd": [2.0, 1.0], "ds": ["1 May", "2 May"]}
    assert [belief.variance()[0] for belief in oc.as_beliefs(many)] == [4.0, 1.0]
    del many["ds"]
    assert follow(oc.as_belief, many, "oc.Gaussian(obj['mean'], sd=obj['sd'])").variance().tolist() == [4.0, 1.0]
    assert follow(oc.as_belief, many, "as_beliefs(obj)[0]", as_beliefs=oc.as_beliefs).variance()[0] == 4.0
    assert oc.as_beliefs({"mean": np.array([20.0, 21.0]), "sd": 2.0})[1].variance()[0] == 4.0
    levels = {0.1: np.array([1.0, 2.0]), 0.5: np.array([2.0, 3.0]), 0.9: np.array([4.0, 5.0])}
    assert [belief.quantile(0.9)[0] for belief in oc.as_beliefs(levels)] == pytest.approx([4.0, 5.0])
    assert follow(oc.as_belief, levels, "as_beliefs(obj)[0]", as_beliefs=oc.as_beliefs).quantile(0.5)[0] == 2.0
    for one in ({0.1: 1.0, 0.9: 2.0}, {"0.1": 1.0, "0.9": 2.0}, {"q0.1": [1.0], "q0.9": [2.0]}):
        assert repr(oc.as_belief(one)) == "Quantiles(levels=[0.1, 0.9], values=[[1.0], [2.0]])"
    nested = oc.as_belief({"temp": {"mean": 20.0, "sd": 2.0}, "rain": 0.3})
    assert (nested.names, nested.variance().tolist()) == (("temp", "rain"), [4.0, 0.0])


def test_summaries_by_name_that_may_mean_two_things() -> None:
    percents = follow(oc.as_belief, {10: 1.0, 50: 2.0, 90: 3.0}, "{key / 100: value for key, value in obj.items()}")
    assert oc.as_belief(percents).quantile(0.5)[0] == 2.0
    mixed = {"temp": 20.0, "temp_sd": 2.0, "rain": 0.3}
    alone = follow(oc.as_belief, mixed, "{key: obj[key] for key in ['temp', 'temp_sd']}")
    assert oc.as_belief(alone).variance()[0] == 4.0
    joined = "{'name': {key: obj[key] for key in ['temp', 'temp_sd']}, 'rain': obj['rain']}"
    assert oc.as_belief(follow(oc.as_belief, mixed, joined)).variance().tolist() == [4.0, 0.0]
    table = pd.DataFrame({"mean": [20.0], "sd": [2.0]})
    assert oc.as_belief(follow(oc.as_belief, table.to_dict(), "pd.DataFrame(obj)")).variance()[0] == 4.0
    with refused(ValueError, "as_belief", "obj[0.1] must hold one number for each forecast, got (2, 2)"):
        oc.as_belief({0.1: np.zeros((2, 2)), 0.9: np.ones((2, 2))})
    with refused(ValueError, "as_belief", "arrays of one length"):
        oc.as_beliefs({"mean": [1.0, 2.0], "sd": [1.0, 2.0, 3.0]})
    with refused(TypeError, "as_belief", "numbers under 'sd'"):
        oc.as_belief({"mean": 1.0, "sd": "wide"})


def test_numbers_as_keys_that_are_no_percents() -> None:
    with refused(TypeError, "as_belief", "must be a string, got int 100"):
        oc.as_belief({100: 2.0, 200: 3.0})
