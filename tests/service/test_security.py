"""What must not happen, tried on every operation of the service."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import logging
import re
import sqlite3
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest

from dashboard_support import Visitor
from overcast.service import Limits, Settings
from overcast.service.app import OPERATIONS
from overcast.service.http import Operation
from overcast.service.keys import SCOPES, new_key
from overcast.service.store import open_store
from service_support import FARM, GAUSSIAN, Answer, Api, served

LOCKED = [one for one in OPERATIONS if one.scope is not None]
#: a valid body for each operation that takes one
BODIES: dict[str, Any] = {
    "POST /v1/bandits": FARM | {"name": "new"},
    "PATCH /v1/bandits/{name}": {"policy": "Greedy"},
    "POST /v1/bandits/{name}/estimate": {"belief": GAUSSIAN},
    "POST /v1/bandits/{name}/actions": {"actions": {"more": [0.1, 0.2]}},
    "PATCH /v1/bandits/{name}/actions/{action:path}": {"vector": [0.1, 0.2]},
    "POST /v1/bandits/{name}/decisions": {"belief": GAUSSIAN},
    "POST /v1/bandits/{name}/decisions/{id}/outcome": {"reward": 1.0},
    "POST /v1/bandits/{name}/outcomes": {"outcomes": [{"id": "d", "reward": 1.0}]},
    "PUT /v1/bandits/{name}/shadow": {"policy": "Greedy"},
    "POST /v1/bandits/{name}/erase": {"before": 1.0},
    "POST /v1/keys": {"name": "x", "scopes": ["read"]},
}


def path_of(one: Operation, bandit: str = "farm", other: str = "d") -> str:
    """Return the path of an operation about a bandit, and about a decision, an action or a key of it."""
    path = one.path.replace("{name}", quote(bandit, safe=""))
    return re.sub(r"{\w+(:path)?}", quote(other, safe=""), path)


def sent(api: Api, one: Operation, key: str | None, **names: str) -> Answer:
    """Send a request that would be fine with the right key."""
    body = BODIES.get(one.name)
    headers = {"Content-Type": one.uploads[0].decode()} if one.uploads else {}
    return api.ask(one.method, path_of(one, **names), body, key=key, headers=headers)


def expired_key(api: Api) -> str:
    """Return a key that was made an hour ago and lasted for a minute."""
    key, shown = new_key(api.engine.secret, "old", ("admin",), ("*",), time.time() - 3600.0, time.time() - 3540.0)
    api.engine.do(lambda turn: turn.append("", "key", {"event": "key", "key": key}))
    return shown


def test_every_operation_with_a_body_has_one_here() -> None:
    assert {one.name for one in OPERATIONS if one.body is not None} == set(BODIES)


@pytest.mark.parametrize("one", LOCKED, ids=lambda one: one.name)
def test_nobody_gets_in_without_a_valid_key(api: Api, one: Operation) -> None:
    revoked = api.new_key("admin")
    api.ask("DELETE", f"/v1/keys/{revoked.split('_')[1]}")
    expired = expired_key(api)
    other = api.new_key("admin")
    mixed = f"oc_{other.split('_')[1]}_{api.key.split('_', 2)[2]}"
    with api.unchanged():
        for key in ("", "x", revoked, expired, mixed, f"{api.key} ", f"{api.key}A", api.key.upper(), api.key[:-1]):
            if key.strip() == api.key:
                continue  # blanks around a header do not count
            answer = sent(api, one, key)
            api.refused(answer, 401, "must be a valid one")
            assert answer.headers["www-authenticate"] == "Bearer"
        for header in (f"Basic {api.key}", api.key, f"Bearer: {api.key}", "Bearer"):
            answer = api.ask(one.method, path_of(one), BODIES.get(one.name), headers={"Authorization": header})
            api.refused(answer, 401, "must be a valid one")


@pytest.mark.parametrize("one", LOCKED, ids=lambda one: one.name)
def test_a_key_of_another_scope_gets_403_whatever_the_bandit(api: Api, one: Operation) -> None:
    keys = [api.new_key(scope) for scope in SCOPES if scope not in ("admin", one.scope)]
    with api.unchanged():
        for key in keys:
            for bandit in ("farm", "nobody"):
                api.refused(sent(api, one, key, bandit=bandit), 403, f"must have the scope {one.scope}")


@pytest.mark.parametrize("one", [one for one in LOCKED if "{name}" in one.path], ids=lambda one: one.name)
def test_hidden_bandits_are_as_unknown_ones(api: Api, one: Operation) -> None:
    narrow = api.new_key("admin", bandits=["shop-*"])
    with api.unchanged():
        hidden = sent(api, one, narrow, bandit="farm")
        unknown = sent(api, one, narrow, bandit="harm")
    api.refused(hidden, 404, "'farm'")
    assert hidden.status == unknown.status
    assert str(hidden.body).replace("farm", "harm") == str(unknown.body)
    varied = {"x-request-id"}
    assert {k: v for k, v in hidden.headers.items() if k not in varied} == {
        k: v for k, v in unknown.headers.items() if k not in varied
    }


SQL = ["'; DROP TABLE log; --", "x' OR '1'='1", "farm' UNION SELECT value FROM secret --", "$1", "%s", "\\'; --"]


@pytest.mark.parametrize("text", SQL)
def test_sql_in_names_is_only_text(api: Api, text: str) -> None:
    with api.unchanged():
        for one in LOCKED:
            if "{name}" in one.path:
                api.refused(sent(api, one, None, bandit=text), 422 if one.uploads else 404, "must")
            if re.search(r"{(id|action:path)}", one.path):
                api.refused(sent(api, one, None, other=text), 404, "must be one")
        api.refused(api.post("/v1/bandits/farm/decisions", {"belief": GAUSSIAN, "id": text}), 422, "must match")
        api.refused(api.post("/v1/bandits", FARM | {"name": text}), 422, "must match")
    added = api.post("/v1/bandits/farm/actions", {"actions": {text: [0.1, 0.1]}})  # any name will do for an action
    assert added.status == 201
    assert api.decide(available=[text])["action"] == text


@pytest.mark.parametrize("text", SQL[:2])
def test_sql_on_postgres_too(postgres: str, text: str) -> None:
    api = Api(Settings(), open_store(postgres))
    api.post("/v1/bandits", FARM)
    api.refused(api.get(f"/v1/bandits/{quote(text, safe='')}"), 404, "must be one that exists")
    api.refused(api.get(f"/v1/bandits/farm/decisions/{quote(text, safe='')}"), 404, "must be one of the bandit")
    api.post("/v1/bandits/farm/actions", {"actions": {text: [0.1, 0.1]}})
    made = api.decide(available=[text])
    assert api.get(f"/v1/bandits/farm/decisions/{made['id']}").body["record"]["action"] == text
    api.stop()


def test_no_secret_is_logged_or_answered(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    made, answers = [api.new_key(scope) for scope in SCOPES], []
    with caplog.at_level(logging.DEBUG):
        for key in (*made, api.key):
            answers += [sent(api, one, key) for one in LOCKED if one.method != "DELETE"]
            answers.append(api.get("/v1/bandits", key=f"{key}x"))
            # Keys in wrong places: the one who asks may see them again, the log may not.
            api.get(f"/v1/bandits/{key}", key=key, headers={"X-Request-Id": key})
            api.get(f"/v1/bandits/{quote(f'a {key} b', safe='')}", key=key)
    secrets = [key.split("_", 2)[2] for key in (*made, api.key)] + [api.engine.secret.hex()]
    assert len(caplog.records) > 50
    assert not any(secret in caplog.text for secret in secrets)
    assert not any(secret in str(one) for one in answers for secret in secrets)


def test_no_answer_holds_a_traceback(api: Api) -> None:
    bodies: list[Any] = [None, b"", b"{", b"\xff", [], {}, "x", {"belief": []}, {"actions": 3}, {"reward": None}]
    for one in OPERATIONS:
        for body in bodies:
            if one.name == "DELETE /v1/bandits/{name}":
                continue
            answer = api.ask(one.method, path_of(one), body)
            text = str(answer.body)
            assert answer.status < 500, (one.name, body, text)
            assert not re.search(r"Traceback|File \"|\.py\b|line \d+, in", text), text


def signed_cookie(secret: bytes, key: str) -> tuple[str, str]:
    """Return a cookie that names a key and is signed with a secret, and the token of its forms."""
    inner = hashlib.blake2b(key=secret, person=b"dashboard").digest()
    session = json.dumps(["n" * 24, key, time.time() + 3600.0]).encode()
    text = base64.urlsafe_b64encode(session).decode().rstrip("=")

    def signature(words: str) -> str:
        return hmac.new(inner, words.encode(), hashlib.sha256).hexdigest()

    return f"{text}.{signature(f'session:{text}')}", signature(f"form:{'n' * 24}")


def check_stolen(api: Api, stolen: list[tuple[Any, ...]], secret: bytes) -> None:
    """Check that nobody gets in with what a copy of the database holds, in any place where a key or a cookie goes.

    stolen : all rows of all tables
    """
    held = {value.hex() if isinstance(value, bytes) else str(value) for row in stolen for value in row}
    held |= set(re.findall(r"[0-9A-Za-z_-]{16,}", " ".join(held)))  # also what stands inside of JSON
    id_ = api.key.split("_")[1]
    assert {id_, secret.hex(), *(one.digest for one in api.state.keys.values())} <= held
    assert api.key.split("_", 2)[2] not in held
    words = [*held, *(base64.urlsafe_b64encode(hashlib.blake2b(word.encode()).digest()).decode()[:43] for word in held)]
    forged = [(word, token) for word in words for token in (word, hashlib.sha256(word.encode()).hexdigest())]
    forged += [signed_cookie(secret, key) for key in api.state.keys]
    with api.unchanged():
        for cookie, token in forged:
            if not cookie.isprintable() or not cookie.isascii():
                continue
            thief = Visitor(api)
            thief.cookies, thief.token = {"overcast_session": cookie}, token
            assert thief.get("/").status == 303, cookie
            assert thief.post("/keys", {"name": "mine", "scope": ["admin"]}).status in (303, 403), cookie
        for word in held:
            for key in (word, f"oc_{id_}_{word}", f"oc_{id_}_{word[:43]}"):
                if key.isprintable() and key.isascii():
                    assert api.get("/v1/keys", key=key or "x").status == 401


def test_a_stolen_copy_of_the_database_lets_nobody_in(api: Api, tmp_path: Path) -> None:
    owner = Visitor(api).sign_in()
    api.outcome(api.decide()["id"], reward=1.0)
    copy = sqlite3.connect(tmp_path / "copy.db")
    source = sqlite3.connect(tmp_path / "log.db")
    source.backup(copy)
    tables = [name for (name,) in copy.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    stolen = [row for table in tables for row in copy.execute(f'SELECT * FROM "{table}"').fetchall()]
    (secret,) = copy.execute("SELECT value FROM secret").fetchone()
    copy.close()
    source.close()
    check_stolen(api, stolen, secret)
    assert owner.get("/keys").status == 200  # while whoever signed in is still let in
    assert next(iter(owner.cookies.values())) not in str(stolen)


def test_a_stolen_copy_of_postgres_lets_nobody_in(postgres: str) -> None:
    api = Api(Settings(), open_store(postgres))
    owner = Visitor(api).sign_in()
    with psycopg.connect(postgres) as db:
        names = db.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        stolen = [row for (name,) in names for row in db.execute(f'SELECT * FROM "{name}"').fetchall()]
        found = db.execute("SELECT value FROM secret").fetchone()
    assert found is not None
    check_stolen(api, stolen, bytes(found[0]))
    assert owner.get("/keys").status == 200
    assert next(iter(owner.cookies.values())) not in str(stolen)
    api.stop()


def test_a_key_is_replaced_without_a_gap(api: Api) -> None:
    old = api.new_key("decide", bandits=["farm"])
    new = api.new_key("decide", bandits=["farm"])
    for key in (old, new):
        assert api.post("/v1/bandits/farm/decisions", {"belief": GAUSSIAN}, key=key).status == 201
    assert api.ask("DELETE", f"/v1/keys/{old.split('_')[1]}").status == 200
    assert api.post("/v1/bandits/farm/decisions", {"belief": GAUSSIAN}, key=old).status == 401
    assert api.post("/v1/bandits/farm/decisions", {"belief": GAUSSIAN}, key=new).status == 201


def test_revocation_works_at_once_on_all_processes(postgres: str) -> None:
    """The second process does not know of it yet when the request comes; it reads the log before it answers."""
    one, two = Api(Settings(), open_store(postgres)), Api(Settings(max_age=30.0), open_store(postgres))
    two.key = one.key = one.key or two.key
    one.post("/v1/bandits", FARM)
    for scope, method, path, body in (
        ("read", "GET", "/v1/bandits", None),
        ("read", "GET", "/metrics", None),
        ("read", "GET", "/v1/bandits/farm/log", None),
        ("decide", "POST", "/v1/bandits/farm/decisions", {"belief": GAUSSIAN}),
        ("admin", "GET", "/v1/keys", None),
    ):
        key = one.new_key(scope)
        two.get("/v1/bandits")  # reads the log, with the new key in it
        assert two.ask(method, path, body, key=key).status in (200, 201)
        assert one.ask("DELETE", f"/v1/keys/{key.split('_')[1]}").status == 200
        before = two.state.position
        two.refused(two.ask(method, path, body, key=key), 401, "must be a valid one")
        assert two.state.position > before  # it read the news, and nothing else happened
    for api in (one, two):
        api.stop()


def test_the_rate_of_one_key_does_not_slow_another(tmp_path: Path) -> None:
    with served(tmp_path, limits=Limits(rate=5.0)) as api:
        other = api.new_key("read")
        answers = [api.get("/v1/bandits") for _ in range(12)]
        limited = [one for one in answers if one.status == 429]
        assert limited
        api.refused(limited[0], 429, "5 times a second")
        wait = int(limited[0].headers["retry-after"])
        assert wait >= 1
        assert api.get("/v1/bandits", key=other).status == 200
        time.sleep(wait)
        assert api.get("/v1/bandits").status == 200
