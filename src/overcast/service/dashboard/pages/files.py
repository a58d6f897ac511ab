"""Static files: styles, scripts and pictures."""

from __future__ import annotations

import mimetypes
from functools import cache
from importlib import resources

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from overcast.service.dashboard.web import HEADERS


@cache
def _read_static_file(name: str) -> tuple[bytes, str]:
    """Return a static file and its type; raise FileNotFoundError if there is none with this name."""
    folder = resources.files("overcast.service.dashboard") / "static"
    files = {one.name: one for one in folder.iterdir()}
    if name not in files:
        raise FileNotFoundError(name)
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return files[name].read_bytes(), kind


async def send_file(scope: Scope, receive: Receive, send: Send) -> None:
    try:
        content, kind = _read_static_file(scope["path_params"]["file"])
    except FileNotFoundError:
        await Response("not found", 404, HEADERS, "text/plain")(scope, receive, send)
        return
    headers = HEADERS | {"cache-control": "public, max-age=3600"}
    await Response(content, 200, headers, kind)(scope, receive, send)
