"""Export and import over the API."""

from __future__ import annotations

import asyncio
import base64
import json
import tracemalloc
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
import pytest
from msgspec.structs import astuple

from memory_support import memory_of
from overcast.service import Limits, transfer
from overcast.service.errors import Refusal
from overcast.service.fold import Life, folded
from overcast.service.routes.log import checked, instant
from overcast.service.store import Row, Unavailable
from service_support import FARM, GAUSSIAN, Answer, Api, check_replay, remembered, served

LOG = "/v1/bandits/farm/log"
JSONL = {"Content-Type": "application/x-ndjson"}
PARQUET = {"Content-Type": "application/vnd.apache.parquet"}
BYTES = {"Content-Type": "application/octet-stream"}


def _live(api: Api) -> None:
    api.ask("PATCH", "/v1/bandits/farm", {"explore": 0.3})
    api.ask("PUT", "/v1/bandits/farm/shadow", {"policy": "Greedy"})
    for i in range(8):
        made = api.decide(id=f"d{i}")
        api.outcome(made["id"], reward=0.5, final=False, part="a")
        api.outcome(made["id"], reward=float(i), context=[19.0, 1.0 + i] if i % 2 else None)
    api.post("/v1/bandits/farm/actions", {"actions": {"soon": [0.2, 0.2]}})
    api.ask("PATCH", "/v1/bandits/farm/actions/soon", {"name": "later"})
    api.ask("PATCH", "/v1/bandits/farm", {"policy": {"type": "UCB", "beta": 1.0}})
    api.ask("DELETE", f"/v1/bandits/farm/decisions/{api.decide()['id']}")
    api.decide(id="open")


def _open(life: Life) -> dict[str, Any]:
    """Return the open decisions without the positions of their rows."""
    return {
        id_: (one.time, one.total, one.parts, one.answer and [*astuple(one.answer)[:1], *astuple(one.answer)[2:]])
        for id_, one in life.open.items()
    }


@pytest.mark.parametrize(
    ("form", "headers"), [("jsonl", JSONL), ("parquet", PARQUET), ("jsonl", BYTES), ("parquet", BYTES)]
)
def test_a_log_makes_the_same_bandit_again_to_the_byte(api: Api, form: str, headers: dict[str, str]) -> None:
    _live(api)
    exported = api.get(f"{LOG}?format={form}")
    media = {"jsonl": JSONL, "parquet": PARQUET}[form]["Content-Type"]
    assert (exported.status, exported.headers["content-type"]) == (200, media)
    assert exported.headers["content-disposition"] == f'attachment; filename="farm.{form}"'
    made = api.post("/v1/bandits/copy/log", exported.body, headers=headers)
    assert made.status == 201, made.body
    one, two = api.state.lives["farm"], api.state.lives["copy"]
    assert memory_of(one.bandit) == memory_of(two.bandit)
    assert (_open(one), one.counts, one.terms) == (_open(two), two.counts, two.terms)
    for name in ("mean", "width"):
        found = [getattr(life.bandit.estimate([20.0, 1.0]), name).tobytes() for life in (one, two)]
        assert found[0] == found[1]
    shown = [api.get(f"/v1/bandits/{name}/shadow").body for name in ("farm", "copy")]
    assert shown[0]["difference"] == shown[1]["difference"]
    # It goes on as the first would: the same decisions, and the open one takes its outcome.
    for name in ("farm", "copy"):
        assert api.post(f"/v1/bandits/{name}/decisions/open/outcome", {"reward": 3.0}).status == 200
    next_ones = [
        api.post(f"/v1/bandits/{name}/decisions", {"belief": GAUSSIAN, "id": "n"}).body for name in ("farm", "copy")
    ]
    assert {k: v for k, v in next_ones[0].items() if k != "position"} == {
        k: v for k, v in next_ones[1].items() if k != "position"
    }
    check_replay(api.engine.store, api.state)
    again = api.post("/v1/bandits/copy/log", exported.body, headers=headers)
    api.refused(again, 409, "must be a fresh one")


def test_a_log_teaches_a_fresh_bandit_with_another_model(api: Api) -> None:
    _live(api)
    raw = api.get(LOG).body
    api.post("/v1/bandits", FARM | {"name": "other", "features": "Quadratic", "ridge": None})
    assert api.post("/v1/bandits/other/log", raw, headers=JSONL).status == 201
    other = api.state.lives["other"].bandit
    assert other.learnt.rounds == 8
    assert np.isfinite(other.estimate([20.0, 1.0]).mean).all()
    check_replay(api.engine.store, api.state)


