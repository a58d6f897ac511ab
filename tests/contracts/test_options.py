"""Every option of a bandit is passed on, wherever bandits are made, written down and read back.

A further option needs one line in `EXAMPLES`; the id of a test that fails names the option and the place.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import overcast as oc
from overcast import events
from overcast._check import Array
from overcast._storage import config as encoded
from overcast.bandit.config import OPTIONS, BanditConfig
from overcast.client.messages import creation
from overcast.objectives import Mean, Objective
from overcast.service import messages as m
from overcast.service import spec
from overcast.service.shadow import Shadow
from service_support import Api, served


class Worst(Objective):
    """The reward in the worst context."""

    def of(self, values: Array, weights: Array) -> Array:
        return np.asarray(values.min(axis=-2))


#: a value of every option, as users give it, that is not its default
EXAMPLES: dict[str, Any] = {
    "actions": {"early": [1.0, 0.0], "late": [0.0, 1.0]},
    "model": oc.LinearModel(oc.features.Bilinear(), ridge=0.7),
    "policy": oc.UCB(1.5),
    "samples": 3,
    "seed": 5,
    "recalibrate": True,
    "context": ["warm", "wet"],
    "history": 6,
    "objective": Worst(),
}
OTHER_MODEL = oc.LinearModel(oc.features.Quadratic(), ridge=2.0)
#: what the description of a bandit by the service calls an option; None if it cannot show it
SHOWN = {"actions": "action_list", "seed": None}  # of a seed, only the key that follows from it is kept


def _data(config: BanditConfig, option: str) -> dict[str, Any]:
    """Return the data of one option."""
    return config.to_json(without=tuple(name for name in OPTIONS if name != option))


def _loaded(api: Api) -> oc.Bandit:
    return oc.Bandit.from_bytes(oc.Bandit(**EXAMPLES).to_bytes(), objective=EXAMPLES["objective"])


def _replayed(api: Api) -> oc.Bandit:
    return oc.replay(
        msgspec.json.decode(msgspec.json.encode(events.config(**EXAMPLES))), [], objective=EXAMPLES["objective"]
    )


def _requested(api: Api) -> oc.Bandit:
    objects = {name: encoded(EXAMPLES[name]) for name in ("model", "policy")} | {"objective": "Mean"}
    return _created(api, {"name": "requested", **_offered(EXAMPLES), **objects})


def _sent_by_the_client(api: Api) -> oc.Bandit:
    actions, model, policy = (EXAMPLES[name] for name in ("actions", "model", "policy"))
    more = {name: EXAMPLES[name] for name in spec.PLAIN}
    return _created(api, creation("sent", actions, model, policy, more).body)


def _shadow(api: Api) -> oc.Bandit:
    return Shadow({"policy": None, "model": encoded(OTHER_MODEL)}, oc.Bandit(**EXAMPLES), 1, 0.0).bandit


def _offered(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name not in spec.NOT_OFFERED}


def _created(api: Api, body: dict[str, Any]) -> oc.Bandit:
    if body["name"] not in api.state.lives:
        answer = api.post("/v1/bandits", body)
        assert answer.status == 201, answer.body
    return api.state.lives[body["name"]].bandit


#: a request holds no code, so that the objective of the example cannot be sent
NOT_SENT = {**dict.fromkeys(spec.NOT_OFFERED), "objective": Mean()}
#: where bandits are made, and what takes the place of options that do not get there
PLACES: dict[str, tuple[Callable[[Api], oc.Bandit], dict[str, Any]]] = {
    "Bandit": (lambda api: oc.Bandit(**EXAMPLES), {}),
    "a file": (_loaded, {}),
    "events.config and replay": (_replayed, {}),
    "a request to the service": (_requested, NOT_SENT),
    "the client": (_sent_by_the_client, NOT_SENT),
    "a shadow with a model of its own": (_shadow, {"model": OTHER_MODEL}),
}


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    folder: Path = tmp_path_factory.mktemp("options")
    with served(folder) as out:
        yield out


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("option", OPTIONS)
def test_an_option_gets_there(option: str, place: str, api: Api) -> None:
    made_by, instead = PLACES[place]
    expected = _data(BanditConfig.of(**EXAMPLES | instead), option)
    assert _data(made_by(api).state.config(), option) == expected


@pytest.mark.parametrize("option", OPTIONS)
def test_an_example_is_not_the_default(option: str) -> None:
    known = {name: EXAMPLES[name] for name in ("actions", "model", "policy")}
    if option not in known:
        config = BanditConfig.of(**known)
        assert _data(config, option) != _data(BanditConfig.of(**known, **{option: EXAMPLES[option]}), option)


@pytest.mark.parametrize("function", [oc.Bandit, events.config], ids=["Bandit", "events.config"])
def test_arguments_are_the_options_with_their_defaults(function: Callable[..., Any]) -> None:
    found = {
        name: MISSING if one.default is one.empty else one.default
        for name, one in inspect.signature(function).parameters.items()
    }
    expected = {option.name: option.default for option in fields(BanditConfig)}
    assert list(found.items()) == list(expected.items())
    for name in expected:
        assert f"\n    {name} : " in str(oc.Bandit.__doc__) or f"\n    {name}, " in str(oc.Bandit.__doc__)


def test_the_service_offers_every_option_or_says_why_not() -> None:
    asked = {field.name for field in msgspec.structs.fields(m.NewBandit)}
    assert set(spec.NOT_OFFERED) <= set(OPTIONS)
    assert asked & set(OPTIONS) == set(OPTIONS) - set(spec.NOT_OFFERED)
    for field in msgspec.structs.fields(m.NewBandit):
        if field.name in spec.PLAIN:
            assert field.default == BanditConfig.__dataclass_fields__[field.name].default


@pytest.mark.parametrize("option", _offered(EXAMPLES))
def test_the_service_shows_an_option(option: str, api: Api) -> None:
    _requested(api)
    found, name = api.get("/v1/bandits/requested").body, SHOWN.get(option, option)
    if name is not None:
        assert found[name] == EXAMPLES[option] if option in spec.PLAIN else found[name]
