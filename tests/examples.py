"""Find every public class of a kind, and the examples of it that the test at its mirrored path holds as EXAMPLES."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from overcast import beliefs, environments, features, kernels, models, policies
from overcast.beliefs import Belief
from overcast.features import FeatureMap
from overcast.kernels import AnyKernel
from overcast.models import Model
from overcast.policies import Policy

TESTS = Path(__file__).parent


def _is_environment(kind: type) -> bool:
    return callable(getattr(kind, "start", None)) and not getattr(kind, "_is_protocol", False)


#: the packages that users extend, and which classes of them are checked
PACKAGES: dict[str, tuple[ModuleType, Callable[[type], bool]]] = {
    "beliefs": (beliefs, lambda kind: issubclass(kind, Belief)),
    "features": (features, lambda kind: issubclass(kind, FeatureMap)),
    "kernels": (kernels, lambda kind: issubclass(kind, AnyKernel)),
    "models": (models, lambda kind: issubclass(kind, Model)),
    "policies": (policies, lambda kind: issubclass(kind, Policy)),
    "environments": (environments, _is_environment),
}


def modules(package: ModuleType) -> Iterator[ModuleType]:
    """Yield a package and all modules below it."""
    yield package
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        yield importlib.import_module(found.name)


def classes(package: ModuleType, wanted: Callable[[type], bool]) -> list[type]:
    """Return the concrete public classes that a package defines anywhere, in the order of their names."""
    found: dict[str, type] = {}
    for module in modules(package):
        for name, kind in inspect.getmembers(module, inspect.isclass):
            here = kind.__module__.startswith(package.__name__)
            if here and not name.startswith("_") and not inspect.isabstract(kind) and wanted(kind):
                found[name] = kind
    return [found[name] for name in sorted(found)]


def mirrored(module: str) -> Path:
    """Return where the test of a module belongs."""
    *folders, name = module.split(".")[1:]
    return TESTS.joinpath(*folders, f"test_{name.strip('_')}.py")


@cache
def _examples_in(path: Path) -> list[Any]:
    spec = importlib.util.spec_from_file_location(f"examples_of_{path.parent.name}_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return list(getattr(module, "EXAMPLES", []))


def examples_of(kind: type) -> list[Any]:
    """Return the examples of a class; one that comes with actions is a pair."""
    path = mirrored(kind.__module__)
    found = _examples_in(path) if path.exists() else []
    return [example for example in found if type(example[0] if isinstance(example, tuple) else example) is kind]


def label(example: Any) -> str:
    """Return a short name for a test's id; addresses differ between processes that share the tests."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(example))[:60]


def examples(name: str) -> list[Any]:
    """Return the examples of all classes of a package."""
    return [example for kind in classes(*PACKAGES[name]) for example in examples_of(kind)]
