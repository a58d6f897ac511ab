"""What is missing is skipped, or fails where it must be there."""

from __future__ import annotations

import pytest

from required import VARIABLE, lacking


def test_skipped_with_a_reason_or_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(pytest.skip.Exception, match="needs a browser"):
        lacking("browser", "needs a browser")
    monkeypatch.setenv(VARIABLE, "postgres,browser")
    with pytest.raises(pytest.fail.Exception, match="must be there"):
        lacking("browser", "needs a browser")
