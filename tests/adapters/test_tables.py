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
from overcast.adapters.forecasts import Ask
from support import refused


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
    assert len(tables.rows(frame.iloc[:1], Ask())) == 1


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
    [(), ("wind_mean", "wind_std"), ("load-mean", "load-sd"), ("load_mu", "load_sigma"), ("loc", "scale")]
)
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
