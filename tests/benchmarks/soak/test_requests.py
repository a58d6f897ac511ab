from __future__ import annotations

from pathlib import Path

import pytest

from soak.requests import TESTS, tried


def test_counts_what_passed(tmp_path: Path) -> None:
    some = "tests/service/test_schemathesis.py::test_every_answer_is_as_declared[GET /healthz]"
    assert tried(tmp_path, 2, [some]) == {"tests": 1, "operations": 1, "examples_per_operation": 2}


def test_a_failure_is_not_counted_but_raised(tmp_path: Path) -> None:
    test = tmp_path / "test_wrong.py"
    test.write_text("def test_wrong():\n    assert 1 == 2, 'this is wrong'\n")
    with pytest.raises(RuntimeError, match="this is wrong"):
        tried(tmp_path, 2, [str(test)])


def test_all_files_exist() -> None:
    root = Path(__file__).parents[3]
    assert all((root / name).is_file() for name in TESTS)
