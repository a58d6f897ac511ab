"""Refusals and their shape."""

from __future__ import annotations

import msgspec
import pytest

from overcast.service.errors import CODES, Failure, Refusal, invalid, refusing


@pytest.mark.parametrize("status", CODES)
def test_every_error_has_one_shape(status: int) -> None:
    shape = msgspec.to_builtins(Failure(Refusal(status, "a: must be b, got c", "a").fault))
    assert shape == {"error": {"code": CODES[status], "message": "a: must be b, got c", "field": "a"}}
    assert "field" not in msgspec.to_builtins(Failure(Refusal(status, "x").fault))["error"]


def test_what_the_library_refuses_becomes_one_line() -> None:
    assert invalid(ValueError("a: b\nc")).message == "a: b"
    assert invalid(ValueError("")).message
    assert len(invalid(ValueError("x" * 10_000)).message) == 500
    with pytest.raises(Refusal) as caught, refusing("policy"):
        raise TypeError("UCB: beta must be >= 0, got -1.0")
    assert (caught.value.status, caught.value.field) == (422, "policy")
    with pytest.raises(KeyError), refusing():
        raise KeyError("a mistake of ours is none of the request")
