"""Running checksums."""

from __future__ import annotations

import binascii

from overcast.events import checksums


def test_a_checksum_is_that_of_all_entries_so_far() -> None:
    entries = [b"one", b"", b"two"]
    out = ""
    for entry in entries:
        out = checksums.checksum(out, entry)
    assert int(out, 16) == binascii.crc32(b"".join(entries))
    assert len(checksums.checksum("", b"")) == 8


def test_bytes_of_json_depend_on_its_content_alone() -> None:
    assert checksums.canonical({"b": [1, 2.0], "a": None}) == b'{"a":null,"b":[1,2.0]}'
    assert checksums.canonical({"a": "\ud800é"}) == b'{"a":"\\ud800\\u00e9"}'
