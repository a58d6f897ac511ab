"""Sessions: kept as hashes, ended, and no one else's."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from overcast.service.dashboard.sessions import (
    LENGTH,
    MOST,
    Session,
    Sessions,
    cookie_name,
    cookie_values,
    is_token,
    new_session,
    set_cookie,
    token,
)
from overcast.service.store import SqliteStore


@pytest.fixture
def sessions(tmp_path: Path) -> Iterator[Sessions]:
    store = SqliteStore(tmp_path / "log.db")
    yield Sessions(store)
    store.close()


def test_a_session_comes_back_as_it_was(sessions: Sessions, tmp_path: Path) -> None:
    session = sessions.begin("abc", 100.0)
    assert session.key == "abc"
    assert sessions.find(session.values, 100.0) == session
    assert sessions.find(("x", *new_session().values, *session.values), 100.0) == session  # among others
    sessions._store.close()
    again = SqliteStore(tmp_path / "log.db")
    assert Sessions(again).find(session.values, 100.0) == session  # a restart does not end it
    again.close()


def test_what_was_not_begun_here_is_no_session(sessions: Sessions, tmp_path: Path) -> None:
    session = sessions.begin("abc", 100.0)
    db = sqlite3.connect(tmp_path / "log.db")
    ((digest, *_),) = db.execute("SELECT * FROM sessions").fetchall()
    db.close()
    for value in ("", session.values[0][:-1], digest, token(session), *new_session().values, "é"):
        assert sessions.find((value,), 100.0) is None
    assert sessions.find((), 100.0) is None
    assert sessions.find((*(str(i) for i in range(MOST)), *session.values), 100.0) is None  # too many


def test_a_session_ends_by_itself_and_by_signing_out(sessions: Sessions, tmp_path: Path) -> None:
    one, other = sessions.begin("abc", 0.0), sessions.begin("abc", 0.0)
    assert one != other
    assert sessions.find(one.values, LENGTH - 1.0) == one
    assert sessions.find(one.values, LENGTH) is None
    sessions.end(one)
    assert sessions.find(one.values, 1.0) is None
    assert sessions.find(other.values, 1.0) == other
    sessions.begin("abc", LENGTH + 1.0)
    db = sqlite3.connect(tmp_path / "log.db")
    assert db.execute("SELECT count(*) FROM sessions").fetchone() == (1,)  # those that have ended are deleted
    db.close()


def test_tokens_belong_to_one_session() -> None:
    one, other = new_session(), new_session()
    assert is_token(one, token(one))
    assert is_token(Session((*other.values, *one.values)), token(one))  # a browser may send the cookies of both
    for given in ("", token(other), *one.values, "é"):
        assert not is_token(one, given)


@pytest.mark.parametrize("secure", [False, True])
def test_cookies(secure: bool) -> None:
    header = set_cookie("value", secure)
    assert header.startswith(f"{cookie_name(secure)}=value; Path=/;")
    assert {"HttpOnly", "SameSite=Strict"} <= set(header.split("; "))
    assert ("Secure" in header.split("; ")) == secure == header.startswith("__Host-")


def test_cookies_of_others_do_not_matter() -> None:
    name, one, other = cookie_name(False), "a" * 43, "B-_4" * 10 + "xyz"
    assert cookie_values(f"{name}={one}", False) == (one,)
    assert cookie_values(f"{name}={one}", True) == ()
    for foreign in ('prefs={"theme":"dark"}', "a[b]=1", "flag", "=", '"', "x=é", "", f"{name}=", f'{name}="{one}"'):
        assert cookie_values(f"{foreign}; {name}={one};{foreign};  {name} = {other}; {name}={one}", False) == (
            one,
            other,
        )
