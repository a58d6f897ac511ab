"""Parquet files of strangers, read without taking more memory than a bound.

What a file says of its own size need not be true, and a value that stands in a dictionary once may stand for many rows.
So the headers of all pages are read before anything is decompressed, and texts stay in their dictionaries until their
lengths are added up. The footer and these headers are read here, because pyarrow ends the process where some of them
are damaged.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Any

#: rows that are decoded at once
BATCH = 1000
#: bytes that a row takes at least, beside its texts
ROW = 64
#: largest footer in bytes, and most pages
FOOTER, PAGES = 4_000_000, 100_000
#: encodings of values by their numbers in the format, which take no more room than the page or its dictionary: PLAIN,
#: PLAIN_DICTIONARY, RLE, BIT_PACKED and RLE_DICTIONARY
ENCODINGS = {0, 2, 3, 4, 8}
# Structs and lists inside of each other, in the footer and in headers of pages.
_DEPTH = 12


def batches(pa: Any, pq: Any, raw: bytes, needed: Sequence[str], also: Sequence[str], limit: int) -> Iterator[Any]:
    """Yield some columns of a Parquet file, a batch of rows at a time; texts and bytes are in dictionaries.

    Raise ValueError, before the values are decoded, if they would take more than a number of bytes.

    pa, pq : the modules `pyarrow` and `pyarrow.parquet`
    needed, also : names of columns that must be there, and that are read if they are there
    limit : bytes of all values, as they are once decoded
    """
    if _room(raw, {*needed, *also}) > limit:
        raise ValueError(_told(limit))
    with pq.ParquetFile(io.BytesIO(raw), pre_buffer=False) as file:
        schema = file.schema_arrow
    names = [name for name in schema.names if name in needed or name in also]
    if sorted(names) != sorted({*needed, *names}):
        raise ValueError(f"a Parquet file without the columns {', '.join(needed)}")
    if any(pa.types.is_nested(schema.field(name).type) for name in names):
        raise ValueError("a Parquet file with lists or structs in its columns")
    texts = [name for name in names if _is_text(pa, schema.field(name).type)]
    for name in names:
        if name not in texts and not _is_small(pa, schema.field(name).type):
            got = f"got {schema.field(name).type} in {name}"
            raise ValueError(f"columns must hold numbers, flags, texts or bytes as an export has them, {got}")
    total = 0
    with pq.ParquetFile(io.BytesIO(raw), read_dictionary=texts, pre_buffer=False) as file:
        for batch in file.iter_batches(BATCH, columns=names, use_threads=False):
            total += sum(_size(pa, column) for column in batch.columns)
            if total > limit:
                raise ValueError(_told(limit))
            yield batch


def _told(limit: int) -> str:
    return f"it must hold {limit} bytes at most"


def _is_text(pa: Any, kind: Any) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    known = pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary
    return any(one(kind) for one in known)


def _is_small(pa: Any, kind: Any) -> bool:
    """Return whether a value of this kind takes eight bytes at most, whatever the file says."""
    known = pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_null
    return any(one(kind) for one in known)


def _size(pa: Any, column: Any) -> int:
    """Return how many bytes the values of a column take outside of their dictionary."""
    import pyarrow.compute as pc

    if not pa.types.is_dictionary(column.type):
        return int(column.nbytes)
    lengths = pc.binary_length(column.dictionary).cast(pa.int64())
    return pc.sum(lengths.take(column.indices)).as_py() or 0


def _room(raw: bytes, names: set[str]) -> int:
    """Return how many bytes the rows of a file take, and the pages of some columns once decompressed.

    Field numbers are those of `FileMetaData` and `PageHeader` in the format's definition.
    """
    size = int.from_bytes(raw[-8:-4], "little")
    if raw[-4:] != b"PAR1" or not size <= min(len(raw) - 12, FOOTER):
        raise ValueError("no Parquet file, or one with a footer that is too large")
    try:
        footer, _ = _struct(raw, len(raw) - 8 - size, _DEPTH)
        total, pages = 0, 0
        for group in footer[4]:
            total += ROW * max(0, group[3])
            for chunk in group[1]:
                column = chunk[3]
                if len(column[3]) == 1 and column[3][0].decode() in names:
                    first = min(column[9], column.get(11, column[9]) or column[9])
                    room, number = _pages(raw, first, first + column[7])
                    total, pages = total + room, pages + number
                    if pages > PAGES:
                        raise ValueError(f"a Parquet file of more than {PAGES} pages")
    except (LookupError, TypeError, AttributeError):
        raise ValueError("a Parquet file that is damaged") from None
    return total


def _pages(raw: bytes, at: int, end: int) -> tuple[int, int]:
    """Return how many bytes the pages between two places take once decompressed, and how many pages there are."""
    total = number = 0
    if not 0 <= at <= end <= len(raw):
        raise ValueError("a Parquet file whose columns lie outside of it")
    while at < end and number <= PAGES:
        header, at = _struct(raw, at, _DEPTH)
        size, compressed = header[2], header[3]
        encodings = {header[i][j] for i, j in ((5, 2), (7, 2), (8, 4)) if i in header}
        if size < 0 or compressed < 0 or not encodings <= ENCODINGS:
            raise ValueError("a Parquet file with an encoding that no export has; take it as it was exported")
        total, at, number = total + size, at + compressed, number + 1
    return total, number


def _struct(raw: bytes, at: int, depth: int) -> tuple[dict[int, Any], int]:
    """Return the fields of a struct in Thrift's compact protocol by their numbers, and where it ends."""
    out: dict[int, Any] = {}
    field = 0
    while head := raw[at]:
        at += 1
        if head >> 4:
            field += head >> 4
        else:
            field, at = _integer(raw, at)
        if head & 15 in (1, 2):  # true and false are in the kind itself
            out[field] = head & 15 == 1
        else:
            out[field], at = _value(raw, at, head & 15, depth)
    return out, at + 1


def _value(raw: bytes, at: int, kind: int, depth: int) -> tuple[Any, int]:
    """Return a value and where it ends; raise LookupError for kinds that the format does not have."""
    if kind in (4, 5, 6):
        return _integer(raw, at)
    if kind == 8:
        size, at = _unsigned(raw, at)
        return raw[at : at + size], at + size
    if kind in (9, 10) and depth:
        size, of = raw[at] >> 4, raw[at] & 15
        at += 1
        if size == 15:
            size, at = _unsigned(raw, at)
        items = []
        for _ in range(size):
            item, at = _value(raw, at, of, depth - 1)
            items.append(item)
        return items, at
    if kind == 12 and depth:
        return _struct(raw, at, depth - 1)
    at += {1: 1, 2: 1, 3: 1, 7: 8}[kind]  # flags in lists, a byte, and a float
    if at > len(raw):
        raise LookupError
    return None, at


def _integer(raw: bytes, at: int) -> tuple[int, int]:
    out, at = _unsigned(raw, at)
    return (out >> 1) ^ -(out & 1), at


def _unsigned(raw: bytes, at: int) -> tuple[int, int]:
    out = shift = 0
    while shift <= 63:
        out |= (raw[at] & 127) << shift
        if raw[at] < 128:
            return out, at + 1
        at, shift = at + 1, shift + 7
    raise LookupError
