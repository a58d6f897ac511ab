"""Keys: random, shown once, stored as a keyed hash.

A key holds 256 random bits, which nobody can guess however fast the hash is. So a keyed BLAKE2b is right. A slow hash
protects what people make up; here it would only slow down every request. Without the secret of the database, a hash
does not even tell whether a key that leaked elsewhere is valid here.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from fnmatch import fnmatchcase

import msgspec

SCOPES = ("admin", "decide", "outcome", "read")
_FORM = re.compile(r"oc_([0-9a-f]{16})_([A-Za-z0-9_-]{43})")


def redacted(text: str) -> str:
    """Return a text without the secret parts of keys that may stand in it.

    Examples
    --------
    >>> redacted(f"/v1/bandits/oc_0123456789abcdef_{'A' * 43}/log")
    '/v1/bandits/oc_0123456789abcdef_.../log'
    """
    return _FORM.sub(r"oc_\1_...", text) if "oc_" in text else text


class Key(msgspec.Struct, frozen=True):
    """A key, without its secret part.

    id : public part of it
    name : what it is for
    digest : keyed hash, in hexadecimal digits
    scopes : what it may do; `admin` may do everything
    bandits : patterns of names of the bandits that it may see, such as `shop-*`
    created, expires : in seconds since 1970 (UTC); None if it does not expire
    """

    id: str
    name: str
    digest: str
    scopes: tuple[str, ...]
    bandits: tuple[str, ...]
    created: float
    expires: float | None = None

    def usable(self, now: float) -> bool:
        """Return whether the key has not expired."""
        return self.expires is None or now < self.expires

    def may(self, scope: str) -> bool:
        """Return whether the key has a scope."""
        return scope in self.scopes or "admin" in self.scopes

    @property
    def whole(self) -> bool:
        """Whether the key may see and make keys, if it has the scope admin: `*` must be among its patterns."""
        return "*" in self.bandits

    def sees(self, bandit: str) -> bool:
        """Return whether the key may know of a bandit."""
        return any(fnmatchcase(bandit, pattern) for pattern in self.bandits)


def new_key(
    secret: bytes, name: str, scopes: tuple[str, ...], bandits: tuple[str, ...], now: float, expires: float | None
) -> tuple[Key, str]:
    """Make a key: return the record to store, and the key itself, which is not stored."""
    public, private = secrets.token_hex(8), secrets.token_urlsafe(32)
    return Key(public, name, _digest(secret, private), scopes, bandits, now, expires), f"oc_{public}_{private}"


def find(keys: dict[str, Key], secret: bytes, given: str, now: float) -> Key | None:
    """Return the record of a key that came with a request; None unless it is valid now."""
    parts = _FORM.fullmatch(given)
    if parts is None:
        return None
    key = keys.get(parts[1])
    right = hmac.compare_digest(_digest(secret, parts[2]), "0" * 64 if key is None else key.digest)
    return key if key is not None and right and key.usable(now) else None


def _digest(secret: bytes, private: str) -> str:
    return hashlib.blake2b(private.encode(), key=secret, digest_size=32).hexdigest()
