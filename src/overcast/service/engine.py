"""The one thread that reads and writes the log, and holds the state.

Requests hand in work: a function of a `Turn`. The thread takes all work that waits, runs it in order, writes what it
appended in one transaction, and only then gives the answers. So many requests share one sync of the disk, a decision is
made from all that stands before it in the log, and no answer is given that a power cut could undo.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np

import overcast
from overcast.decision import Decision
from overcast.service.errors import LIBRARY, Refusal, invalid
from overcast.service.fold import Life, State, folded
from overcast.service.store.base import Row, Snapshots, Store, Unavailable

T = TypeVar("T")
log = logging.getLogger("overcast.service")

#: work that is taken at once, and that may wait
BATCH, WAITING = 1000, 20_000
#: decisions of a bandit that expire at one time
EXPIRING = 1000


class Turn:
    """What work sees: the state, and a way to append to the log."""

    def __init__(self, state: State, store: Store, now: float) -> None:
        self.state, self.now = state, now
        self._store = store
        self.rows: list[Row] = []
        self._recent: dict[tuple[str, str], list[Row]] = {}

    def life(self, name: str) -> Life:
        """Return a bandit; raise a refusal if there is none."""
        try:
            return self.state.lives[name]
        except KeyError:
            raise unknown(name) from None

    def append(
        self, bandit: str, kind: str, body: Any, decision: Decision | str | None = None, detail: bytes | None = None
    ) -> Row:
        """Let something happen, and write it down; if it cannot happen, raise a refusal and change nothing."""
        made = decision if isinstance(decision, Decision) else None
        id_ = decision.id if isinstance(decision, Decision) else decision
        text = msgspec.json.encode(body).decode()
        row = Row(self.state.position + 1, self.now, bandit, kind, id_, overcast.__version__, text, detail)
        try:
            self.state.apply(row, made)
        except LIBRARY as error:
            raise invalid(error) from None
        self.rows.append(row)
        if id_ is not None:
            self._recent.setdefault((bandit, id_), []).append(row)
        return row

    def find(self, bandit: str, decision: str) -> list[Row]:
        """Return all rows about a decision, those of this turn included."""
        return [*self._store.find(bandit, decision), *self._recent.get((bandit, decision), ())]


class _Work(NamedTuple):
    run: Callable[[Turn], Any]
    writes: bool
    future: Future[Any] | asyncio.Future[Any]


class Engine:
    """Runs work on the state, one after the other.

    Parameters
    ----------
    store : of the log
    snapshot_every : rows after which the state is kept, so that the next start need not fold them
    tick : seconds after which the log is read and decisions expire even if nobody asks
    """

    def __init__(self, store: Store, snapshot_every: int = 10_000, tick: float = 0.1) -> None:
        self.store, self.snapshot_every, self.tick = store, snapshot_every, tick
        self.secret = store.secret()
        #: None while the log has not been folded
        self.state: State | None = None
        #: called with the seconds that each commit took
        self.on_commit: Callable[[float], None] | None = None
        self._kept = 0
        self._queue: queue.SimpleQueue[_Work | None] = queue.SimpleQueue()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="overcast-writer", daemon=True)

    @property
    def ready(self) -> bool:
        """Whether the log has been folded and can be read."""
        return self.state is not None and not self._stopping

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Finish what was accepted, keep the state, and close the store."""
        self._stopping = True
        self._queue.put(None)
        self._thread.join()
        self.store.close()

    async def ask(self, run: Callable[[Turn], T], writes: bool = True) -> T:
        """Return what work answers, once all that it appended is durable.

        writes : whether it may append
        """
        self._check_open()
        future = asyncio.get_running_loop().create_future()
        self._queue.put(_Work(run, writes, future))
        return await future  # type: ignore[no-any-return]

    def do(self, run: Callable[[Turn], T], writes: bool = True) -> T:
        """Do the same for callers that can wait."""
        self._check_open()
        future: Future[Any] = Future()
        self._queue.put(_Work(run, writes, future))
        return future.result()  # type: ignore[no-any-return]

    def _check_open(self) -> None:
        if self._stopping or self._queue.qsize() > WAITING:
            raise Refusal(503, "service: is stopping or has too much to do; try again", headers={"Retry-After": "1"})

    def _run(self) -> None:
        due = 0.0
        while True:
            batch = self._taken()
            if batch or time.monotonic() >= due:
                self._serve(batch)
                due = time.monotonic() + self.tick
            if self._stopping and not batch and self._queue.empty():
                break
        self._keep()

    def _taken(self) -> list[_Work]:
        """Return the work that waits, after waiting for some."""
        out: list[_Work] = []
        try:
            item = self._queue.get(timeout=self.tick)
            while True:
                if item is not None:
                    out.append(item)
                if len(out) >= BATCH:
                    return out
                item = self._queue.get_nowait()
        except queue.Empty:
            return out

    def _serve(self, batch: Sequence[_Work]) -> None:
        try:
            with np.errstate(all="ignore"):  # numbers beyond all bounds are refused, not warned about
                answers = self._answers(batch)
        except Exception as error:
            log.error("the log cannot be written or read: %s", error, exc_info=not isinstance(error, Unavailable))
            self.state = None  # it may hold what was not written; the log knows
            with contextlib.suppress(Unavailable):
                self.store.end()
            answers = [
                _refused(Refusal(503, "service: the log cannot be written or read now; try again")) for _ in batch
            ]
        _settle(batch, answers)
        if self.state is not None and self.state.position - self._kept >= self.snapshot_every:
            self._keep()

    def _answers(self, batch: Sequence[_Work]) -> list[tuple[Any, BaseException | None]]:
        if self.state is None:
            self.state, self._kept = started(self.store)
        state = self.state
        writes = any(work.writes for work in batch) or _due(state, time.time())
        for row in self.store.begin(state.position) if writes else self.store.news(state.position):
            state.apply(row)
        turn = Turn(state, self.store, time.time())
        if writes:  # else the turn was not taken, and nothing may be appended
            _expire(turn)
        answers = [_answer(work, turn) for work in batch]
        if turn.rows:
            begun = time.perf_counter()
            self.store.commit(turn.rows)
            if self.on_commit is not None:
                self.on_commit(time.perf_counter() - begun)
        elif writes:
            self.store.end()
        return answers

    def _keep(self) -> None:
        """Keep the state, so that the next start is quick; whether it succeeds does not matter otherwise."""
        if self.state is None or self.state.position == self._kept:
            return
        try:
            self.store.keep(Snapshots(self.state.position, overcast.__version__, self.state.contents()))
        except (Unavailable, ValueError) as error:
            log.warning("no snapshot was kept: %s", error)
        self._kept = self.state.position


