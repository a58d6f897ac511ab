"""The log as JSON lines and as Parquet."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from overcast.service import transfer
from overcast.service.fold import details
from overcast.service.store import Row
from service_support import Api

FIXTURES = Path(__file__).parents[1] / "fixtures" / "export1"
PAGE = Path(__file__).parents[2] / "docs" / "service" / "log.md"


def _rows(api: Api) -> list[Row]:
    for i in range(4):
        made = api.decide(id=f"d{i}")
        api.outcome(made["id"], reward=1.0, final=False, part="a")
        api.outcome(made["id"], reward=1.0, context=[19.0, 1.0] if i % 2 else None)
    api.ask("DELETE", f"/v1/bandits/farm/decisions/{api.decide()['id']}")
    return [row for row in api.engine.store.read() if row.bandit]


def _plain(rows: list[Row]) -> list[Row]:
    """Return rows as an import reads them: without the name of the bandit, which may be another one."""
    return [row._replace(bandit="") for row in rows]


@pytest.mark.parametrize("name", transfer.FORMATS)
def test_rows_come_back_to_the_byte(api: Api, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "GROUP", 3)
    form, rows = transfer.FORMATS[name], _rows(api)
    parts = list(form.write(rows))
    assert len(parts) >= len(rows) // 3  # a part for each group
    assert form.read(b"".join(parts)) == _plain(rows)
    assert form.read(b"".join(form.write([]))) == []


def test_columns_of_the_parquet_file(api: Api) -> None:
    rows = _rows(api)
    table = pq.read_table(io.BytesIO(b"".join(transfer.to_parquet(rows))))
    assert table["number"].to_pylist() == list(range(1, len(rows) + 2))
    assert table.column_names == [column.name for column in transfer.COLUMNS]
    decided = [row for row in table.to_pylist() if row["kind"] == "decide"]
    assert [row["decision"] for row in decided][:4] == ["d0", "d1", "d2", "d3"]
    assert {row["action"] for row in decided} <= {"early", "late", "never"}
    assert {row["probability"] for row in decided} == {1.0}
    for row in decided:
        assert details(row["detail"]).shape == (3, 3)
        assert details(row["detail"])[0, row["index"]] == pytest.approx(row["mean"])
        assert '"Gaussian"' in row["belief"]
        assert row["reward"] is None
    learnt = [row for row in table.to_pylist() if row["kind"] == "learn"]
    assert [row["reward"] for row in learnt] == [2.0] * 4
    assert [row["context"] for row in learnt] == [None, "[19.0,1.0]"] * 2
    assert [row["expired"] for row in learnt] == [False] * 4
    assert pq.ParquetFile(io.BytesIO(b"".join(transfer.to_parquet(rows)))).metadata.num_row_groups == 1


def test_actions_without_names_go_by_their_index(api: Api) -> None:
    api.post("/v1/bandits", {"name": "plain", "actions": [[1.0], [2.0]], "features": "Bilinear"})
    api.post("/v1/bandits/plain/decisions", {"belief": [1.0], "available": [1]})
    rows = [row for row in api.engine.store.read() if row.bandit == "plain"]
    (decided,) = pq.read_table(io.BytesIO(b"".join(transfer.to_parquet(rows)))).to_pylist()[1:-1]
    assert (decided["action"], decided["index"]) == ("1", 1)


def test_the_page_lists_the_columns() -> None:
    listed = re.findall(r"^\| `(\w+)` \| (\w+) \| (.+) \|$", PAGE.read_text(), re.MULTILINE)
    assert [transfer.Column(*row) for row in listed] == list(transfer.COLUMNS)


@pytest.mark.parametrize(
    "raw", [b"nonsense", b"PAR1" + b"x" * 100 + b"PAR1", b"{}", b"[1]", b"\xff", b'{"position": 1}']
)
@pytest.mark.parametrize("name", transfer.FORMATS)
def test_something_else_is_refused(name: str, raw: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        transfer.FORMATS[name].read(raw)


def test_a_parquet_file_of_something_else_is_refused() -> None:
    for table in (pa.table({"x": [1]}), pa.table({name: [[1]] for name in transfer.OWN})):
        out = io.BytesIO()
        pq.write_table(table, out)
        with pytest.raises(ValueError, match=r"."):
            transfer.from_parquet(out.getvalue())


def test_a_file_that_holds_far_more_than_its_size_is_refused() -> None:
    row = Row(1, 2.0, "", "end", None, "0", "{}" + " " * 30_000_000, None)
    with pytest.raises(ValueError, match="bytes at most"):
        transfer.from_parquet(b"".join(transfer.to_parquet([row])))


def _damaged(rows: list[Row], name: str) -> Iterator[list[Row]]:
    """Yield rows as they come back from an export with one bit flipped, wherever it can be read."""
    form = transfer.FORMATS[name]
    raw = b"".join(form.write(rows))
    for at in range(0, len(raw), 5):
        damaged = bytearray(raw)
        damaged[at] ^= 1 << (at // 5 % 8)
        with suppress(ValueError):
            yield form.read(bytes(damaged))
        with suppress(ValueError):
            yield form.read(raw[:at])


@pytest.mark.parametrize("name", transfer.FORMATS)
def test_no_damaged_export_is_read_as_another_log(api: Api, name: str) -> None:
    rows = _rows(api)[:5]
    silent = list(_damaged(rows, name))
    assert all(found in (_plain(rows), []) for found in silent)  # the service refuses files without any rows
    assert len(silent) < 1000


@pytest.mark.parametrize("name", transfer.FORMATS)
def test_rows_that_are_lost_repeated_or_moved_are_named(
    api: Api, name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    form, rows = transfer.FORMATS[name], _rows(api)
    entries = list(transfer.chained(rows))

    def read(changed: list[transfer.Entry]) -> list[Row]:
        monkeypatch.setattr(transfer, "chained", lambda rows: iter(changed))
        return form.read(b"".join(form.write(rows)))

    for i in range(len(entries) - 1):
        with pytest.raises(ValueError, match=rf"^row {i + 1} must have this number, got {i + 2};"):
            read([*entries[:i], *entries[i + 1 :]])
        with pytest.raises(ValueError, match=rf"^row {i + 2} must have this number, got {i + 1};"):
            read([*entries[: i + 1], *entries[i:]])
        with pytest.raises(ValueError, match=rf"^row {i + 1} must have this number, got {i + 2};"):
            read([*entries[:i], entries[i + 1], entries[i], *entries[i + 2 :]])
    for i in range(1, len(entries)):
        with pytest.raises(ValueError, match=rf"^row {i} must be followed .* the end of the file is lost"):
            read(entries[:i])
    with pytest.raises(ValueError, match=rf"^row {len(entries) + 1} \(close\) must not be there"):
        read([*entries, entries[-1]])
    with pytest.raises(ValueError, match=r"^row 3 \(part\) must be as those before it"):
        read([*entries[:2], transfer.Entry(rows[2], None, None), *entries[3:]])
    other = entries[2].row._replace(body=entries[2].row.body.replace("1.0", "2.0"))
    with pytest.raises(ValueError, match=r"^row 3 \(part\) must have the checksum \w{8}, got .*; it is damaged"):
        read([*entries[:2], entries[2]._replace(row=other), *entries[3:]])
    assert read(entries) == _plain(rows)
    assert not caplog.records
    assert read([transfer.Entry(row, None, None) for row in rows]) == _plain(rows)
    assert ["no checksums" in record.message for record in caplog.records] == [True]


def test_an_export_of_an_earlier_release_is_read_with_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    for path in sorted(FIXTURES.iterdir()):
        rows = transfer.FORMATS[path.suffix[1:]].read(path.read_bytes())
        assert [row.kind for row in rows] == ["create", "decide", "part", "learn", "decide"]
        assert ["no checksums" in record.message for record in caplog.records] == [True]
        caplog.clear()


def test_the_log_itself_comes_first() -> None:
    assert transfer.OWN == ("position", "time", "kind", "decision", "version", "body", "detail")
    assert transfer.LINK == ("number", "checksum")
