"""Slow clients, too many of them, and addresses that cannot be listened on."""

from __future__ import annotations

import asyncio
import errno
import http.client
import json
import logging
import os
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any, Self

import pytest
import uvicorn
from uvicorn.server import ServerState

from overcast.service.connections import HEAD, PIECE, RESERVE, Connection, Guard, Joined, bind, room_for
from service_support import FARM, GAUSSIAN
from support import refused

#: what slow clients send, and then nothing more
BEGINNINGS = {
    "nothing": b"",
    "half a head": b"POST /v1/bandits/farm/decisions HTTP/1.1\r\nHost: x\r\n",
    "half a form": b"POST /sign-in HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\ntoken=",
    "a body without a key": b"POST /v1/keys HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{",
}
SLOW = 1500


class Served:
    """`overcast serve` with a bandit, as a process that may open few files."""

    def __init__(self, folder: Path, files: int, **settings: str) -> None:
        command = f"ulimit -n {files}; exec {sys.executable} -m overcast.cli serve --port 0 --db log.db"
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OVERCAST_LOG_REQUESTS": "false"} | settings
        self._log = (folder / "stderr").open("w+")
        self._process = subprocess.Popen(
            ["bash", "-c", command], stdout=subprocess.PIPE, stderr=self._log, cwd=folder, env=environment, text=True
        )
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline().split("127.0.0.1:")[1].split()[0])
        self._process.stdout.readline()  # the key is there
        self.key = (folder / "log.db.key").read_text().strip()
        assert self.post("/v1/bandits", FARM) == 201

    def post(self, path: str, body: Any) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        head = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        connection.request("POST", path, json.dumps(body), head)
        status = connection.getresponse().status
        connection.close()
        return status

    def decide(self) -> int:
        """Return the status of a decision over a new connection."""
        return self.post("/v1/bandits/farm/decisions", {"belief": GAUSSIAN})

    def connect(self, sent: bytes) -> socket.socket:
        """Return a connection of a client that sends something and then nothing more."""
        out = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        with suppress(OSError):  # it may have been closed
            out.sendall(sent)
        return out

    def stop(self) -> str:
        """End the process and return its log."""
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(timeout=60)
        self._log.seek(0)
        return self._log.read()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.communicate()
        self._log.close()


def ended(connection: socket.socket) -> bool:
    """Return whether the other side closes a connection, after reading all that it sends."""
    try:
        while connection.recv(65536):
            pass
    except ConnectionError:
        return True
    except TimeoutError:
        return False
    return True


