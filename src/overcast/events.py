"""The life of a bandit as a list of events, from which it can be rebuilt.

An event is JSON data that says what happened: `decided`, `learnt`, `forgotten`, `observed`, `added`, `retired`,
`renamed`, `policy`, `fitted` or `merged`. Write one down after each call that succeeded. `replay` takes the
configuration of a bandit and its events, and returns a bandit that remembers the same. It never decides again: what was
decided is in the records.

`chained` gives an event its number and a running checksum, so that `replay` notices a log that was damaged. `closed`
ends a log, so that `replay` notices if its end was cut off.
"""

from __future__ import annotations

import base64
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from overcast import _chain, _check, _memory, _storage
from overcast._random import Stream
from overcast.actions import Actions
from overcast.adapters import as_belief
from overcast.bandit import Bandit
from overcast.beliefs import Belief, belief_from_json
from overcast.calibration import Recalibrated
from overcast.decision import Decision
from overcast.models.base import Model
from overcast.models.kernel.hyperparameters import Fitted
from overcast.observations import Table, checked_reward, checked_rewards, separate, several
from overcast.policies import Greedy, Policy
from overcast.round import Samples

__all__ = [
    "added",
    "apply",
    "chained",
    "checked",
    "closed",
    "config",
    "decided",
    "fitted",
    "forgotten",
    "learnt",
    "merged",
    "observed",
    "policy",
    "renamed",
    "replay",
    "retired",
]

Event = dict[str, Any]
#: where a log ends: with the event `closed`, at the event of a number, or nobody knows where
End = int | Literal["closed", "open"]

# Of configurations and events together. Version 2 has numbers and checksums.
VERSION = 2
# What `chained` adds to an event.
LINK = ("number", "checksum")

# What a configuration holds.
CONFIG = ("version", "model", "policy", "samples", "names", "key", "recalibrate", "vectors", "corrections")


def config(
    actions: Any,
    model: Model,
    policy: Policy,
    samples: Samples = None,
    seed: int | np.random.SeedSequence = 0,
    recalibrate: bool | Recalibrated = False,
    context: Sequence[str] | None = None,
    history: int | None = None,
) -> Event:
    """Return the configuration of a bandit as JSON data; the arguments are those of `Bandit`.

    A model or policy that holds a function or a class of your own has no JSON form: pass it to `replay` again.

    Examples
    --------
    >>> import overcast as oc
    >>> given = config(["a", "b"], oc.LinearModel(oc.features.Disjoint(2)), oc.UCB(), seed=3)
    >>> replay(given, []).actions
    Actions(a, b; 2 dimensions)
    """
    made = Bandit(actions, model, policy, samples, seed, recalibrate, context, history)
    header, arrays = _memory.written(made.memory)
    names = ("model", "policy", "samples", "names", "key", "recalibrate")
    out = {name: header[name] for name in names} | {"vectors": arrays.pop("actions").tolist()}
    known = {name.removeprefix("recalibrate."): array.tolist() for name, array in arrays.items()}
    named = {name: header[name] for name in ("context",) if name in header}
    kept = {} if history is None else {"history": header["history"]["size"]}
    return {"version": _storage.VERSION, **out, "corrections": known or None, **named, **kept}


def decided(decision: Decision) -> Event:
    """Return the event of a decision.

    Examples
    --------
    >>> import overcast as oc
    >>> bandit = oc.Bandit(["a", "b"], oc.LinearModel(oc.features.Disjoint(2)), oc.UCB())
    >>> decided(bandit.decide([1.0], id="monday"))["event"]
    'decide'
    """
    return {"event": "decide", "decision": decision.to_json()}


def learnt(decision: Decision | str, reward: float, context: Any = None) -> Event:
    """Return the event of a reward; the arguments are those of `Bandit.learn`.

    Examples
    --------
    >>> import overcast as oc
    >>> bandit = oc.Bandit(["a", "b"], oc.LinearModel(oc.features.Disjoint(2)), oc.UCB())
    >>> decision = bandit.decide([1.0], id="monday")
    >>> bandit.learn(decision, 2.0)
    >>> learnt(decision, 2.0)
    {'event': 'learn', 'id': 'monday', 'reward': 2.0, 'context': None}
    """
    return {"event": "learn", "id": _id(decision), "reward": checked_reward(reward), "context": _plain(context)}


