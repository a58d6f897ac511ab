"""pandas objects: members side by side, sktime's columns, contexts."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import overcast as oc
from overcast.adapters import tables
from overcast.adapters.forecasts import Options
from support import follow, refused


def sktime_quantiles() -> pd.DataFrame:
    """As predict_quantiles of sktime 1.2 and skpro 2.16 return it, for two variables."""
    labels = pd.MultiIndex.from_product([["load", "wind"], [0.1, 0.5, 0.9]])
    return pd.DataFrame([[1.0, 2.0, 4.0, 10.0, 20.0, 40.0], [2.0, 3.0, 5.0, 20.0, 30.0, 50.0]], columns=labels)


def test_sktime_quantiles_and_intervals() -> None:
    first, second = oc.as_beliefs(sktime_quantiles())
    assert isinstance(first, oc.Quantiles)
    assert first.names == ("load", "wind")
    np.testing.assert_array_equal(first.values, [[1.0, 10.0], [2.0, 20.0], [4.0, 40.0]])
    assert second.quantile(0.9).tolist() == [5.0, 50.0]
    row = oc.as_belief(sktime_quantiles().iloc[0])
    np.testing.assert_array_equal(row.quantile(0.5), [2.0, 20.0])
    labels = pd.MultiIndex.from_tuples([("load", 0.8, "lower"), ("load", 0.8, "upper")])  # predict_interval
    interval = oc.as_belief(pd.DataFrame([[1.0, 4.0]], columns=labels))
    assert isinstance(interval, oc.Quantiles)
    np.testing.assert_allclose(interval.levels, [0.1, 0.9])
    with refused(ValueError, "as_belief", "must hold one forecast, got 2 rows"):
        oc.as_belief(sktime_quantiles())
    with refused(ValueError, "as_belief", "columns (variable, level)", "('load', 'lower')"):
        oc.as_belief(pd.DataFrame([[1.0]], columns=pd.MultiIndex.from_tuples([("load", "lower")])))
    with refused(ValueError, "as_belief", "the same levels of all variables"):
        oc.as_belief(sktime_quantiles().iloc[:1, :5])


def test_members_side_by_side() -> None:
    """The columns of Open-Meteo's ensemble API, read into a frame, and others with one column per member."""
    columns = ["time", "t", "t_member01", "t_member02", "rain", "rain_member01", "rain_member02"]
    frame = pd.DataFrame([["2024-05-01T00:00", 1.0, 2.0, 3.0, 0.1, 0.2, 0.3]], columns=columns)
    belief = oc.as_belief(frame)
    assert isinstance(belief, oc.Ensemble)
    assert belief.names == ("t", "rain")
    np.testing.assert_array_equal(belief.points, [[1.0, 0.1], [2.0, 0.2], [3.0, 0.3]])
    plain = pd.DataFrame([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], columns=["ens_0", "ens_1", "ens_2"])
    assert [belief.mean().tolist() for belief in oc.as_beliefs(plain)] == [[2.0], [5.0]]
    with pytest.warns(UserWarning, match="1 of 3 members miss a number"):
        assert oc.as_belief(pd.DataFrame([[1.0, np.nan, 3.0]], columns=plain.columns)).mean()[0] == 2.0
    with refused(ValueError, "as_belief", "at least one member with all its numbers"):
        oc.as_belief(pd.DataFrame([[np.nan] * 3], columns=plain.columns))
    with refused(ValueError, "as_belief", "columns of members only, got also 'wind'"):
        oc.as_belief(plain.assign(wind=1.0))
    with refused(ValueError, "as_belief", "the same members of all variables"):
        oc.as_belief(frame.drop(columns="t_member02"))


def test_plain_tables_are_members_or_contexts() -> None:
    frame = pd.DataFrame({"warm": [20.0, 22.0], "wet": [0.1, 0.3]})
    assert repr(oc.as_belief(frame)) == "Ensemble(2 points, dim=2)"
    assert [repr(belief) for belief in oc.as_beliefs(frame)] == ["PointMass([20.0, 0.1])", "PointMass([22.0, 0.3])"]
    assert oc.as_beliefs(frame)[1].names == ("warm", "wet")
    assert len(tables.rows(frame.iloc[:1], Options())) == 1


def test_summaries_in_the_rows() -> None:
    data = pd.DataFrame({"warm": np.arange(11.0), "wet": np.arange(11.0) / 10.0})
    belief = oc.as_belief(data.quantile([0.1, 0.5, 0.9]))
    assert isinstance(belief, oc.Quantiles)
    assert belief.names == ("warm", "wet")
    np.testing.assert_allclose(belief.quantile(0.9), [9.0, 0.9])
    assert oc.as_belief(data["warm"].quantile([0.1, 0.5, 0.9])).quantile(0.5)[0] == 5.0
    with refused(ValueError, "as_belief", "a summary in its columns, got mean, std", "write frame.T"):
        oc.as_belief(data.describe())
    with refused(ValueError, "as_belief", "distinct columns, got 'q0.1' twice"):
        oc.as_belief(pd.DataFrame([[1.0, 2.0, 3.0]], columns=["q0.1", "q0.1", "q0.9"]))


