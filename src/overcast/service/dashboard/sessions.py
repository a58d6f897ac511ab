"""Sessions of the dashboard: a random cookie, of which the database holds a hash, and a token for every form.

The value of the cookie is 256 random bits. The database keeps its hash, the id of the key that signed in, and when the
session ends, so that every process of the service knows it and a restart does not end it. Whoever reads the database or
a backup of it learns no value that a browser could send, and there is no secret to sign one with. Whoever revokes the
key ends its sessions, since a page looks the key up on every request.

The token of a form is another hash of the same value, which only pages of that session show.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence

import msgspec

from overcast.service.store.base import Store

#: seconds after which a session ends
LENGTH = 12 * 3600.0
#: values that one request may bring; a browser sends a cookie several times if others set it for some paths
MOST = 100
_NAME, _SECURE_NAME = "overcast_session", "__Host-overcast_session"
_FORM = re.compile(r"[A-Za-z0-9_-]{43}")


class Session(msgspec.Struct, frozen=True):
    """Who looks at the dashboard.

    values : of the cookies whose pages may send forms; one if somebody has signed in
    key : id of the key that signed in; empty before
    """

    values: tuple[str, ...]
    key: str = ""


class Sessions:
    """Begins, finds and ends sessions.

    Parameters
    ----------
    store : keeps the hashes of sessions that have signed in
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def begin(self, key: str, now: float) -> Session:
        """Return a new session of a key."""
        session = new_session()
        self._store.begin_session(_hash("session", session.values[0]), key, now + LENGTH, now)
        return Session(session.values, key)

    def find(self, values: Sequence[str], now: float) -> Session | None:
        """Return the session that one of the values of cookies belongs to; None if it has ended or never was."""
        known = {_hash("session", value): value for value in values[:MOST]}
        found = self._store.find_session(list(known), now)
        return None if found is None else Session((known[found[0]],), found[1])

    def end(self, session: Session) -> None:
        """End a session, so that a copy of its cookie is worth nothing."""
        for value in session.values:
            self._store.end_session(_hash("session", value))


def new_session() -> Session:
    """Return a session of somebody who has not signed in; it is not stored."""
    return Session((secrets.token_urlsafe(32),))


def token(session: Session) -> str:
    """Return the token that a form must send; another site cannot know it."""
    return _hash("form", session.values[0])


def is_token(session: Session, given: str) -> bool:
    """Return whether a form sent the token of a page of this session."""
    return any(hmac.compare_digest(given.encode(), _hash("form", value).encode()) for value in session.values)


def cookie_name(secure: bool) -> str:
    """Return the name of the cookie; behind TLS browsers refuse it from any other host or path."""
    return _SECURE_NAME if secure else _NAME


def cookie_values(header: str, secure: bool) -> tuple[str, ...]:
    """Return the values in a header `Cookie` that may be sessions; what other applications set does not matter.

    Cookies do not know of ports, and browsers take nearly every character: `prefs={"theme":"dark"}` may come before.
    """
    pairs = (part.partition("=") for part in header.split(";"))
    name = cookie_name(secure)
    found = (value.strip() for given, _, value in pairs if given.strip() == name)
    return tuple(dict.fromkeys(value for value in found if _FORM.fullmatch(value)))[:MOST]


def set_cookie(value: str, secure: bool, age: float = LENGTH) -> str:
    """Return the header that sets the cookie: no script reads it, and no other site sends it."""
    parts = [f"{cookie_name(secure)}={value}", "Path=/", f"Max-Age={age:.0f}", "HttpOnly", "SameSite=Strict"]
    return "; ".join([*parts, "Secure"] if secure else parts)


def _hash(purpose: str, value: str) -> str:
    return hashlib.blake2b(value.encode(), person=purpose.encode(), digest_size=32).hexdigest()
