"""Bandits as data."""

from __future__ import annotations

from typing import Any

import pytest

import overcast as oc
from overcast import _storage, confidence, kernels, models
from overcast.service import spec
from support import refused

VALUES = [
    oc.UCB(),
    oc.UCB(2.0),
    oc.UCB(confidence.Expected(delta=0.1, noise=1.0, norm=1.0)),
    oc.Thompson(),
    oc.Greedy(),
    oc.IDS(),
    oc.EpsilonGreedy(0.1),
    oc.Repeated(oc.Thompson(), 5),
    oc.LinearModel(oc.features.Bilinear(), ridge=1.0),
    oc.LinearModel(oc.features.Polynomial(2)),
    oc.LinearModel(oc.features.Disjoint(3), noise=0.5, ridge=1.0),
    oc.LinearModel(oc.features.Fourier(kernels.Product(kernels.RBF(1.0), kernels.Matern(2.5, 1.0)), 10)),
    oc.KernelModel(kernels.Product(kernels.RBF((1.0, 2.0)), kernels.Linear()), ridge=0.5),
    models.MeanContext(oc.LinearModel(oc.features.Quadratic(), ridge=1.0)),
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_what_a_file_of_a_bandit_can_hold_can_be_configured(value: Any) -> None:
    data = _storage.config(value)
    assert spec.build(data["type"].partition(".")[0], data) == value


def test_short_names_are_looked_up_where_they_belong() -> None:
    product = {"type": "Product", "action_kernel": "Linear", "context_kernel": {"type": "RBF", "lengthscale": 1.0}}
    expected = kernels.Product(kernels.Linear(), kernels.RBF(1.0))
    assert spec.model_of(None, product, None, 0.5) == oc.KernelModel(expected, ridge=0.5)
    nystrom = spec.build("features", {"type": "Fourier", "kernel": product | {"action_kernel": "Constant"}, "n": 8})
    assert nystrom.kernel.action_kernel == kernels.Constant()
    policy = spec.policy_of({"type": "UCB", "beta": {"type": "Expected", "delta": 0.1, "noise": 1.0, "norm": 1.0}})
    assert policy == oc.UCB(confidence.Expected(delta=0.1, noise=1.0, norm=1.0))


@pytest.mark.parametrize(
    ("data", "word"),
    [
        ("Nobody", "type must be one of"),
        ("os.system", "type must be one of"),
        ("features.Function", "holds code"),
        ("features.np", "type must be one of"),
        ("features.__builtins__", "type must be one of"),
        ({"type": "Bilinear", "x": 1}, "'x'"),
        ({"type": ["Bilinear"]}, 'object with a "type"'),
        ({"type": "Polynomial", "degree": 10**6}, "100000 at most"),
        (3, 'object with a "type"'),
    ],
)
def test_nothing_else_can_be_named(data: Any, word: str) -> None:
    with refused(ValueError, "Bilinear" if "'x'" in word else "features", word):
        spec.build("features", data)


def test_nesting_is_bounded() -> None:
    data: Any = "Thompson"
    for _ in range(30):
        data = {"type": "Repeated", "policy": data, "n": 2}
    with refused(ValueError, "policies", "16 deep"):
        spec.policy_of(data)


def test_one_model() -> None:
    with refused(ValueError, "bandit", "got none"):
        spec.model_of(None, None, None, None)
    with refused(ValueError, "bandit", "features and model"):
        spec.model_of("Bilinear", None, "KernelModel", None)
    with refused(ValueError, "bandit", "ridge must be given inside"):
        spec.model_of(None, None, "KernelModel", 1.0)
    assert spec.model_of(None, None, "KernelModel", None) == oc.KernelModel()


def test_the_configuration_is_the_librarys() -> None:
    made = ["a", "b"], oc.LinearModel(oc.features.Disjoint(2)), oc.UCB()
    given: dict[str, Any] = {"seed": 3, "context": ["warm"]}
    assert spec.configuration(*made, **given) == oc.events.config(*made, **given)
    with refused(ValueError, "bandit", "100000 at most"):
        spec.configuration(*made, samples=10**6)
