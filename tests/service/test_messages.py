"""What names may look like."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from overcast.service import messages as m


@pytest.mark.parametrize(
    ("kind", "right", "wrong"),
    [
        (m.BanditName, ["a", "A.b-c_1", "x" * 64], ["", "-a", "a/b", "a b", "a\n", "x" * 65, "ä", ".."]),
        (m.Id, ["a", "2026-11-18T03:00:00+01", "x" * 128], ["", "a/b", "a\n", "x" * 129, "?", "-"]),
        (m.ActionName, ["<script>", "a/b", "ä", " "], ["", "a\n", "\x00", "x" * 201, "a\tb"]),
        (m.Pattern, ["*", "shop-*"], ["", "a/b", "[a]", "*\n"]),
    ],
)
def test_names(kind: Any, right: list[str], wrong: list[str]) -> None:
    for name in right:
        assert msgspec.convert(name, kind) == name
    for name in wrong:
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(name, kind)


@pytest.mark.parametrize(
    "kind", [one for one in vars(m).values() if isinstance(one, type) and issubclass(one, m.Asked)]
)
def test_requests_refuse_unknown_fields(kind: type[m.Asked]) -> None:
    assert kind.__struct_config__.forbid_unknown_fields
