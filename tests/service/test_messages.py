"""What names may look like."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest

from overcast.service import messages as m


@pytest.mark.parametrize(
    ("pattern", "right", "wrong"),
    [
        (m.NAME, ["a", "A.b-c_1", "x" * 64], ["", "-a", "a/b", "a b", "a\n", "x" * 65, "ä", ".."]),
        (m.ID, ["a", "2026-11-18T03:00:00+01", "x" * 128], ["", "a/b", "a\n", "x" * 129, "?", "-"]),
        (m.ACTION, ["<script>", "a/b", "ä", " "], ["", "a\n", "\x00", "x" * 201, "a\tb"]),
        (m.LABEL, ["for the shop"], ["", "\n"]),
        (m.PATTERN, ["*", "shop-*"], ["", "a/b", "[a]", "*\n"]),
    ],
)
def test_names(pattern: re.Pattern[str], right: list[str], wrong: list[str]) -> None:
    m.check("name", pattern, None)
    for name in right:
        m.check("name", pattern, name)
    for name in wrong:
        with pytest.raises(ValueError, match="name must match"):
            m.check("name", pattern, name)


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        (m.NewBandit, {"name": "a b", "actions": ["x"]}),
        (m.NewBandit, {"name": "a", "actions": {"x\n": [1.0]}}),
        (m.NewActions, {"actions": ["x\n"]}),
        (m.NewDecision, {"belief": [1.0], "id": "a/b"}),
        (m.OneOrMany, {"belief": [1.0], "id": "a/b"}),
        (m.NewOutcome, {"reward": 1.0, "part": "a/b"}),
        (m.NewKey, {"name": "\n", "scopes": ["read"]}),
        (m.NewKey, {"name": "a", "scopes": ["read"], "bandits": ["[a]"]}),
    ],
)
def test_names_in_requests_are_checked(kind: Any, data: Any) -> None:
    with pytest.raises(msgspec.ValidationError, match="must match"):
        msgspec.convert(data, kind)


@pytest.mark.parametrize(
    "kind", [one for one in vars(m).values() if isinstance(one, type) and issubclass(one, m.Asked)]
)
def test_requests_refuse_unknown_fields(kind: type[m.Asked]) -> None:
    assert kind.__struct_config__.forbid_unknown_fields
