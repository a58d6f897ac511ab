"""Every source becomes its belief: recorded objects here, real ones by `make test-adapters`, whose results are kept."""

from __future__ import annotations

import pytest

from adapters import real, recorded, table


@pytest.mark.parametrize("case", recorded.CASES, ids=lambda case: case.source)
def test_recorded_objects(case: real.Case) -> None:
    real.check(case)


@pytest.mark.parametrize(
    "case", [case for case in real.CASES if case.library == "xarray"], ids=lambda case: case.source
)
def test_objects_of_what_is_installed_here(case: real.Case) -> None:
    real.check(case)


def test_results_are_there_for_every_real_case() -> None:
    found = {(row["source"], row["belief"], row["exact"]) for row in table.rows()}
    assert {(case.source, case.belief, case.exact) for case in real.CASES} <= found
    named = (table.HERE / "libraries.txt").read_text(encoding="utf-8").splitlines()
    assert {line.split()[0] for line in named} == {case.library for case in real.CASES}


def test_the_page_shows_the_results() -> None:
    assert table.between(table.PAGE.read_text(encoding="utf-8")) == table.table()
