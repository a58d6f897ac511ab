"""A small load generator for loopback: connections that stay open, one request at a time each."""

from __future__ import annotations

import asyncio
import math
import time
from typing import Any, NamedTuple


class Finished(Exception):  # noqa: N818 - it is no mistake
    """A script raises it when it has nothing more to send."""


class Load(NamedTuple):
    """What a load found: answers, seconds, and the latencies in milliseconds at some quantiles."""

    answers: int
    seconds: float
    rate: float
    p50: float
    p99: float
    failures: int


def post(path: str, body: bytes, key: str = "") -> bytes:
    """Return a POST request with a JSON body."""
    signed = f"authorization: Bearer {key}\r\n" if key else ""
    head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\n{signed}content-type: application/json\r\n"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


def run(
    port: int,
    script: Any,
    connections: int,
    seconds: float,
    per_second: float | None = None,
    most: float = math.inf,
) -> Load:
    """Let every connection run the script for some seconds, as fast as it can or at a total rate.

    script : called with the number of the connection; a generator that yields requests and is sent (status, body)
    most : number of answers after which it ends
    """
    return asyncio.run(_run(port, script, connections, seconds, per_second, most))


async def _run(port: int, script: Any, connections: int, seconds: float, per_second: float | None, most: float) -> Load:
    taken: list[float] = []
    failures = 0
    opened = await asyncio.gather(*(asyncio.open_connection("127.0.0.1", port) for _ in range(connections)))
    started = time.perf_counter()
    pause = None if per_second is None else connections / per_second

    async def one(number: int) -> None:
        nonlocal failures
        reader, writer = opened[number]
        steps = script(number)
        request, due = next(steps), started + (0.0 if pause is None else pause * number / connections)
        while not taken or (time.perf_counter() - started < seconds and len(taken) < most):
            if pause is not None:
                await asyncio.sleep(max(0.0, due - time.perf_counter()))
            begun = due if pause is not None else time.perf_counter()  # a late start counts as waiting
            writer.write(request)
            status, body = await _answer(reader)
            taken.append(time.perf_counter() - begun)
            failures += status >= 400
            try:
                request, due = steps.send((status, body)), due + (pause or 0.0)
            except Finished:
                break
        writer.close()

    await asyncio.gather(*(one(number) for number in range(connections)))
    spent = time.perf_counter() - started
    taken.sort()
    at = [1000.0 * taken[min(len(taken) - 1, int(share * len(taken)))] for share in (0.5, 0.99)]
    return Load(len(taken), spent, len(taken) / spent, at[0], at[1], failures)


async def _answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    status, lower = int(head[9:12]), head.lower()
    at = lower.find(b"content-length:")
    length = int(lower[at + 15 : lower.index(b"\r\n", at)]) if at >= 0 else 0
    return status, await reader.readexactly(length) if length else b""