def forgotten(decision: Decision | str) -> Event:
    """Return the event of a decision whose reward is no longer awaited.

    Examples
    --------
    >>> forgotten("monday")
    {'event': 'forget', 'id': 'monday'}
    """
    return {"event": "forget", "id": _id(decision)}


def observed(action: Any, belief: Any, reward: Any, context: Any = None) -> Event:
    """Return the event of rounds that somebody else decided; the arguments are those of `Bandit.observe`.

    Examples
    --------
    >>> observed("a", [1.0], 2.0)["event"]
    'observe'
    """
    many = several(reward)
    if many:
        belief, context = separate(belief), separate(context)
    return {
        "event": "observe",
        "action": _many(action),
        "belief": _many(belief) if many else _plain(belief),
        "reward": checked_rewards(reward) if many else checked_reward(reward),
        "context": _many(context) if many else _plain(context),
    }


def added(actions: Any) -> Event:
    """Return the event of actions that were added; the argument is that of `Bandit.add_actions`.

    Examples
    --------
    >>> added({"hybrid": [0.6, 0.5]})
    {'event': 'add', 'names': ['hybrid'], 'vectors': [[0.6, 0.5]]}
    """
    if isinstance(actions, Mapping) or hasattr(actions, "columns"):
        found = Actions(actions)
        assert found.names is not None
        names = [_check.name("events.added", name) for name in found.names]
        return {"event": "add", "names": names, "vectors": found.vectors.tolist()}
    plain = _many(list(actions) if isinstance(actions, Collection) and not hasattr(actions, "to_numpy") else actions)
    alone = isinstance(plain, list) and all(isinstance(item, str) for item in plain)
    return {"event": "add", "names": plain if alone else None, "vectors": None if alone else plain}


def retired(actions: Any) -> Event:
    """Return the event of actions that were retired; the argument is that of `Bandit.retire`.

    Examples
    --------
    >>> retired("early")
    {'event': 'retire', 'actions': ['early']}
    """
    many = hasattr(actions, "__iter__") and not isinstance(actions, (str, bytes))
    items = list(actions) if many else [actions]
    return {"event": "retire", "actions": [_check.name("events.retired", item) for item in items]}


def renamed(action: Any, name: Any) -> Event:
    """Return the event of an action that got another name; the arguments are those of `Bandit.rename`.

    Examples
    --------
    >>> renamed("hybrid", "hybrid 2")
    {'event': 'rename', 'action': 'hybrid', 'name': 'hybrid 2'}
    """
    own = (_check.name("events.renamed", one) for one in (action, name))
    return {"event": "rename", **dict(zip(("action", "name"), own, strict=True))}


def policy(policy: Policy) -> Event:
    """Return the event of another policy.

    Examples
    --------
    >>> import overcast as oc
    >>> policy(oc.Thompson())["event"]
    'policy'
    """
    return {"event": "policy", "policy": _config("policy", policy)}


def fitted(fit: Fitted) -> Event:
    """Return the event of fitted hyperparameters, as `Bandit.fit_hyperparameters` returned them.

    Examples
    --------
    >>> import overcast as oc
    >>> model = oc.KernelModel(oc.kernels.Product(oc.kernels.RBF(1.0), oc.kernels.RBF(1.0)), ridge=1.0)
    >>> fitted(Fitted(model, noise=0.1, log_likelihood=-3.0, log_likelihood_before=-4.0))["event"]
    'fit'
    """
    return {"event": "fit", "model": _config("model", fit.model)}


def merged(other: Bandit) -> Event:
    """Return the event of a merge; it holds what the other bandit has learnt, so make it before the other goes on.

    Examples
    --------
    >>> import overcast as oc
    >>> bandit = oc.Bandit(["a", "b"], oc.LinearModel(oc.features.Disjoint(2)), oc.UCB())
    >>> sorted(merged(bandit))
    ['bandit', 'event']
    """
    with other._lock:
        content = _memory.written(other.memory._replace(policy=Greedy()))  # a merge does not depend on the policy
    return {"event": "merge", "bandit": base64.b64encode(_storage.to_bytes(*content)).decode()}


def closed() -> Event:
    """Return the event that ends a log; no event may follow it.

    Examples
    --------
    >>> closed()
    {'event': 'close'}
    """
    return {"event": "close"}


