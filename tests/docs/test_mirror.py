"""Every module of the package has its test at the mirrored path."""

from __future__ import annotations

import overcast
from examples import TESTS, mirrored, modules


def test_every_module_has_its_test() -> None:
    own = [module for module in modules(overcast) if not hasattr(module, "__path__")]
    assert len(own) > 100
    missing = {str(mirrored(module.__name__).relative_to(TESTS)) for module in own} - {
        str(path.relative_to(TESTS)) for path in TESTS.rglob("test_*.py")
    }
    assert not missing, f"tests are missing: {', '.join(sorted(missing))}"