def started(store: Store) -> tuple[State, int]:
    """Return the state that the log leads to, and the position up to which it came from snapshots."""
    kept = store.snapshots()
    state = None
    if kept is not None and kept.version == overcast.__version__:
        try:
            state = State.of(kept.position, kept.contents)
        except Exception as error:  # whatever is wrong with a cache, the log is the truth
            log.warning("the snapshots are not readable, the log is folded from its start: %s", error)
    position = 0 if state is None else state.position
    return folded(store.read(position), state), position


def unknown(bandit: str) -> Refusal:
    """Return the refusal for a bandit that does not exist, or that the key may not see."""
    return Refusal(404, f"bandit: must be one that exists, got {bandit[:80]!r}")


def _answer(work: _Work, turn: Turn) -> tuple[Any, BaseException | None]:
    before = len(turn.rows)
    try:
        return work.run(turn), None
    except Refusal as refusal:
        return _refused(refusal)
    except Unavailable:
        raise
    except Exception as error:
        if len(turn.rows) != before:  # it failed half way, which no work may do
            raise
        if isinstance(error, LIBRARY):
            return _refused(invalid(error))
        return None, error


def _refused(refusal: Refusal) -> tuple[Any, BaseException | None]:
    return None, refusal


def _due(state: State, now: float) -> bool:
    return any(
        life.terms.wait is not None and life.open and now - next(iter(life.open.values())).time > life.terms.wait
        for life in state.lives.values()
    )


def _expire(turn: Turn) -> None:
    """Give up the outcomes that did not come in time: the default reward counts, or the decision is forgotten."""
    for life in turn.state.lives.values():
        wait, default = life.terms.wait, life.terms.default
        if wait is None:
            continue
        late: list[tuple[str, float]] = []
        for id_, waiting in life.open.items():
            if turn.now - waiting.time <= wait or len(late) >= EXPIRING:
                break
            late.append((id_, waiting.total))
        for id_, total in late:
            if default is None:
                turn.append(life.name, "forget", {"event": "forget", "id": id_, "expired": True}, id_)
            else:
                body = {"event": "learn", "id": id_, "reward": total + default, "context": None, "expired": True}
                turn.append(life.name, "learn", body, id_)


def _settle(batch: Sequence[_Work], answers: Sequence[tuple[Any, BaseException | None]]) -> None:
    """Hand the answers over, with one call for each event loop."""
    loops: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Any, BaseException | None]]] = {}
    for work, (value, error) in zip(batch, answers, strict=True):
        if isinstance(work.future, asyncio.Future):
            loops.setdefault(work.future.get_loop(), []).append((work.future, value, error))
        else:
            _set(work.future, value, error)
    for loop, group in loops.items():
        try:
            loop.call_soon_threadsafe(_set_all, group)
        except RuntimeError:
            log.warning("%d answers came after the server had stopped", len(group))


def _set_all(group: list[tuple[asyncio.Future[Any], Any, BaseException | None]]) -> None:
    for future, value, error in group:
        if not future.done():  # whoever asked may have gone
            _set(future, value, error)


def _set(future: Any, value: Any, error: BaseException | None) -> None:
    if error is None:
        future.set_result(value)
    else:
        future.set_exception(error)
