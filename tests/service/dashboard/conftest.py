"""A browser of the dashboard, signed in."""

from __future__ import annotations

import pytest

from dashboard_support import Visitor
from service_support import Api


@pytest.fixture
def visitor(api: Api) -> Visitor:
    return Visitor(api).sign_in()
