"""Numbers and running checksums of the entries of a log, by which damage is noticed.

The checksum of an entry is the CRC-32 of all entries up to it, its number included. It notices damage: entries that
are changed, lost, repeated or moved. It is no protection against forgery, since whoever rewrites a log can compute it.
"""

from __future__ import annotations

import json
import zlib
from typing import Any

_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


def canonical(data: Any) -> bytes:
    """Return JSON data as bytes that do not depend on whitespace or on the order of keys."""
    return _encode(data).encode()


def checksum(before: str, content: bytes) -> str:
    """Return the checksum after an entry, in eight hexadecimal digits.

    before : the checksum before it; empty at the start

    Examples
    --------
    >>> checksum(checksum("", b"one"), b"two")
    '8c118145'
    """
    return f"{zlib.crc32(content, int(before or '0', 16)):08x}"
