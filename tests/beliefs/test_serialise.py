from __future__ import annotations

import re

import pytest

from overcast.beliefs import Ensemble, belief_from_json


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
        ({"type": "Normal"}, "belief_from_json: type must be one of PointMass, Gaussian, Ensemble"),
        ({"type": ["Gaussian"]}, "belief_from_json: type must be one of PointMass, Gaussian, Ensemble"),
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
