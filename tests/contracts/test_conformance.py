"""Every belief, feature map, kernel, model, policy and environment of the package passes the checks that users run.

Classes are found by themselves. Their examples stand as EXAMPLES in the test at the mirrored path.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import examples
import overcast as oc
from overcast import testing
from overcast.beliefs import Belief
from overcast.environments import Environment
from overcast.features import FeatureMap
from overcast.models import Model
from overcast.policies import Policy

POINTS = np.random.default_rng(0).normal(size=(6, 2))


@pytest.mark.parametrize(("package", "wanted"), examples.PACKAGES.values(), ids=examples.PACKAGES.keys())
def test_every_class_has_an_example_and_is_exported(package: ModuleType, wanted: Callable[[type], bool]) -> None:
    found = examples.classes(package, wanted)
    assert found, f"no classes found in {package.__name__}"
    for kind in found:
        where = examples.mirrored(kind.__module__).relative_to(examples.TESTS.parent)
        assert examples.examples_of(kind), f"add an example of {kind.__name__} to EXAMPLES in {where}"
        assert kind.__name__ in package.__all__, f"export {kind.__name__} from {package.__name__}"


def test_the_top_level_exports_nothing_unchecked() -> None:
    known = {kind for package in examples.PACKAGES.values() for kind in examples.classes(*package)}
    for name in oc.__all__:
        kind = getattr(oc, name)
        if inspect.isclass(kind) and issubclass(kind, (Belief, FeatureMap, Model, Policy)):
            assert kind in known or inspect.isabstract(kind), f"{name} is not checked"


@pytest.mark.parametrize("belief", examples.examples("beliefs"), ids=examples.label)
def test_beliefs(belief: Belief) -> None:
    """Six standard errors: about 1e-8 for each number, 1e-6 over all of them."""
    testing.check_belief(belief)


@pytest.mark.parametrize(("feature_map", "actions"), examples.examples("features"), ids=examples.label)
def test_features(feature_map: FeatureMap, actions: Any) -> None:
    """Six standard errors: about 1e-8 for each number, 1e-6 over all of them."""
    testing.check_features(feature_map, actions, POINTS)


@pytest.mark.parametrize("kernel", examples.examples("kernels"), ids=examples.label)
def test_kernels(kernel: Any) -> None:
    """Six standard errors: about 1e-8 for each number, 1e-6 over all of them."""
    testing.check_kernel(kernel, POINTS)


@pytest.mark.parametrize(("model", "actions"), examples.examples("models"), ids=examples.label)
def test_models(model: Model, actions: Any) -> None:
    testing.check_model(model, actions, POINTS)


@pytest.mark.parametrize("policy", examples.examples("policies"), ids=examples.label)
def test_policies(policy: Policy) -> None:
    testing.check_policy(policy)


@pytest.mark.parametrize("env", examples.examples("environments"), ids=examples.label)
def test_environments(env: Environment) -> None:
    """Six standard errors: about 1e-8 for each number, 1e-6 over all of them."""
    testing.check_environment(env)
