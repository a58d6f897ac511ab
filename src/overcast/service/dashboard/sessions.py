"""Sessions of the dashboard: a cookie that the service has signed, and a token for every form.

A session names a key and holds nothing secret. Whoever revokes the key ends its sessions, since a page looks the key
up on every request. The cookie is signed with the secret of the database, so that every process of the service takes
it; nobody can make one up, and signing in makes a new one whatever the browser had sent.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets

import msgspec

#: seconds after which a session ends
LENGTH = 12 * 3600.0
_NAME, _SECURE_NAME = "overcast_session", "__Host-overcast_session"


class Session(msgspec.Struct, frozen=True, array_like=True):
    """Who looks at the dashboard.

    nonce : random, names the session
    key : id of the key that signed in; empty before
    expires : in seconds since 1970 (UTC)
    """

    nonce: str
    key: str
    expires: float


class Sessions:
    """Makes and reads sessions.

    Parameters
    ----------
    secret : of the database
    """

    def __init__(self, secret: bytes) -> None:
        self._secret = hashlib.blake2b(key=secret, person=b"dashboard").digest()
        # Sessions that were signed out, until they would have ended by themselves.
        self._ended: dict[str, float] = {}

    def new(self, now: float, key: str = "") -> Session:
        """Return a session with a new name."""
        return Session(secrets.token_urlsafe(18), key, now + LENGTH)

    def seal(self, session: Session) -> str:
        """Return a session as the value of a cookie."""
        text = base64.urlsafe_b64encode(msgspec.json.encode(session)).decode().rstrip("=")
        return f"{text}.{self._signature('session', text)}"

    def read(self, value: str, now: float) -> Session | None:
        """Return the session in a cookie; None if it was not signed here, or has ended."""
        text, _, signature = value.partition(".")
        if not hmac.compare_digest(signature.encode(), self._signature("session", text).encode()):
            return None
        session = msgspec.json.decode(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), type=Session)
        return session if now < session.expires and session.nonce not in self._ended else None

    def end(self, session: Session, now: float) -> None:
        """End a session, so that a copy of its cookie is worth nothing in this process."""
        self._ended = {nonce: expires for nonce, expires in self._ended.items() if now < expires}
        self._ended[session.nonce] = session.expires

    def token(self, session: Session) -> str:
        """Return what a form must send along; another site cannot know it."""
        return self._signature("form", session.nonce)

    def is_token(self, session: Session, given: str) -> bool:
        """Return whether a form sent the right token."""
        return hmac.compare_digest(given.encode(), self.token(session).encode())

    def _signature(self, purpose: str, text: str) -> str:
        return hmac.new(self._secret, f"{purpose}:{text}".encode(), hashlib.sha256).hexdigest()


def cookie_name(secure: bool) -> str:
    """Return the name of the cookie; behind TLS browsers refuse it from any other host or path."""
    return _SECURE_NAME if secure else _NAME


def set_cookie(value: str, secure: bool, age: float = LENGTH) -> str:
    """Return the header that sets the cookie: no script reads it, and no other site sends it."""
    parts = [f"{cookie_name(secure)}={value}", "Path=/", f"Max-Age={age:.0f}", "HttpOnly", "SameSite=Strict"]
    return "; ".join([*parts, "Secure"] if secure else parts)
