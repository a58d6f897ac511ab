"""Requests to the service, and its answers, as plain data."""

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
    """The service refused a request, or gave no answer. The message is one line.

    Attributes
    ----------
    status : of HTTP; None if there was no answer
    code : of the error, e.g. `conflict`; `no_answer` if there was none
    field : of the request that was wrong; None if none was

    Examples
    --------
    >>> error = ServiceError(409, "conflict", "another reward was given")
    >>> error.status, error.code
    (409, 'conflict')
    """

    def __init__(self, status: int | None, code: str, message: str, field: str | None = None) -> None:
        said = " ".join(message.split())[:500]
        super().__init__(f"Client: {code}: {said}" if status is None else f"Client: {status} {code}: {said}")
        self.status, self.code, self.field = status, code, field


class Decided(NamedTuple):
    """A decision of the service.

    id : names the decision; `learn` takes it, or the decision itself, from any process
    action : the chosen action's name, or its index where actions have no names
    mean, width : estimate and uncertainty of its expected reward
    score : what the policy ranked it by
    probability : with which it was taken; None if the policy does not know it
    position : of the last row of the log that the decision rests on

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


class Ask(NamedTuple):
    """A request.

    again : whether it may be sent again after its answer was lost, since the service counts it once
    """

    method: str
    path: str
    body: Any = None
    again: bool = True


def bandit_path(name: str) -> str:
    """Return the path of a bandit."""
    return f"/v1/bandits/{quote(_check.text('Client', 'name', name), safe='')}"


def creation(name: str, actions: Any, model: Model | None, policy: Policy | None, more: Mapping[str, Any]) -> Ask:
    """Return the request that creates a bandit."""
    body: dict[str, Any] = {"name": name, "actions": _actions(actions), **more}
    for key, value in (("model", model), ("policy", policy)):
        if value is not None:
            body[key] = encoded(value)
            if body[key] is None:
                raise TypeError(f"Client: {key} must not hold a function or a class of your own, got {value!r:.80}")
    return Ask("POST", "/v1/bandits", body, again=False)


def decision(path: str, belief: Any, available: Any, id_: str | None) -> Ask:
    """Return the request for a decision; an id of its own makes it safe to send again."""
    body = {"belief": _belief(belief), "id": uuid.uuid4().hex if id_ is None else id_}
    if available is not None:
        body["available"] = _available(available)
    return Ask("POST", f"{path}/decisions", body)


def outcome(path: str, of: Any, reward: Any, context: Any, final: bool, part: str | None) -> Ask:
    """Return the request that reports an outcome; the service counts the same body once."""
    body: dict[str, Any] = {"reward": checked_reward(reward)}
    if context is not None:
        body["context"] = _context(context)
    if not final:
        body["final"] = False
    if part is not None:
        body["part"] = part
    return Ask("POST", f"{path}/decisions/{_id(of)}/outcome", body)


def cancellation(path: str, of: Any) -> Ask:
    """Return the request that cancels a decision."""
    return Ask("DELETE", f"{path}/decisions/{_id(of)}")


def question(path: str, belief: Any) -> Ask:
    """Return the request for mean and width of all actions."""
    return Ask("POST", f"{path}/estimate", {"belief": _belief(belief)})


def decided(answer: Any) -> Decided:
    """Return the decision in an answer."""
    return Decided(*(answer[name] for name in Decided._fields))


def estimated(answer: Any) -> Estimate:
    """Return the estimate in an answer."""
    columns = ([one[name] for one in answer["actions"]] for name in ("mean", "width"))
    return Estimate(*(np.array(column, dtype=float) for column in columns))


def refusal(status: int, answer: Any, text: str) -> ServiceError:
    """Return the error in an answer, which may come from something else than the service."""
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
    known = isinstance(belief, PointMass) and belief.names is None
    return belief.mean().tolist() if known else belief.to_json()


def _actions(actions: Any) -> Any:
    """Return actions in any form that `Bandit` takes as JSON data."""
    if hasattr(actions, "columns") and hasattr(actions, "to_numpy"):
        actions = dict(zip(actions.index, actions.to_numpy(), strict=True))
    if isinstance(actions, Mapping):
        return {str(name): np.asarray(vector, dtype=float).tolist() for name, vector in actions.items()}
    items = list(actions)
    return [one if isinstance(one, str) else np.asarray(one, dtype=float).tolist() for one in items]


def _available(available: Any) -> list[Any]:
    """Return names or indices from names, indices, or a mask in order or by name."""
    if isinstance(available, Mapping):
        return [name for name, allowed in available.items() if allowed]
    items = [one.item() if isinstance(one, np.generic) else one for one in available]
    if items and all(isinstance(one, bool) for one in items):
        return [i for i, allowed in enumerate(items) if allowed]
    return items
