"""Connections: how many there are, and how long a client may keep the service waiting.

A look at all connections now and then is enough. So a request costs nothing but the count of its bytes.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import math
import resource
import socket
import time
from collections.abc import Collection, Hashable
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

log = logging.getLogger("overcast.service")

#: bytes of a body or of an answer that must go through in the time that a client has
PIECE = 65_536
#: bytes that the head of a request may have
HEAD = 65_536
#: connections that are accepted at once, and that may wait for that
BACKLOG, QUEUE = 128, 2048
#: open files beside those of connections: the database, and what is accepted before others are closed
RESERVE = 4 * BACKLOG
#: seconds between lines in the log about the same trouble
QUIET = 60.0
_FULL = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class Joined:
    """A transport that sends what is written in one turn of the loop together: head and body of an answer are one send.

    Everything else is done by the transport behind it.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._held = b""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send what was held with this; hold the first part until the next one, or until the turn ends."""
        if self._held:
            held, self._held = self._held, b""
            self._transport.write(held + data)
        else:
            self._held = data
            self._loop.call_soon(self.flush)

    def flush(self) -> None:
        """Send what is held, unless the connection is gone."""
        held, self._held = self._held, b""
        if held and not self._transport.is_closing():
            self._transport.write(held)

    def close(self) -> None:
        """Send what is held, and close."""
        self.flush()
        self._transport.close()


class Connection(HttpToolsProtocol):
    """One connection, which knows whose turn it is.

    Parameters
    ----------
    guard : makes room for it
    options : as for uvicorn's protocol
    """

    def __init__(self, guard: Guard, **options: Any) -> None:
        super().__init__(**options)
        self._guard = guard
        self._resumed = 0
        #: whether it was closed for its client's slowness
        self.dropped = False
        #: bytes that have come
        self.received = 0
        #: what the client was last seen to owe, since when, and the bytes that had come then
        self.owed: tuple[Hashable, ...] | None = None
        self.since = 0.0
        self.before = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(Joined(transport, self.loop))  # type: ignore[arg-type]
        self.since = self.loop.time()
        self.owed = self.owes()
        self._guard.make_room(self.server_state.connections)

    def data_received(self, data: bytes) -> None:
        self.received += len(data)
        super().data_received(data)

    def resume_writing(self) -> None:
        self._resumed += 1
        super().resume_writing()

    def drop(self) -> None:
        """Close the connection at once."""
        self.dropped = True
        self.transport.abort()

    def owes(self) -> tuple[Hashable, ...] | None:
        """Return the next step of the client, which changes as it makes progress; None if it is the service's turn."""
        cycle: Any = self.cycle  # None before the first request
        if self.transport.is_closing() or self.flow.write_paused:
            return "take an answer", cycle, self._resumed, self.transport.get_write_buffer_size() // PIECE
        if self.flow.read_paused:
            return None
        if cycle is None or cycle.response_complete:
            # uvicorn ends a connection by itself if no further request begins
            return ("nothing",) if self.timeout_keep_alive_task is not None else ("send a request", cycle)
        return ("send a body", cycle, self.received // PIECE) if cycle.more_body else None


class Guard:
    """Closes the connections of clients that are too slow, and those that have waited longest if there are too many.

    Parameters
    ----------
    most : connections at one time
    wait : seconds that a client has for the head of a request, for each piece of its body, and to take each piece of
        the answer
    """

    def __init__(self, most: int, wait: float) -> None:
        self.most, self.wait = most, wait
        self._next = -math.inf
        self._warned: dict[str, float] = {}

    def make_room(self, connections: Collection[Any]) -> None:
        """Close some connections if there are too many: those that have kept the service waiting longest."""
        if len(connections) <= self.most:
            return
        open_ = [one for one in connections if isinstance(one, Connection) and not one.dropped]
        if len(open_) <= self.most:
            return
        idle = sorted((one for one in open_ if one.owes() is not None), key=lambda one: one.since)
        for one in idle[: max(len(open_) - self.most, self.most // 20)]:
            one.drop()
        self._warn("full", f"more than {self.most} connections: those that have waited longest are closed")

    def sweep(self, connections: Collection[Any], now: float) -> None:
        """Close the connections of clients that have been too slow; it is cheap to call this often.

        now : time of the event loop
        """
        if now < self._next:
            return
        self._next = now + min(1.0, self.wait / 4.0)
        slow = [one for one in list(connections) if isinstance(one, Connection) and self._slow(one, now)]
        for one in slow:
            one.drop()
        if slow:
            self._warn("slow", f"closed {len(slow)} connections whose clients were too slow (limits.wait)")

    def _slow(self, one: Connection, now: float) -> bool:
        owed = one.owes()
        if owed != one.owed:
            one.owed, one.since, one.before = owed, now, one.received
            return False
        if owed is None or owed[0] == "nothing":
            return False
        return now - one.since > self.wait or (owed[0] == "send a request" and one.received - one.before > HEAD)

    def handle(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Say in one line that no more files can be opened; all else goes to the handler of the loop."""
        error = context.get("exception")
        if isinstance(error, OSError) and error.errno in _FULL:
            self._warn("files", f"no more connections can be accepted now: {error.strerror}")
        else:
            loop.default_exception_handler(context)

    def _warn(self, trouble: str, message: str) -> None:
        """Write a line to the log, unless there was one about the same trouble lately."""
        now = time.monotonic()
        if now - self._warned.get(trouble, -math.inf) >= QUIET:
            self._warned[trouble] = now
            log.warning("%s", message)


def room_for(most: int) -> int:
    """Let the process open enough files for so many connections if it may; return how many it has room for."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = most + RESERVE
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    room = most if soft == resource.RLIM_INFINITY else min(most, max(soft - RESERVE, soft // 4, 1))
    if room < most:
        log.warning("%d connections need %d open files; %d are allowed, so %d are served", most, wanted, soft, room)
    return room


def bind(host: str, port: int) -> list[socket.socket]:
    """Return sockets for all addresses of a host; raise an error of one line if there are none or they are taken."""
    if not host.strip():
        raise ValueError(f"serve: --host must be an address to listen on, got {host!r}; 0.0.0.0 listens on all")
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise _no_host(host, error) from None
    out: list[socket.socket] = []
    failed: OSError | None = None
    for family, kind, protocol, _, address in dict.fromkeys(found):
        try:
            one = socket.socket(family, kind, protocol)
        except OSError as error:  # a family that the system lacks
            failed = error
            continue
        try:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            taken = out[0].getsockname()[1] if out else port  # all have the port that the first one got
            one.bind((address[0], taken, *address[2:]))
            out.append(one)
        except OSError as error:
            one.close()
            failed = error
            if error.errno != errno.EADDRNOTAVAIL:
                break
    if out and (failed is None or failed.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)):
        return out
    for one in out:
        one.close()
    if failed is not None and failed.errno in (errno.EADDRINUSE, errno.EACCES, errno.EPERM):
        raise OSError(f"serve: --port must be one that is free on {host}, got {port}: {failed.strerror}")
    raise _no_host(host, failed)


def _no_host(host: str, error: Exception | None) -> OSError:
    reason = getattr(error, "strerror", None) or "no address"
    return OSError(f"serve: --host must be an address of this machine, got {host!r}: {reason}")
