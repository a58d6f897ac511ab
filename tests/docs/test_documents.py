"""The documents say what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import overcast as oc
from overcast.cli import main
from overcast.cli.extras import PURPOSES
from real_data import FOLDER, needs

ROOT = Path(__file__).parents[2]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_versions_agree() -> None:
    assert f"version: {oc.__version__}\n" in read("CITATION.cff")
    assert re.search(rf"^## {re.escape(oc.__version__)}\b", read("CHANGELOG.md"), re.MULTILINE)


def test_the_paper_is_cited_as_it_was_published() -> None:
    citation = read("CITATION.cff")
    for part in (
        "title: Stochastic Bandits with Context Distributions\n",
        "family-names: Kirschner\n      given-names: Johannes\n",
        "family-names: Krause\n      given-names: Andreas\n",
        "Advances in Neural Information Processing Systems 32\n",
        "year: 2019\n",
    ):
        assert part in citation
    link = re.findall(r"url: (\S+)", citation)
    assert len(link) == 1
    assert f'Paper = "{link[0]}"' in read("pyproject.toml")


def test_the_front_page_is_short_and_names_every_extra() -> None:
    page = read("README.md")
    assert len(page.splitlines()) < 150
    assert set(re.findall(r"`'\.\[(\w+)\]'`", page)) == set(PURPOSES)


def test_the_guide_names_every_target_of_make_that_says_what_it_does() -> None:
    targets = re.findall(r"^([a-z-]+):.*##", read("Makefile"), re.MULTILINE)
    assert len(targets) > 15
    guide = read("CONTRIBUTING.md") + read("README.md")
    assert [name for name in targets if f"make {name}" not in guide] == []


def test_links_to_files_lead_somewhere() -> None:
    documents = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    assert len(documents) >= 7
    for document in documents:
        for link in re.findall(r"\]\(([^)#\s]+)", document.read_text(encoding="utf-8")):
            assert link.startswith("https://") or (document.parent / link).exists(), f"{document.name}: {link}"


def test_hooks_before_a_commit_run_the_tools_of_make_check() -> None:
    checked = re.findall(r"\$\(BIN\)/([\w-]+)", read("Makefile").split("\ncheck:")[1].split("\n\n")[0])
    hooked = re.findall(r"entry: \.venv/bin/([\w-]+)", read(".pre-commit-config.yaml"))
    assert hooked == checked


def test_the_first_two_commands_of_the_readme_are_make_targets() -> None:
    commands = re.findall(r"^```\n(.*?)^```", read("README.md"), re.MULTILINE | re.DOTALL)
    assert commands[0].split("\n")[:2] == ["make demo", "make test"]
    targets = re.findall(r"^(\w+):", read("Makefile"), re.MULTILINE)
    assert {"demo", "test", "check"} <= set(targets)


def test_commands_in_the_readme_are_understood(capsys: pytest.CaptureFixture[str]) -> None:
    """Each is parsed with --help appended, which checks the words before it."""
    lines = re.findall(r"^\.venv/bin/overcast ([^#\n]+)", read("README.md"), re.MULTILINE)
    assert lines
    for line in lines:
        with pytest.raises(SystemExit) as stop:
            main([*line.split(), "--help"])
        assert stop.value.code == 0
    assert "usage: overcast reproduce" in capsys.readouterr().out


@needs("ml-1m")
def test_no_row_of_movielens_is_in_the_repository() -> None:
    """Its terms forbid to pass it on; rows of ratings.dat are too short to tell from others."""
    rows = {
        line
        for name in ("users.dat", "movies.dat")
        for line in (FOLDER / "ml-1m" / name).read_text(encoding="latin-1").splitlines()
    }
    for path in ROOT.glob("[!.]*/**/*"):
        if path.suffix in (".py", ".md", ".html", ".txt", ".csv", ".dat", ".json"):
            words = set(re.split(r"[\"'\n]|\\n", path.read_text(encoding="utf-8")))
            assert not words & rows, path
