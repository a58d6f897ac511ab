"""Replay: from a configuration and events to the bandit that lived them."""

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
from overcast.events.chain import CONFIG, End, Event, followed
from overcast.models.base import Model
from overcast.policies import Policy


def apply(bandit: Bandit, event: Any) -> None:
    """Let an event happen to a bandit; if it cannot, nothing changes.

    A bandit that was loaded from a file goes on from there with the events since. This does not look at numbers and
    checksums: see `checked`.

    Examples
    --------
    >>> import overcast as oc
    >>> bandit = oc.Bandit(["a", "b"], oc.LinearModel(oc.features.Disjoint(2)), oc.UCB())
    >>> apply(bandit, oc.events.observed("b", [2.0], reward=5.0))
    >>> bandit.learnt.rounds
    1
    """
    kind = event.get("event") if isinstance(event, Mapping) else event
    happen = _KINDS.get(kind) if isinstance(kind, str) else None
    if happen is None:
        raise ValueError(f"replay: event must be one of {', '.join(_KINDS)}, got {_check.short(kind)}")
    try:
        happen(bandit, event)
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
    """Return the bandit that a configuration and the events of its life lead to.

    It remembers the same as the bandit that lived, to the last bit on one machine and build with one number of BLAS
    threads, and to 1e-9 elsewhere. What was asked in between does not matter.

    A configuration or an event that was changed, and events that were lost, repeated or moved, raise ValueError, which
    names the event; so does a log that does not end where `end` says. A list without any events is a bandit that has
    lived nothing, unless `end` is a number.

    Parameters
    ----------
    given : what `events.config` returned
    events : as `events.chained` returned them, in the order in which they happened; those of earlier releases, without
        numbers, raise one warning
    model, policy : those of the configuration, if they hold a function or a class of your own
    end : "closed" if the last event must be `events.closed`, with one warning if it is not; the number of the last
        event of a log that goes on; or "open", with which a cut at the end of the log stays unnoticed
    more : `actions` and `objective` of the configuration, if they are of a class of your own

    Examples
    --------
    >>> import overcast as oc
    >>> made = ["a", "b"], oc.LinearModel(oc.features.Disjoint(2)), oc.UCB()
    >>> bandit, log = oc.Bandit(*made), [oc.events.config(*made)]
    >>> for reward in (1.0, 3.0):
    ...     decision = bandit.decide([2.0])
    ...     log.append(oc.events.chained(oc.events.decided(decision), after=log[-1]))
    ...     bandit.learn(decision, reward)
    ...     log.append(oc.events.chained(oc.events.learnt(decision, reward), after=log[-1]))
    >>> again = oc.replay(log[0], log[1:], end=4)
    >>> again.learnt == bandit.learnt
    True
    """
    bandit = _begin(given, {"model": model, "policy": policy} | more)
    for event in followed(events, given, end):
        apply(bandit, event)
    return bandit


def _begin(given: Any, known: Mapping[str, Any]) -> Bandit:
    """Make the bandit of a configuration."""
    if not isinstance(given, dict) or any(name not in given for name in CONFIG):
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
    bandit.learn(event["id"], event["reward"], _read(event["context"]))


def _forget(bandit: Bandit, event: Event) -> None:
    bandit.forget(event["id"])


def _observe(bandit: Bandit, event: Event) -> None:
    bandit.observe(event["action"], _read(event["belief"]), event["reward"], _read(event["context"]))


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
    bandit.policy = _stored("policy", event["policy"])


def _fit(bandit: Bandit, event: Event) -> None:
    bandit.relearn(_stored("model", event["model"]))


def _stored(name: str, data: Any) -> Any:
    """Return the model or policy of an event."""
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
    own = bandit.model if _storage.config(bandit.model) is None else None
    bandit.merge(Bandit.from_bytes(content, own))


def _close(bandit: Bandit, event: Event) -> None:
    """Change nothing: the log ends here."""


_KINDS: dict[str, Callable[[Bandit, Event], None]] = {
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


def _read(value: Any) -> Any:
    """Return beliefs and tables from their JSON form, and everything else as it is."""
    if isinstance(value, dict) and "rows" in value:
        names = _check.distinct_names("events", "names", value["names"])
        return Table(names, _check.array("events", "rows", value["rows"], ("n", len(names))))
    if isinstance(value, dict):
        return belief_from_json(value)
    return [_read(item) for item in value] if isinstance(value, list) and value and _deep(value) else value


def _deep(items: list[Any]) -> bool:
    """Return whether a list may hold beliefs."""
    return any(isinstance(item, (dict, type(None))) for item in items)
