"""`overcast doctor`: what is installed, and what is not."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits  # type: ignore[import-untyped]

import overcast
from experiment_support import command
from overcast import _threads
from overcast.cli.extras import PURPOSES


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing be installed but what the package itself needs, with a NumPy and a matplotlib that are too old."""
    versions = {"numpy": "1.26.4", "scipy": "1.17.1", "threadpoolctl": "3.8.0", "matplotlib": "3.1.0"}

    def version(name: str) -> str:
        if name not in versions:
            raise metadata.PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(metadata, "version", version)


def test_json_says_what_is_installed() -> None:
    code, text, error = command("doctor", "--json")
    assert (code, error) == (0, "")
    found = json.loads(text)
    assert found["overcast"] == overcast.__version__
    assert Path(found["folder"]) == Path(overcast.__file__).parent
    assert found["cores"] >= 1
    numpy = next(one for one in found["libraries"] if one["name"] == "numpy")
    assert (numpy["version"], numpy["serves"]) == (np.__version__, True)
    assert {extra["name"] for extra in found["extras"]} == set(PURPOSES)
    assert all(one["serves"] for extra in found["extras"] for one in extra["libraries"])
    assert found["problems"] == []


def test_json_says_how_many_threads_blas_has() -> None:
    with threadpool_limits(1, user_api="blas"):
        expected = [one["filepath"] for one in threadpool_info() if one["user_api"] == "blas"]
        found = json.loads(command("doctor", "--json")[1])["blas"]
    assert [one["folder"] for one in found] == [Path(path).parent.name for path in expected]
    assert found
    assert {one["threads"] for one in found} == {1}


@pytest.mark.parametrize("chosen", [True, False])
def test_it_says_who_sets_the_threads(chosen: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in _threads.VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(_threads, "CHOSEN_BY_USER", chosen)
    if chosen:
        monkeypatch.setenv("OMP_NUM_THREADS", "3")
    text = command("doctor")[1]
    assert ("Overcast leaves threads alone, because of OMP_NUM_THREADS=3.\n" in text) == chosen
    assert ("Overcast holds BLAS at one thread while it computes.\n" in text) != chosen
    assert json.loads(command("doctor", "--json")[1])["held_at_one_thread"] != chosen


def test_everything_installed_offers_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    code, text, error = command("doctor")
    assert (code, error) == (0, "")
    assert f"overcast       {overcast.__version__}\n" in text
    assert "lacking" not in text
    for name, purpose in PURPOSES.items():
        assert f"{name:<11}  installed  {purpose}\n" in text


@pytest.mark.usefixtures("bare")
def test_what_is_lacking_or_too_old_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_threads, "CHOSEN_BY_USER", True)
    for name in _threads.VARIABLES:  # the longest that the report gets
        monkeypatch.setenv(name, "1")
    code, text, error = command("doctor")
    assert (code, error) == (1, "")
    assert "plot         lacking  pictures\n                      adds matplotlib>=3.9 (has 3.1.0)\n" in text
    assert "scores       lacking" in text
    assert "adds scoringrules>=0.10\n" in text
    assert "Install one that is lacking with pip install 'overcast[EXTRA]'.\n" in text
    assert text.endswith("Problem: numpy must be >= 2.2, got 1.26.4\n")
    lines = [line for line in text.splitlines() if not line.startswith("in ")]  # a folder may be as deep as it likes
    assert max(map(len, lines)) <= 80


def test_a_package_that_is_not_installed_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    def requires(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", requires)
    code, text, error = command("doctor")
    assert (code, error) == (1, "")
    assert "Problem: overcast is imported from a folder, not installed" in text
