"""Make the events of a log, as JSON data."""

from __future__ import annotations

import base64
import copy
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

import numpy as np

from overcast import _check, _storage
from overcast.adapters import as_belief
from overcast.bandit import Bandit, files
from overcast.bandit.arguments import Table, checked_reward, checked_rewards, separate, several
from overcast.bandit.config import BanditConfig
from overcast.bandit.state import State, warn_of_silence
from overcast.beliefs import Belief
from overcast.decisions.record import Decision
from overcast.events.chain import Event
from overcast.models.base import Model
from overcast.models.kernel.hyperparameters import Fitted
from overcast.policies import Greedy, Policy
from overcast.spaces.actions import Actions

P = ParamSpec("P")
T = TypeVar("T")


def _with_parameters_of(kind: Callable[P, Any]) -> Callable[[Callable[..., T]], Callable[P, T]]:
    """Give a function the parameters of a class, for type checkers, editors and `help`."""

    def copy_signature(function: Callable[..., T]) -> Callable[P, T]:
        signature = inspect.signature(kind).replace(return_annotation=inspect.signature(function).return_annotation)
        setattr(function, "__signature__", signature)  # noqa: B010 - unknown to type checkers
        return function

    return copy_signature


@_with_parameters_of(Bandit)
def config(*options: Any, **named: Any) -> Event:
    """Return the configuration of a bandit as JSON data; the arguments are those of `Bandit`.

    A model or policy that holds a function or a class of your own has no JSON form: pass it to `replay` as well.

    Examples
    --------
    >>> import overcast as oc
    >>> given = config(["a", "b"], oc.LinearModel(oc.features.Disjoint(2)), oc.UCB(), seed=3)
    >>> oc.replay(given, []).actions
    Actions(a, b; 2 dimensions)
    """
    checked = BanditConfig.of(*options, **named)
    warn_of_silence(checked.model, checked.actions, np.arange(len(checked.actions)), stacklevel=2)
    return {"version": _storage.VERSION, **checked.to_json()}


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
    return {"event": "learn", "id": _id(decision), "reward": checked_reward(reward), "context": _to_json(context)}


def forgotten(decision: Decision | str) -> Event:
    """Return the event of a decision whose reward will not come.

    Examples
    --------
    >>> forgotten("monday")
    {'event': 'forget', 'id': 'monday'}
    """
    return {"event": "forget", "id": _id(decision)}


def observed(action: Any, belief: Any, reward: Any, context: Any = None) -> Event:
    """Return the event of rounds decided elsewhere; the arguments are those of `Bandit.observe`.

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
        "action": _rounds_to_json(action),
        "belief": _rounds_to_json(belief) if many else _to_json(belief),
        "reward": checked_rewards(reward) if many else checked_reward(reward),
        "context": _rounds_to_json(context) if many else _to_json(context),
    }


def added(actions: Any) -> Event:
    """Return the event of added actions; the argument is that of `Bandit.add_actions`.

    Examples
    --------
    >>> added({"hybrid": [0.6, 0.5]})
    {'event': 'add', 'names': ['hybrid'], 'vectors': [[0.6, 0.5]]}
    """
    if isinstance(actions, Mapping) or hasattr(actions, "columns"):
        new = Actions(actions)
        assert new.names is not None
        names = [_check.name("events.added", name) for name in new.names]
        return {"event": "add", "names": names, "vectors": new.vectors.tolist()}
    is_list = isinstance(actions, Collection) and not hasattr(actions, "to_numpy")
    data = _rounds_to_json(list(actions) if is_list else actions)
    only_names = isinstance(data, list) and all(isinstance(item, str) for item in data)
    return {"event": "add", "names": data if only_names else None, "vectors": None if only_names else data}


def retired(actions: Any) -> Event:
    """Return the event of retired actions; the argument is that of `Bandit.retire`.

    Examples
    --------
    >>> retired("early")
    {'event': 'retire', 'actions': ['early']}
    """
    many = hasattr(actions, "__iter__") and not isinstance(actions, (str, bytes))
    items = list(actions) if many else [actions]
    return {"event": "retire", "actions": [_check.name("events.retired", item) for item in items]}


def renamed(action: Any, name: Any) -> Event:
    """Return the event of a renamed action; the arguments are those of `Bandit.rename`.

    Examples
    --------
    >>> renamed("hybrid", "hybrid 2")
    {'event': 'rename', 'action': 'hybrid', 'name': 'hybrid 2'}
    """
    names = (_check.name("events.renamed", item) for item in (action, name))
    return {"event": "rename", **dict(zip(("action", "name"), names, strict=True))}


def policy(policy: Policy) -> Event:
    """Return the event of a change of the policy.

    Examples
    --------
    >>> import overcast as oc
    >>> policy(oc.Thompson())["event"]
    'policy'
    """
    return {"event": "policy", "policy": _config_of("policy", policy)}


def fitted(fit: Fitted) -> Event:
    """Return the event of fitted hyperparameters; the argument is the result of `Bandit.fit_hyperparameters`.

    Examples
    --------
    >>> import overcast as oc
    >>> model = oc.KernelModel(oc.kernels.Product(oc.kernels.RBF(1.0), oc.kernels.RBF(1.0)), ridge=1.0)
    >>> fitted(Fitted(model, noise=0.1, log_likelihood=-3.0, log_likelihood_before=-4.0))["event"]
    'fit'
    """
    return {"event": "fit", "model": _config_of("model", fit.model)}


def merged(other: Bandit) -> Event:
    """Return the event of a merge, with the state of the other bandit; call it before the other changes.

    Examples
    --------
    >>> import overcast as oc
    >>> bandit = oc.Bandit(["a", "b"], oc.LinearModel(oc.features.Disjoint(2)), oc.UCB())
    >>> sorted(merged(bandit))
    ['bandit', 'event']
    """
    with other._lock:
        content = files.written(_without_policy(other))
    return {"event": "merge", "bandit": base64.b64encode(_storage.to_bytes(*content)).decode()}


def closed() -> Event:
    """Return the event that ends a log; no event may follow it.

    Examples
    --------
    >>> closed()
    {'event': 'close'}
    """
    return {"event": "close"}


def _id(decision: Decision | str) -> str:
    return decision if isinstance(decision, str) else decision.id


def _config_of(name: str, value: Model | Policy) -> Any:
    out = _storage.config(value)
    if out is None:
        raise TypeError(f"events: {name} must not hold a function or a class of your own, got {_check.short(value)}")
    return out


def _to_json(value: Any) -> Any:
    """Convert arrays, beliefs, forecasts, and lists of them to JSON data."""
    if isinstance(value, Belief):
        return value.to_json()
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype != object:
        return value.tolist()
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_to_json(item) for item in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else as_belief(value).to_json()


def _rounds_to_json(value: Any) -> Any:
    """Convert an argument about n rounds to JSON data: tables to names and rows, lists as `_to_json` does."""
    if isinstance(value, Table):
        return {"names": list(value.names), "rows": value.rows.tolist()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_to_json(item) for item in value]
    return _to_json(value.to_numpy() if hasattr(value, "to_numpy") else value)


def _without_policy(bandit: Bandit) -> State:
    """Copy the state of a bandit with another policy, one that has a JSON form; a merge ignores policies."""
    state = copy.copy(bandit.state)
    state.policy = Greedy()
    return state
