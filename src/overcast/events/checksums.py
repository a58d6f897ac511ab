"""Running checksums of the entries of a log, which detect damage.

The checksum of an entry is the CRC-32 of all entries up to it, its number included. It detects entries that are
changed, lost, repeated or moved. It does not protect against forgery, since anyone who rewrites a log can compute it.
"""

from __future__ import annotations

import json
import zlib
from typing import Any

_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


def canonical(data: Any) -> bytes:
    """Encode JSON data as bytes, with sorted keys and without whitespace."""
    return _encode(data).encode()


def checksum(before: str, content: bytes) -> str:
    """Extend a running checksum by an entry; return eight hexadecimal digits.

    before : the checksum before the entry; empty at the start

    Examples
    --------
    >>> checksum(checksum("", b"one"), b"two")
    '8c118145'
    """
    return f"{zlib.crc32(content, int(before or '0', 16)):08x}"