def chained(event: Event, after: Event) -> Event:
    """Return an event with its number and a running checksum, which follow from the event before it.

    The checksum is the CRC-32 of the configuration and of all events up to this one, as JSON with sorted keys. It
    notices damage, not forgery.

    Parameters
    ----------
    event : as the other functions of this module return it
    after : the event before it, as this function returned it; the configuration for the first event

    Examples
    --------
    >>> import overcast as oc
    >>> log = [config(["a", "b"], oc.LinearModel(oc.features.Disjoint(2)), oc.UCB())]
    >>> log.append(chained(observed("a", [1.0], 2.0), after=log[-1]))
    >>> log.append(chained(closed(), after=log[-1]))
    >>> [event["number"] for event in log[1:]]
    [1, 2]
    >>> replay(log[0], log[1:]).learnt.rounds
    1
    """
    number, checksum = _link(after)
    if _kind(after) == "close":
        raise ValueError(f"events: after must not be the end of the log, got event {number} (close)")
    content = {name: value for name, value in event.items() if name not in LINK} | {"number": number + 1}
    return content | {"checksum": _chain.checksum(checksum, _chain.canonical(content))}


def checked(events: Iterable[Any], after: Event, end: End = "closed") -> Iterator[Event]:
    """Yield events after checking that each follows the one before it; raise ValueError at the first that does not.

    `replay` does so itself. Use it where a bandit that was loaded from a file goes on with later events.

    Parameters
    ----------
    events : as `chained` returned them, in order; those of earlier releases, without numbers, raise one warning
    after : the event before the first of them; the configuration if they are all that happened
    end : where the log must end, as for `replay`

    Examples
    --------
    >>> import overcast as oc
    >>> log = [config(["a", "b"], oc.LinearModel(oc.features.Disjoint(2)), oc.UCB())]
    >>> for reward in (1.0, 2.0, 3.0):
    ...     log.append(chained(observed("a", [1.0], reward), after=log[-1]))
    >>> list(checked([log[1], log[3]], after=log[0], end=3))
    Traceback (most recent call last):
    ValueError: replay: event 2 must come after event 1, got number 3; events were lost, repeated or moved
    """
    yield from _followed(events, after, end)


def _followed(events: Iterable[Any], after: Event, end: End) -> Iterator[Event]:
    """Yield events as `checked` does; the warnings are about the caller of the caller."""
    if not isinstance(end, str):
        end = _check.integer("replay", "end", end, at_least=0)
    elif end not in ("closed", "open"):
        raise ValueError(f"replay: end must be closed, open or the number of the last event, got {_check.short(end)}")
    (number, checksum), kind, plain, first = _link(after), _kind(after), False, True
    for event in events:
        linked = isinstance(event, Mapping) and any(name in event for name in LINK)
        if first:
            plain, first = not linked, False
            if plain:
                warnings.warn(
                    "replay: events have no checksums, so that damage to the log stays unnoticed; pass each through "
                    "events.chained when you write it down",
                    stacklevel=3,
                )
        if linked == plain:
            want = "no number, as those before it have none" if plain else "the number and checksum of events.chained"
            raise ValueError(f"replay: event {number + 1} must have {want}, got {_check.short(_name(event))}")
        if kind == "close":
            raise ValueError(f"replay: event {number} (close) must be the last one, got {_check.short(_name(event))}")
        if not plain:
            checksum = _next(event, number, checksum)
        number, kind = number + 1, _kind(event)
        yield event
    if isinstance(end, int) and number != end:
        raise ValueError(f"replay: the last event must be number {end}, got {number}; the end of the log is not there")
    if end == "closed" and not first and not plain and kind != "close":
        warnings.warn(
            f"replay: events must end with events.closed, got event {number} ({_check.cut(kind, 20)}) as the last; the "
            f"end may be lost. If the log goes on, pass end={number}, or end='open' where the number of the last event "
            "is not known",
            stacklevel=3,
        )


def _next(event: Event, number: int, checksum: str) -> str:
    """Return the checksum of the next event; raise ValueError unless it follows a number and a checksum."""
    said = event.get("number")
    if type(said) is not int or said != number + 1:
        raise ValueError(
            f"replay: event {number + 1} must come after {f'event {number}' if number else 'the configuration'}, got "
            f"number {said if type(said) is int else _check.short(said)}; events were lost, repeated or moved"
        )
    try:
        content = _chain.canonical({name: value for name, value in event.items() if name != "checksum"})
    except (TypeError, RecursionError):
        content = b""
    want = _chain.checksum(checksum, content)
    if event.get("checksum") != want:
        raise ValueError(
            f"replay: event {said} ({_check.cut(_kind(event), 20)}) must have the checksum {want}, got "
            f"{_check.short(event.get('checksum'))}; it is damaged{'' if number else ', or the configuration is'}"
        )
    return want


