"""The table of what packages can do: its file agrees with the programs, and those of this package do what they say."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import pytest

RESULTS = Path(__file__).parents[2] / "benchmarks" / "capabilities.json"


@pytest.fixture
def capabilities() -> ModuleType:
    import capabilities

    return capabilities


def test_programs_of_this_package_do_what_their_rows_say(capabilities: ModuleType) -> None:
    own = [one for one in capabilities.CLAIMS if one.package == "overcast"]
    assert len(own) > 10
    assert [one.row for one in own if not one.tried()] == []


def test_the_file_holds_what_the_programs_claim(capabilities: ModuleType) -> None:
    found = json.loads(RESULTS.read_text(encoding="utf-8"))
    assert [(row["row"], row["must"]) for row in found["rows"]] == list(capabilities.ROWS.items())
    written = {(package, row["row"], name) for row in found["rows"] for package, name in row["by"].items()}
    assert written == {one[:3] for one in capabilities.CLAIMS}
    assert found["tried"] == len(capabilities.CLAIMS)
    assert list(found["versions"]) == list(capabilities.PACKAGES)


def test_a_program_that_fails_is_named(capabilities: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> object:
        raise RuntimeError("gone")

    claims = [
        capabilities.Claim("overcast", "simulation", "one", lambda: False),
        capabilities.Claim("overcast", "simulation", "other", broken),
    ]
    monkeypatch.setattr(capabilities, "CLAIMS", claims)
    assert capabilities.try_all() == [
        "overcast: one does not do what “simulation” says",
        "overcast: other (simulation) raised RuntimeError: gone",
    ]


def test_words_for_uncertain_contexts_are_found(capabilities: ModuleType) -> None:
    for said in ("noisy contexts", "context_distribution", "distributional inputs", "InputPerturbation"):
        assert capabilities.WORDS.search(said), said
    assert not capabilities.WORDS.search("the distribution of rewards")
