"""Sessions, tokens and headers, as a browser meets them."""

from __future__ import annotations

import http.client
import logging
from pathlib import Path

import pytest

from browser_support import site
from dashboard_support import Visitor
from overcast.service import Limits, Settings
from overcast.service.dashboard.screens import SCREENS
from overcast.service.fold import Open
from overcast.service.keys import new_key
from overcast.service.store import Unavailable, open_store
from service_support import Api, served

FILLED = {"name": "farm", "id": "x"}
PRIVATE = [(method, path.format(**FILLED)) for method, path, _, public in SCREENS if not public]
FORMS = [path.format(**FILLED) for method, path, _, _ in SCREENS if method == "POST"]


@pytest.mark.parametrize("path", [path for method, path in PRIVATE if method == "GET"])
def test_without_a_session_every_page_leads_to_the_sign_in(api: Api, path: str) -> None:
    answer = Visitor(api).get(path)
    assert answer.status == 303
    assert answer.headers["location"].startswith("/sign-in")
    assert "farm" not in str(answer.body)
    live = Visitor(api).get(path, **{"hx-request": "true"})
    assert (live.status, live.headers["hx-redirect"]) == (401, "/sign-in")


def test_a_key_in_a_header_is_no_session(api: Api) -> None:
    assert api.get("/").status == 303


@pytest.mark.parametrize("path", FORMS)
def test_every_form_needs_its_token(api: Api, path: str) -> None:
    visitor = Visitor(api).sign_in()
    other = Visitor(api).sign_in()
    with api.unchanged():
        for token in ("", "0" * 64, other.token):
            answer = visitor.post(path, {"token": token, "key": api.key})
            assert answer.status == 403
            assert "must come from a page of this session" in answer.body
        assert visitor.post(path, {}, **{"sec-fetch-site": "cross-site"}).status == 403
    assert visitor.get("/").status == 200  # nobody was signed out


def test_signing_in_makes_a_new_session_whatever_the_browser_sent(api: Api) -> None:
    visitor = Visitor(api)
    visitor.get("/sign-in")
    planted, token = dict(visitor.cookies), visitor.token
    visitor.post("/sign-in", {"key": api.key})
    assert visitor.cookies.keys() == planted.keys()
    assert visitor.cookies != planted
    thief = Visitor(api)
    thief.cookies, thief.token = planted, token
    assert thief.get("/").status == 303
    again = Visitor(api)
    again.cookies, again.token = dict(visitor.cookies), visitor.token
    again.get("/")
    again.post("/sign-in", {"key": api.key})
    assert again.cookies != visitor.cookies


def test_made_up_cookies_are_none(api: Api) -> None:
    for value in ("x", "W10.x", "a=b; c", '"', "\\"):
        visitor = Visitor(api)
        visitor.cookies = {"overcast_session": value}
        assert visitor.get("/").status == 303


@pytest.mark.parametrize(
    "foreign", ['prefs={"theme":"dark"}', "a[b]=1", "overcast_session=x", f"overcast_session={'x' * 43}", "flag", '"']
)
def test_cookies_of_other_applications_lock_nobody_out(api: Api, foreign: str) -> None:
    """A browser sends the cookies of all ports of a host, and first those that were set for a longer path."""
    visitor = Visitor(api)
    visitor.foreign = foreign
    visitor.sign_in()
    assert visitor.post("/bandits/farm/ask", {"mean": "1, 2", "sd": "1"}).status == 303
    assert visitor.post("/sign-out").status == 303
    assert visitor.get("/").status == 303


def test_a_session_outlives_a_restart_and_holds_in_every_process(postgres: str) -> None:
    one, two = Api(Settings(), open_store(postgres)), Api(Settings(), open_store(postgres))
    one.key = two.key = one.key or two.key
    visitor, elsewhere = Visitor(one).sign_in(), Visitor(two)
    elsewhere.cookies = dict(visitor.cookies)
    assert elsewhere.get("/").status == 200
    one.stop()
    three = Api(Settings(), open_store(postgres))
    visitor.api = three
    assert visitor.get("/").status == 200
    assert elsewhere.post("/sign-out").status == 303
    assert visitor.get("/").status == 303  # it has ended everywhere
    for api in (two, three):
        api.stop()


