"""A real browser and a server that it talks to."""

from __future__ import annotations

import http.client
import json
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn

from overcast.service import Settings, create_app
from overcast.service.engine import Engine
from overcast.service.serve import first_key
from required import lacking

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def chromium() -> str:
    """Return the path of the browser."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    return found or lacking("browser", "needs Chromium, e.g. by apt-get install chromium")


@contextmanager
def launched() -> Iterator[Any]:
    """Return a browser without a window."""
    path = chromium()
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError:
        lacking("browser", "needs Playwright for Python")
    with sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


class Site:
    """A service on a port of this machine."""

    def __init__(self, folder: Path) -> None:
        app = create_app(Settings(db=str(folder / "log.db"), log_requests=False))
        self.engine: Engine = app.state.service.engine
        self._server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
        self._thread = threading.Thread(target=self._server.run)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)
        self.port = self._server.servers[0].sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.key = self.engine.do(lambda turn: first_key(turn, self.engine.secret)) or ""

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Return what the API answers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        head = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        connection.request(method, path, None if body is None else json.dumps(body), head)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        assert answer.status < 300, content
        return json.loads(content)

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join()


@contextmanager
def site(folder: Path) -> Iterator[Site]:
    """Return a service that ends with the block."""
    out = Site(folder)
    try:
        yield out
    finally:
        out.stop()


def sign_in(page: Any, site: Site) -> None:
    """Sign in as a person does, by the keyboard."""
    page.goto(f"{site.url}/sign-in")
    page.locator("[name=key]:focus").wait_for()  # it has the focus without a click
    page.keyboard.type(site.key)
    page.keyboard.press("Enter")
    page.wait_for_url(f"{site.url}/")
