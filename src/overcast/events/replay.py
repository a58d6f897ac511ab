"""Rebuild a bandit from its configuration and events."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from overcast import _check, _storage
from overcast.bandit import Bandit
from overcast.bandit.arguments import Table
from overcast.bandit.config import BanditConfig, encoded_options, read_actions
from overcast.bandit.state import State
from overcast.beliefs import belief_from_json
from overcast.decisions.record import Decision
from overcast.events.chain import CONFIG_FIELDS, End, Event, checked_events
from overcast.models.base import Model
from overcast.policies import Policy
from overcast.spaces import Actions


def apply(bandit: Bandit, event: Any) -> None:
    """Apply an event to a bandit, or raise and change nothing.

    Use it to apply later events to a bandit loaded from a file. It does not check numbers and checksums: see `checked`.

    Examples
    --------
    >>> import overcast as oc
    >>> bandit = oc.Bandit(["a", "b"], oc.LinearModel(oc.features.Disjoint(2)), oc.UCB())
    >>> apply(bandit, oc.events.observed("b", [2.0], reward=5.0))
    >>> bandit.learnt.rounds
    1
    """
    kind = event.get("event") if isinstance(event, Mapping) else event
    handler = _HANDLERS.get(kind) if isinstance(kind, str) else None
    if handler is None:
        raise ValueError(f"replay: event must be one of {', '.join(_HANDLERS)}, got {_check.short(kind)}")
    try:
        handler(bandit, event)
    except KeyError as error:
        raise ValueError(f"replay: event {kind} must have {error}, got none") from None


def replay(
    given: Event,
    events: Iterable[Event],
    model: Model | None = None,
    policy: Policy | None = None,
    end: End = "closed",
    **more: Any,
) -> Bandit:
    """Rebuild a bandit from its configuration and events.

    Its state equals that of the original bandit, to the last bit on one machine and build with one number of BLAS
    threads, and to 1e-9 elsewhere. Calls that only ask (`estimate`, `explain`) have no effect on it.

    Changed, lost, repeated or moved events and a changed configuration raise a ValueError that names the event; so does
    a log that does not end where `end` says. An empty list gives a fresh bandit, unless `end` is a number.

    Parameters
    ----------
    given : the configuration, from `events.config`
    events : from `events.chained`, in order; events of earlier releases, without numbers, cause one warning
    model, policy : those of the configuration, if they hold a function or a class of your own
    end : "closed" if the last event must be `events.closed`, with a warning if it is not; the number of the last event
        of an unfinished log; or "open", which accepts a log without its end
    more : `actions` and `objective` of the configuration, if they are of a class of your own

    Examples
    --------
    >>> import overcast as oc
    >>> options = ["a", "b"], oc.LinearModel(oc.features.Disjoint(2)), oc.UCB()
    >>> bandit, log = oc.Bandit(*options), [oc.events.config(*options)]
    >>> for reward in (1.0, 3.0):
    ...     decision = bandit.decide([2.0])
    ...     log.append(oc.events.chained(oc.events.decided(decision), after=log[-1]))
    ...     bandit.learn(decision, reward)
    ...     log.append(oc.events.chained(oc.events.learnt(decision, reward), after=log[-1]))
    >>> again = oc.replay(log[0], log[1:], end=4)
    >>> again.learnt == bandit.learnt
    True
    """
    bandit = _fresh_bandit(given, {"model": model, "policy": policy} | more)
    for event in checked_events(events, given, end):
        apply(bandit, event)
    return bandit


def _fresh_bandit(given: Any, known: Mapping[str, Any]) -> Bandit:
    """Create a fresh bandit from a configuration.

    known : options that have no JSON form, by name
    """
    if not isinstance(given, dict) or any(name not in given for name in CONFIG_FIELDS):
        raise ValueError(f"replay: given must be what events.config returned, got {_check.short(given)}")
    version = _check.integer("replay", "version", given["version"], at_least=1)
    if version > _storage.VERSION:
        raise ValueError(f"replay: version must be {_storage.VERSION} at most, got {version}; take a newer overcast")
    stored = encoded_options("configuration", given, known)
    with _storage.damage("the configuration", "what events.config returned"):
        return Bandit._of_state(State(BanditConfig.from_json(given, **stored)))


def _decide(bandit: Bandit, event: Event) -> None:
    bandit.adopt(Decision.from_json(event["decision"]))


def _learn(bandit: Bandit, event: Event) -> None:
    bandit.learn(event["id"], event["reward"], _decode(event["context"]))


def _forget(bandit: Bandit, event: Event) -> None:
    bandit.forget(event["id"])


def _observe(bandit: Bandit, event: Event) -> None:
    bandit.observe(event["action"], _decode(event["belief"]), event["reward"], _decode(event["context"]))


def _add(bandit: Bandit, event: Event) -> None:
    names, vectors = event["names"], event["vectors"]
    if names is not None and vectors is not None:
        bandit.add_actions(read_actions(names, vectors))
    else:
        bandit.add_actions(vectors if names is None else names)


def _retire(bandit: Bandit, event: Event) -> None:
    bandit.retire(event["actions"])


def _rename(bandit: Bandit, event: Event) -> None:
    bandit.rename(event["action"], event["name"])


def _set_policy(bandit: Bandit, event: Event) -> None:
    bandit.policy = _decode_config("policy", event["policy"])


def _fit(bandit: Bandit, event: Event) -> None:
    bandit.relearn(_decode_config("model", event["model"]))


def _decode_config(name: str, data: Any) -> Any:
    """Decode the model or policy of an event."""
    try:
        return _storage.from_config(data)
    except Exception as error:
        got = f"got {_check.short(data)}, with {type(error).__name__}"
        raise ValueError(f"replay: {name} must be in the form that an event has, {got}") from error


def _merge(bandit: Bandit, event: Event) -> None:
    try:
        content = base64.b64decode(event["bandit"], validate=True)
    except (TypeError, ValueError):
        raise ValueError(f"replay: bandit must be in base 64, got {_check.short(event['bandit'])}") from None
    state = bandit.state
    options: dict[str, Any] = {"model": state.model, "objective": state.objective}
    if not isinstance(state.actions, Actions):
        options["actions"] = state.actions
    custom = {name: value for name, value in options.items() if _storage.config(value) is None}
    bandit.merge(Bandit.from_bytes(content, **custom))


def _close(bandit: Bandit, event: Event) -> None:
    """Do nothing: this event marks the end of the log."""


_HANDLERS: dict[str, Callable[[Bandit, Event], None]] = {
    "decide": _decide,
    "learn": _learn,
    "forget": _forget,
    "observe": _observe,
    "add": _add,
    "retire": _retire,
    "rename": _rename,
    "policy": _set_policy,
    "fit": _fit,
    "merge": _merge,
    "close": _close,
}


def _decode(value: Any) -> Any:
    """Decode beliefs and tables from their JSON form; return everything else unchanged."""
    if isinstance(value, dict) and "rows" in value:
        names = _check.distinct_names("events", "names", value["names"])
        return Table(names, _check.array("events", "rows", value["rows"], ("n", len(names))))
    if isinstance(value, dict):
        return belief_from_json(value)
    if isinstance(value, list) and value and _may_hold_beliefs(value):
        return [_decode(item) for item in value]
    return value


def _may_hold_beliefs(items: list[Any]) -> bool:
    """Return whether a list may contain beliefs in JSON form."""
    return any(isinstance(item, (dict, type(None))) for item in items)