def test_a_log_that_was_erased_in_part_comes_back_too(api: Api) -> None:
    _live(api)
    middle = [row.time for row in api.engine.store.read()][12]
    assert api.post("/v1/bandits/farm/erase", {"before": middle}).body["entries"] > 5
    for form, headers in (("jsonl", JSONL), ("parquet", PARQUET)):
        raw = api.get(f"{LOG}?format={form}").body
        assert api.post(f"/v1/bandits/{form}/log", raw, headers=headers).status == 201
        one, two = api.state.lives["farm"], api.state.lives[form]
        assert memory_of(one.bandit) == memory_of(two.bandit)
        made = api.post(f"/v1/bandits/{form}/decisions", {"belief": GAUSSIAN})
        assert made.status == 201
        assert two.counts.decisions == one.counts.decisions + 1
    assert remembered(folded(api.engine.store.read())) == remembered(api.state)
    damaged = raw[:100] + b"x" + raw[101:]
    assert api.post("/v1/bandits/damaged/log", damaged, headers=PARQUET).status in (400, 422)


def test_lines_are_events(api: Api) -> None:
    api.outcome(api.decide(id="a")["id"], reward=1.0)
    lines = [json.loads(line) for line in api.get(LOG).body.splitlines()]
    assert [line["kind"] for line in lines] == ["create", "decide", "learn", "close"]
    assert [line["number"] for line in lines] == [1, 2, 3, 4]
    assert lines[1]["body"]["decision"]["id"] == lines[1]["decision"] == "a"
    assert lines[2]["body"]["reward"] == 1.0


def test_an_export_is_filtered_by_time(api: Api) -> None:
    for i in range(4):
        api.decide(id=f"d{i}")
    rows = [row for row in api.engine.store.read() if row.bandit == "farm"]
    first, last = rows[2].time, rows[4].time

    def ids(query: str) -> list[Any]:
        answer = api.get(f"{LOG}{query}")
        assert answer.status == 200
        lines = [json.loads(line) for line in answer.body.splitlines()]
        assert lines.pop()["kind"] == "close"
        return [line["decision"] for line in lines]

    expected = [row.decision for row in rows if first <= row.time < last]
    assert ids(f"?from={first!r}&to={last!r}") == expected
    assert ids("?from=2000-01-01&to=2000-01-02T00:00:00Z") == []
    assert ids("?from=2000-01-01T00:00:00+01:00") == [row.decision for row in rows]


def test_moments() -> None:
    assert instant({"from": "1970-01-01T00:00:10"}, "from", 0.0) == 10.0
    assert instant({"from": "1970-01-01T01:00:10 01:00"}, "from", 0.0) == 10.0  # a plus sign, as an address holds it
    assert instant({"from": "12.5"}, "from", 0.0) == 12.5
    assert instant({}, "from", 3.0) == 3.0


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("?format=xml", "one of jsonl, parquet"),
        ("?from=yesterday", "ISO 8601"),
        ("?to=nan", "ISO 8601"),
        ("?form=jsonl", "got 'form'"),
        ("?to=1&to=2", "each once"),
    ],
)
def test_wrong_queries(api: Api, query: str, word: str) -> None:
    api.refused(api.get(f"{LOG}{query}"), 422, word)
    api.refused(api.get("/v1/bandits/none/log"), 404, "'none'")
    api.refused(api.get(f"{LOG}?%ff=1"), 400, "UTF-8")


def _lines(api: Api) -> list[Any]:
    """Return the export as an earlier release wrote it, so that lines can be changed."""
    lines = [json.loads(line) for line in api.get(LOG).body.splitlines()]
    bare = [{name: value for name, value in line.items() if name not in transfer.LINK} for line in lines]
    return [line for line in bare if line["kind"] != transfer.CLOSE]


def _import(api: Api, lines: list[Any], name: str = "copy") -> Answer:
    raw = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
    return api.post(f"/v1/bandits/{name}/log", raw, headers=JSONL)


