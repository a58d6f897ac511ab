"""The options of a bandit, and how each is checked, written as JSON data and read back."""
# ruff: noqa: RUF009 - the defaults of options are fields

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from overcast import _check, _storage
from overcast._random import Stream
from overcast._units import Units
from overcast.calibration import Recalibrated
from overcast.models.base import Model
from overcast.objectives import Mean, Objective
from overcast.policies.base import Policy
from overcast.round import Samples, check_pair, check_samples
from overcast.spaces import Actions, Space
from overcast.spaces.actions import listed, space_of

Correction = Recalibrated | Literal[False]


class Form(NamedTuple):
    """How an option is checked, written as JSON data and read back.

    check : turns what a user gives into the value that is kept, and takes such values as they are
    write : returns the entries of a value
    read : returns what `check` takes from the entries
    entries : their names; if there are none, the option is one entry of its own name, left out for the default
    """

    check: Callable[[Any], Any]
    write: Callable[[Any], list[Any]] = lambda value: [value]
    read: Callable[..., Any] = lambda entry: entry
    entries: tuple[str, ...] = ()


def _option(default: Any, *form: Any, **named: Any) -> Any:
    return field(default=default, metadata={"form": Form(*form, **named)})


def _encoded(default: Any, check: Callable[[Any], Any], *entries: str) -> Any:
    """Make an option whose values are objects that `_storage` writes by their class and its parameters."""
    return _option(default, check, lambda value: [_storage.config(value)], _storage.from_config, entries)


