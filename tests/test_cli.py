"""The command, as a user runs it."""

from __future__ import annotations

import io
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

import overcast
from overcast.cli import main
from overcast.datasets import download, embedding, yield_model

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


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"overcast {overcast.__version__}\n"


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


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    assert main(["reproduce", "synthetic", *SMALL, "--out", str(blocked)]) == 1
    error = capsys.readouterr().err
    assert error.startswith("overcast: ")
    assert str(blocked) in error
    assert error.count("\n") == 1


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


class Downloads:
    """Stands in for the download, and keeps where it was asked to put the data."""

    def __init__(self) -> None:
        self.folders: list[Path] = []

    def __call__(self, folder: Path) -> Path:
        self.folders.append(folder)
        return folder / "ml-1m"


@pytest.fixture
def downloads(monkeypatch: pytest.MonkeyPatch) -> Downloads:
    stand_in = Downloads()
    monkeypatch.setattr(download, "download_movielens", stand_in)
    return stand_in


@pytest.fixture
def answering(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[[str | None], tuple[int, str, str]]:
    """Ask for the data as someone who types an answer at a terminal: the exit code, and what either stream shows.

    The data is to go to `tmp_path`; an answer of None is the end of the input.
    """

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    def run(answer: str | None) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.stdin", Terminal("" if answer is None else f"{answer}\n"))
        code = main(["data", "movielens", "--to", str(tmp_path)])
        return code, *capsys.readouterr()

    return run


def test_without_a_terminal_the_terms_are_shown_and_nothing_is_downloaded(
    tmp_path: Path, downloads: Downloads, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("yes\n"))
    assert main(["data", "movielens", "--to", str(tmp_path)]) == 1
    printed = capsys.readouterr()
    terms = " ".join(printed.out.split())
    for term in ("research use", "no redistribution", "no commercial use", "endorsement", "Harper", "Konstan"):
        assert term in terms
    assert printed.err == "overcast: the terms above must be accepted: pass --accept-licence\n"
    assert downloads.folders == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("answer", ["no", "", "y", "yes please", None])
def test_terms_that_are_not_accepted_with_a_yes_stop_the_download(
    answer: str | None, answering: Callable[[str | None], tuple[int, str, str]], downloads: Downloads
) -> None:
    code, text, error = answering(answer)
    assert code == 1
    assert "no redistribution" in text
    assert error.strip() == "overcast: the terms were not accepted, and nothing was downloaded"
    assert downloads.folders == []


@pytest.mark.parametrize("answer", ["yes", " Yes "])
def test_a_yes_downloads_the_data_and_tells_where_it_lies(
    answer: str, answering: Callable[[str | None], tuple[int, str, str]], tmp_path: Path, downloads: Downloads
) -> None:
    code, text, error = answering(answer)
    assert code == 0
    assert downloads.folders == [tmp_path]
    last = text.splitlines()[-1]
    assert f"MovieLens-1M is in {tmp_path / 'ml-1m'}; do not pass it on." in last
    assert f"overcast reproduce movielens --data {tmp_path / 'ml-1m'}" in last
    assert error == ""


def test_terms_accepted_beforehand_are_not_asked_about(
    downloads: Downloads, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a folder the data goes to the user's data directory."""
    monkeypatch.setattr("sys.stdin", None)
    assert main(["data", "movielens", "--accept-licence"]) == 0
    assert downloads.folders == [download.default_folder()]
    assert str(download.default_folder() / "ml-1m") in capsys.readouterr().out


def test_a_network_that_cannot_be_reached_is_one_line(tmp_path: Path) -> None:
    """In a process of its own, which also shows what the libraries print; the port is closed again when it starts."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{closed.getsockname()[1]}/ml-1m.zip"
    program = (
        "import functools, sys\n"
        "from overcast import cli\n"
        "from overcast.datasets import download\n"
        "there = functools.partial(download.download_movielens, url=sys.argv[1])\n"
        "download.download_movielens = there\n"
        "sys.exit(cli.main(sys.argv[2:]))\n"
    )
    command = [sys.executable, "-c", program, address, "data", "movielens", "--accept-licence", "--to", str(tmp_path)]
    direct = {**os.environ, "NO_PROXY": "127.0.0.1"}
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=direct)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.startswith(f"overcast: cannot reach {address} (")
    assert "pass its folder as --data" in ran.stderr
    assert ran.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="needs process groups")
def test_ctrl_c_stops_cleanly_and_the_same_command_goes_on(tmp_path: Path) -> None:
    """The interrupt goes to the whole group, as a terminal sends it, once the first part is there."""
    command = [sys.executable, "-m", "overcast.cli", "reproduce", "synthetic", "--trials", "400", "--steps", "250"]
    command += ["--workers", "2", "--out", str(tmp_path)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    deadline = time.monotonic() + 60
    while not list(tmp_path.rglob("*.npz")) and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    out, error = process.communicate(timeout=60)
    assert process.returncode == 130, (out, error)
    *under_way, last = error.splitlines()
    assert last == "overcast: stopped; run the same command again to go on from here"
    assert under_way in ([], ["overcast: finishing what is under way; interrupt again to give it up"])
    kept = len(list(tmp_path.rglob("*.npz")))
    assert 0 < kept < 28
    assert not (tmp_path / "synthetic" / "summary.json").exists()
    again = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert "hidden, expectation" in again.stdout
    assert len(list(tmp_path.rglob("*.npz"))) == 28


# A run long enough to be interrupted: fits of some seconds each, then parts.
LONG = ["-m", "overcast.cli", "reproduce", "movielens", "--trials", "400", "--steps", "3000", "--workers", "2", "--out"]


def started(out: Path) -> subprocess.Popen[str]:
    """Start a long run in a process group of its own, and wait for its workers."""
    process = subprocess.Popen(
        [sys.executable, *LONG, str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_for(lambda: len(psutil.Process(process.pid).children()) >= 2)
    return process


def wait_for(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


@pytest.mark.skipif(os.name != "posix", reason="needs process groups")
def test_ctrl_c_during_the_embedding_keeps_the_fits_and_the_second_gives_up_what_is_under_way(tmp_path: Path) -> None:
    process = started(tmp_path)
    workers = psutil.Process(process.pid).children(recursive=True)
    wait_for(lambda: bool(list(tmp_path.rglob("*.npz"))))
    os.killpg(process.pid, signal.SIGINT)
    assert process.stderr is not None
    first = process.stderr.readline()  # between two phases nothing is under way, and it stops at once
    if first == "overcast: finishing what is under way; interrupt again to give it up\n":
        os.killpg(process.pid, signal.SIGINT)
    _, error = process.communicate(timeout=30)
    error = first + error
    assert process.returncode == 130, error
    assert error.splitlines()[-1] == "overcast: stopped; run the same command again to go on from here"
    assert "Traceback" not in error
    assert list(tmp_path.rglob("*.npz"))
    wait_for(lambda: not any(worker.is_running() for worker in workers))


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_workers_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    process = started(tmp_path)
    workers = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.communicate(timeout=30)
    wait_for(lambda: not any(worker.is_running() for worker in workers))
