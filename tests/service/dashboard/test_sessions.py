"""Sessions: signed, ended, and no one else's."""

from __future__ import annotations

import pytest

from overcast.service.dashboard.sessions import LENGTH, Sessions, cookie_name, set_cookie

SECRET = b"s" * 32


def test_a_session_comes_back_as_it_was() -> None:
    sessions = Sessions(SECRET)
    session = sessions.new(100.0, "abc")
    assert sessions.read(sessions.seal(session), 100.0) == session
    assert Sessions(SECRET).read(sessions.seal(session), 100.0) == session  # every process takes it


def test_what_was_not_signed_here_is_no_session() -> None:
    sessions = Sessions(SECRET)
    sealed = sessions.seal(sessions.new(100.0, "abc"))
    text, _, signature = sealed.partition(".")
    other = sessions.seal(sessions.new(100.0, "other")).partition(".")[0]
    for value in ("", ".", "x.y", text, f"{text}.", f"{other}.{signature}", sealed[:-1], f"é.{signature}"):
        assert sessions.read(value, 100.0) is None
    assert Sessions(b"t" * 32).read(sealed, 100.0) is None


def test_a_session_ends_by_itself_and_by_signing_out() -> None:
    sessions = Sessions(SECRET)
    one, other = sessions.new(0.0, "abc"), sessions.new(0.0, "abc")
    assert one.nonce != other.nonce
    assert sessions.read(sessions.seal(one), LENGTH - 1.0) == one
    assert sessions.read(sessions.seal(one), LENGTH) is None
    sessions.end(one, 1.0)
    assert sessions.read(sessions.seal(one), 1.0) is None
    assert sessions.read(sessions.seal(other), 1.0) == other
    sessions.end(other, LENGTH + 1.0)
    assert len(sessions._ended) == 1  # what would have ended by itself is forgotten


def test_tokens_belong_to_one_session() -> None:
    sessions = Sessions(SECRET)
    one, other = sessions.new(0.0), sessions.new(0.0)
    assert sessions.is_token(one, sessions.token(one))
    for given in ("", sessions.token(other), sessions.seal(one), "é"):
        assert not sessions.is_token(one, given)


@pytest.mark.parametrize("secure", [False, True])
def test_cookies(secure: bool) -> None:
    header = set_cookie("value", secure)
    assert header.startswith(f"{cookie_name(secure)}=value; Path=/;")
    assert {"HttpOnly", "SameSite=Strict"} <= set(header.split("; "))
    assert ("Secure" in header.split("; ")) == secure == header.startswith("__Host-")
