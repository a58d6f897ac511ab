"""`overcast data`: terms, answers, and a network that cannot be reached."""

from __future__ import annotations

import io
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from overcast.cli import main
from overcast.datasets import download


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
