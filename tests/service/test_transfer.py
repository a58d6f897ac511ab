"""The log as JSON lines and as Parquet."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from overcast.service import transfer
from overcast.service.fold import details
from overcast.service.store import Row
from service_support import Api

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
    (decided,) = pq.read_table(io.BytesIO(b"".join(transfer.to_parquet(rows)))).to_pylist()[1:]
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
    with pytest.raises(ValueError, match="20 times its own size"):
        transfer.from_parquet(b"".join(transfer.to_parquet([row])))


def test_the_log_itself_comes_first() -> None:
    assert transfer.OWN == ("position", "time", "kind", "decision", "version", "body", "detail")