def _link(event: Any) -> tuple[int, str]:
    """Return number and checksum of an event; a configuration has the number 0."""
    if isinstance(event, dict) and "event" not in event and all(name in event for name in CONFIG):
        return 0, _chain.checksum("", _chain.canonical(event))
    if not isinstance(event, dict) or any(name not in event for name in LINK):
        got = _check.short(_name(event))
        raise ValueError(f"events: after must be a configuration or an event that chained returned, got {got}")
    return _check.integer("events", "number", event["number"], at_least=1), event["checksum"]


def _name(event: Any) -> Any:
    """Return what an error calls an event."""
    return event.get("event") if isinstance(event, Mapping) else event


def _kind(event: Any) -> Any:
    return event.get("event") if isinstance(event, Mapping) else None


def apply(bandit: Bandit, event: Any) -> None:
    """Let an event happen to a bandit; if it cannot, nothing changes.

    A bandit that was loaded from a file goes on from there with the events since. This does not look at numbers and
    checksums: see `checked`.

    Examples
    --------
    >>> import overcast as oc
    >>> bandit = oc.Bandit(["a", "b"], oc.LinearModel(oc.features.Disjoint(2)), oc.UCB())
    >>> apply(bandit, observed("b", [2.0], reward=5.0))
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
    bandit = _made(given, model, policy)
    for event in _followed(events, given, end):
        apply(bandit, event)
    return bandit


def _made(given: Any, model: Model | None, policy: Policy | None) -> Bandit:
    """Return the bandit of a configuration."""
    if not isinstance(given, dict) or any(name not in given for name in CONFIG):
        raise ValueError(f"replay: given must be what events.config returned, got {_check.short(given)}")
    version = _check.integer("replay", "version", given["version"], at_least=1)
    if version > _storage.VERSION:
        raise ValueError(f"replay: version must be {_storage.VERSION} at most, got {version}; take a newer overcast")
    names, vectors, corrections = given["names"], given["vectors"], given["corrections"]
    recalibrate: bool | Recalibrated = False
    if given["recalibrate"] is not None:
        recalibrate = Recalibrated.of(given["recalibrate"])
    if corrections is not None:
        if not isinstance(recalibrate, Recalibrated) or not isinstance(corrections, dict):
            raise ValueError(f"replay: corrections must go with recalibrate, got {_check.short(corrections)}")
        with _storage.damage("the configuration"):
            recalibrate.restore({name: np.array(values) for name, values in corrections.items()})
    bandit = Bandit(
        vectors if names is None else _named(names, vectors),
        _storage.given_or_stored("configuration", "model", model, given["model"]),
        _storage.given_or_stored("configuration", "policy", policy, given["policy"]),
        given["samples"],
        recalibrate=recalibrate,
        context=given.get("context"),
        history=given.get("history"),
    )
    with _storage.damage("the configuration"):
        bandit._stream = Stream.of(given["key"])
    return bandit


def _named(names: Any, vectors: Any) -> dict[Any, Any]:
    """Return actions by name."""
    if not isinstance(names, list) or not isinstance(vectors, list) or len(names) != len(vectors):
        got = f"{_check.short(names)} and {_check.short(vectors)}"
        raise ValueError(f"replay: names and vectors must be two lists of one length, got {got}")
    return dict(zip((_check.name("replay", name) for name in names), vectors, strict=True))


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
        bandit.add_actions(_named(names, vectors))
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


def _id(decision: Decision | str) -> str:
    return decision if isinstance(decision, str) else decision.id


def _config(name: str, value: Model | Policy) -> Any:
    out = _storage.config(value)
    if out is None:
        raise TypeError(f"events: {name} must not hold a function or a class of your own, got {_check.short(value)}")
    return out


def _plain(value: Any) -> Any:
    """Return arrays, beliefs, whatever becomes one, and lists of them as JSON data."""
    if isinstance(value, Belief):
        return value.to_json()
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype != object:
        return value.tolist()
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else as_belief(value).to_json()


def _many(value: Any) -> Any:
    """Return what n rounds hold as JSON data: a table by its columns' names and rows, and lists as `_plain` does."""
    if isinstance(value, Table):
        return {"names": list(value.names), "rows": value.rows.tolist()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in value]
    return _plain(value.to_numpy() if hasattr(value, "to_numpy") else value)


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
