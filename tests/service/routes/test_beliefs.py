"""Beliefs in requests."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import overcast as oc
from overcast.service.errors import Refusal
from overcast.service.routes.beliefs import given_belief, with_floats
from overcast.service.settings import Limits


@pytest.mark.parametrize(
    "data",
    [
        [1.0, 2.0],
        [[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]],
        {"type": "Ensemble", "points": [[1.0], [2.0], [4.0]], "weights": [0.1, 0.2, 0.7]},
        {"type": "Gaussian", "mean": [1, 2], "cov": [[1, 0.5], [0.5, 1]]},
        {"type": "Frozen", "distribution": "gamma", "args": [2.0]},
        {"warm": 20.0, "wet": 1.5},
        {"warm": {"type": "Gaussian", "mean": [20.0], "cov": [4.0]}, "wet": 1.5},
    ],
)
def test_the_form_leads_to_the_same_belief_to_the_byte(data: Any) -> None:
    belief, form = given_belief(data, Limits())
    again = oc.belief_from_json(form)
    assert belief.mean().tobytes() == again.mean().tobytes()
    assert belief.cov().tobytes() == again.cov().tobytes()
    assert np.array_equal(belief.sample(5, np.random.default_rng(0)), again.sample(5, np.random.default_rng(0)))


@pytest.mark.parametrize("data", [[], [[]], ["a"], [[1.0], [1.0, 2.0]], {}, {"type": 3}, [None], [[[1.0]]]])
def test_what_is_no_belief_is_refused(data: Any) -> None:
    with pytest.raises(Refusal) as caught:
        given_belief(data, Limits())
    assert (caught.value.status, caught.value.field) == (422, "belief")


def test_whole_numbers_in_a_belief_become_floats() -> None:
    data: dict[str, Any] = {"type": "x", "mean": [1, 2.5, True], "cov": [[1.0, 2.0], [3, None]], "n": 10**30}
    found = with_floats(data)
    assert found == data
    assert [type(one) for one in found["mean"]] == [float, float, bool]
    assert [type(one) for one in found["cov"][1]] == [float, type(None)]
    assert found["cov"][0] is data["cov"][0]
    assert type(found["n"]) is int
