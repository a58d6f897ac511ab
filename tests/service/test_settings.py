"""Settings."""

from __future__ import annotations

import msgspec
import pytest

from overcast.service import Limits, Settings


def test_defaults_listen_on_this_machine_only() -> None:
    assert Settings().host == "127.0.0.1"
    assert Settings().limits.body == 1_000_000


def test_unknown_settings_are_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="unknown field"):
        msgspec.convert({"limits": {"bodies": 1}}, Settings)
    assert msgspec.convert({"limits": {"rate": 5.0}}, Settings).limits == Limits(rate=5.0)
