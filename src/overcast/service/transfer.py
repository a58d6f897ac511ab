"""The log of a bandit as JSON lines or Parquet, and back.

`COLUMNS` is the schema. The first nine columns are the log itself, from which an import rebuilds the bandit to the
byte; the others are read off the events, for those who analyse or evaluate the log.

An export numbers its rows and gives each a running checksum, which is computed while it is written: rows in the
database have none. Its last row, of the kind `close`, is no row of the log: without it the end of the file is lost.
"""

from __future__ import annotations

import base64
import io
import logging
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from overcast.events import checksums
from overcast.service import parquet
from overcast.service.errors import Refusal
from overcast.service.store.base import Row

log = logging.getLogger("overcast.service")

#: rows that are written at once
GROUP = 5000
#: how many times larger than the upload what it holds may be, and how many bytes it may hold beyond that
EXPANSION, ROOM = 20, 8_000_000
#: the kind of the row that ends an export
CLOSE = "close"


class Column(NamedTuple):
    """A column of the exported log."""

    name: str
    type: str
    meaning: str


COLUMNS = (
    Column("position", "int64", "in the log, counting from 1; the log of one bandit has gaps"),
    Column("time", "double", "when it was written, in seconds since 1970 (UTC)"),
    Column("kind", "string", "what happened: create, decide, part, learn, forget, add, retire, rename, policy, ..."),
    Column("decision", "string", "the id of the decision that it is about; null if it is about none"),
    Column("version", "string", "of the overcast that wrote it"),
    Column("body", "string", "the whole event as JSON"),
    Column("detail", "binary", "of a decision: mean, width and score of every action, as 4-byte floats; null without"),
    Column("number", "int64", "of the row in the export, counting from 1 without gaps"),
    Column("checksum", "string", "of the first eight columns of all rows of the export up to this one (CRC-32)"),
    Column("action", "string", "of a decision: the name of the action, or its index if it has none"),
    Column("index", "int64", "of a decision: the row of the action in the action set"),
    Column("probability", "double", "of a decision: with which the action was taken; null if it is not known"),
    Column("mean", "double", "of a decision: the estimated reward of the action"),
    Column("width", "double", "of a decision: the uncertainty of that estimate"),
    Column("score", "double", "of a decision: what the policy ranked the action by"),
    Column("belief", "string", "of a decision: what was known about the context, as JSON"),
    Column("reward", "double", "of an outcome: the whole reward (learn), or a part of it (part)"),
    Column("context", "string", "of an outcome: the revealed context or a belief of it, as JSON; null if hidden"),
    Column("expired", "bool", "whether the outcome did not come in time; null where that does not apply"),
)
#: the columns that are the log itself, and those by which damage is noticed
OWN, LINK = (tuple(column.name for column in part) for part in (COLUMNS[:7], COLUMNS[7:9]))


class Entry(NamedTuple):
    """A row of an export, with its number and checksum; exports of earlier releases have none."""

    row: Row
    number: int | None
    checksum: str | None


def chained(rows: Iterable[Row]) -> Iterator[Entry]:
    """Yield rows with their numbers and checksums, and the row that ends an export."""
    number, checksum, row = 0, "", Row(0, 0.0, "", CLOSE, None, "0", "{}")
    for number, row in enumerate(rows, start=1):
        checksum = _checksum(checksum, row, number)
        yield Entry(row, number, checksum)
    last = row._replace(kind=CLOSE, decision=None, body='{"event":"close"}', detail=None)
    yield Entry(last, number + 1, _checksum(checksum, last, number + 1))


def verified(entries: Iterable[Entry]) -> list[Row]:
    """Return the rows of an export; raise ValueError at the first that does not follow the one before it.

    Exports of earlier releases have no numbers and checksums, and are told in the log of the process.
    """
    out: list[Row] = []
    checksum, bare, closed = "", None, False
    for at, (row, number, told) in enumerate(entries, start=1):
        linked = number is not None or told is not None
        bare = not linked if bare is None else bare
        if linked == bare or closed:
            raise ValueError(f"row {at} ({row.kind[:20]}) must {'not be there' if closed else 'be as those before it'}")
        if linked:
            if number != at:
                raise ValueError(f"row {at} must have this number, got {number}; rows were lost, repeated or moved")
            checksum = _checksum(checksum, row, at)
            if told != checksum:
                got = repr(told)[:20]
                raise ValueError(
                    f"row {at} ({row.kind[:20]}) must have the checksum {checksum}, got {got}; it is damaged"
                )
            closed = row.kind == CLOSE
        if not closed:
            out.append(row)
    if bare is False and not closed:
        raise ValueError(f"row {len(out)} must be followed by the row of the kind {CLOSE}; the end of the file is lost")
    if bare:
        log.warning("log: the import has no checksums, as exports of earlier releases; damage to it stays unnoticed")
    return out


def _checksum(before: str, row: Row, number: int) -> str:
    """Return the checksum up to a row; the name of the bandit does not count, since an import may give another."""
    own = row.position, row.time, row.kind, row.decision, row.version, row.body, row.detail, number
    return checksums.checksum(before, msgspec.json.encode(own))


