"""Members in tables: side by side, one below another, and numbers that may mean several things."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import overcast as oc
from overcast.adapters import ensembles
from support import follow, refused


def row(*names: Any) -> pd.DataFrame:
    return pd.DataFrame([np.arange(1.0, len(names) + 1.0)], columns=pd.Index(names))


def test_members_side_by_side() -> None:
    """docs/first.md writes m1 to m5 beside a date, and `overcast calibrate` reads tempfc.1."""
    frame = pd.DataFrame({"date": ["a", "b"], "m1": [1.0, 2.0], "m2": [3.0, 4.0], "m3": [5.0, 6.0]})
    assert [repr(belief) for belief in oc.as_beliefs(frame)] == ["Ensemble(3 points, dim=1)"] * 2
    assert oc.as_belief(row("rain_m1", "rain_m2", "wind_m1", "wind_m2")).names == ("rain", "wind")
    temp = oc.as_belief(row("tempfc.1", "tempfc.2", "tempfc.3"))
    assert (temp.names, temp.mean()[0]) == (("temp",), 2.0)
    assert oc.as_belief(row("m1", "m2").iloc[0]).members == 2
    pivot = pd.DataFrame([[1.0, 2.0]], columns=pd.Index([0, 5], name="number"))
    assert oc.as_belief(pivot).members == 2
    with refused(ValueError, "as_belief", "columns of members only, got also 'temp'"):  # the outcome
        oc.as_belief(row("temp", "tempfc.1", "tempfc.2"))
    with refused(ValueError, "as_belief", "got the members m1, m2; write pd.Series(obj)"):
        oc.as_belief({"m1": 1.0, "m2": 2.0})
    assert ensembles.member_columns(["m10", "m100", "temp_fc1", "temp_fc2"]) == {}


@pytest.mark.parametrize(
    "names",
    [
        *(
            ("c1", "c2", "c3"),
            ("x_1", "x_2"),
            ("feature_0", "feature_1", "feature_2"),
            (0, 1, 2),
            ("wind_10", "wind_100"),
        ),
        *(("temp_1", "temp_2", "temp_3", "price"), ("temp1", "temp2"), ("temp_lag1", "temp_lag2", "temp_lag3")),
    ],
    ids=str,
)
def test_dimensions_that_have_numbers(names: tuple[Any, ...]) -> None:
    """What has a number and is plainly a dimension stays one, and columns that pandas numbers are an array."""
    frame = row(*names)
    assert (oc.as_belief(frame).dim, oc.as_beliefs(frame)[0].dim) == (len(names), len(names))
    assert isinstance(oc.as_belief(frame.iloc[0]), oc.PointMass)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (
            ("rain.0", "rain.1", "rain.2"),
            ["whether its columns are members, got rain.0, rain.1, rain.2", "oc.Ensemble("],
        ),
        (("rain", "rain.1", "rain.2"), ["got rain, rain.1, rain.2"]),
        ((*(f"rain_{i}" for i in range(1, 11)), "height"), ["got rain_1, rain_2, …, rain_10"]),
        (("1", "2", "3"), ["got 1, 2, 3"]),
        (("10", "50", "90"), ["got 10, 50, 90; write frame.add_suffix('%') for percents"]),
        ((10, 50, 90), ["got 10, 50, 90; write frame.add_suffix('%') for percents"]),
        (("D10", "D50", "D90"), ["got D10, D50, D90; name them 10%, 50%, 90%"]),
    ],
)
def test_numbers_that_may_mean_several_things(names: tuple[Any, ...], words: list[str]) -> None:
    frame = row(*names)
    for obj in (frame, frame.iloc[0]):
        with refused(ValueError, "as_belief", *words):
            oc.as_belief(obj)
    with refused(ValueError, "as_belief", *words):
        oc.as_beliefs(frame)
    if "add_suffix" in words[0]:  # what the error says works
        assert repr(oc.as_belief(frame.add_suffix("%"))).startswith("Quantiles(levels=[0.1, 0.5, 0.9]")


def test_whole_numbers_from_one_are_no_array() -> None:
    with refused(ValueError, "as_belief", "whether its columns are members, got 1, 2, 3"):
        oc.as_belief(row(1, 2, 3))
    assert oc.as_belief(pd.Series([1.0, 2.0], index=[1, 4])).dim == 2  # a vector from which something was left out


def test_one_member_in_each_row() -> None:
    frame = pd.DataFrame({"number": [0, 1, 2, 0, 1, 2], "step": [6, 6, 6, 12, 12, 12], "tp": np.arange(6.0)})
    first, second = oc.as_beliefs(frame)
    assert isinstance(first, oc.Ensemble)
    assert (first.names, first.points[:, 0].tolist(), second.quantile(1.0)[0]) == (("tp",), [0.0, 1.0, 2.0], 5.0)
    with refused(ValueError, "as_belief", "got 2 forecasts; keep the rows of one step, or use as_beliefs"):
        oc.as_belief(frame)
    indexed = frame.assign(latitude=47.0).set_index(["latitude", "step", "number"])  # as xarray's to_dataframe has it
    np.testing.assert_allclose([belief.mean() for belief in oc.as_beliefs(indexed)], [[1.0], [4.0]])
    series = frame.iloc[:3].set_index("number")["tp"]
    assert oc.as_belief(series).members == 3
    draws = pd.DataFrame({"chain": [0, 0, 1, 1], "draw": [0, 1, 0, 1], "rain": np.arange(4.0)})
    assert (oc.as_belief(draws).members, oc.as_belief(draws).names) == (4, ("rain",))
    assert oc.as_belief(pd.DataFrame({"member": ["m05", "m12"], "rain": [1.0, 2.0]})).members == 2
    with pytest.warns(UserWarning, match="1 of 3 members miss a number"):
        assert oc.as_belief(pd.DataFrame({"member": [0, 1, 2], "rain": [1.0, np.nan, 3.0]})).members == 2
    assert oc.as_belief(pd.DataFrame({"number": [0.5, 1.5], "rain": [1.0, 2.0]})).dim == 2  # no number of a member


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"member": [1, 1], "rain": [1.0, 2.0]}, ["each member once, got 1 twice under 'member'"]),
        ({"number": [5, 3], "rain": [1.0, 2.0]}, ["from 0 or 1 under 'number'", "rename it if it is a quantity"]),
        (
            {"member": [1], "rain": [1.0]},
            ["several members, got one row, with 'member'", "frame.drop(columns='member')"],
        ),
        ({"member": [1, 2]}, ["quantities beside the numbers of members"]),
    ],
)
def test_numbers_of_members_that_do_not_tell(columns: dict[str, Any], words: list[str]) -> None:
    with refused(ValueError, "as_belief", *words):
        oc.as_belief(pd.DataFrame(columns))


def test_many_columns_that_only_count_may_be_members() -> None:
    """Columns of a simulation; fewer than ten are an array, and so are as many as the bandit's contexts have."""
    sims = pd.DataFrame(np.arange(120.0).reshape(3, 40))
    for read in (oc.as_belief, oc.as_beliefs):
        with refused(ValueError, "as_belief", "whether 10 columns or more are members, got 0, 1, …, 39"):
            read(sims)
    first = sims.iloc[0]
    for obj in (first, pd.Series(np.arange(40.0))):
        assert follow(oc.as_belief, obj, "oc.Ensemble(obj.to_numpy()[:, None])").members == 40
        assert oc.as_belief(follow(oc.as_belief, obj, "obj.to_numpy()")).dim == 40
    with refused(ValueError, "as_belief", "oc.Ensemble(row.to_numpy()[:, None])"):
        oc.as_belief(sims)
    assert oc.Ensemble(sims.iloc[0].to_numpy()[:, None]).members == 40
    assert oc.as_belief(row(*range(9))).dim == 9
    with refused(ValueError, "as_belief", "10 columns or more"):
        oc.as_belief(row(*range(10)))


def test_a_bandit_that_knows_so_many_dimensions_takes_them() -> None:
    sims = pd.DataFrame(np.arange(120.0).reshape(3, 40))
    bandit = oc.Bandit(["a", "b"], oc.LinearModel(oc.features.Disjoint(2)), oc.UCB())
    with refused(ValueError, "as_belief", "10 columns or more"):
        bandit.decide(sims.iloc[0])
    with refused(ValueError, "as_belief", "10 columns or more"):
        bandit.observe(["a"] * 3, sims, [0.0] * 3)
    bandit.decide(np.zeros(40))
    assert bandit.decide(sims.iloc[0]).belief.dim == bandit.decide(sims).belief.dim == 40
    bandit.observe(["a"] * 3, sims, [0.0] * 3)


def test_bootstrapped_columns_are_members() -> None:
    assert oc.as_belief(row("pred_boot_0", "pred_boot_1", "pred_boot_2")).members == 3  # skforecast


def test_percents_beside_the_forecast_itself() -> None:
    with refused(ValueError, "as_belief", "got prediction_5, prediction_95; name them 10%, 50%, 90%"):  # Orbit
        oc.as_belief(row("prediction_5", "prediction", "prediction_95"))