@pytest.fixture
def files() -> Iterator[None]:
    """Let this process open more files for a while."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.usefixtures("files")
def test_many_slow_clients_leave_decisions_working(tmp_path: Path) -> None:
    """They are more than the process may have open files, and none of them would be closed for its slowness."""
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    count = SLOW if allowed == resource.RLIM_INFINITY else min(SLOW, allowed - 200)
    with Served(tmp_path, 800, OVERCAST_LIMITS_WAIT="3600") as server, ExitStack() as stack:
        sent = [*BEGINNINGS.values(), server_body(server.key)]
        for i in range(count):
            stack.enter_context(server.connect(sent[i % len(sent)]))
            if i % 100 == 99:
                assert server.decide() == 201
        assert server.decide() == 201
        stack.close()
        log = server.stop()
    assert "Traceback" not in log
    lines = [json.loads(line)["message"] for line in log.splitlines()]
    assert len(lines) <= 4, lines
    assert any("those that have waited longest are closed" in line for line in lines)


def server_body(key: str) -> bytes:
    """Return the beginning of a request for a decision, with a key and half a body."""
    head = f"POST /v1/bandits/farm/decisions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n"
    return f'{head}Content-Length: 100\r\n\r\n{{"belief"'.encode()


def test_slow_clients_are_closed_and_others_are_not(tmp_path: Path) -> None:
    with Served(tmp_path, 1200, OVERCAST_LIMITS_WAIT="0.5") as server, ExitStack() as stack:
        quick = stack.enter_context(closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)))
        sent = [BEGINNINGS[name] for name in ("nothing", "half a head", "half a form")] + [server_body(server.key)]
        slow = [stack.enter_context(server.connect(one)) for one in sent * 5]
        for connection in slow:
            quick.request("GET", "/healthz")
            assert quick.getresponse().read() == b'{"status":"alive","position":null}'
            assert ended(connection)
        assert server.decide() == 201
        log = server.stop()
    assert "Traceback" not in log
    assert "clients were too slow" in log


class Transport(asyncio.Transport):
    """The side of a connection that a test holds."""

    def __init__(self) -> None:
        super().__init__()
        self.buffered, self.closing, self.aborted = 0, False, False
        self.sent: list[bytes] = []

    def is_closing(self) -> bool:
        return self.closing or self.aborted

    def get_write_buffer_size(self) -> int:
        return self.buffered

    def write(self, data: Any) -> None:
        self.sent.append(data)

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass

    def close(self) -> None:
        self.closing = True

    def abort(self) -> None:
        self.aborted = True


class Bench:
    """Connections to an application that a test finishes."""

    def __init__(self, loop: asyncio.AbstractEventLoop, most: int = 10, wait: float = 8.0) -> None:
        self._loop = loop
        self.state = ServerState()
        self.guard = Guard(most, wait)
        self.config = uvicorn.Config(self._app, log_config=None, ws="none", interface="asgi3")
        self.gate = asyncio.Event()

    async def _app(self, scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body"):
            pass
        await self.gate.wait()
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    def connect(self) -> tuple[Connection, Transport]:
        """Return a connection and what it writes to."""
        transport = Transport()
        options = {"config": self.config, "server_state": self.state, "app_state": {}, "_loop": self._loop}
        out = Connection(self.guard, **options)
        out.connection_made(transport)
        return out, transport

    def sweep(self, now: float) -> None:
        self.guard.sweep(self.state.connections, now)


async def settled() -> None:
    """Let all tasks go as far as they can."""
    for _ in range(10):
        await asyncio.sleep(0)


def run(work: Any) -> None:
    asyncio.run(work)


def test_what_is_written_in_one_turn_is_sent_together() -> None:
    async def work() -> None:
        behind = Transport()
        joined = Joined(behind, asyncio.get_running_loop())
        joined.write(b"head")
        joined.write(b"body")
        assert behind.sent == [b"headbody"]
        joined.write(b"alone")
        assert behind.sent == [b"headbody"]
        await settled()
        assert behind.sent == [b"headbody", b"alone"]
        for data in (b"1", b"2", b"3"):
            joined.write(data)
        await settled()
        assert b"".join(behind.sent[2:]) == b"123"
        joined.write(b"last")
        joined.close()
        assert (behind.sent[-1], behind.closing, joined.is_closing()) == (b"last", True, True)
        joined.write(b"too late")
        await settled()
        assert behind.sent[-1] == b"last"

    run(work())


def test_an_answer_is_one_send() -> None:
    async def work() -> None:
        place = Bench(asyncio.get_running_loop())
        connection, behind = place.connect()
        place.gate.set()
        for _ in range(2):
            connection.data_received(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            await settled()
        assert [sent.startswith(b"HTTP/1.1 204") for sent in behind.sent] == [True, True]
        connection.connection_lost(None)

    run(work())


def test_the_head_of_a_request_must_come_in_time() -> None:
    async def work() -> None:
        place = Bench(asyncio.get_running_loop())
        (slow, closed), (quick, kept) = place.connect(), place.connect()
        start = max(slow.since, quick.since)
        place.sweep(start)
        slow.data_received(b"GET / HTTP/1.1\r\n")
        quick.data_received(b"GET / HTTP/1.1\r\n\r\n")
        place.sweep(start + 7.0)
        slow.data_received(b"Host: x\r\n")  # a bit of it does not help
        place.sweep(slow.since + 9.0)
        assert (closed.aborted, kept.aborted) == (True, False)
        await settled()
        place.sweep(start + 1000.0)
        assert not kept.aborted  # the service is at work
        place.gate.set()
        await settled()
        assert quick.owes() == ("nothing",)
        place.sweep(start + 2000.0)
        place.sweep(start + 3000.0)
        assert not kept.aborted  # uvicorn ends idle connections
        quick.data_received(b"GET / HT")
        place.sweep(start + 3001.0)
        place.sweep(start + 3010.0)
        assert kept.aborted  # the second request comes too slowly
        quick.connection_lost(None)

    run(work())


def test_the_head_of_a_request_has_a_largest_size() -> None:
    async def work() -> None:
        place = Bench(asyncio.get_running_loop())
        connection, transport = place.connect()
        connection.data_received(b"GET / HTTP/1.1\r\nX: " + b"x" * HEAD)
        place.sweep(connection.since + 0.1)
        assert transport.aborted

    run(work())


def test_a_body_may_take_long_if_it_goes_on() -> None:
    async def work() -> None:
        place = Bench(asyncio.get_running_loop())
        connection, transport = place.connect()
        connection.data_received(b"POST / HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n")
        await settled()
        now = connection.since
        for _ in range(5):
            place.sweep(now)
            now += 7.0
            connection.data_received(b"x" * PIECE)
            await settled()
        place.sweep(now)
        assert not transport.aborted
        connection.data_received(b"x")  # too little
        await settled()
        place.sweep(now + 9.0)
        assert transport.aborted
        connection.connection_lost(None)

    run(work())


def test_an_answer_may_take_long_if_it_is_taken() -> None:
    async def work() -> None:
        place = Bench(asyncio.get_running_loop())
        connection, transport = place.connect()
        connection.pause_writing()
        now = connection.since
        for left in (5, 4, 3):
            transport.buffered = left * PIECE
            place.sweep(now)
            now += 7.0
        connection.resume_writing()  # and it fills up again
        connection.pause_writing()
        place.sweep(now)
        assert not transport.aborted
        place.sweep(now + 9.0)
        assert transport.aborted
        other, end = place.connect()
        other.transport.close()  # which waits for the client to take the rest
        place.sweep(now + 20.0)
        place.sweep(now + 29.0)
        assert end.aborted

    run(work())


def test_the_ones_that_have_waited_longest_make_room() -> None:
    async def work() -> None:
        place = Bench(asyncio.get_running_loop(), most=3)
        made = [place.connect() for _ in range(3)]
        made[0][0].data_received(b"GET / HTTP/1.1\r\n\r\n")  # the service is at work
        await settled()
        for i, (connection, _) in enumerate(made):
            connection.since = float(i)
        made.append(place.connect())
        assert [transport.aborted for _, transport in made] == [False, True, False, False]
        made.append(place.connect())  # what was dropped no longer counts
        assert [transport.aborted for _, transport in made] == [False, True, True, False, False]
        made[0][0].connection_lost(None)

    run(work())


def test_trouble_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        loop, guard = asyncio.get_running_loop(), Guard(1, 1.0)
        for _ in range(100):
            guard.handle(loop, {"message": "accept", "exception": OSError(errno.EMFILE, "Too many open files")})
        assert [one.getMessage() for one in caplog.records] == [
            "no more connections can be accepted now: Too many open files"
        ]
        assert caplog.records[0].exc_info is None
        guard.handle(loop, {"message": "something else", "exception": OSError("odd")})
        assert "odd" in caplog.text

    with caplog.at_level(logging.WARNING):
        run(work())


@pytest.mark.parametrize(
    ("limits", "expected", "raised"),
    [
        ((1024, 4096), 1000, (1000 + RESERVE, 4096)),
        ((1024, 1024), 1024 - RESERVE, (1024, 1024)),
        ((100, 100), 25, (100, 100)),
        ((256, resource.RLIM_INFINITY), 1000, (1000 + RESERVE, resource.RLIM_INFINITY)),
        ((resource.RLIM_INFINITY, resource.RLIM_INFINITY), 1000, None),
        ((100_000, 100_000), 1000, None),
    ],
)
def test_there_are_as_many_connections_as_open_files_allow(
    limits: tuple[int, int], expected: int, raised: tuple[int, int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    got: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda kind: limits)
    monkeypatch.setattr(resource, "setrlimit", lambda kind, given: got.append(given))
    assert room_for(1000) == expected
    assert got == ([] if raised is None else [raised])


def test_all_addresses_of_a_host_have_one_port() -> None:
    with ExitStack() as stack:
        found = [stack.enter_context(one) for one in bind("localhost", 0)]
        assert len({one.getsockname()[1] for one in found}) == 1


def test_hosts_and_ports_that_cannot_be_listened_on(monkeypatch: pytest.MonkeyPatch) -> None:
    for host in ("", " "):
        with refused(ValueError, "serve", "--host", "0.0.0.0 listens on all"):
            bind(host, 0)
    with refused(OSError, "serve", "--host", "'192.0.2.1'", "Cannot assign"):
        bind("192.0.2.1", 0)
    with refused(OSError, "serve", "--host", "no address"):
        bind("x" * 300, 0)
    taken = socket.create_server(("127.0.0.1", 0))
    with taken, refused(OSError, "serve", "--port", "127.0.0.1", "in use"):
        bind("127.0.0.1", taken.getsockname()[1])

    def unknown(*args: object, **options: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with refused(OSError, "serve", "--host", "'nowhere'", "not known"):
        bind("nowhere", 0)
