"""Arguments that are not of their type, and tables in the terminal."""

from __future__ import annotations

import pytest

from overcast.cli import main
from overcast.cli.common import print_rows


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--betas", "1,x"], "--betas: expected numbers with commas between, e.g. 0.5,1,2, got '1,x'"),
        (["--betas", "-1"], "--betas: expected numbers >= 0, got '-1'"),
        (["--betas", "nan"], "--betas: expected numbers with commas between"),
        (["--betas", ""], "--betas: expected numbers with commas between"),
        (["--noise", "loud"], "--noise: expected numbers with commas between, e.g. 0.5,1,2, got 'loud'"),
        (["--noise", "inf"], "--noise: expected numbers with commas between"),
        (["--belief", "none"], "--belief: invalid choice: 'none'"),
        (["--trials", "0"], "--trials: expected a whole number >= 1, got '0'"),
        (["--steps", "1.5"], "--steps: expected a whole number >= 1, got '1.5'"),
        (["--seed", "-3"], "--seed: expected a whole number >= 0, got '-3'"),
        (["--workers", "many"], "--workers: expected a whole number >= 1, got 'many'"),
    ],
)
def test_bad_flags_are_refused_in_one_line(args: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["reproduce", "synthetic", *[f"{args[0]}={args[1]}"]])
    assert stop.value.code == 2
    assert message in capsys.readouterr().err.splitlines()[-1]


def test_first_columns_are_flush_left_and_the_others_flush_right(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [("name", "kind", "regret"), ("a", "long one", "1.0"), ("longer", "b", "")]
    print_rows(rows, left=2)
    assert capsys.readouterr().out.splitlines() == [
        "name    kind      regret",
        "a       long one     1.0",
        "longer  b",
    ]
