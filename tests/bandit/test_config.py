"""What a bandit is made of, as a value and as data; `tests/contracts/test_options.py` says where it must get."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest

import overcast as oc
from overcast._random import Stream
from overcast.bandit.config import ENTRIES, BanditConfig
from support import refused

MADE_OF: tuple[Any, ...] = ["a", "b"], oc.LinearModel(oc.features.Disjoint(2)), oc.UCB()


def test_values_that_were_converted_are_taken_as_they_are() -> None:
    config = BanditConfig.of(*MADE_OF, 3, np.random.SeedSequence(4), True, "warm", np.int64(9))
    assert (config.samples, config.seed.key, config.context) == (3, Stream(4).key, ("warm",))
    again = dataclasses.replace(config, samples="t")
    kept = [name for name in ("actions", "seed", "recalibrate") if getattr(again, name) is getattr(config, name)]
    assert (kept, again.samples, again.history) == (["actions", "seed", "recalibrate"], "t", 9)


def test_options_that_came_later_are_left_out_while_they_have_their_defaults() -> None:
    assert tuple(BanditConfig.of(*MADE_OF).to_json()) == ENTRIES
    assert BanditConfig.of(*MADE_OF, context=["x"], history=5).to_json().keys() - set(ENTRIES) == {"context", "history"}


@pytest.mark.parametrize("actions", [["a", "b"], {"a": [1.0, 0.0], 2: [0.0, 2.0]}, [[1.0], [2.0]]], ids=repr)
@pytest.mark.parametrize("recalibrate", [False, True, 20])
def test_data_and_back(actions: Any, recalibrate: Any) -> None:
    if recalibrate == 20:
        recalibrate = oc.Recalibrated(memory=20)
        for i in range(30):
            recalibrate.learn(oc.Gaussian([float(i), 1.0], 0.5), [i + 2.0, 1.5])
    config = BanditConfig.of(actions, *MADE_OF[1:], "t", 7, recalibrate, ["x", "y"], 3)
    data = json.loads(json.dumps(config.to_json()))
    again = BanditConfig.from_json(data)
    assert again.to_json() == data == config.to_json()
    assert again.actions == config.actions
    assert BanditConfig.from_json(data, policy=oc.Greedy(), samples=2).to_json(without=("policy", "samples")) == {
        name: value for name, value in data.items() if name not in ("policy", "samples")
    }


def test_what_a_bandit_learns_does_not_change_what_it_was_made_of() -> None:
    corrector = oc.Recalibrated(memory=20)
    config = BanditConfig.of(*MADE_OF, recalibrate=corrector)
    before = config.to_json()
    bandit = oc.Bandit(MADE_OF[0], MADE_OF[1], MADE_OF[2], recalibrate=corrector)
    for _ in range(5):
        bandit.learn(bandit.decide(oc.Gaussian([1.0], 0.1)), 1.0, context=[2.0])
    assert bandit.state.config().to_json() != before
    assert config.to_json() == before


def test_the_options_of_a_bandit_are_the_present_ones() -> None:
    bandit = oc.Bandit(MADE_OF[0], MADE_OF[1], MADE_OF[2], recalibrate=True)
    bandit.learn(bandit.decide({"warm": oc.Gaussian([20.0], 1.0)}), 1.0, context=[18.0])
    bandit.policy = oc.Greedy()
    bandit.add_actions(["c"])
    config = bandit.state.config()
    assert config.recalibrate is bandit.recalibrated
    assert (config.policy, config.context) == (oc.Greedy(), ("warm",))
    assert config.actions.names == ("a", "b", "c")
    assert config.model == bandit.model == oc.LinearModel(oc.features.Disjoint(3))


@pytest.mark.parametrize(
    ("option", "value", "kind", "word"),
    [
        ("policy", oc.UCB, TypeError, "must be an instance"),
        ("samples", 0, ValueError, "samples"),
        ("seed", -1, ValueError, "seed must be >= 0"),
        ("recalibrate", None, TypeError, "recalibrate must be True, False or a Recalibrated"),
        ("context", ["x", "x"], ValueError, "context must differ from each other"),
        ("history", 0, ValueError, "history must be >= 1"),
    ],
)
def test_wrong_values(option: str, value: Any, kind: type[Exception], word: str) -> None:
    given = dict(zip(("actions", "model", "policy"), MADE_OF, strict=True)) | {option: value}
    with refused(kind, "Bandit", word):
        BanditConfig.of(**given)
    with refused(kind, "Bandit", word):
        oc.Bandit(**given)
