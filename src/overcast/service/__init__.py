"""The decision service: a durable log of decisions and outcomes behind an HTTP API."""

from __future__ import annotations

from overcast.service.app import create_app
from overcast.service.serve import run
from overcast.service.settings import Limits, Settings, load_settings

__all__ = ["Limits", "Settings", "create_app", "load_settings", "run"]