def test_a_database_that_fails_is_told_as_a_page(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    visitor = Visitor(api).sign_in()

    def fails(*args: object) -> None:
        raise Unavailable("database: secret path")

    monkeypatch.setattr(api.engine.store, "find_session", fails)
    answer = visitor.get("/")
    assert answer.status == 503
    assert "secret path" not in answer.body


def test_signing_out_ends_the_session_and_its_copies(api: Api) -> None:
    visitor = Visitor(api).sign_in()
    copy = Visitor(api)
    copy.cookies = dict(visitor.cookies)
    assert copy.get("/").status == 200
    assert visitor.post("/sign-out").status == 303
    assert visitor.cookies == {}
    assert copy.get("/").status == 303


def test_revoking_a_key_ends_its_sessions_at_once(api: Api) -> None:
    key = api.new_key("read")
    visitor = Visitor(api).sign_in(key)
    assert api.ask("DELETE", f"/v1/keys/{key.split('_')[1]}").status == 200
    assert visitor.get("/").status == 303


def test_cookies_cannot_be_read_or_sent_by_others(api: Api) -> None:
    for scheme in ("http", "https"):
        visitor = Visitor(api, scheme)
        parts = visitor.get("/sign-in").headers["set-cookie"].split("; ")
        assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(parts)
        assert ("Secure" in parts) == (scheme == "https")
        visitor.sign_in()


def test_a_proxy_with_tls_on_this_machine_makes_cookies_secure(tmp_path: Path) -> None:
    with site(tmp_path) as real:
        for scheme in ("http", "https"):
            connection = http.client.HTTPConnection("127.0.0.1", real.port, timeout=20)
            connection.request("GET", "/sign-in", headers={"X-Forwarded-Proto": scheme})
            header = connection.getresponse().headers["set-cookie"]
            connection.close()
            assert ("Secure" in header.split("; ")) == (scheme == "https") == header.startswith("__Host-")


def test_every_answer_has_the_headers(api: Api) -> None:
    visitor = Visitor(api).sign_in()
    answers = [
        visitor.get(path) for path in ("/", "/new", "/keys", "/sign-in", "/bandits/none", "/static/dashboard.css")
    ]
    for answer in answers:
        assert "default-src 'self'" in answer.headers["content-security-policy"]
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_errors_are_pages_without_tracebacks(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    visitor = Visitor(api).sign_in()
    answer = visitor.get("/bandits/none")
    assert answer.status == 404
    assert "must be one that exists" in answer.body

    def fails(*args: object) -> None:
        raise Unavailable("database: secret path")

    monkeypatch.setattr(api.engine.store, "latest", fails)
    answer = visitor.get("/bandits/farm")
    assert answer.status == 503
    assert "secret path" not in answer.body

    def breaks(*args: object) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr(api.engine.store, "latest", breaks)
    logging.getLogger("overcast.service").setLevel(logging.CRITICAL)
    try:
        answer = visitor.get("/bandits/farm")
    finally:
        logging.getLogger("overcast.service").setLevel(logging.NOTSET)
    assert answer.status == 500
    assert "secret" not in answer.body
    assert "Traceback" not in answer.body


def test_limits(tmp_path: Path) -> None:
    with served(tmp_path, limits=Limits(rate=3.0)) as api:
        visitor = Visitor(api).sign_in()
        answers = [visitor.get("/") for _ in range(4)]
        assert answers[-1].status == 429
        assert int(answers[-1].headers["retry-after"]) >= 1
        key = api.key
    with served(tmp_path) as api:
        visitor = Visitor(api)
        visitor.get("/sign-in")
        assert visitor.post("/sign-in", {"key": "x" * 20_000}).status == 413  # nobody knows yet who it is
        visitor.sign_in(key)
        assert visitor.post("/new", {"name": "x" * 20_000}).status == 422
        assert visitor.post("/new", {"name": "x" * 2_000_000}).status == 413


def test_requests_are_logged_without_secrets(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "overcast.service.requests"):
        visitor = Visitor(api).sign_in()
    assert '"route":"POST /sign-in"' in caplog.text
    secret = api.key.split("_", 2)[2]
    assert secret not in caplog.text
    assert next(iter(visitor.cookies.values())) not in caplog.text
    with caplog.at_level(logging.INFO, "overcast.service.requests"):
        visitor.get(f"/bandits/{api.key}")  # pasted into the wrong place
    assert f"{api.key[:19]}_..." in caplog.text
    assert secret not in caplog.text


def test_what_nobody_may_do_is_refused_as_over_the_api(api: Api) -> None:
    visitor = Visitor(api).sign_in(api.new_key("read"))
    id_ = api.decide()["id"]
    path = f"/bandits/farm/decisions/{id_}"
    assert visitor.get(path).status == 200
    with api.unchanged():
        for form, fields in (
            ("/new", {"name": "x", "actions": "a\nb", "features": "Disjoint"}),
            ("/keys", {"name": "x", "scope": "admin"}),
            ("/bandits/farm/ask", {"mean": "1, 2"}),
            (f"{path}/outcome", {"reward": "1"}),
            (f"{path}/cancel", {}),
        ):
            assert visitor.post(form, {**fields}).status == 403, form
    assert visitor.get("/keys").status == 403
    assert visitor.get("/new").status == 403


@pytest.mark.parametrize("time", [1e15, -1e15, 253_402_300_800.0, float("inf"), float("nan")])
def test_pages_show_any_time_that_is_stored(api: Api, time: float) -> None:
    key = new_key(api.engine.secret, "far", ("read",), ("*",), 0.0, time)[0]
    api.state.keys = api.state.keys | {key.id: key}
    api.outcome(api.decide()["id"], reward=1.0)
    life = api.state.lives["farm"]
    life.created = time
    life.open["old"] = Open(time)
    visitor = Visitor(api).sign_in()
    for path in ("/", "/keys", "/bandits/farm"):
        assert visitor.get(path).status == 200
