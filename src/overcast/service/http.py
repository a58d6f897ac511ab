"""From a request to an answer: the key, the body, the handler, and one shape for all errors."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import re
import time
import tomllib
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar
from urllib.parse import parse_qsl

import msgspec
from starlette.types import Receive, Scope, Send

from overcast.service import keys
from overcast.service.engine import Engine, Turn, unknown
from overcast.service.errors import Failure, Refusal
from overcast.service.ids import Ids
from overcast.service.keys import Key
from overcast.service.metrics import Metrics
from overcast.service.settings import Settings
from overcast.service.store.base import Unavailable
from overcast.service.tracing import Tracing

T = TypeVar("T")
log = logging.getLogger("overcast.service")
_requests = logging.getLogger("overcast.service.requests")

JSON, TOML = b"application/json", b"application/toml"
#: headers of every answer
ALWAYS = [
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'self'"),
    (b"cache-control", b"no-store"),
]
_BRACKETS = re.compile(rb'"(?:[^"\\]|\\.)*+"|[^\[\]{}"]++', re.DOTALL)
# The time that dotted keys take to read grows with the square of their length.
_LONG_KEY = re.compile(rb"""(?:\.[ \t]*(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*){32}""")
#: of requests that bring none; the loop of the server alone draws them
_ids = Ids()
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")


@dataclass(frozen=True)
class Service:
    """The parts that all handlers share."""

    engine: Engine
    settings: Settings
    metrics: Metrics
    buckets: dict[str, tuple[float, float]] = field(default_factory=dict)
    tracing: Tracing = field(default_factory=Tracing)

    def check_rate(self, key: Key, now: float) -> None:
        """Raise a refusal if a key asks too often; it may ask for one second's worth at once."""
        rate = self.settings.limits.rate
        if rate is None:
            return
        room = max(rate, 1.0)
        left, since = self.buckets.get(key.id, (room, now))
        left = min(room, left + (now - since) * rate)
        if left < 1.0:
            wait = max(1, round((1.0 - left) / rate + 0.5))
            raise Refusal(
                429, f"key: may ask {rate:g} times a second, got more; wait", headers={"Retry-After": str(wait)}
            )
        self.buckets[key.id] = left - 1.0, now


@dataclass(frozen=True)
class Call:
    """One request, as a handler sees it."""

    service: Service
    key: Key | None
    params: Mapping[str, str]
    headers: Mapping[bytes, bytes]
    body: Any
    query: Mapping[str, str] = field(default_factory=dict)

    @property
    def bandit(self) -> str:
        return self.params["name"]

    async def ask(self, work: Callable[[Turn], T], writes: bool = True) -> T:
        """Let work happen, unless the key was revoked in the meantime."""
        key = self.key

        def run(turn: Turn) -> T:
            if key is not None and turn.state.keys.get(key.id) != key:
                raise unauthorized()
            return work(turn)

        return await self.service.engine.ask(run, writes)


@dataclass(frozen=True)
class Reply:
    """An answer: a status, and a message, raw content, or a stream of it."""

    status: int
    message: Any = None
    content: bytes | None = None
    kind: bytes = JSON
    stream: AsyncGenerator[bytes] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Parameter:
    """A parameter in the query or a header: its JSON schema, and what it means."""

    name: str
    where: str
    schema: Mapping[str, Any]
    text: str


@dataclass(frozen=True)
class Operation:
    """One method of one path.

    scope : that a key must have; None if no key is needed
    body : type of the request's body; None if it has none
    answers : types of the bodies of answers that are no errors, by status; None for what is not JSON
    errors : statuses of errors that it may answer beside those that all may
    toml : whether the body may be TOML too
    media : types of an answer that is not JSON
    parameters : in the query or in headers; if there are some, others in the query are refused
    uploads : media types of a body that is handed over as bytes
    """

    method: str
    path: str
    handler: Callable[[Call], Awaitable[Reply]]
    summary: str
    scope: str | None
    answers: Mapping[int, Any]
    body: Any = None
    errors: tuple[int, ...] = ()
    toml: bool = False
    media: tuple[str, ...] = ("text/plain",)
    parameters: tuple[Parameter, ...] = ()
    uploads: tuple[bytes, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"

    @cached_property
    def decoder(self) -> msgspec.json.Decoder[Any]:
        return msgspec.json.Decoder(self.body)


class Endpoint:
    """An operation as an ASGI application."""

    def __init__(self, operation: Operation, service: Service) -> None:
        self._operation, self._service = operation, service
        self._observe = service.metrics.route(operation.name)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        with self._service.tracing.span(self._operation.name, headers) as told:
            status, request = await self._answered(scope, headers, receive, send)
            bandit = scope["path_params"].get("name")
            told["http.response.status_code"], told["overcast.request"] = status, request
            told["overcast.bandit"] = None if bandit is None else keys.redacted(bandit)

    async def _answered(
        self, scope: Scope, headers: Mapping[bytes, bytes], receive: Receive, send: Send
    ) -> tuple[int, str]:
        """Answer a request; return the status and the id of the request."""
        begun = time.perf_counter()
        given = headers.get(b"x-request-id", b"")
        request = given.decode() if _REQUEST_ID.fullmatch(given) else _ids.draw()
        key: Key | None = None
        extra: dict[str, str] = {}
        try:
            key = self._admitted(headers)
            body = await self._body(headers, receive)
            params = scope["path_params"]
            if key is not None and "name" in params and not key.sees(params["name"]):
                raise unknown(params["name"])
            query = self._query(scope["query_string"])
            reply = await self._operation.handler(Call(self._service, key, params, headers, body, query))
        except Refusal as refusal:
            reply, extra = Reply(refusal.status, Failure(refusal.fault)), refusal.headers
        except Unavailable:
            gone = Refusal(503, "service: the log cannot be written or read now; try again")
            reply, extra = Reply(503, Failure(gone.fault)), {"Retry-After": "1"}
        except Exception:
            log.exception("request %s failed", request)
            reply = Reply(500, Failure(Refusal(500, "service: failed; its log says why, by the request's id").fault))
        await respond(receive, send, reply, {"x-request-id": request, **reply.headers, **extra})
        spent = time.perf_counter() - begun
        self._observe(reply.status, spent)
        if self._service.settings.log_requests:
            line = {
                "time": round(time.time(), 3),
                "request": request,
                "route": self._operation.name,
                "bandit": scope["path_params"].get("name"),
                "status": reply.status,
                "milliseconds": round(1000.0 * spent, 2),
                "key": None if key is None else key.id,
            }
            _requests.info("%s", keys.redacted(msgspec.json.encode(line).decode()))
        return reply.status, request

    def _admitted(self, headers: Mapping[bytes, bytes]) -> Key | None:
        """Return the key of a request; raise a refusal if it does not admit to this operation."""
        needed = self._operation.scope
        if needed is None:
            return None
        engine, now = self._service.engine, time.time()
        state = engine.state
        if state is None:
            raise Refusal(503, "service: is not ready, its log is being read; try again", headers={"Retry-After": "1"})
        scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
        key = None
        if scheme.lower() == b"bearer":
            key = keys.find(state.keys, engine.secret, given.strip().decode("ascii", "replace"), now)
        if key is None:
            raise unauthorized()
        self._service.check_rate(key, now)
        if not key.may(needed):
            raise Refusal(403, f"key: must have the scope {needed}, got one with {', '.join(key.scopes)}")
        return key

    def _query(self, raw: bytes) -> Mapping[str, str]:
        """Return the parameters in the query; raise a refusal for unknown ones, and for those given twice.

        Where there are none, a query does not matter.
        """
        known = [one.name for one in self._operation.parameters if one.where == "query"]
        if not known:
            return {}
        try:
            found = parse_qsl(raw.decode(), keep_blank_values=True, max_num_fields=100, errors="strict")
        except ValueError:
            raise Refusal(400, "query: must be names and values in UTF-8, got something else") from None
        out: dict[str, str] = {}
        for name, value in found:
            if name not in known or name in out:
                raise Refusal(422, f"query: must be {', '.join(known)}, each once, got {name[:80]!r}", name[:80])
            out[name] = value
        return out

    async def _body(self, headers: Mapping[bytes, bytes], receive: Receive) -> Any:
        limits, kind, uploads = self._service.settings.limits, self._operation.body, self._operation.uploads
        raw = await _received(headers, receive, limits.upload if uploads else limits.body)
        form = headers.get(b"content-type", JSON).partition(b";")[0].strip().lower()
        if uploads:
            if form not in uploads:
                raise Refusal(415, f"body: must be {' or '.join(one.decode() for one in uploads)}")
            return raw
        if kind is None:
            return None
        if form == TOML and self._operation.toml:
            raw = from_toml(raw)
        elif form != JSON:
            raise Refusal(415, f"body: must be application/json{' or application/toml' * self._operation.toml}")
        if raw.count(b"[") + raw.count(b"{") > limits.depth and depth(raw) > limits.depth:
            raise Refusal(400, f"body: lists and objects must be nested at most {limits.depth} deep, got more")
        return decoded(raw, self._operation.decoder)


def from_toml(raw: bytes) -> bytes:
    """Return TOML as the JSON that means the same; raise a refusal (400) if there is none."""
    try:
        if _LONG_KEY.search(raw):
            raise ValueError("a key with very many parts")
        return json.dumps(tomllib.loads(raw.decode()), allow_nan=False).encode()
    except (ValueError, TypeError, RecursionError) as error:
        reason = str(error).splitlines()[0][:200]
        raise Refusal(
            400, f"body: must be TOML without dates, NaN and infinities, got something else: {reason}"
        ) from None


def decoded(raw: bytes, decoder: msgspec.json.Decoder[T]) -> T:
    """Return a body; raise a refusal for what is no JSON (400), or not of the right form (422)."""
    try:
        return decoder.decode(raw)
    except msgspec.ValidationError as error:
        raise malformed(error) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError) as error:
        reason = "nested too deep" if isinstance(error, RecursionError) else str(error).splitlines()[0][:200]
        raise Refusal(400, f"body: must be JSON, got something else: {reason}") from None


def converted(data: Any, kind: type[T]) -> T:
    """Return one item of a batch as its type."""
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise malformed(error) from None


def malformed(error: msgspec.ValidationError) -> Refusal:
    """Return the refusal for data of the wrong form, with the field that was wrong."""
    message, _, where = str(error).partition(" - at `$")
    at = where.rstrip("`").lstrip(".") or None
    return Refusal(422, f"body: {message[:1].lower()}{message[1:]}" + (f", at {at}" if at else ""), at)


async def _received(headers: Mapping[bytes, bytes], receive: Receive, limit: int) -> bytes:
    stated = headers.get(b"content-length", b"0")
    if not stated.isdigit() or int(stated[:20]) > limit:
        raise _too_large(limit)
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refusal(400, "body: must be whole, got a part of it")
        part = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise _too_large(limit)
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts) if len(parts) > 1 else parts[0]


