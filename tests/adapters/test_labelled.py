"""xarray objects, made by xarray itself; an InferenceData stands in for ArviZ's, with the attributes of 0.23."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import overcast as oc
from overcast.adapters.labelled import MEMBERS
from support import follow, refused

RNG = np.random.default_rng(0)
TIMES = pd.date_range("2024-05-01", periods=10)


@pytest.mark.parametrize("dim", MEMBERS)
def test_every_name_of_members(dim: str) -> None:
    belief = oc.as_belief(xr.Dataset({"tp": (dim, [1.0, 2.0, 6.0])}))
    assert isinstance(belief, oc.Ensemble)
    assert belief.names == ("tp",)
    np.testing.assert_array_equal(belief.points, [[1.0], [2.0], [6.0]])


def test_times_are_forecasts_of_their_own() -> None:
    values = RNG.normal(size=(10, 24))
    plain = xr.Dataset({"t2m": (("time", "site"), values)}, {"time": TIMES})
    with refused(ValueError, "as_belief", "must hold one forecast, got 10 entries along 'time'", "obj.isel(time=0)"):
        oc.as_belief(plain)
    assert oc.as_beliefs(plain)[3].mean().tolist() == values[3].tolist()
    assert oc.as_belief(plain.isel(time=[0])).dim == 24
    odd = xr.DataArray(RNG.normal(size=(10, 5)), dims=["when", "number"], coords={"when": TIMES}, name="t2m")
    assert len(oc.as_beliefs(odd)) == 10
    lead = xr.DataArray(RNG.normal(size=(3, 5)), dims=["step", "number"], name="t2m")
    assert [belief.names for belief in oc.as_beliefs(lead)] == [("t2m",)] * 3
    both = xr.DataArray(RNG.normal(size=(3, 2, 5)), dims=["time", "step", "number"])
    with refused(ValueError, "as_belief", "apart by one dimension, got time, step", "obj.isel(time=0)"):
        oc.as_beliefs(both)


def test_quantiles_have_a_dimension_of_their_own() -> None:
    data = xr.Dataset({"t": ("number", RNG.normal(size=50)), "p": ("number", RNG.gamma(2.0, size=50))})
    belief = oc.as_belief(data.quantile([0.1, 0.5, 0.9]))
    assert isinstance(belief, oc.Quantiles)
    assert belief.names == ("t", "p")
    np.testing.assert_allclose(belief.quantile(0.5), [float(data["t"].median()), float(data["p"].median())])
    single = data.quantile(np.array([0.1, 0.5, 0.9], dtype=np.float32))
    assert getattr(oc.as_belief(single), "levels").tolist() == [0.1, 0.5, 0.9]  # noqa: B009 - of the class Quantiles


def test_draws_of_a_sampler() -> None:
    draws = RNG.normal(size=(4, 25, 3))
    assert oc.as_belief(xr.DataArray(draws[..., 0], dims=["chain", "draw"])).mean()[0] == pytest.approx(
        draws[..., 0].mean()
    )
    group = xr.Dataset({"y": (("chain", "draw", "y_dim_0"), draws)})
    tree = xr.DataTree.from_dict({"posterior": xr.Dataset({"mu": 1.0}), "posterior_predictive": group})
    stand_in = type(
        "InferenceData", (), {"__module__": "arviz.data.inference_data", "groups": lambda _: ["posterior_predictive"]}
    )
    stand_in.__getitem__ = lambda _, name: group  # type: ignore[index]
    for obj in (tree, stand_in()):
        beliefs = oc.as_beliefs(obj)
        assert len(beliefs) == 3
        np.testing.assert_allclose(beliefs[1].mean()[0], draws[..., 1].mean())
        with refused(ValueError, "as_belief", "got 3 entries along 'y_dim_0'"):
            oc.as_belief(obj)
        assert len(oc.as_beliefs(obj, model="y")) == 3
    with refused(ValueError, "as_belief", "a group predictions or posterior_predictive, got posterior", "parameters"):
        oc.as_belief(xr.DataTree.from_dict({"posterior": xr.Dataset({"mu": 1.0})}))


def test_what_is_not_known_is_refused_and_can_be_told() -> None:
    data = xr.DataArray([1.0, 2.0, 6.0], dims=["run"], name="t")
    with refused(ValueError, "as_belief", "dimensions of known names, got 'run' of size 3", "member_dim='run'"):
        oc.as_belief(data)
    assert oc.as_belief(data, member_dim="run").mean()[0] == 3.0
    with refused(ValueError, "as_belief", "member_dim must be one of run, got str 'member'"):
        oc.as_belief(data, member_dim="member")
    with refused(ValueError, "as_belief", "members or quantiles"):
        oc.as_belief(xr.DataArray(np.zeros((2, 3)), dims=["number", "quantile"], coords={"quantile": [0.1, 0.5, 0.9]}))
    with pytest.warns(UserWarning, match="1 of 3 members miss a number"):
        assert oc.as_belief(xr.DataArray([1.0, np.nan, 3.0], dims=["number"])).mean()[0] == 2.0


def test_variables_must_hold_numbers() -> None:
    with refused(ValueError, "as_belief", "variables of numbers", "in 'crs'", "obj.drop_vars('crs')"):
        oc.as_belief(xr.Dataset({"tp": ("number", [1.0, 2.0]), "crs": "WGS84"}))


def test_names_tell_places_apart() -> None:
    data = xr.DataArray(np.zeros((2, 3)), dims=["station", "number"], coords={"station": ["a", "b"]}, name="t")
    assert oc.as_belief(data).names == ("t[a]", "t[b]")
    grid: Any = xr.DataArray(np.zeros((2, 2, 3)), dims=["lat", "lon", "number"], coords={"lat": [47.0, 47.5]}, name="t")
    assert oc.as_belief(grid).names == ("t[47, 0]", "t[47, 1]", "t[47.5, 0]", "t[47.5, 1]")
    assert oc.as_belief(grid.rename(None)).names is None


def test_levels_of_quantiles_are_needed_and_lie_between_0_and_1() -> None:
    plain = xr.DataArray([1.0, 2.0, 4.0], dims=["quantile"], name="t")
    with refused(ValueError, "as_belief", "its levels along 'quantile', got none", "obj.assign_coords(quantile="):
        oc.as_belief(plain)
    percents = plain.assign_coords(quantile=[10, 50, 90])
    with refused(ValueError, "as_belief", "between 0 and 1, got 90", "obj['quantile'] / 100"):
        oc.as_belief(percents)
    assert oc.as_belief(percents.assign_coords(quantile=percents["quantile"] / 100)).quantile(0.5)[0] == 2.0


def test_variables_that_sum_up_a_forecast_are_no_quantities() -> None:
    for names in (["mean", "sd"], ["t_mean", "t_std"], ["q10", "q50", "q90"], ["yhat", "yhat_lower", "yhat_upper"]):
        data = xr.Dataset({name: ("time", [float(i), i + 1.0]) for i, name in enumerate(names)})
        with refused(ValueError, "as_belief", "quantities as its variables", names[-1], "write obj.to_pandas()"):
            oc.as_beliefs(data)
    normal = xr.Dataset({"t_mean": ("time", [1.0, 2.0]), "t_std": ("time", [0.5, 1.0])})
    assert [belief.variance()[0] for belief in oc.as_beliefs(normal.to_pandas())] == [0.25, 1.0]
    snow = xr.Dataset({"sd": ("number", [0.1, 0.3]), "t2m": ("number", [1.0, 2.0])})  # the snow depth of ECMWF
    assert oc.as_belief(snow).names == ("sd", "t2m")


def test_a_summary_in_the_variables_or_along_a_dimension() -> None:
    """Mean and standard deviation are no context of two dimensions, wherever they stand."""
    data = xr.Dataset({"tmean": 20.0, "tsd": 2.0})
    assert oc.as_belief(follow(oc.as_belief, data, "obj.to_pandas()")).variance()[0] == 4.0
    for dim in ("feature", "variable", "stat"):
        array = xr.DataArray([20.0, 2.0], dims=[dim], coords={dim: ["mean", "sd"]})
        assert oc.as_belief(follow(oc.as_belief, array, "obj.to_pandas()")).variance()[0] == 4.0
    times = xr.DataArray([[20.0, 2.0]] * 3, dims=["time", "variable"], coords={"variable": ["mean", "sd"]})
    assert len(oc.as_beliefs(follow(oc.as_beliefs, times, "obj.to_pandas()"))) == 3
    plain = xr.DataArray([20.0, 2.0], dims=["variable"], coords={"variable": ["warm", "wet"]})
    assert oc.as_belief(plain).dim == 2


def test_levels_under_another_name() -> None:
    array = xr.DataArray([1.0, 2.0, 4.0], dims=["q"], coords={"q": [0.1, 0.5, 0.9]})
    assert oc.as_belief(follow(oc.as_belief, array, "obj.rename({'q': 'quantile'})")).quantile(0.9)[0] == 4.0
    percents = array.assign_coords(q=[10, 50, 90]).rename(q="percentile")
    shares = follow(oc.as_belief, percents, "obj.rename({'percentile': 'quantile'})")
    assert oc.as_belief(follow(oc.as_belief, shares, "obj.assign_coords(quantile=obj['quantile'] / 100)")).dim == 1
    with refused(ValueError, "as_belief", "write member_dim='run'"):
        oc.as_belief(xr.DataArray([1.0, 2.0], dims=["run"], coords={"run": [1, 2]}))
