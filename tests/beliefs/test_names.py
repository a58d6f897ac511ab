"""Names of the context's dimensions."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import overcast as oc
from overcast.beliefs.names import arranged
from support import refused

WARM = oc.Gaussian([21.0], 4.0).named("warm")
WET = oc.Ensemble([[0.1], [0.4]]).named(["wet"])


def test_a_named_belief_is_the_same_belief() -> None:
    plain = oc.Gaussian([21.0, 0.4], 4.0)
    named = plain.named(["warm", "wet"])
    assert plain.names is None
    assert named.names == ("warm", "wet")
    assert named.named(["warm", "wet"]) is named
    np.testing.assert_array_equal(named.mean(), plain.mean())


def test_names_stay_when_beliefs_are_moved_put_together_and_written() -> None:
    both = oc.Independent([WARM, WET])
    assert both.names == ("warm", "wet")
    assert both.moved(1.0, 2.0).names == ("warm", "wet")
    assert both.centred().names == ("warm", "wet")
    assert oc.Independent([WARM, oc.PointMass([1.0])]).names is None
    for belief in (both, both.moved(1.0), both.select(["wet", "warm"]), oc.Mixture([both, both])):
        twin = oc.belief_from_json(json.loads(json.dumps(belief.to_json())))
        assert twin.names == belief.names
        assert twin.to_json() == belief.to_json()
    assert "names" not in oc.PointMass([1.0]).to_json()


def test_a_mixture_puts_its_parts_in_one_order() -> None:
    mixture = oc.Mixture(
        [oc.PointMass([21.0, 0.4]).named(["warm", "wet"]), oc.PointMass([0.6, 23.0]).named(["wet", "warm"])]
    )
    assert mixture.names == ("warm", "wet")
    np.testing.assert_allclose(mixture.mean(), [22.0, 0.5])
    with refused(ValueError, "Mixture", "must have the dimensions warm", "without 'warm'"):
        oc.Mixture([WARM, WET])


@pytest.mark.parametrize(
    "obj",
    [
        {"warm": 21.0, "wet": 0.4},
        {"warm": oc.PointMass([21.0]), "wet": 0.4},
        pd.Series({"warm": 21.0, "wet": 0.4}),
        pd.DataFrame({"warm": [20.0, 22.0], "wet": [0.3, 0.5]}),
        {"warm": oc.Gaussian([21.0], 1.0), "wet": oc.Ensemble([[0.3], [0.5]])},
    ],
)
def test_objects_give_their_names(obj: object) -> None:
    belief = oc.as_belief(obj)
    assert belief.names == ("warm", "wet")
    np.testing.assert_allclose(belief.mean(), [21.0, 0.4])


def test_numbers_are_no_names() -> None:
    assert oc.as_belief(pd.Series([21.0, 0.4])).names is None
    assert oc.as_belief(pd.DataFrame([[21.0, 0.4]])).names is None


def test_dimensions_are_put_in_order_and_others_left_out() -> None:
    belief = oc.PointMass([1.0, 2.0, 3.0]).named(["a", "b", "c"])
    assert arranged("Bandit", "belief", belief, ("c", "a")).mean().tolist() == [3.0, 1.0]
    assert arranged("Bandit", "belief", belief, None) is belief
    assert arranged("Bandit", "belief", oc.PointMass([1.0]), ("c", "a")).dim == 1
    with refused(ValueError, "Bandit", "belief must have the dimensions c, d", "without 'd'"):
        arranged("Bandit", "belief", belief, ("c", "d"))


def test_what_is_no_list_of_names_is_refused() -> None:
    belief = oc.PointMass([1.0, 2.0])
    with refused(ValueError, "PointMass", "names must have 2 entries, got 1"):
        belief.named("a")
    with refused(ValueError, "PointMass", "names must differ from each other, got 'a' twice"):
        belief.named(["a", "a"])
    with refused(TypeError, "PointMass", "names must be a string, got int 1"):
        belief.named(["a", 1])  # type: ignore[list-item]
    with refused(TypeError, "PointMass", "names must be a list of strings, got int 3"):
        belief.named(3)  # type: ignore[arg-type]
    with refused(ValueError, "Independent", "names of beliefs must differ", "'warm' twice"):
        oc.Independent([WARM, WARM])
    with refused(TypeError, "as_belief", "map names to numbers or forecasts of one quantity", "under 'warm'"):
        oc.as_belief({"warm": [1.0, 2.0]})


def test_datasets_are_contexts_by_name() -> None:
    belief = oc.as_belief(xr.Dataset({"warm": 21.0, "wet": 0.4}))
    np.testing.assert_allclose(belief.mean(), [21.0, 0.4])
