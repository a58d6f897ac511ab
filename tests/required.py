"""What tests need beside Python packages: skipped without it, unless it must be there."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest

#: names of what must be there, with commas between
VARIABLE = "OVERCAST_REQUIRE"


def lacking(what: str, reason: str) -> NoReturn:
    """Skip a test that needs something, or fail it if that must be there."""
    if what in os.environ.get(VARIABLE, "").split(","):
        pytest.fail(f"{reason}; {VARIABLE} says that {what} must be there")
    pytest.skip(reason)
