"""What every store of the log must do."""

from __future__ import annotations

from collections.abc import Callable

from overcast.service.store import Row, Snapshots, Store
from overcast.service.store.base import ERASED


def row(position: int, bandit: str = "farm", decision: str | None = None) -> Row:
    text = '{"name": "ä \\u0000 <b>"}'
    return Row(position, 1.5e9 + position / 3, bandit, "decide", decision, "0.1.0", text, bytes([position % 256]))


def alone() -> None:
    """Do nothing while another process has the turn."""


def check_store(opened: Callable[[], Store]) -> None:
    """Check that rows, snapshots and the secret are there again when a store is opened anew."""
    store = opened()
    assert list(store.begin(lambda: 0, alone)) == []
    rows = [row(1), row(2, decision="x"), row(3, "shop", "x"), row(4, decision="y"), row(5, decision="x")]
    store.commit(rows[:3])
    store.begin(lambda: 3, alone)
    store.commit(rows[3:])
    store.begin(lambda: 5, alone)
    store.end()
    assert store.snapshots() is None
    kept = Snapshots(4, "0.1.0", {"": b"[]", "farm": bytes(range(256))})
    store.keep(kept)
    secret = store.secret()
    store.close()
    store = opened()
    assert list(store.read()) == rows
    assert list(store.read(3)) == rows[3:]
    assert list(store.news(5)) == []
    assert list(store.find("farm", "x")) == [rows[1], rows[4]]
    assert list(store.find("shop", "x")) == [rows[2]]
    assert list(store.find("shop", "' OR 1=1 --")) == []
    plain = [one._replace(detail=None) for one in rows]
    assert list(store.latest("farm", ["decide"], 0, 5, 10)) == [plain[i] for i in (0, 1, 3, 4)]
    assert list(store.latest("farm", ["decide", "learn"], 1, 4, 10)) == [plain[1], plain[3]]
    assert list(store.latest("farm", ["decide"], 0, 5, 2)) == plain[3:]
    assert list(store.latest("farm", ["learn"], 0, 5, 2)) == []
    assert store.snapshots() == kept
    store.keep(kept._replace(position=5, contents={"": b"[1]"}))
    later = store.snapshots()
    assert later is not None
    assert (later.position, later.contents) == (5, {"": b"[1]"})
    assert store.secret() == secret
    assert len(secret) == 32
    store.begin_session("aa", "key", 10.0, 0.0)
    store.begin_session("bb", "other", 20.0, 0.0)
    assert store.find_session(["x", "aa"], 9.0) == ("aa", "key")
    assert store.find_session(["aa"], 10.0) is None
    assert store.find_session([], 0.0) is None
    store.begin_session("cc", "key", 30.0, 10.0)
    assert store.find_session(["aa"], 0.0) is None  # it was deleted
    store.end_session("bb")
    assert store.find_session(["bb"], 0.0) is None
    store.close()
    store = opened()
    assert store.find_session(["bb", "cc"], 0.0) == ("cc", "key")
    store.close()


def check_erasure(opened: Callable[[], Store]) -> None:
    """Check that rows of one bandit are erased up to a position, with a base in their place or without."""
    store = opened()
    assert store.last() == 0
    rows = [row(i, "farm" if i % 2 else "shop") for i in range(1, 3 * ERASED)]
    store.begin(lambda: 0, alone)
    store.commit(rows)
    assert store.last() == len(rows)
    kept = Snapshots(len(rows), "0.1.0", {"": b"[]", "farm": b"1", "shop": b"2"})
    store.keep(kept)
    base = row(4001)._replace(kind="base", body="{}", detail=b"content")
    assert store.erase("farm", 4002, base) == 2000
    left = list(store.read())
    shop = [one for one in rows[:4000] if one.bandit == "shop"]
    assert left == [*shop, base, *rows[4001:]]
    assert store.snapshots() == kept
    assert store.erase("shop", 5000, None) == 2500
    assert store.snapshots() == kept  # it is of a later position
    assert [one.position for one in store.read()] == [
        one.position for one in left if one.position > 5000 or one.bandit == "farm"
    ]
    assert store.erase("shop", len(rows), None) == 499
    found = store.snapshots()
    assert found is not None
    assert found.contents.keys() == {"", "farm"}
    assert store.erase("nobody", 5000, None) == 0
    store.close()
