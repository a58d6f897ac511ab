"""Answers are the forms of the library in JSON."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from overcast.service import answers as a
from overcast.service import messages as m

ANSWERS = [
    one
    for one in vars(a).values()
    if isinstance(one, type) and issubclass(one, msgspec.Struct) and one.__module__ == a.__name__
]


@pytest.mark.parametrize("kind", ANSWERS)
def test_answers_say_what_they_are_and_are_no_requests(kind: Any) -> None:
    assert not issubclass(kind, m.Asked)
    assert not kind.__struct_config__.forbid_unknown_fields  # clients of later releases read them


def test_fields_that_an_answer_lacks_are_left_out_of_a_batch() -> None:
    decided = a.Decided("monday", "early", 1.0, 0.5, 1.5, None, 7)
    assert msgspec.to_builtins(a.DecidedItem("monday", 201, decision=decided)) == {
        "id": "monday",
        "status": 201,
        "decision": {
            "id": "monday",
            "action": "early",
            "mean": 1.0,
            "width": 0.5,
            "score": 1.5,
            "probability": None,
            "position": 7,
        },
    }
    assert msgspec.to_builtins(a.Verdict(None, 404)) == {"id": None, "status": 404}
