"""Parts are run one by one, kept, and not run again."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from soak import __main__ as soak


def test_a_part_that_is_kept_is_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[str] = []

    def part(name: str) -> Callable[[Path], dict[str, Any]]:
        def run(folder: Path) -> dict[str, Any]:
            ran.append(name)
            return {"found": len(ran)}

        return run

    for name in ("one", "two"):
        monkeypatch.setitem(soak.PARTS, name, part(name))
    file = tmp_path / "soak.json"

    def main(*arguments: str) -> None:
        monkeypatch.setattr(sys, "argv", ["soak", "--keep", str(file), *arguments])
        soak.main()

    main("one")
    main("one", "two")
    assert ran == ["one", "two"]
    main("one", "--again")
    assert ran == ["one", "two", "one"]
    kept = json.loads(file.read_text())
    assert {name: part["found"] for name, part in kept.items()} == {"one": 3, "two": 2}
    assert {"took_seconds", "load_before", "overcast", "python"} <= kept["one"].keys()
    with pytest.raises(SystemExit):
        main("three")
    assert "got three" in capsys.readouterr().err