def _too_large(limit: int) -> Refusal:
    return Refusal(413, f"body: must have {limit} bytes at most", headers={"Connection": "close"})


def depth(raw: bytes) -> int:
    """Return how deep lists and objects are nested in JSON text."""
    level = deepest = 0
    for bracket in _BRACKETS.sub(b"", raw):
        level += 1 if bracket in b"[{" else -1
        deepest = max(deepest, level)
    return deepest


async def respond(receive: Receive, send: Send, reply: Reply, headers: Mapping[str, str]) -> None:
    """Send an answer."""
    content = reply.content
    if content is None and reply.stream is None:
        content = msgspec.json.encode(reply.message)
    head = [
        (b"content-type", reply.kind),
        *([] if content is None else [(b"content-length", str(len(content)).encode())]),
        *((name.lower().encode(), value.encode()) for name, value in headers.items()),
        *ALWAYS,
    ]
    if reply.status == 401:
        head.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": reply.status, "headers": head})
    if reply.stream is not None:
        await stream(receive, send, reply.stream)
    await send({"type": "http.response.body", "body": content or b""})


async def stream(receive: Receive, send: Send, parts: AsyncGenerator[bytes]) -> None:
    """Send the parts of a body, until the client leaves."""
    leaving = asyncio.create_task(_left(receive))
    try:
        async with contextlib.aclosing(parts):
            async for part in parts:
                if leaving.done():
                    break
                await send({"type": "http.response.body", "body": part, "more_body": True})
    finally:
        leaving.cancel()


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        await asyncio.sleep(0.1)


def unauthorized() -> Refusal:
    """Return the refusal for a request without a valid key."""
    return Refusal(401, "key: must be a valid one, as Authorization: Bearer <key>")


def digest(value: Any) -> str:
    """Return a hash of a request that does not depend on the order of its fields."""
    return hashlib.blake2b(msgspec.json.encode(value, order="sorted"), digest_size=16).hexdigest()
