"""Columns of forecasts, told by their names."""

from __future__ import annotations

from pathlib import Path

import pytest

from overcast.datasets.columns import Quantity, quantities

FILE = Path("forecasts.csv")


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ("date temp tempfc.2 tempfc.1", Quantity("temp", "members", ("tempfc.1", "tempfc.2"))),
        ("demand demand_mean demand_sd", Quantity("demand", "normal", ("demand_mean", "demand_sd"))),
        ("demand demand_mean demand_std", Quantity("demand", "normal", ("demand_mean", "demand_std"))),
        ("load load.q90 load.q5", Quantity("load", "quantiles", ("load.q5", "load.q90"), (0.05, 0.9))),
        ("load load_p0.9 load_p0.25", Quantity("load", "quantiles", ("load_p0.25", "load_p0.9"), (0.25, 0.9))),
        ("id obs member_1 member_2", Quantity("obs", "members", ("member_1", "member_2"))),
        ("Observed ens01 ens02 ens03", Quantity("Observed", "members", ("ens01", "ens02", "ens03"))),
        ("y temp1 temp2", Quantity("y", "members", ("temp1", "temp2"))),
        ("actual Mean SD", Quantity("actual", "normal", ("Mean", "SD"))),
        ("truth q50 q10", Quantity("truth", "quantiles", ("q10", "q50"), (0.1, 0.5))),
    ],
)
def test_names_tell(columns: str, expected: Quantity) -> None:
    assert quantities(FILE, columns.split()) == [expected]


@pytest.mark.parametrize(
    ("columns", "given", "expected"),
    [
        ("station a b c", "station=a,c", Quantity("station", "members", ("a", "c"))),
        ("station temp1 temp2", "station=temp*", Quantity("station", "members", ("temp1", "temp2"))),
        ("s M-ql0.1 M-ql0.9", "s=M-*", Quantity("s", "quantiles", ("M-ql0.1", "M-ql0.9"), (0.1, 0.9))),
        ("s M.mean M.sd", "s=M.*", Quantity("s", "normal", ("M.mean", "M.sd"))),
    ],
)
def test_patterns_say(columns: str, given: str, expected: Quantity) -> None:
    assert quantities(FILE, columns.split(), [given]) == [expected]


def test_several_quantities_stand_side_by_side() -> None:
    columns = ["a", "a_mean", "a_sd", "b", "bfc1", "bfc2", "c", "c_q10", "c_q90"]
    assert [one.kind for one in quantities(FILE, columns)] == ["normal", "members", "quantiles"]


@pytest.mark.parametrize(
    ("columns", "given", "message"),
    [
        ("s M_mean M_q10 M_q90", "s=M_*", "expected members of one kind for s, got M_mean, M_q10, M_q90"),
        ("s m1 m2 m_mean", "s=m*", "expected members of one kind for s"),
        ("s m1 m2 median", "s=m*", "expected members of one kind for s"),
    ],
)
def test_summaries_are_never_taken_for_members(columns: str, given: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        quantities(FILE, columns.split(), [given])
