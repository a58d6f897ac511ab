"""Run the service."""

from __future__ import annotations

import gc
import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path

import uvicorn

from overcast.service.app import create_app
from overcast.service.demo import Demo
from overcast.service.engine import Engine, Turn
from overcast.service.keys import new_key
from overcast.service.logs import log_to_stderr
from overcast.service.settings import Settings

#: the process changes between its two threads so often; the default of 5 ms makes requests wait for the writer
SWITCH = 0.0005
#: seconds that answers under way have at the end
PATIENCE = 30


def run(settings: Settings, demo: bool = False, new_key: bool = False) -> None:
    """Serve until a signal comes; what was accepted is finished first.

    demo : whether two simulated fields are decided for meanwhile
    new_key : whether a key with the scope admin is made though there are keys
    """
    app = create_app(settings)
    engine: Engine = app.state.service.engine
    log_to_stderr()
    sys.setswitchinterval(SWITCH)
    gc.collect()
    gc.freeze()  # what was imported stays, and is not looked through again in the middle of a request
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        http="httptools",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=PATIENCE,
    )
    if settings.host not in ("127.0.0.1", "::1", "localhost"):
        logging.getLogger("overcast.service").warning(
            "listens on %s without TLS; keys can be read on the way unless a proxy with TLS stands in front",
            settings.host,
        )
    _Server(config, engine, settings, demo, new_key).run()


class _Server(uvicorn.Server):
    """A server that hands out the first key once it listens."""

    def __init__(self, config: uvicorn.Config, engine: Engine, settings: Settings, demo: bool, new_key: bool) -> None:
        super().__init__(config)
        self._engine, self._settings, self._demo, self._new_key = engine, settings, demo, new_key

    async def startup(self, sockets: list[object] | None = None) -> None:  # type: ignore[override]
        await super().startup(sockets)  # type: ignore[arg-type]
        if not self.started:
            return
        db = self._settings.db
        path = Path(f"{db}.key" if "://" not in db else "overcast.key")

        def work(turn: Turn) -> str | None:
            return first_key(turn, self._engine.secret, lambda key: written(key, path), self._new_key)

        try:
            shown = await self._engine.ask(work)
        except OSError:
            await self.shutdown(sockets)  # type: ignore[arg-type]
            raise
        port = self.servers[0].sockets[0].getsockname()[1] if self.servers else self._settings.port
        where = f"http://{self._settings.host}:{port}"
        print(f"overcast: serves on {where} (dashboard and API; log in {shown_db(db)})", flush=True)
        if shown is not None:
            hand_out(shown, path)
        if self._demo:
            Demo(self._engine).start()


def first_key(
    turn: Turn, secret: bytes, written: Callable[[str], None] = lambda key: None, always: bool = False
) -> str | None:
    """Make a key with the scope admin if there is no key at all, or always; return it, or None.

    written : called with the key before it counts, so that none counts that nobody can read
    """
    if turn.state.keys and not always:
        return None
    key, shown = new_key(secret, "new" if turn.state.keys else "first", ("admin",), ("*",), turn.now, None)
    written(shown)
    turn.append("", "key", {"event": "key", "key": key})
    return shown


def written(key: str, path: Path) -> None:
    """Write a key to a file that only the owner can read, unless there is a terminal to show it on."""
    if sys.stdout.isatty():
        return
    try:
        with open(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(f"{key}\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise OSError(
            f"serve: the key must go to a file that can be written to, got {path}: {error.strerror}; no key was made"
        ) from None


def hand_out(key: str, path: Path) -> None:
    """Show a key on the terminal; where there is none, say in which file it is."""
    if sys.stdout.isatty():
        print(f"overcast: first key, shown this once: {key}", flush=True)
    else:
        print(f"overcast: first key is in {path}, which only its owner can read; delete it once it is kept", flush=True)


def shown_db(db: str) -> str:
    """Return the address of the database without anything secret."""
    return db if "://" not in db else "PostgreSQL"
