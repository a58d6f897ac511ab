"""Bandits as people write them down: names of classes and their parameters, as JSON or TOML.

Only the classes that this package exports can be named, and no value is ever code.
"""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any, TypeVar

from overcast import _check, events, features, models, policies
from overcast._storage import MODULES
from overcast._storage import config as encoded
from overcast.bandit.config import OPTIONS
from overcast.models.base import Model
from overcast.objectives import Objective
from overcast.policies.base import Policy

T = TypeVar("T")
_HOMES = {name: module for name, module in MODULES.items() if name != "spaces"}
#: where the class of a field is looked for first
_FIELDS = {
    "features": "features",
    "kernel": "kernels",
    "action_kernel": "kernels",
    "context_kernel": "kernels",
    "model": "models",
    "policy": "policies",
    "beta": "confidence",
    "objective": "objectives",
}
#: largest whole number that a class may be given
LARGEST = 100_000
_DEPTH = 16
#: options of `Bandit` that a request cannot give, and why
NOT_OFFERED = {"history": "the log holds all decisions, and an erasure must reach every copy of them"}
#: options that a request describes by names of classes, and the actions
DESCRIBED = ("actions", "model", "policy", "objective")
#: options of `Bandit` that a request gives in the form that the library takes
PLAIN = tuple(name for name in OPTIONS if name not in {*DESCRIBED, *NOT_OFFERED})


def build(home: str, data: Any, depth: int = 0) -> Any:
    """Return the model, policy, ... that data describe: a name, or an object with a type and parameters.

    Examples
    --------
    >>> build("policies", {"type": "UCB", "beta": 2.0})
    UCB(beta=2.0)
    >>> build("models", {"type": "LinearModel", "features": "Bilinear", "ridge": 1.0})
    LinearModel(features=Bilinear(), ridge=1.0)
    """
    if isinstance(data, str):
        data = {"type": data}
    if depth > _DEPTH:
        raise ValueError(f"{home}: objects must be nested at most {_DEPTH} deep, got more")
    if not isinstance(data, dict) or not isinstance(data.get("type"), str):
        raise ValueError(f'{home}: must be a name, or an object with a "type", got {_check.short(data)}')
    home, kind = _class(home, data["type"])
    known = [field.name for field in dataclasses.fields(kind) if field.init]
    if unknown := [name for name in data if name not in ("type", *known)]:
        raise ValueError(f"{kind.__name__}: parameters must be {', '.join(known) or 'none'}, got {unknown[0]!r}")
    return kind(**{name: _value(home, name, value, depth) for name, value in data.items() if name != "type"})


def _class(home: str, name: str) -> tuple[str, Any]:
    module, dot, kind_name = name.rpartition(".")
    homes = [module] if dot else [home]
    for one in homes:
        kind = getattr(_HOMES[one], kind_name, None) if one in _HOMES and kind_name in _names(one) else None
        if kind is features.Function:
            raise ValueError("features: Function holds code, which a request cannot; take another feature map")
        if kind is not None:
            return one, kind
    known = ", ".join(_names(homes[0])) if homes[0] in _HOMES else ", ".join(_HOMES)
    raise ValueError(f"{home}: type must be one of {known}, got {name[:80]!r}")


def _names(home: str) -> list[str]:
    """Return the names of the classes in a module that can be built from data."""
    module = _HOMES[home]
    names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    members = ((name, getattr(module, name)) for name in names)
    return [
        name
        for name, kind in members
        if isinstance(kind, type) and dataclasses.is_dataclass(kind) and not inspect.isabstract(kind)
    ]


def _value(home: str, name: str, value: Any, depth: int) -> Any:
    at = _FIELDS.get(name, home)
    if isinstance(value, dict) or (isinstance(value, str) and name in _FIELDS):
        return build(at, value, depth + 1)
    if isinstance(value, list):
        return tuple(_value(home, name, item, depth + 1) for item in value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > LARGEST:
        raise ValueError(f"{home}: {name} must be {LARGEST} at most, got {_check.short(value)}")
    return value


def model_of(features: Any, kernel: Any, model: Any, ridge: float | None) -> Model:
    """Return the model: of features, of a kernel, or as it is described; exactly one of them must be given."""
    given = [
        name for name, value in (("features", features), ("kernel", kernel), ("model", model)) if value is not None
    ]
    if len(given) != 1:
        raise ValueError(f"bandit: must have one of features, kernel and model, got {' and '.join(given) or 'none'}")
    if model is not None:
        if ridge is not None:
            raise ValueError("bandit: ridge must be given inside of the model, got one beside it")
        described: Model = _described("model", build("models", model), Model)
        return described
    if features is not None:
        return models.LinearModel(build("features", features), ridge=ridge)
    return models.KernelModel(build("kernels", kernel), ridge=ridge)


def policy_of(policy: Any) -> Policy:
    """Return the policy that data describe."""
    described: Policy = _described("policy", build("policies", policy), Policy)
    return described


def objective_of(objective: Any) -> Objective:
    """Return the objective that data describe."""
    found: Objective = _described("objective", build("objectives", objective), Objective)
    return found


def share_of(policy: Policy) -> float:
    """Return the share of uniform choices of a policy."""
    return policy.share if isinstance(policy, policies.Mixed) else 0.0


def mixed(policy: Policy, share: float, samples: Any) -> Policy:
    """Return a policy with a share of uniform choices, in place of the one that it may have.

    Its probabilities must be known: what is mixed in for evaluation is of no use without them.
    """
    inner = policy.policy if isinstance(policy, policies.Mixed) else policy
    if not share:
        return inner
    closed = not inner.random or type(inner).law is not Policy.law
    if not isinstance(inner, policies.Repeated) and (samples is not None or not closed):
        raise ValueError(
            f"bandit: explore must go with a policy whose probabilities are known, got {inner!r:.80}"
            f"{'' if samples is None else ' with samples'}; write Repeated with it and n"
        )
    return policies.Mixed(inner, share)


def _described(name: str, value: T, kind: Any) -> T:
    if not isinstance(value, kind) or encoded(value) is None:
        raise ValueError(f"bandit: {name} must be a {name} that data can describe, got {_check.short(value)}")
    return value


def check_samples(samples: Any) -> None:
    """Raise ValueError for more draws of a belief than the service makes."""
    if isinstance(samples, int) and samples > LARGEST:
        raise ValueError(f"bandit: samples must be {LARGEST} at most, got {_check.short(samples)}")


def configuration(actions: Any, model: Model, policy: Policy, **options: Any) -> dict[str, Any]:
    """Write the configuration of a bandit as `events.config` does."""
    check_samples(options.get("samples"))
    out = events.config(actions, model, policy, **options)
    if out["model"] is None or out["policy"] is None:
        raise ValueError("bandit: model and policy must not hold code, got some that do")
    return out
