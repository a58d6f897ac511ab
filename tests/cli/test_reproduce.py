"""`overcast reproduce`: its files, options and data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from overcast.cli import main
from overcast.datasets import embedding, yield_model

SMALL = ["--trials", "3", "--steps", "5", "--workers", "1"]


FILES = {"summary.json", "figure.png", "figure.pdf", "curves.parquet", "report.html", "parts"}


def test_reproduce_writes_all_files_and_prints_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "synthetic", *SMALL, "--out", str(tmp_path)]) == 0
    assert {path.name for path in (tmp_path / "synthetic").iterdir()} == FILES
    printed = capsys.readouterr()
    assert "hidden, expectation" in printed.out
    assert str(tmp_path / "synthetic" / "report.html") in printed.out
    assert printed.err == "", "no progress bar in a pipe"


def test_flags_reach_the_experiment(tmp_path: Path) -> None:
    args = ["--betas", "0.5,2,2", "--seed", "7", "--quick", "--trials", "2", "--workers", "1"]
    assert main(["reproduce", "synthetic", *args, "--out", str(tmp_path)]) == 0
    summary = json.loads((tmp_path / "synthetic" / "summary.json").read_text())
    assert (summary["trials"], summary["steps"], summary["seed"]) == (2, 100, 7)
    assert {variant["beta"] for variant in summary["grid"]} == {0.5, 2.0}


@pytest.mark.parametrize(
    ("experiment", "option", "message"),
    [
        ("synthetic", ["--data", "."], "--data is for movielens, crops and forecasts, got it with synthetic"),
        ("kernel", ["--data", "."], "--data is for movielens, crops and forecasts, got it with kernel"),
        ("synthetic", ["--noise", "0"], "--noise is for movielens, got it with synthetic"),
        ("crops", ["--noise", "0"], "--noise is for movielens, got it with crops"),
        ("movielens", ["--belief", "centred"], "--belief is for crops, got it with movielens"),
        ("kernel", ["--belief", "centred"], "--belief is for crops, got it with kernel"),
    ],
)
def test_options_that_an_experiment_does_not_take_are_refused(
    experiment: str, option: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", experiment, *option, *SMALL, "--out", str(tmp_path / "out")]) == 1
    assert capsys.readouterr() == ("", f"overcast: {message}\n")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("address", ["", "  "])
def test_an_empty_address_of_a_scheduler_is_refused(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["reproduce", "synthetic", "--dask", address])
    assert caught.value.code == 2
    out, error = capsys.readouterr()
    assert out == ""
    assert error.count("\n") == 1
    assert "--dask: expected the address of a scheduler" in error


def write_movielens(folder: Path, **changed: str) -> None:
    """Write two users, two movies and four ratings, with the text of some files changed."""
    texts = {
        "users": "1::F::35::3::8001\n2::M::18::7::8002\n",
        "movies": "1::An Invented Film (2031)::Comedy\n2::Another One (2032)::Action\n",
        "ratings": "1::1::5\n1::2::3\n2::1::4\n2::2::1\n",
    }
    folder.mkdir()
    for name, text in (texts | changed).items():
        (folder / f"{name}.dat").write_text(text)


def write_crops(folder: Path, **changed: str) -> None:
    """Write three plots of two varieties in two seasons, with the text of some files changed."""
    texts = {
        "yields": "site,year,variety,yield\nA,2001,x,70\nA,2001,y,60\nA,2002,x,65\n",
        "weather": "site,year,rain,heat\nA,2001,1.0,2.0\nA,2002,0.5,1.0\n",
    }
    folder.mkdir()
    for name, text in (texts | changed).items():
        (folder / f"{name}.csv").write_text(text)


@pytest.mark.parametrize(
    ("experiment", "name", "message"),
    [
        ("movielens", "nowhere", "nowhere: expected a folder with users.dat, movies.dat, ratings.dat, found nothing"),
        (
            "movielens",
            "crops/yields.csv",
            "yields.csv: expected a folder with users.dat, movies.dat, ratings.dat, found",
        ),
        ("movielens", "crops", "crops: expected users.dat, movies.dat, ratings.dat; users.dat is missing"),
        ("crops", "nowhere", "nowhere: expected a folder with yields.csv and weather.csv, found nothing"),
        ("crops", "ml-1m", "ml-1m: expected yields.csv and weather.csv; yields.csv is missing"),
        ("movielens", "bad-ml-1m", "ratings.dat line 2: stars must be from 1 to 5, got 9"),
        ("crops", "bad-crops", "yields.csv line 3: yield must be a number, got 'many'"),
        ("crops", "bad-header", "weather.csv line 1: expected columns"),
        ("all", "nowhere", "nowhere: expected a folder with users.dat, movies.dat, ratings.dat, found nothing"),
        ("untuned", "nowhere", "nowhere: expected a folder with users.dat, movies.dat, ratings.dat, found nothing"),
        ("policies", "ml-1m", "ml-1m: expected yields.csv and weather.csv; yields.csv is missing"),
    ],
)
def test_data_that_cannot_be_used_is_one_line_that_names_the_file(
    experiment: str,
    name: str,
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing is fitted, simulated or written before."""

    def refuse(*args: object) -> None:
        raise AssertionError("work is begun on data that cannot be used")

    monkeypatch.setattr(embedding, "embed", refuse)
    monkeypatch.setattr(yield_model, "fit_yields", refuse)
    write_movielens(tmp_path / "ml-1m")
    write_movielens(tmp_path / "bad-ml-1m", ratings="1::1::5\n1::2::9\n")
    write_crops(tmp_path / "crops")
    write_crops(tmp_path / "bad-crops", yields="site,year,variety,yield\nA,2001,x,70\nA,2001,y,many\n")
    write_crops(tmp_path / "bad-header", weather="site,season,rain\nA,2001,1.0\n")
    out = tmp_path / "out"
    assert main(["reproduce", experiment, "--data", str(tmp_path / name), *SMALL, "--out", str(out)]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"overcast: {tmp_path}")
    assert message in printed.err
    assert printed.err.count("\n") == 1
    assert not out.exists()


def test_noise_whose_mean_is_not_zero_is_refused_before_the_movies_are_embedded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object) -> None:
        raise AssertionError("movies are embedded for nothing")

    monkeypatch.setattr(embedding, "embed", refuse)
    try:
        code = main(["reproduce", "movielens", "--noise", "0,1", *SMALL, "--out", str(tmp_path)])
    except SystemExit as stop:
        code = int(stop.code or 0)
    assert code in (1, 2)
    assert "mean zero" in capsys.readouterr().err.splitlines()[-1]