#: names that only summaries have
SUMMARY = st.one_of(
    st.sampled_from(
        [
            *(
                "mean_se",
                "mean_ci_lower",
                "obs_ci_upper",
                "pi_lower",
                "yhat_lower",
                "yhat_upper",
                "median",
                "mean",
                "std",
            ),
            *("ETS-lo-80", "ETS-hi-95", "NHITS-median", "NHITS_ql0.1", "TimeGPT-q-10", "lower", "upper", "ci_lower"),
            *("2.5%", "97.5%", "quantile_0.5", "load_q0.10", "se", "variance", "quantile", "lower load", "load_0.1"),
        ]
    ),
    st.floats(0.001, 0.999).map(lambda level: f"q{level:.3f}"),
    st.floats(0.001, 0.999).map(lambda level: round(level, 3)),
    st.floats(0.001, 0.999).map(lambda level: f"{level:.3f}"),
)
PAIRS = st.sampled_from(
    [
        *((), ("wind_mean", "wind_std"), ("load-mean", "load-sd"), ("load_mu", "load_sigma"), ("loc", "scale")),
        *(("temp", "temp_sd"), ("pred", "pred_std"), ("fc_mean", "fc_spread"), ("temp", "temp_se"), ("low", "high")),
        *(("low", "mid", "high"), ("lower 80%", "upper 80%"), ("Lo 95", "Hi 95"), ("lower PI (alpha=0.05)",)),
    ]
)
FAMILIES = st.sampled_from(["m{}", "rain_m{}", "tempfc.{}", "rain.{}", "rain_{}", "rain{}", "ens_{}", "{}", "q{}"])
IDS = st.sampled_from(["member", "realization", "number", "Realisation", "sample", "draw"])
OTHER = st.sampled_from(["warm", "wet", "ds", "unique_id", "ETS", "yhat", "y", "p1"])


@settings(max_examples=300, deadline=None)
@given(st.data(), st.sets(SUMMARY, max_size=6), PAIRS, st.sets(OTHER, max_size=3), st.integers(1, 4))
def test_a_table_with_columns_of_a_summary_is_never_taken_for_members(
    data: st.DataObject, summary: set[str | float], pair: tuple[str, ...], other: set[str], n: int
) -> None:
    """Whatever the columns and numbers are, it becomes the belief of its summary, or is refused in one line."""
    assume(summary or pair)
    columns = data.draw(st.permutations([*summary, *pair, *other]))
    values = np.sort(np.random.default_rng(data.draw(st.integers(0, 99))).normal(size=(n, len(columns))), axis=1)
    frame = pd.DataFrame(values, columns=pd.Index(columns, dtype=object))
    options: dict[str, Any] = {"level": 0.8} if data.draw(st.booleans()) else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            beliefs = [oc.as_belief(frame.iloc[0], **options), *oc.as_beliefs(frame, **options)]
        except (ValueError, TypeError) as error:
            refusal = str(error)
        else:
            refusal = ""
    if refusal:
        assert "\n" not in refusal
        assert refusal.startswith(("as_belief: ", "Gaussian: sd"))
        return
    assert len(beliefs) == n + 1
    assert all(isinstance(belief, (oc.Quantiles, oc.Gaussian)) and belief.dim == 1 for belief in beliefs)


@settings(max_examples=100, deadline=None)
@given(
    st.data(), FAMILIES, st.integers(3, 6), st.integers(0, 1), st.integers(1, 3), st.sampled_from(["", "time", "date"])
)
def test_numbered_columns_are_never_taken_for_dimensions(
    data: st.DataObject, family: str, size: int, first: int, n: int, key: str
) -> None:
    """They are members of one quantity, or the table is refused in one line, as a table, by row and by a bandit."""
    names = data.draw(st.permutations([family.format(first + i) for i in range(size)]))
    values = np.random.default_rng(n).normal(size=(n, size))
    frame = pd.DataFrame(values, columns=names).assign(**({key: "2024"} if key else {}))
    bandit = oc.Bandit(["a", "b"], oc.LinearModel(oc.features.Disjoint(2)), oc.UCB())
    try:
        beliefs = [oc.as_belief(frame.iloc[[0]]), *oc.as_beliefs(frame), bandit.decide(frame.iloc[[0]]).belief]
    except ValueError as error:
        refusal = str(error)
    else:
        refusal = ""
    if refusal:
        assert "\n" not in refusal
        assert refusal.startswith("as_belief: obj must say ")
        with refused(ValueError, "as_belief", "obj must say"):
            bandit.observe(["a"] * n, frame, [0.0] * n)
        with refused(ValueError, "as_belief", "obj must say"):
            bandit.learn(bandit.decide([1.0]), reward=0.0, context=frame.iloc[[0]])
        return
    assert [(belief.dim, belief.members) for belief in beliefs] == [(1, size)] * (n + 2)
    np.testing.assert_allclose([belief.mean()[0] for belief in beliefs[1:-1]], values.mean(axis=1))
    bandit.observe(["a"] * n, frame, [0.0] * n)


