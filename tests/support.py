"""What tests of several modules share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def refused(kind: type[Exception] | tuple[type[Exception], ...], owner: str, *words: str) -> Iterator[None]:
    """Expect an error of one line that names its owner and holds the words."""
    with pytest.raises(kind) as caught:
        yield
    message = str(caught.value)
    assert message.startswith(f"{owner}: ")
    assert "\n" not in message
    for word in words:
        assert word in message
