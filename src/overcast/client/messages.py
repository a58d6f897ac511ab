"""Make requests to the service, and read its answers, as plain data."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np

from overcast import _check
from overcast._storage import config as encoded
from overcast.adapters import as_belief
from overcast.bandit.arguments import checked_reward
from overcast.beliefs import PointMass
from overcast.decisions.record import Decision
from overcast.models.base import Estimate, Model
from overcast.policies.base import Policy


class ServiceError(Exception):
    """Raised if the service refuses a request or does not answer; the message is one line.

    Attributes
    ----------
    status : the HTTP status; None if there was no answer
    code : the kind of error, e.g. `conflict`, or `no_answer`
    field : the invalid field of the request, if any

    Examples
    --------
    >>> error = ServiceError(409, "conflict", "another reward was given")
    >>> error.status, error.code
    (409, 'conflict')
    """

    def __init__(self, status: int | None, code: str, message: str, field: str | None = None) -> None:
        line = " ".join(message.split())[:500]
        super().__init__(f"Client: {code}: {line}" if status is None else f"Client: {status} {code}: {line}")
        self.status, self.code, self.field = status, code, field


class Decided(NamedTuple):
    """A decision of the service.

    id : identifies the decision; `learn` takes it, or the decision itself, in any process
    action : the chosen action's name, or its index where actions have no names
    mean, width : estimate and uncertainty of its expected reward
    score : what the policy ranked it by
    probability : with which it was chosen; None if the policy does not know it
    position : the last row of the log that the decision is based on

    Examples
    --------
    >>> decided = Decided("monday", "late", mean=5.1, width=0.4, score=5.5, probability=1.0, position=7)
    >>> decided.action
    'late'
    """

    id: str
    action: str | int
    mean: float
    width: float
    score: float
    probability: float | None
    position: int


class Request(NamedTuple):
    """A request.

    repeatable : whether it may be sent again if its answer was lost, since the service counts it once
    """

    method: str
    path: str
    body: Any = None
    repeatable: bool = True


def bandit_path(name: str) -> str:
    """Return the path of a bandit."""
    return f"/v1/bandits/{quote(_check.text('Client', 'name', name), safe='')}"


def creation(name: str, actions: Any, model: Model | None, policy: Policy | None, more: Mapping[str, Any]) -> Request:
    """Return the request that creates a bandit."""
    body: dict[str, Any] = {"name": name, "actions": _actions(actions), **more}
    for key, value in (("model", model), ("policy", policy)):
        if value is not None:
            body[key] = encoded(value)
            if body[key] is None:
                raise TypeError(f"Client: {key} must not hold a function or a class of your own, got {value!r:.80}")
    return Request("POST", "/v1/bandits", body, repeatable=False)


def decision(path: str, belief: Any, available: Any, id_: str | None) -> Request:
    """Return the request for a decision, with an id that makes it safe to send again."""
    body = {"belief": _belief(belief), "id": uuid.uuid4().hex if id_ is None else id_}
    if available is not None:
        body["available"] = _available(available)
    return Request("POST", f"{path}/decisions", body)


def outcome(path: str, of: Any, reward: Any, context: Any, final: bool, part: str | None) -> Request:
    """Return the request that reports an outcome, of which the service counts the same body once."""
    body: dict[str, Any] = {"reward": checked_reward(reward)}
    if context is not None:
        body["context"] = _context(context)
    if not final:
        body["final"] = False
    if part is not None:
        body["part"] = part
    return Request("POST", f"{path}/decisions/{_id(of)}/outcome", body)


def cancellation(path: str, of: Any) -> Request:
    """Return the request that cancels a decision."""
    return Request("DELETE", f"{path}/decisions/{_id(of)}")


def question(path: str, belief: Any) -> Request:
    """Return the request for mean and width of all actions."""
    return Request("POST", f"{path}/estimate", {"belief": _belief(belief)})


def read_decision(answer: Any) -> Decided:
    """Read the decision in an answer."""
    return Decided(*(answer[name] for name in Decided._fields))


def read_estimate(answer: Any) -> Estimate:
    """Read the estimate in an answer."""
    columns = ([action[name] for action in answer["actions"]] for name in ("mean", "width"))
    return Estimate(*(np.array(column, dtype=float) for column in columns))


def read_error(status: int, answer: Any, text: str) -> ServiceError:
    """Read the error in an answer, which may come from a proxy instead of the service."""
    fault = answer.get("error") if isinstance(answer, dict) else None
    if isinstance(fault, dict) and isinstance(fault.get("message"), str):
        return ServiceError(status, str(fault.get("code")), fault["message"], fault.get("field"))
    return ServiceError(status, "unknown", text[:200] or "an answer without content")


def _id(of: Any) -> str:
    return quote(of.id if isinstance(of, (Decided, Decision)) else _check.text("Client", "decision", of), safe="")


def _belief(obj: Any) -> Any:
    return as_belief(obj).to_json()


def _context(obj: Any) -> Any:
    belief = as_belief(obj)
    is_vector = isinstance(belief, PointMass) and belief.names is None
    return belief.mean().tolist() if is_vector else belief.to_json()


def _actions(actions: Any) -> Any:
    """Convert actions, in any form that `Bandit` takes, to JSON data."""
    if hasattr(actions, "columns") and hasattr(actions, "to_numpy"):
        actions = dict(zip(actions.index, actions.to_numpy(), strict=True))
    if isinstance(actions, Mapping):
        return {str(name): np.asarray(vector, dtype=float).tolist() for name, vector in actions.items()}
    items = list(actions)
    return [item if isinstance(item, str) else np.asarray(item, dtype=float).tolist() for item in items]


def _available(available: Any) -> list[Any]:
    """Convert available actions, as names, indices or a mask, to names or indices."""
    if isinstance(available, Mapping):
        return [name for name, allowed in available.items() if allowed]
    items = [item.item() if isinstance(item, np.generic) else item for item in available]
    if items and all(isinstance(item, bool) for item in items):
        return [i for i, allowed in enumerate(items) if allowed]
    return items