@settings(max_examples=100, deadline=None)
@given(IDS, st.lists(st.integers(0, 9), min_size=1, max_size=6), st.booleans())
def test_numbers_of_members_are_never_taken_for_a_quantity(name: str, numbers: list[int], several: bool) -> None:
    rain = np.arange(float(len(numbers)))
    frame = pd.DataFrame({name: numbers, "rain": rain} | ({"warm": -rain} if several else {}))
    try:
        beliefs = [oc.as_belief(frame), *oc.as_beliefs(frame)]
    except ValueError as error:
        refusal = str(error)
    else:
        refusal = ""
    if refusal:
        assert "\n" not in refusal
        assert refusal.startswith("as_belief: obj must ")
        assert len(numbers) < 2 or sorted(numbers) != list(range(len(numbers)))
        return
    assert len(set(numbers)) == len(numbers) > 1
    names = ("rain", "warm") if several else ("rain",)
    assert [(belief.names, belief.members) for belief in beliefs] == [(names, len(numbers))] * 2


def quantiles_by_date(first: list[Any], names: list[str | None]) -> pd.Series:
    index = pd.MultiIndex.from_product([first, [0.1, 0.9]], names=names)
    return pd.Series([1.0, 2.0, 3.0, 4.0], index=index)


@pytest.mark.parametrize(
    ("first", "names"),
    [
        (list(pd.date_range("2024", periods=2)), [None, None]),
        ([1, 2], [None, None]),
        (["1 May", "2 May"], ["date", "quantile"]),
        (["1 May", "2 May"], ["ds", None]),
        (["a", "b"], [None, "quantile"]),
    ],
    ids=str,
)
def test_quantiles_below_each_date_are_one_forecast_for_each(first: list[Any], names: list[str | None]) -> None:
    series = quantiles_by_date(first, names)
    for obj, write in ((series, "obj.unstack(1).iloc[[0]]"), (series.to_frame("v"), "obj['v'].unstack(1).iloc[[0]]")):
        assert [belief.quantile(0.9)[0] for belief in oc.as_beliefs(obj)] == pytest.approx([2.0, 4.0])
        assert oc.as_belief(follow(oc.as_belief, obj, write)).quantile(0.1)[0] == pytest.approx(1.0)
    turned = series.swaplevel()
    assert [belief.quantile(0.1)[0] for belief in oc.as_beliefs(turned)] == pytest.approx([1.0, 3.0])
    assert follow(oc.as_belief, turned, "obj.unstack(0).iloc[[0]]").shape == (1, 2)


def test_other_parts_below_each_date() -> None:
    days = pd.date_range("2024", periods=2)
    parts = pd.Series([20.0, 2.0, 21.0, 1.0], index=pd.MultiIndex.from_product([days, ["mean", "sd"]]))
    assert [belief.variance()[0] for belief in oc.as_beliefs(parts)] == [4.0, 1.0]
    members = pd.Series(np.arange(4.0), index=pd.MultiIndex.from_product([days, [0, 1]], names=["date", "member"]))
    assert [belief.mean()[0] for belief in oc.as_beliefs(members)] == [0.5, 2.5]
    row = oc.as_belief(quantiles_by_date(["load", "wind"], [None, None]))  # a row of sktime's
    assert row.names == ("load", "wind")


def test_one_quantile_in_each_row() -> None:
    frame = pd.DataFrame({"day": ["a", "a", "b", "b"], "quantile": [0.1, 0.9] * 2, "value": [1.0, 2.0, 3.0, 4.0]})
    wide = follow(oc.as_belief, frame, "frame.pivot(index=['day'], columns='quantile', values='value')")
    assert [belief.quantile(0.1)[0] for belief in oc.as_beliefs(wide)] == pytest.approx([1.0, 3.0])
    one = follow(oc.as_belief, frame[["quantile", "value"]][:2], "frame.set_index('quantile')[['value']].T")
    assert oc.as_belief(one).quantile(0.9)[0] == pytest.approx(2.0)


