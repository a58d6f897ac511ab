"""Files of forecasts and outcomes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import overcast as oc
from overcast.datasets.forecasts import generated_forecasts, read_forecasts, read_innsbruck
from real_data import FOLDER, needs

ENSEMBLES = "date,temp,tempfc.1,tempfc.2,rain,rainfc.2,rainfc.1\nmonday,3,1,2,0,7,6\ntuesday,5,4,3,1,9,8\n"


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "forecasts.csv"
    path.write_text(text)
    return path


def test_members_of_one_number_belong_together(tmp_path: Path) -> None:
    record = read_forecasts(write(tmp_path, ENSEMBLES))
    assert record.names == ("temp", "rain")
    np.testing.assert_array_equal(record.outcomes, [[3.0, 0.0], [5.0, 1.0]])
    first = record.beliefs[0]
    assert isinstance(first, oc.Ensemble)
    np.testing.assert_array_equal(first.support()[0], [[1.0, 6.0], [2.0, 7.0]])
    only = read_forecasts(tmp_path / "forecasts.csv", "rain")
    assert only.names == ("rain",)
    assert only.beliefs[0].dim == 1
    assert len(record.first(1).beliefs) == len(record.first(1).outcomes) == 1


def test_members_may_be_numbered_from_zero(tmp_path: Path) -> None:
    record = read_forecasts(write(tmp_path, "temp,tempfc.1,tempfc.0,tempfc.2\n3,1,2,5\n"))
    finite = record.beliefs[0].support()
    assert finite is not None
    np.testing.assert_array_equal(finite[0][:, 0], [2.0, 1.0, 5.0])


def test_normal_forecasts(tmp_path: Path) -> None:
    record = read_forecasts(write(tmp_path, "demand_mean,demand_sd,demand\n10,2,11\n12,0,12\n"))
    assert record.beliefs[0].to_json() == {"type": "Gaussian", "mean": [10.0], "cov": [4.0]}
    np.testing.assert_array_equal(record.outcomes, [[11.0], [12.0]])


def test_kinds_side_by_side_are_independent(tmp_path: Path) -> None:
    record = read_forecasts(write(tmp_path, "a,a_mean,a_sd,b,bfc1,bfc2\n1,2,3,4,5,6\n"))
    belief = record.beliefs[0]
    assert isinstance(belief, oc.Independent)
    np.testing.assert_allclose(belief.mean(), [2.0, 5.5])


def test_rows_without_an_outcome_are_left_out_and_counted(tmp_path: Path) -> None:
    record = read_forecasts(write(tmp_path, "a,a_mean,a_sd\n1,2,3\nNA,2,3\n,2,3\n4,2,3\n"))
    assert record.left_out == 2
    np.testing.assert_array_equal(record.outcomes, [[1.0], [4.0]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", "line 1: expected a column NAME of outcomes with its forecasts NAMEfc.1, NAMEfc.2"),
        ("a,a_mean\n1,2\n", "line 1: expected a column NAME of outcomes"),
        ("tempfc.1,tempfc.2\n1,2\n", "line 1: expected a column NAME of outcomes"),
        ("temp,tempfc.1,tempfc.3\n1,2,3\n", "line 1: expected members tempfc.1 to tempfc.3; 2 is missing"),
        ("temp,tempfc.0,tempfc.2\n1,2,3\n", "line 1: expected members tempfc.0 to tempfc.2; 1 is missing"),
        ("temp,tempfc.1\n1,2\n1,-1e160\n", "line 3: tempfc.1 must be a number from -1e+100 to 1e+100, got -1e160"),
        ("temp,tempfc.1\n1e160,2\n", "line 2: temp must be a number from -1e+100 to 1e+100, got 1e160"),
        ("a,a_mean,a_sd\n1,2,1e160\n", "line 2: a_sd must be a number from -1e+100 to 1e+100, got 1e160"),
        ("temp,tempfc.1\n1,2\n1,x\n", "line 3: tempfc.1 must be a number, got 'x'"),
        ("temp,tempfc.1\n1,\n", "got 1 rows, none with an outcome and a forecast"),
        ("obs,a1,a2,b1,b2\n1,1,1,1,1\n", "one family of members for obs, got a*, b*; choose with --columns"),
        ("obs,p1,p2,p3\n1,1,1,1\n", "got p1, p2, p3, which may be members or percentiles; rename them"),
        ("load,load_q50,load_q150\n1,1,1\n", "expected different quantile levels between 0 and 1 for load"),
        ("temp,tempfc.1\nwarm,1\n", "line 2: temp must be a number, got 'warm'"),
        ("temp,tempfc.1\n1,2,3\n", "line 2: expected 2 cells, got 3"),
        ("a,a_mean,a_sd\n1,2,-3\n", "line 2: a_sd must be >= 0, got -3"),
        ("a,a_mean,a_sd\nNA,2,3\n", "got 1 rows, none with an outcome"),
        ("a,a_mean,a_sd\n", "got 0 rows"),
        ("", "got 0 rows"),
        ("a,a,a_mean,a_sd\n1,1,2,3\n", "expected each column once; a comes twice"),
        ("a,afc.1,afc.01,afc.2\n1,1,2,3\n", "expected every member of a once, got afc.1, afc.01, afc.2"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(ValueError, match="forecasts") as caught:
        read_forecasts(path)
    assert str(caught.value).startswith(f"{path} line ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("mark", [",", ";", "\t", "|", "  "])
def test_any_delimiter_will_do(tmp_path: Path, mark: str) -> None:
    text = "date,obs,m1,m2\nmonday,1.5,1,2\ntuesday,-2,3,4\n".replace(",", mark)
    record = read_forecasts(write(tmp_path, text))
    np.testing.assert_array_equal(record.outcomes, [[1.5], [-2.0]])
    np.testing.assert_array_equal([belief.mean() for belief in record.beliefs], [[1.5], [3.5]])


def test_commas_are_decimal_points_where_they_part_no_cells(tmp_path: Path) -> None:
    record = read_forecasts(write(tmp_path, "obs;mean;std\n1,5;1,25;0,5\n"))
    np.testing.assert_array_equal(record.outcomes, [[1.5]])
    assert record.beliefs[0].to_json() == {"type": "Gaussian", "mean": [1.25], "cov": [0.25]}


def test_missing_members_are_counted_and_the_others_count(tmp_path: Path) -> None:
    text = "temp,tempfc.1,tempfc.2,tempfc.3\n3,1,NA,2\n4,,,\n5,NaN,null,7\n6,1,2,3\n,1,2,3\n"
    record = read_forecasts(write(tmp_path, text))
    assert [belief.members for belief in record.beliefs] == [2, 1, 3]
    assert (record.missing, record.unforecast, record.left_out) == (3, 1, 1)


def test_members_missing_in_one_quantity_are_missing_in_all(tmp_path: Path) -> None:
    record = read_forecasts(write(tmp_path, "a,afc.1,afc.2,b,bfc.1,bfc.2\n1,1,NA,2,5,6\n"))
    assert record.beliefs[0].members == 1
    np.testing.assert_array_equal(record.beliefs[0].mean(), [1.0, 5.0])


@pytest.mark.parametrize(
    "names", ["load,load_q0.1,load_q0.5,load_q0.9", "obs,q10,q50,q90", "y,quantile_0.1,quantile_0.5,quantile_0.9"]
)
def test_quantiles(tmp_path: Path, names: str) -> None:
    record = read_forecasts(write(tmp_path, f"{names}\n5,1,2,4\n5,2,1,4\n5,1,,4\n5,,,\n"))
    first, crossed, two = record.beliefs
    assert isinstance(first, oc.Quantiles)
    np.testing.assert_allclose(first.levels, [0.1, 0.5, 0.9])
    np.testing.assert_array_equal(first.values[:, 0], [1.0, 2.0, 4.0])
    np.testing.assert_array_equal(crossed.values[:, 0], [1.0, 2.0, 4.0])  # type: ignore[attr-defined]
    np.testing.assert_array_equal(two.values[:, 0], [1.0, 4.0])  # type: ignore[attr-defined]
    assert (record.crossed, record.missing, record.unforecast) == (1, 1, 1)


def test_groups_and_columns_of_ones_own(tmp_path: Path) -> None:
    path = write(tmp_path, "lead,station,GFS_a,GFS_b,other\n24,3,1,2,9\n48,4,2,3,9\n")
    record = read_forecasts(path, columns=["station=GFS_*"], by="lead")
    assert record.names == ("station",)
    assert record.groups == ("24", "48")
    assert record.first(1).groups == ("24",)
    np.testing.assert_array_equal(record.beliefs[1].mean(), [2.5])
    with pytest.raises(ValueError, match="month is missing"):
        read_forecasts(path, columns=["station=GFS_*"], by="month")


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="expected a CSV file of forecasts, found nothing"):
        read_forecasts(tmp_path / "none.csv")
    with pytest.raises(FileNotFoundError, match="found a folder"):
        read_forecasts(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"innsbruck_joint_rain_temp\.csv is missing"):
        read_innsbruck(tmp_path)


def test_generated_forecasts_are_biased_and_too_sure() -> None:
    record = generated_forecasts()
    assert record.generated
    found = oc.calibration.check(record.beliefs, record.outcomes, record.names)
    assert found.bias[0] > 3.0
    assert found.factor[0] > 3.0
    np.testing.assert_array_equal(record.outcomes, generated_forecasts().outcomes)


@needs("forecast_innsbruck")
def test_innsbruck_from_its_folder_or_the_one_around_it() -> None:
    record = read_innsbruck(FOLDER)
    assert record.names == ("rain", "temp")
    assert record.outcomes.shape == (2749, 2)
    assert record.beliefs[0].dim == 2
    same = read_innsbruck(FOLDER / "forecast_innsbruck", "temp")
    np.testing.assert_array_equal(same.outcomes[:, 0], record.outcomes[:, 1])
