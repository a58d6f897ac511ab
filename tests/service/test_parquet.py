"""Parquet files that would take far more memory than their size."""

from __future__ import annotations

import io
import os
import tracemalloc
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from overcast.service import parquet, transfer
from service_support import Api

LIMIT = 10_000_000


def _file(table: pa.Table, **options: Any) -> bytes:
    out = io.BytesIO()
    pq.write_table(table, out, **{"compression": "zstd"} | options)
    return out.getvalue()


def _read(raw: bytes, needed: tuple[str, ...] = ("text",), also: tuple[str, ...] = (), limit: int = LIMIT) -> list[Any]:
    return [batch.to_pylist() for batch in parquet.batches(pa, pq, raw, needed, also, limit)]


def _bomb(rows: int = 8000) -> bytes:
    """Return a log of which every body is the same 250,000 characters, which stand in a dictionary once."""
    body = '{"event":"end","x":"' + "y" * 250_000 + '"}'
    once = pa.DictionaryArray.from_arrays(pa.array([0] * rows, type=pa.int32()), pa.array([body]))
    columns: dict[str, Any] = {
        "position": pa.array(range(1, rows + 1), type=pa.int64()),
        "time": pa.array([1.0] * rows),
        "kind": pa.array(["end"] * rows),
        "decision": pa.nulls(rows, pa.string()),
        "version": pa.array(["0"] * rows),
        "body": once,
        "detail": pa.nulls(rows, pa.binary()),
    }
    return _file(pa.table(columns))


def test_what_stands_in_a_dictionary_once_counts_for_every_row(api: Api) -> None:
    raw = _bomb()
    assert len(raw) < 100_000
    before = pa.default_memory_pool().bytes_allocated()
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"^it must hold \d+ bytes at most$"):
        transfer.from_parquet(raw)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30_000_000
    assert pa.default_memory_pool().bytes_allocated() - before < 1_000_000
    heads = {"Content-Type": "application/vnd.apache.parquet"}
    with api.unchanged():
        api.refused(api.post("/v1/bandits/copy/log", raw, headers=heads), 400, "bytes at most")


@pytest.mark.skipif(not os.path.exists("/proc/self/clear_refs"), reason="the peak of a process is read from /proc")
def test_arrow_itself_takes_little_memory_for_a_bomb() -> None:
    """Memory of pyarrow is not that of Python: the process's own peak counts."""
    raw = _bomb()
    with pytest.raises(ValueError, match="at most"):  # loads what is loaded once
        transfer.from_parquet(raw)
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # sets the peak to the present size
    before = _peak()
    with pytest.raises(ValueError, match="at most"):
        transfer.from_parquet(raw)
    assert _peak() - before < 60_000  # kB; decoded it has 2 GB


def _peak() -> int:
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))


def test_many_rows_of_nothing_are_too_many() -> None:
    raw = _file(pa.table({"text": pa.nulls(5_000_000, pa.string())}))
    assert len(raw) < 100_000
    with pytest.raises(ValueError, match="at most"):
        _read(raw)


def test_a_page_that_says_less_of_itself_than_the_footer_counts_by_its_own_header() -> None:
    text = "x" * 9_000_000
    raw = _file(pa.table({"text": [text]}), use_dictionary=False)
    assert _read(raw) == [[{"text": text}]]
    footer, _ = parquet._struct(raw, len(raw) - 8 - int.from_bytes(raw[-8:-4], "little"), 12)
    column = footer[4][0][1][0][3]
    old = _varint(column[6])  # the uncompressed size in the footer
    assert raw.count(old) == 2  # that of the column, and that of the row group
    lie = raw.replace(old, _varint(9))
    assert len(lie) != len(raw)  # so the footer must say its new length
    size = int.from_bytes(lie[-8:-4], "little") - (len(raw) - len(lie))
    lie = lie[:-8] + size.to_bytes(4, "little") + lie[-4:]
    with pytest.raises(ValueError, match="at most"):
        _read(lie, limit=1_000_000)
    with pytest.raises(ValueError, match="at most"):
        _read(raw, limit=1_000_000)


def _varint(value: int) -> bytes:
    """Return a number as Thrift's compact protocol writes it."""
    out, value = [], value << 1
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def test_encodings_in_which_values_repeat_each_other_are_refused() -> None:
    table = pa.table({"text": ["x" * 1000] * 10})
    raw = _file(table, use_dictionary=False, column_encoding={"text": "DELTA_BYTE_ARRAY"})
    with pytest.raises(ValueError, match="an encoding that no export has"):
        _read(raw)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary(), pa.dictionary(pa.int32(), pa.string())])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_texts_are_read_whatever_tool_wrote_them(kind: Any, version: str) -> None:
    values = [b"a", None, b"c"] if pa.types.is_binary(kind) else ["a", None, "c"]
    table = pa.table({"text": pa.array(values, type=kind), "more": [1.0, 2.0, 3.0], "other": [[1], [2], [3]]})
    assert _read(_file(table, data_page_version=version)) == [[{"text": value} for value in values]]
    assert [row["more"] for row in _read(_file(table), also=("more", "none"))[0]] == [1.0, 2.0, 3.0]


def test_columns_that_are_missing_or_nested_are_refused() -> None:
    with pytest.raises(ValueError, match="without the columns text"):
        _read(_file(pa.table({"x": [1]})))
    with pytest.raises(ValueError, match="lists or structs"):
        _read(_file(pa.table({"text": [["a"]]})))


@pytest.mark.parametrize(
    "raw", [b"", b"PAR1", b"PAR1\xff\xff\xff\xffPAR1", b"PAR1" + b"\x19\xff" * 9 + b"\x12\0\0\0PAR1"]
)
def test_something_else_is_refused(raw: bytes) -> None:
    with pytest.raises(ValueError, match="Parquet file"):
        _read(raw)


def test_more_pages_than_any_export_has_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = _file(pa.table({"text": [str(i) for i in range(3000)]}), data_page_size=100, write_batch_size=10)
    assert sum(len(batch) for batch in _read(raw)) == 3000
    monkeypatch.setattr(parquet, "PAGES", 20)
    with pytest.raises(ValueError, match="more than 20 pages"):
        _read(raw)


def test_a_flipped_bit_ends_no_process() -> None:
    """pyarrow's own reading of column metadata calls abort for some of these."""
    raw = _file(pa.table({"text": ["a", "b", None], "more": [1, 2, 3]}))
    for at in range(len(raw)):
        damaged = bytearray(raw)
        damaged[at] ^= 1 << (at % 8)
        with suppress(ValueError, OSError, pa.ArrowException):
            _read(bytes(damaged))


@pytest.mark.parametrize("kind", [pa.string_view(), pa.binary_view(), pa.binary(1_000)], ids=str)
def test_columns_that_would_be_decoded_whole_are_refused_before(kind: Any) -> None:
    value = "x" * 1_000 if kind == pa.string_view() else b"x" * 1_000
    try:
        raw = _file(pa.table({"text": pa.array([value] * 1_000, kind)}))
    except pa.ArrowNotImplementedError:
        pytest.skip(f"this pyarrow writes no columns of {kind}")
    before = pa.default_memory_pool().bytes_allocated()
    with pytest.raises(ValueError, match=r"^columns must hold numbers, flags, texts or bytes .*, got .* in text$"):
        _read(raw)
    assert pa.default_memory_pool().bytes_allocated() - before < 100_000
