from __future__ import annotations

import re
import types
from typing import Any

import numpy as np
import pytest

from overcast.beliefs import Belief, Ensemble, Independent, Mixture, PointMass, belief_from_json
from overcast.beliefs.serialise import fields, nested, parts, shown
from support import refused


def test_weights_may_be_left_out() -> None:
    belief = belief_from_json({"type": "Ensemble", "points": [[1.0], [3.0]]})
    assert isinstance(belief, Ensemble)
    assert belief.mean()[0] == 2.0


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "belief_from_json: belief must be an object with a type, got NoneType None"),
        ([1.0], "belief_from_json: belief must be an object with a type, got list [1.0]"),
        ({}, 'belief_from_json: belief must have a "type", such as "Gaussian", got none'),
        ({"type": "Normal"}, "belief_from_json: type must be one of "),
        ({"type": ["Gaussian"]}, "belief_from_json: type must be one of "),
        ({"type": "Gaussian", "mean": [0.0]}, 'JSON must have the keys "mean", "cov", got none named "cov"'),
        ({"type": "PointMass"}, 'PointMass: JSON must have the keys "c", got none named "c"'),
        ({"type": "PointMass", "c": [1.0], "d": 2}, "PointMass: JSON must have the keys \"c\" only, got str 'd'"),
        ({"type": "Quantiles", "levels": [0.5]}, 'got none named "values"'),
        ({"type": "Ensemble", "points": [[1.0]], "weight": [1.0]}, "got str 'weight'"),
        ({"type": "Mixture", "beliefs": {}}, "Mixture: beliefs must be a list of beliefs, got dict {}"),
        ({"type": "Mixture", "beliefs": [{"type": "x"}]}, "belief_from_json: type must be one of"),
        ({"type": "Independent", "beliefs": [3]}, "belief_from_json: belief must be an object with a type, got int 3"),
    ],
)
def test_refuses(data: object, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        belief_from_json(data)
    assert "\n" not in str(caught.value)


def test_the_names_of_the_package_are_listed() -> None:
    with pytest.raises(ValueError, match="type must be one of") as caught:
        belief_from_json({"type": "Normal"})
    for name in (
        "Ensemble",
        "Frozen",
        "Gaussian",
        "Independent",
        "Mixture",
        "Moved",
        "PointMass",
        "Quantiles",
        "Sampler",
    ):
        assert f" {name}," in str(caught.value)


def define(name: str, module: str, base: type[Belief] = Belief) -> type[Belief]:
    """Define a class of that name as `module` would."""
    return types.new_class(name, (base,), exec_body=lambda body: body.update(__module__=module, __qualname__=name))


def test_a_class_defined_again_replaces_itself() -> None:
    first = define("Redefined", "notebook", Ensemble)
    again = define("Redefined", "notebook", Ensemble)
    found = belief_from_json({"type": "Redefined", "points": [[1.0]]})
    assert type(found) is again
    assert type(found) is not first


def test_two_classes_of_one_name_are_refused() -> None:
    define("Weather", "mine")
    with refused(TypeError, "Weather", "different class names", "got theirs.Weather beside mine.Weather; rename one"):
        define("Weather", "theirs")


@pytest.mark.parametrize("base", [Belief, Ensemble])
def test_the_names_of_the_package_cannot_be_taken(base: type[Belief]) -> None:
    with refused(TypeError, "Ensemble", "got mine.Ensemble beside overcast.beliefs.ensemble.Ensemble"):
        define("Ensemble", "mine", base)
    assert type(belief_from_json({"type": "Ensemble", "points": [[1.0]]})) is Ensemble


def test_parts_are_a_tuple_of_beliefs() -> None:
    belief = PointMass(1.0)
    assert parts("Mixture", iter([belief])) == (belief,)
    with refused(TypeError, "Mixture", "got list [1.0] at index 1; try as_belief"):
        parts("Mixture", [belief, [1.0]])  # type: ignore[list-item]


def test_nested_beliefs_are_read() -> None:
    assert nested("Mixture", [PointMass(1.0).to_json()])[0].to_json() == PointMass(1.0).to_json()
    with refused(ValueError, "Mixture", "beliefs must be a list of beliefs"):
        nested("Mixture", "PointMass")


def test_keys_are_checked() -> None:
    assert fields("Ensemble", {"type": "Ensemble", "points": []}, ["points"], ["weights"]) == [[], None]
    with refused(ValueError, "Ensemble", 'must have the keys "points", got none named "points"'):
        fields("Ensemble", {}, ["points"])
    with refused(ValueError, "Ensemble", "only, got str 'weigths'"):
        fields("Ensemble", {"points": [], "weigths": []}, ["points"], ["weights"])


def test_long_content_is_counted() -> None:
    assert shown(np.arange(3.0)) == "[0.0, 1.0, 2.0]"
    assert shown(np.zeros((20, 3))) == "[array of shape (20, 3)]"
    assert shown((PointMass(1.0),)) == "[PointMass([1.0])]"
    assert shown((PointMass(1.0),) * 17) == "[17 beliefs]"


@pytest.mark.parametrize("kind", ["Mixture", "Independent", "Moved"])
def test_beliefs_nested_too_deep_are_refused(kind: str) -> None:
    def nest(depth: int) -> dict[str, Any]:
        data: dict[str, Any] = {"type": "PointMass", "c": [1.0]}
        for _ in range(depth):
            inner = {"belief": data, "shift": [0.0], "scale": [1.0]} if kind == "Moved" else {"beliefs": [data]}
            data = {"type": kind, **inner}
        return data

    assert belief_from_json(nest(31)).mean().tolist() == [1.0]
    for depth in (32, 300, 3000):
        with refused(ValueError, "belief_from_json", "nested at most 32 deep"):
            belief_from_json(nest(depth))


@pytest.mark.parametrize("kind", [Mixture, Independent])
def test_what_could_not_be_read_back_cannot_be_made(kind: Any) -> None:
    belief: Belief = PointMass([1.0])
    for _ in range(31):
        belief = kind([belief])
    assert belief_from_json(belief.to_json()).to_json() == belief.to_json()
    with refused(ValueError, kind.__name__, "nested at most 32 deep"):
        kind([belief])


def test_the_keys_of_a_mixture() -> None:
    beliefs = [PointMass([1.0]), PointMass([2.0])]
    data = Mixture(beliefs, [0.25, 0.75]).to_json()
    assert data == {"type": "Mixture", "beliefs": [one.to_json() for one in beliefs], "weights": [0.25, 0.75]}
    with refused(ValueError, "Mixture", 'JSON must have the keys "beliefs", "weights" only', "'parts'"):
        belief_from_json(data | {"parts": []})
    with refused(ValueError, "Mixture", 'JSON must have the keys "beliefs", got none named "beliefs"'):
        belief_from_json({"type": "Mixture", "weights": [1.0]})
    equal = belief_from_json({"type": "Mixture", "beliefs": data["beliefs"]})
    assert equal.mean().tolist() == [1.5]