@pytest.mark.parametrize("name", ["Unnamed: 0", "index", "unique_id"])
def test_numbers_of_rows_are_no_quantity(name: str) -> None:
    frame = pd.DataFrame({name: [0, 1], "warm": [20.0, 21.0]})
    for read in (oc.as_belief, oc.as_beliefs):
        assert list(follow(read, frame, f"frame.drop(columns={name!r})").columns) == ["warm"]
    bandit = oc.Bandit(["a", "b"], oc.LinearModel(oc.features.Disjoint(2)), oc.UCB(), context=[name, "warm"])
    bandit.observe(["a", "b"], frame, [0.0, 1.0])


@pytest.mark.parametrize("index", [pd.date_range("2024", periods=2), pd.period_range("2024", periods=2, freq="D")])
def test_times_are_neither_dimensions_nor_members(index: Any) -> None:
    """As predicted_mean of statsmodels and predict() of sktime return point forecasts."""
    series = pd.Series([20.0, 21.0], index=index)
    each = follow(oc.as_belief, series, "oc.as_beliefs(obj.to_frame())")
    assert [belief.mean().tolist() for belief in each] == [[20.0], [21.0]]
    assert oc.as_belief(follow(oc.as_belief, series, "obj.to_numpy()")).dim == 2
    frame = series.to_frame("warm")
    assert len(follow(oc.as_belief, frame, "oc.as_beliefs(obj)")) == 2
    assert oc.as_belief(follow(oc.as_belief, frame, "obj.to_numpy()")).members == 2
    assert oc.as_belief(series[:1]).dim == oc.as_belief(frame[:1]).members == 1
    bandit = oc.Bandit(["a", "b"], oc.LinearModel(oc.features.Disjoint(2)), oc.UCB())
    bandit.decide([1.0, 2.0])
    assert bandit.decide(series).belief.dim == 2


def quantities_by_date() -> pd.DataFrame:
    dates = pd.date_range("2024", periods=2)
    index = pd.MultiIndex.from_product([dates, [0.1, 0.5, 0.9]], names=["date", "quantile"])
    values = {"temp": [10.0, 12.0, 14.0, 20.0, 22.0, 24.0], "wind": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]}
    return pd.DataFrame(values, index=index)


def test_quantiles_of_several_quantities_below_each_date() -> None:
    frame = quantities_by_date()
    for obj, at in ((frame, 1), (frame.swaplevel(), 0), (frame.iloc[::-1], 1)):
        first, second = oc.as_beliefs(obj)
        assert isinstance(first, oc.Quantiles)
        assert first.names == ("temp", "wind")
        np.testing.assert_allclose(first.levels, [0.1, 0.5, 0.9])
        np.testing.assert_array_equal(first.values, [[10.0, 1.0], [12.0, 2.0], [14.0, 3.0]])
        assert second.quantile(0.9).tolist() == pytest.approx([24.0, 6.0])
        picked = oc.as_belief(follow(oc.as_belief, obj, f"obj.unstack({at}).iloc[[0]]"))
        assert picked.quantile(0.5).tolist() == [12.0, 2.0]
    assert oc.as_belief(frame.iloc[:3]).quantile(0.1).tolist() == pytest.approx([10.0, 1.0])
    bandit = oc.Bandit(["a", "b"], oc.LinearModel(oc.features.Disjoint(2)), oc.UCB())
    bandit.observe(["a", "b"], frame, [0.0, 1.0])
    assert bandit.learnt.rounds == 2
    with refused(ValueError, "as_belief", "two levels or more under 'quantile'"):
        oc.as_belief(frame.iloc[:1])
    texts = frame.rename(index="q{}".format, level="quantile")
    assert len(oc.as_beliefs(follow(oc.as_beliefs, texts, "obj['temp']"))) == 2


def test_levels_in_the_rows_and_dates_in_the_columns() -> None:
    turned = quantities_by_date()["temp"].unstack(0)
    for read in (oc.as_belief, oc.as_beliefs):
        right = follow(read, turned, "obj.T")
        assert [belief.quantile(0.9)[0] for belief in oc.as_beliefs(right)] == pytest.approx([14.0, 24.0])
    assert oc.as_belief(turned.iloc[:, :1]).dim == 1


def test_levels_that_come_twice_or_as_percents_below_a_date() -> None:
    frame = quantities_by_date()
    percents = frame.rename(index=lambda level: round(100 * level), level="quantile")
    for own in (["temp"], ["temp", "wind"], "temp"):
        twice = pd.concat([frame[own], frame[own].iloc[:1]])
        assert len(oc.as_beliefs(follow(oc.as_beliefs, twice, "obj[~obj.index.duplicated()]"))) == 2
        write = "obj.rename(index=lambda q: q / 100, level='quantile')"
        shares = follow(oc.as_beliefs, percents[own], write)
        assert [belief.quantile(0.9)[0] for belief in oc.as_beliefs(shares)] == pytest.approx([14.0, 24.0])
