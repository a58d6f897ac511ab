"""Beliefs in requests."""

from __future__ import annotations

from typing import Any

from overcast.adapters import as_belief
from overcast.bandit.files import MAX_COUNT
from overcast.beliefs import Belief, belief_from_json
from overcast.service.errors import Refusal, refusing
from overcast.service.settings import Limits


def given_belief(data: Any, limits: Limits) -> tuple[Belief, Any]:
    """Return the belief in a request as `read_belief` does; raise a refusal if it has too many dimensions."""
    belief, form = read_belief(data, "belief")
    if belief.dim > limits.dimensions:
        raise Refusal(422, f"belief: must have {limits.dimensions} dimensions at most, got {belief.dim}", "belief")
    return belief, form


def read_belief(data: Any, field: str) -> tuple[Belief, Any]:
    """Return the belief in a request, and the JSON data that lead to the same belief again, to the byte.

    data : a belief as JSON, or a vector, an ensemble, numbers and beliefs by name, as `as_belief` takes them
    """
    with refusing(field):
        form = data if isinstance(data, dict) and "type" in data else as_belief(_named(data)).to_json()
        return belief_from_json(form), form


def _named(data: Any) -> Any:
    """Return data with the beliefs that stand under names."""
    if not isinstance(data, dict):
        return data
    return {name: belief_from_json(one) if isinstance(one, dict) else one for name, one in data.items()}


def with_floats(data: Any) -> Any:
    """Return JSON data with floats for whole numbers, since 1 and 1.0 mean the same in a belief."""
    if isinstance(data, dict):
        return {name: with_floats(one) for name, one in data.items()}
    if isinstance(data, list):
        return data if set(map(type, data)) == {float} else [with_floats(one) for one in data]
    return float(data) if type(data) is int and abs(data) <= MAX_COUNT else data
