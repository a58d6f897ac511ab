"""Beliefs in requests."""

from __future__ import annotations

from typing import Any

from overcast.adapters import as_belief
from overcast.beliefs import Belief, belief_from_json
from overcast.service.errors import Refusal, refusing
from overcast.service.settings import Limits


def given_belief(data: Any, limits: Limits) -> tuple[Belief, Any]:
    """Return the belief in a request, and the JSON data that lead to the same belief again, to the byte."""
    with refusing("belief"):
        form = data if isinstance(data, dict) else as_belief(data).to_json()
        belief = belief_from_json(form)
    if belief.dim > limits.dimensions:
        raise Refusal(422, f"belief: must have {limits.dimensions} dimensions at most, got {belief.dim}", "belief")
    return belief, form
