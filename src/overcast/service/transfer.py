"""The log of a bandit as JSON lines or Parquet, and back.

`COLUMNS` is the schema. The first seven columns are the log itself, from which an import rebuilds the bandit to the
byte; the others are read off the events, for those who analyse or evaluate the log.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from overcast.service.errors import Refusal
from overcast.service.store.base import Row

#: rows that are written at once
GROUP = 5000
#: how many times larger than the upload what it holds may be
EXPANSION = 20


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
#: the columns that are the log itself
OWN = tuple(column.name for column in COLUMNS[:7])


class Line(msgspec.Struct):
    """One line of the log as JSON; the detail in base 64."""

    position: int
    time: float
    kind: str
    decision: str | None
    version: str
    body: msgspec.Raw
    detail: str | None = None


def to_jsonl(rows: Iterable[Row]) -> Iterator[bytes]:
    """Yield rows as JSON lines, many at a time."""
    waiting = iter(rows)
    while group := list(islice(waiting, GROUP)):
        yield b"".join(msgspec.json.encode(_line(row)) + b"\n" for row in group)


def _line(row: Row) -> Line:
    detail = None if row.detail is None else base64.b64encode(row.detail).decode()
    return Line(row.position, row.time, row.kind, row.decision, row.version, msgspec.Raw(row.body.encode()), detail)


def from_jsonl(raw: bytes) -> list[Row]:
    """Return rows from JSON lines; raise ValueError for others."""
    decoder = msgspec.json.Decoder(Line)
    lines = (decoder.decode(line) for line in raw.splitlines() if line.strip())
    return [
        Row(
            one.position,
            one.time,
            "",
            one.kind,
            one.decision,
            one.version,
            bytes(one.body).decode(),
            None if one.detail is None else base64.b64decode(one.detail, validate=True),
        )
        for one in lines
    ]


def to_parquet(rows: Iterable[Row]) -> Iterator[bytes]:
    """Yield rows as a Parquet file, a row group at a time."""
    pa, pq = _arrow()
    schema, sink = _schema(pa), _Sink()
    waiting = iter(rows)
    writer = pq.ParquetWriter(pa.PythonFile(sink, mode="w"), schema, compression="zstd")
    while group := list(islice(waiting, GROUP)):
        cells = [_cells(row) for row in group]
        columns = [pa.array([row[i] for row in cells], type=field.type) for i, field in enumerate(schema)]
        writer.write_table(pa.Table.from_arrays(columns, schema=schema))
        yield sink.taken()
    writer.close()
    yield sink.taken()


def from_parquet(raw: bytes) -> list[Row]:
    """Return rows from a Parquet file; raise ValueError for others."""
    pa, pq = _arrow()
    try:
        file = pq.ParquetFile(io.BytesIO(raw))
        groups = (file.metadata.row_group(i).total_byte_size for i in range(file.metadata.num_row_groups))
        if sum(groups) > EXPANSION * len(raw) + 1_000_000:
            raise ValueError(f"it must hold {EXPANSION} times its own size at most")
        table = file.read(columns=list(OWN)).cast(pa.schema([field for field in _schema(pa) if field.name in OWN]))
    except pa.ArrowException as error:
        raise ValueError(f"no Parquet file of a log: {error}") from None
    except OSError as error:
        raise ValueError(f"no Parquet file: {error}") from None
    if table.column_names != list(OWN):
        raise ValueError(f"a Parquet file without the columns {', '.join(OWN)}")
    columns = [table[name].to_pylist() for name in OWN]
    names = list(zip(*columns, strict=True))
    return [msgspec.convert((position, time, "", *rest), Row) for position, time, *rest in names]


def _cells(row: Row) -> list[Any]:
    event = msgspec.json.decode(row.body)
    record = event["decision"] if row.kind == "decide" else {}
    outcome = row.kind in ("part", "learn")
    action = record.get("action")
    context = event.get("context") if outcome else None
    numbers = [record.get(name) for name in ("index", "probability", "mean", "width", "score")]
    return [
        *(row.position, row.time, row.kind, row.decision, row.version, row.body, row.detail),
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
        """Return what was written since the last call."""
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
