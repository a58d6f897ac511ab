"""The dashboard: pages that a browser shows, made on the server."""

from __future__ import annotations

from overcast.service.dashboard.screens import routes

__all__ = ["routes"]
