"""Where the real data lies: OVERCAST_DATA, or the folder shared/data beside the repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

FOLDER = Path(os.environ.get("OVERCAST_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")


def needs(name: str) -> pytest.MarkDecorator:
    """Return a mark that skips tests of a data set that is not there."""
    reason = f"no folder {name} in {FOLDER}; OVERCAST_DATA names the folder of the real data"
    return pytest.mark.skipif(not (FOLDER / name).is_dir(), reason=reason)