def _or_none(check: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else check(value)


def _write_actions(actions: Space) -> list[Any]:
    """Write names and vectors; of names alone no vectors; of a space that is no list its class and parameters."""
    if not isinstance(actions, Actions):
        return [None, _storage.config(actions)]
    vectors = None if isinstance(actions.candidates, Units) else actions.vectors.tolist()
    return [_storage.check_names(actions.names), vectors]


def read_actions(names: Any, vectors: Any) -> Any:
    """Read actions by name, vectors without names, names without vectors, or a space."""
    if names is None:
        return _storage.from_config(vectors) if isinstance(vectors, dict) else vectors
    if not isinstance(names, list) or (vectors is None and not all(isinstance(name, str) for name in names)):
        raise ValueError(f"replay: names must be a list, of texts if they have no vectors, got {_check.short(names)}")
    if vectors is None:
        return names
    if not isinstance(vectors, list) or len(names) != len(vectors):
        raise ValueError(f"replay: vectors must be one for each of {len(names)} names, got {_check.short(vectors)}")
    return dict(zip((_check.name("replay", name) for name in names), vectors, strict=True))


def _stream(seed: Any) -> Stream:
    if isinstance(seed, Stream):
        return seed
    whole = isinstance(seed, np.random.SeedSequence)
    return Stream(seed if whole else _check.integer("Bandit", "seed", seed, at_least=0))


def _correction(recalibrate: Any) -> Correction:
    if isinstance(recalibrate, Recalibrated):
        return recalibrate
    if not isinstance(recalibrate, (bool, np.bool_)):
        raise TypeError(f"Bandit: recalibrate must be True, False or a Recalibrated, got {_check.short(recalibrate)}")
    return Recalibrated() if recalibrate else False


def _write_correction(recalibrate: Correction) -> list[Any]:
    """Write settings, and what was learnt from the contexts revealed so far."""
    if not recalibrate:
        return [None, None]
    return [recalibrate.config(), {name: array.tolist() for name, array in recalibrate.state().items()}]


def read_correction(settings: Any, learnt: Mapping[str, Any] | None) -> Correction:
    """Read settings, and what was learnt."""
    if settings is None and learnt:
        raise ValueError("it holds corrections, but does not recalibrate")
    out = settings is not None and Recalibrated.of(settings)
    if out and learnt is not None:
        out.restore({name: np.array(values) for name, values in learnt.items()})
    return out


def _objective(objective: Any) -> Objective:
    if not isinstance(objective, Objective):
        raise TypeError(f"Bandit: objective must be an objective such as Mean(), got {_check.short(objective)}")
    return objective


@dataclass(frozen=True, eq=False)
class BanditConfig:
    """The options of a bandit, with names, order and defaults of `Bandit`, which says what each means.

    Values are checked, and converted where users may give several forms: actions to a `Space`, a seed to a `Stream`,
    True to a `Recalibrated`.
    """

    actions: Space = _option(MISSING, space_of, _write_actions, read_actions, ("names", "vectors"))
    model: Model = _encoded(MISSING, lambda model: model, "model")
    policy: Policy = _encoded(MISSING, lambda policy: policy, "policy")
    samples: Samples = _option(None, partial(check_samples, "Bandit"), entries=("samples",))
    seed: Stream = _option(0, _stream, lambda stream: [stream.key], Stream.of, ("key",))
    recalibrate: Correction = _option(
        False, _correction, _write_correction, read_correction, ("recalibrate", "corrections")
    )
    context: tuple[str, ...] | None = _option(
        None, _or_none(partial(_check.distinct_names, "Bandit", "context")), lambda names: [list(names)]
    )
    history: int | None = _option(None, _or_none(partial(_check.integer, "Bandit", "history", at_least=1)))
    objective: Objective = _encoded(Mean(), _objective)

    def __post_init__(self) -> None:
        check_pair("Bandit", self.model, self.policy)
        for name, form in OPTIONS.items():
            object.__setattr__(self, name, form.check(getattr(self, name)))
        if self.history is not None:
            listed("history", self.actions)
        if self.model.fixed_actions:
            listed(type(self.model).__name__, self.actions)

    @classmethod
    def of(cls, *given: Any, **options: Any) -> BanditConfig:
        """Check and convert options in any form that `Bandit` takes."""
        return cls(*given, **options)

    def to_json(self, without: tuple[str, ...] = ()) -> dict[str, Any]:
        """Write the options as JSON data, but for those of these names; for code of the user, the data hold None."""
        out: dict[str, Any] = {}
        for option in fields(self):
            value, form = getattr(self, option.name), OPTIONS[option.name]
            if option.name not in without and (form.entries or value != option.default):
                out |= zip(form.entries or (option.name,), form.write(value), strict=True)
        return out

    @classmethod
    def from_json(cls, data: Mapping[str, Any], **known: Any) -> BanditConfig:
        """Read the data that `to_json` wrote, but for the options whose values are given as `known`."""
        for name, form in OPTIONS.items():
            if name not in known and (form.entries or data.get(name) is not None):
                known[name] = form.read(*(data[entry] for entry in form.entries or (name,)))
        return cls(**known)


#: every option by its name, in the order of `Bandit`
OPTIONS: dict[str, Form] = {option.name: option.metadata["form"] for option in fields(BanditConfig)}
#: what the data of every configuration hold
ENTRIES = tuple(entry for form in OPTIONS.values() for entry in form.entries)
#: options that hold objects which are stored by their class and parameters, with the names of their entries
_ENCODED = {name: (form.entries or (name,))[0] for name, form in OPTIONS.items() if form.read is _storage.from_config}


def encoded_options(path: str, data: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options in stored data that are objects, or what the user gives for those that hold code.

    path : of the data, for errors
    given : options by name; None for those that are not given
    """
    if unknown := [name for name in given if name not in (*_ENCODED, "actions")]:
        raise TypeError(f"Bandit: options must be {', '.join(_ENCODED)} or actions, got {unknown[0]!r}")
    defaults = {option.name: option.default for option in fields(BanditConfig)}
    stored = {name: data.get(entry, _storage.config(defaults[name])) for name, entry in _ENCODED.items()}
    if "actions" in data:
        stored["actions"] = data["actions"]
    elif data.get("vectors", "") is None and data.get("names") is None:  # a space of the user, written by `to_json`
        stored["actions"] = None
    elif given.get("actions") is not None:
        raise ValueError(f"Bandit: actions must be left out, got {_check.short(given['actions'])}; {path} holds them")
    out = {name: _storage.given_or_stored(path, name, given.get(name), entry) for name, entry in stored.items()}
    if "actions" in out and (not isinstance(out["actions"], Space) or isinstance(out["actions"], Actions)):
        raise TypeError(f"Bandit: actions must be the space of the bandit, got {_check.short(out['actions'])}")
    return out