def test_wrong_logs_change_nothing(api: Api) -> None:
    api.outcome(api.decide(id="a")["id"], reward=1.0)
    lines = _lines(api)
    create, decide, learn = lines

    def without(line: Any, name: str) -> Any:
        return {key: value for key, value in line["body"].items() if key != name}

    def deeper(line: Any, **parts: Any) -> Any:
        return line["body"] | {"decision": line["body"]["decision"] | parts}

    def changed(line: Any, **parts: Any) -> Any:
        return json.loads(json.dumps(line)) | parts

    event = {"event": "part", "id": "a", "reward": 1.0, "part": "a", "request": "x"}
    part = changed(learn, kind="part", body=event)
    code = changed(create)
    code["body"]["config"]["model"]["features"] = {"type": "features.Function", "fn": "os.system", "dim": 1}
    many = changed(create)
    many["body"]["config"]["samples"] = 10**9
    other = changed(create)
    other["body"]["config"]["policy"] = {"type": "policies.Outlook"}
    wide = changed(create)
    wide["body"]["config"]["vectors"] = [[0.0] * 3000] * 3
    wrong: list[tuple[list[Any], str]] = [
        ([decide], "row 1"),
        ([create, learn], "row 2"),
        ([create, decide, decide], "row 3"),
        ([create, decide, learn, learn], "row 4"),
        ([create, changed(decide, decision="b")], "row 2"),
        ([create, changed(decide, body={})], "row 2"),
        ([create, changed(decide, body=[1])], "row 2"),
        ([create, changed(decide, kind="nonsense")], "row 2"),
        ([create, changed(create)][1:] * 2 + [changed(learn, body={"event": "merge", "bandit": "!"})], "row 3"),
        ([create, changed(decide, body=without(decide, "request"))], "request"),
        ([create, changed(decide, body=without(decide, "plugged"))], "plugged"),
        ([create, changed(decide, body=decide["body"] | {"shadow": {"index": 9, "own": 1.0, "taken": 1.0}})], "3 act"),
        ([create, changed(decide, detail="AAAA")], "row 2"),
        ([create, changed(decide, body=deeper(decide, action=[1.0, 0.0]))], "row 2"),
        ([create, changed(decide, body=deeper(decide, action={}))], "row 2"),
        ([create, changed(decide, detail=base64.b64encode(bytes(60)).decode())], "3 actions"),
        ([create, decide, changed(learn, body=learn["body"] | {"expired": 3})], "expired"),
        ([create, decide, part, changed(part, body=part["body"] | {"part": ["b"]})], "part"),
        ([create, decide, changed(part, body=part["body"] | {"reward": 1.7e308})], "1e+150 at most"),
        ([changed(create, body=create["body"] | {"terms": {"wait": 1.0, "default": 1e308}})], "1e+150 at most"),
        ([create, changed(decide, time=1e15)], "year 9999"),
        ([create, changed(decide, time=-1.0)], "1970"),
        ([create, changed(decide, version="\0")], "version"),
        *(([create, changed(decide, body=deeper(decide, samples=n))], "100000 at most") for n in (100_001, 10**30)),
        ([many], "100000 at most"),
        ([code], "holds code"),
        ([other], "type must be one of"),
        ([wide], "dimensions at most"),
    ]
    with api.unchanged():
        for content, word in wrong:
            api.refused(_import(api, content), 422, word)
        api.refused(_import(api, []), 422, "at least one row")
        api.refused(_import(api, lines, "farm"), 409, "fresh")
        for raw in (b"{", b"\xff", b'{"position": 1}'):
            api.refused(api.post("/v1/bandits/copy/log", raw, headers=JSONL), 400, "must be an exported one")
            api.refused(api.post("/v1/bandits/copy/log", raw, headers=PARQUET), 400, "must be an exported one")
        api.refused(api.post("/v1/bandits/copy/log", b"{}"), 415, "application/x-ndjson or")
        api.refused(_import(api, lines, "a b"), 422, "must match")
    assert _import(api, lines).status == 201


def test_a_base_cannot_claim_what_cannot_have_happened(api: Api) -> None:
    _live(api)
    middle = [row.time for row in api.engine.store.read()][12]
    api.post("/v1/bandits/farm/erase", {"before": middle})
    lines = _lines(api)
    (base,) = (line for line in lines if line["kind"] == "base")
    head, _, file = base64.b64decode(base["detail"]).partition(b"\n")
    told = json.loads(head)

    def claimed(**parts: Any) -> Answer:
        changed = b"\n".join([json.dumps(told | parts).encode(), file])
        detail = base64.b64encode(changed).decode()
        return _import(api, [line | {"detail": detail} if line is base else line for line in lines])

    counts, compared = told["counts"], told["shadow"]["compared"]
    with api.unchanged():
        for name in counts:
            for value in (-5, 10**30, counts[name] + 1):
                api.refused(claimed(counts=counts | {name: value}), 422, "row 1 (base)")
        for name in ("decisions", "agreed", "outcomes"):
            for value in (-5, 10**30):
                shadow = told["shadow"] | {"compared": compared | {name: value}}
                api.refused(claimed(shadow=shadow), 422, "row 1 (base)")
        many = {name: counts[name] + 10**15 for name in ("decisions", "outcomes")}  # which add up
        api.refused(claimed(counts=counts | many), 422, "row 1 (base)")
        api.refused(claimed(retired="no"), 422, "row 1 (base)")
        api.refused(claimed(terms={"wait": -1.0, "default": 0.0}), 422, "row 1 (base)")
    assert claimed().status == 201


