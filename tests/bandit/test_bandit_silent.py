"""An action without features is said at once."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import overcast as oc

AMOUNTS: dict[str, Any] = {"0 mm": [0.0], "5 mm": [5.0]}


@pytest.mark.parametrize(
    "model",
    [
        oc.LinearModel(oc.features.Bilinear()),
        oc.LinearModel(oc.features.Bilinear(), ridge=1.0),
        oc.models.MeanContext(oc.LinearModel(oc.features.Bilinear(), ridge=1.0)),
    ],
)
def test_a_vector_of_zeros_under_bilinear_features(model: Any) -> None:
    with pytest.warns(
        UserWarning, match=r"Bandit: action '0 mm' has no features under .*Bilinear\(\).*, so .* always 1"
    ) as caught:
        bandit = oc.Bandit(AMOUNTS, model, oc.UCB(1.0))
    assert caught[0].filename == __file__
    assert "\n" not in str(caught[0].message)
    assert bandit.estimate([18.0]).width[0] == 0.0  # in truth
    with pytest.warns(UserWarning, match="the action of index 0, and 1 more, has no features"):
        oc.Bandit([[0.0], [0.0], [1.0]], model, oc.UCB(1.0))


def test_an_action_that_comes_later() -> None:
    bandit = oc.Bandit({"5 mm": [5.0]}, oc.LinearModel(oc.features.Bilinear()), oc.UCB())
    with pytest.warns(UserWarning, match="'0 mm' has no features") as caught:
        bandit.add_actions({"0 mm": [0.0]})
    assert caught[0].filename == __file__
    bandit.retire("0 mm")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bandit.add_actions({"10 mm": [10.0]})


@pytest.mark.parametrize(
    ("actions", "model"),
    [
        ({"0 mm": [1.0, 0.0], "5 mm": [1.0, 5.0]}, oc.LinearModel(oc.features.Bilinear())),
        (AMOUNTS, oc.LinearModel(oc.features.Polynomial(2))),
        (AMOUNTS, oc.LinearModel(oc.features.Linear())),
        (AMOUNTS, oc.LinearModel(oc.features.Quadratic())),
        (AMOUNTS, oc.LinearModel(oc.features.Function(lambda x, c: x * c, 1))),
        (AMOUNTS, oc.KernelModel()),
        (["a", "b"], oc.LinearModel(oc.features.Disjoint(2))),
    ],
)
def test_others_are_fine(actions: Any, model: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        oc.Bandit(actions, model, oc.UCB())
