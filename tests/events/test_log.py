"""Events of a bandit's life, as they are written down."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import xarray as xr

import overcast as oc
from life_support import Life, closed_log
from memory_support import differences
from overcast import events
from support import refused


def _replayed(config: Any, *happened: Any, **options: Any) -> oc.Bandit:
    given, *log = json.loads(json.dumps(closed_log(config, *happened), allow_nan=False))
    return oc.replay(given, log, **options)


MEMBERS = xr.DataArray([[1.0, 2.0, 4.0], [0.5, 0.0, 0.1]], dims=("variable", "member"))


@pytest.mark.parametrize(
    "belief",
    [
        MEMBERS,
        MEMBERS.to_dataset("variable"),
        pd.DataFrame([[1.0, 2.0]]),
        scipy.stats.multivariate_normal([1, 2]),
        [1, 2],
    ],
    ids=lambda belief: type(belief).__name__,
)
@pytest.mark.parametrize("reward", [0.5, True, Fraction(1, 3), np.float32(0.1), [1.0, np.True_], np.array([1, 2])])
def test_whatever_is_a_belief_or_a_reward_can_be_observed_and_written_down(belief: Any, reward: Any) -> None:
    life = Life("ridge", 0, named=True)
    many = np.ndim(reward) > 0
    given = (["a"] * 2, [belief, belief], reward) if many else ("a", belief, reward)
    life.bandit.observe(*given)
    assert differences(_replayed(life.config, events.observed(*given)), life.bandit) == []


@pytest.mark.parametrize("names", [["new"], ("new",), {"new"}, {"new": 1}.keys(), np.array(["new"])], ids=repr)
def test_names_alone_can_be_added_and_written_down(names: Any) -> None:
    options = ["a", "b"], oc.LinearModel(oc.features.Disjoint(2), ridge=1.0), oc.UCB()
    bandit = oc.Bandit(*options)
    bandit.add_actions(names)
    assert differences(_replayed(events.config(*options), events.added(names)), bandit) == []


def test_what_is_code_has_no_event() -> None:
    with refused(TypeError, "events", "policy must not hold a function"):
        events.policy(oc.UCB(lambda t: 1.0))
    bandit = Life("sampled", 0).bandit
    with refused(TypeError, "Sampler", "no JSON form"):
        events.decided(bandit.decide(oc.Sampler(lambda n, rng: rng.normal(size=(n, 2)), 2)))


def _beta(t: int) -> float:
    return 1.0 + 1.0 / t


def test_names_alone_are_configured_without_vectors() -> None:
    options = ["a", "b"], oc.LinearModel(oc.features.Disjoint(2)), oc.UCB()
    given = json.loads(json.dumps(events.config(*options)))
    assert (given["names"], given["vectors"]) == (["a", "b"], None)
    assert differences(oc.replay(given, []), oc.Bandit(*options)) == []
    earlier = given | {"vectors": [[1.0, 0.0], [0.0, 1.0]], "version": 5}
    assert oc.replay(earlier, []).actions == oc.Bandit(*options).actions
    for names in (3, "ab", [1, 2], [["a"], ["b"]], [], ["a", "a"]):
        with pytest.raises((ValueError, TypeError), match=r"^(replay|Bandit): [^\n]+$"):
            oc.replay(given | {"names": names}, [])