def test_an_event_far_larger_than_any_request_is_refused(api: Api) -> None:
    lines = _lines(api)
    lines.append(lines[0] | {"kind": "end", "body": {"event": "end", "x": [{}] * 3_000_000}})
    with api.unchanged():
        api.refused(_import(api, lines), 422, "8000000 characters at most")


def test_blank_lines_take_no_memory() -> None:
    raw = b"\n" * 1_000_000
    tracemalloc.start()
    assert transfer.from_jsonl(raw) == []
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100_000


@pytest.mark.parametrize("form", transfer.FORMATS)
def test_a_damaged_log_is_refused_and_the_row_is_named(api: Api, form: str) -> None:
    _live(api)
    headers = {"jsonl": JSONL, "parquet": PARQUET}[form]
    raw = api.get(f"{LOG}?format={form}").body
    with api.unchanged():
        for damaged in (raw[:-20], raw[: len(raw) // 2], b""):
            answer = api.post("/v1/bandits/copy/log", damaged, headers=headers)
            assert answer.status in (400, 422)
        if form == "jsonl":
            lines = raw.splitlines(keepends=True)
            without = b"".join([*lines[:4], *lines[5:]])
            answer = api.post("/v1/bandits/copy/log", without, headers=headers)
            api.refused(answer, 400, "row 5 must have this number, got 6; rows were lost, repeated or moved")
            cut = api.post("/v1/bandits/copy/log", b"".join(lines[:-1]), headers=headers)
            api.refused(cut, 400, "the end of the file is lost")
            other = b"".join(lines).replace(b'"reward":0.5', b'"reward":0.7', 1)
            api.refused(api.post("/v1/bandits/copy/log", other, headers=headers), 400, "it is damaged")


def test_a_row_is_checked_before_anything_is_written() -> None:
    with pytest.raises(Refusal, match="row 1"):
        checked([Row(1, float("inf"), "", "end", None, "0", "{}")], "x", None, Limits())


def test_the_size_of_an_upload_is_limited(tmp_path: Any) -> None:
    with served(tmp_path, limits=Limits(upload=100)) as api:
        api.refused(api.post("/v1/bandits/x/log", b" " * 101, headers=JSONL), 413, "100 bytes at most")


def test_keys_and_scopes(api: Api) -> None:
    read, hidden = api.new_key("read"), api.new_key("admin", bandits=["shop-*"])
    assert api.get(LOG, key=read).status == 200
    api.refused(api.post("/v1/bandits/copy/log", b"", headers=JSONL, key=read), 403, "scope admin")
    api.refused(api.get(LOG, key=hidden), 404, "'farm'")
    api.refused(api.post("/v1/bandits/copy/log", b"", headers=JSONL, key=hidden), 404, "'copy'")


@pytest.mark.parametrize("name", transfer.FORMATS)
def test_memory_does_not_grow_with_the_log(name: str) -> None:
    """Eight times the rows must not take twice the memory: what is written goes out group by group."""
    body = '{"event":"part","reward":1.0,"x":"' + "y" * 400 + '"}'

    def peak(n: int) -> int:
        rows = (Row(i + 1, 0.0, "farm", "part", f"d{i}", "0", body) for i in range(n))
        tracemalloc.start()
        for _ in transfer.FORMATS[name].write(rows):
            pass
        out = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return out

    peak(10)
    assert peak(8 * transfer.GROUP) < 2 * peak(2 * transfer.GROUP)


def test_a_disk_that_fails_is_told_as_such(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(after: int = 0) -> Iterator[Row]:
        raise Unavailable("database: disk I/O error")
        yield

    monkeypatch.setattr(api.engine.store, "read", fails)
    for answer in (api.get(LOG), api.post("/v1/bandits/farm/erase", {"before": 2e9})):
        api.refused(answer, 503, "cannot be written or read now")
        assert answer.headers["retry-after"] == "1"


def test_an_export_stops_when_the_client_has_left(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "GROUP", 1)
    for i in range(40):
        api.decide(id=f"d{i}")
    sent: list[bytes] = []
    head = [(b"authorization", f"Bearer {api.key}".encode())]
    scope = {"type": "http", "method": "GET", "path": LOG, "query_string": b"", "root_path": "", "headers": head}

    async def run() -> None:
        left = asyncio.Event()
        asked = False

        async def receive() -> dict[str, Any]:
            nonlocal asked
            if not asked:
                asked = True
                return {"type": "http.request", "body": b"", "more_body": False}
            await left.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            if message.get("body"):
                sent.append(message["body"])
                if len(sent) == 3:
                    left.set()

        await api.app(scope, receive, send)

    asyncio.run(run())
    assert 3 <= len(sent) <= 6