class Line(msgspec.Struct):
    """One line of the log as JSON; the detail in base 64."""

    position: int
    time: float
    kind: str
    decision: str | None
    version: str
    body: msgspec.Raw
    detail: str | None = None
    number: int | None = None
    checksum: str | None = None


def to_jsonl(rows: Iterable[Row]) -> Iterator[bytes]:
    """Yield rows as JSON lines, many at a time."""
    waiting = chained(rows)
    while group := list(islice(waiting, GROUP)):
        yield b"".join(msgspec.json.encode(_line(entry)) + b"\n" for entry in group)


def _line(entry: Entry) -> Line:
    row, number, checksum = entry
    detail = None if row.detail is None else base64.b64encode(row.detail).decode()
    body = msgspec.Raw(row.body.encode())
    return Line(row.position, row.time, row.kind, row.decision, row.version, body, detail, number, checksum)


def from_jsonl(raw: bytes) -> list[Row]:
    """Return rows from JSON lines; raise ValueError for others."""
    decoder = msgspec.json.Decoder(Line, strict=True)
    lines = (decoder.decode(line) for line in io.BytesIO(raw) if line.strip())
    return verified(map(_entry, lines))


def _entry(line: Line) -> Entry:
    detail = None if line.detail is None else base64.b64decode(line.detail, validate=True)
    body = bytes(line.body).decode()
    row = Row(line.position, line.time, "", line.kind, line.decision, line.version, body, detail)
    return Entry(row, line.number, line.checksum)


def to_parquet(rows: Iterable[Row]) -> Iterator[bytes]:
    """Yield rows as a Parquet file, a row group at a time."""
    pa, pq = _arrow()
    schema, sink = _schema(pa), _Sink()
    waiting = chained(rows)
    writer = pq.ParquetWriter(pa.PythonFile(sink, mode="w"), schema, compression="zstd")
    while group := list(islice(waiting, GROUP)):
        cells = [_cells(entry) for entry in group]
        columns = [pa.array([row[i] for row in cells], type=field.type) for i, field in enumerate(schema)]
        writer.write_table(pa.Table.from_arrays(columns, schema=schema))
        yield sink.taken()
    writer.close()
    yield sink.taken()


def from_parquet(raw: bytes) -> list[Row]:
    """Return rows from a Parquet file; raise ValueError for others, and for what would take far more room than it."""
    pa, pq = _arrow()
    try:
        return verified(_entries(pa, parquet.batches(pa, pq, raw, OWN, LINK, EXPANSION * len(raw) + ROOM)))
    except pa.ArrowException as error:
        raise ValueError(f"no Parquet file of a log: {error}") from None
    except OSError as error:
        raise ValueError(f"no Parquet file: {error}") from None
    finally:
        pa.default_memory_pool().release_unused()


def _entries(pa: Any, batches: Iterable[Any]) -> Iterator[Entry]:
    types = {field.name: field.type for field in _schema(pa)}
    for batch in batches:
        columns = {name: batch[name].cast(types[name]).to_pylist() for name in batch.schema.names}
        link = [columns.get(name, [None] * len(batch)) for name in LINK]
        for position, time, *rest, number, checksum in zip(*(columns[name] for name in OWN), *link, strict=True):
            yield Entry(msgspec.convert((position, time, "", *rest), Row), number, checksum)


def _cells(entry: Entry) -> list[Any]:
    row, *link = entry
    event = msgspec.json.decode(row.body)
    record = event["decision"] if row.kind == "decide" else {}
    outcome = row.kind in ("part", "learn")
    action = record.get("action")
    context = event.get("context") if outcome else None
    numbers = [record.get(name) for name in ("index", "probability", "mean", "width", "score")]
    return [
        *(row.position, row.time, row.kind, row.decision, row.version, row.body, row.detail, *link),
        None if not record else action if isinstance(action, str) else str(record["index"]),
        *numbers,
        msgspec.json.encode(record["belief"]).decode() if record else None,
        event["reward"] if outcome else None,
        None if context is None else msgspec.json.encode(context).decode(),
        bool(event.get("expired", False)) if row.kind in ("learn", "forget") else None,
    ]


class _Sink(io.RawIOBase):
    """A file that is read off while it is written."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        part = bytes(data)
        self._parts.append(part)
        self._size += len(part)
        return len(part)

    def tell(self) -> int:
        return self._size

    def taken(self) -> bytes:
        """Return the bytes written since the last call."""
        out = b"".join(self._parts)
        self._parts.clear()
        return out


def _arrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError:
        message = "log: format parquet needs pyarrow; install it with pip install 'overcast[parquet]', or take jsonl"
        raise Refusal(422, message, "format") from None
    return pyarrow, pyarrow.parquet


def _schema(pa: Any) -> Any:
    types = {"int64": pa.int64, "double": pa.float64, "string": pa.string, "binary": pa.binary, "bool": pa.bool_}
    return pa.schema([(column.name, types[column.type]()) for column in COLUMNS])


class Format(NamedTuple):
    """A form of the log: its media type, and how it is written and read."""

    media: bytes
    write: Callable[[Iterable[Row]], Iterator[bytes]]
    read: Callable[[bytes], list[Row]]


FORMATS = {
    "jsonl": Format(b"application/x-ndjson", to_jsonl, from_jsonl),
    "parquet": Format(b"application/vnd.apache.parquet", to_parquet, from_parquet),
}
