"""Run the service."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import socket
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import cast

import uvicorn

from overcast.service.app import create_app
from overcast.service.connections import BACKLOG, QUEUE, Connection, Guard, bind, room_for
from overcast.service.demo import Demo
from overcast.service.engine import Engine, Turn
from overcast.service.keys import new_key
from overcast.service.logs import log_to_stderr
from overcast.service.settings import Settings
from overcast.service.store import SqliteStore, Store, Unavailable, open_store, sqlite_path

#: the process changes between its two threads so often; the default of 5 ms makes requests wait for the writer
SWITCH = 0.0005
#: seconds that answers under way have at the end
PATIENCE = 30


def run(settings: Settings, demo: bool = False, new_key: bool = False, shrink: bool = False) -> None:
    """Serve until a signal comes; what was accepted is finished first.

    demo : whether two simulated fields are decided for meanwhile
    new_key : whether a key with the scope admin is made though there are keys
    shrink : whether a SQLite file gives the space of erased entries back first
    """
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(one) for one in bind(settings.host, settings.port)]
        store = open_store(settings.db)
        if shrink:
            shrink_file(store)
        _serve(settings, store, sockets, demo, new_key)


def shrink_file(store: Store) -> None:
    """Give the space of erased entries back to the system; raise an error of one line if that cannot be."""
    if not isinstance(store, SqliteStore):
        raise ValueError("serve: --shrink must be for a SQLite file, got PostgreSQL, which has VACUUM FULL for that")
    try:
        store.shrink()
    except Unavailable as error:
        raise OSError(f"serve: --shrink must have room for a second copy of {store.path}: {error}") from None


def _serve(settings: Settings, store: Store, sockets: list[socket.socket], demo: bool, new_key: bool) -> None:
    app = create_app(settings, store)
    engine: Engine = app.state.service.engine
    log_to_stderr()
    guard = Guard(room_for(settings.limits.connections), settings.limits.wait)
    sys.setswitchinterval(SWITCH)
    gc.collect()
    gc.freeze()  # what was imported stays, and is not looked through again in the middle of a request
    config = uvicorn.Config(
        app,
        http=cast("type[asyncio.Protocol]", partial(Connection, guard)),
        ws="none",
        backlog=BACKLOG,
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
    _Server(config, guard, engine, settings, demo, new_key).run(sockets)


class _Server(uvicorn.Server):
    """A server that hands out the first key once it listens, and closes the connections of slow clients."""

    def __init__(
        self, config: uvicorn.Config, guard: Guard, engine: Engine, settings: Settings, demo: bool, new_key: bool
    ) -> None:
        super().__init__(config)
        self._guard, self._engine, self._settings, self._demo, self._new_key = guard, engine, settings, demo, new_key

    async def on_tick(self, counter: int) -> bool:
        self._guard.sweep(self.server_state.connections, asyncio.get_running_loop().time())
        return await super().on_tick(counter)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().set_exception_handler(self._guard.handle)
        await super().startup(sockets)
        if not self.started:
            return
        for one in sockets or ():
            one.listen(QUEUE)  # more than are accepted at once
        file = sqlite_path(self._settings.db)
        path = Path("overcast.key" if file is None else f"{file}.key")

        def work(turn: Turn) -> str | None:
            return first_key(turn, self._engine.secret, lambda key: written(key, path), self._new_key)

        try:
            shown = await self._engine.ask(work)
        except OSError:
            await self.shutdown(sockets)
            raise
        port = self.servers[0].sockets[0].getsockname()[1] if self.servers else self._settings.port
        host = self._settings.host
        where = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        print(f"overcast: serves on {where} (dashboard and API; log in {file or 'PostgreSQL'})", flush=True)
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
