"""The one thread that reads and writes the log, and holds the state.

Requests hand in work: a function of a `Turn`. The thread takes all work that waits, runs it in order, writes what it
appended in one transaction, and only then gives the answers. So many requests share one sync of the disk, a decision is
made from all that stands before it in the log, and no answer is given that a power cut could undo.
"""

from __future__ import annotations

import asyncio
import logging
import math
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np

import overcast
from overcast.decisions.record import Decision
from overcast.service.errors import LIBRARY, Refusal, invalid
from overcast.service.expiry import expire_decisions, is_due
from overcast.service.fold import Life, State
from overcast.service.start import read_state
from overcast.service.store.base import Replaced, Row, Snapshots, Store, Unavailable

T = TypeVar("T")
#: what work returned, or what it raised
_Answer = tuple[Any, BaseException | None]
log = logging.getLogger("overcast.service")

#: work that is taken at once, and that may wait
BATCH, WAITING = 1000, 20_000
#: seconds after which a read is given up, and a thread that does not come back counts as stuck
STUCK = 5.0


class Turn:
    """The view of a unit of work: the state, and a way to append to the log."""

    def __init__(self, state: State, store: Store, now: float) -> None:
        self.state, self.now = state, now
        self._store = store
        self.rows: list[Row] = []
        #: whether something happened in part, so that the state holds what no row tells
        self.torn = False
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
        return self.adopt(Row(0, self.now, bandit, kind, id_, overcast.__version__, text, detail), made)

    def adopt(self, row: Row, decision: Decision | None = None) -> Row:
        """Let a row that was written down elsewhere happen as `append` does, at the next position."""
        row = row._replace(position=self.state.position + 1)
        try:
            self.state.apply(row, decision)
        except LIBRARY as error:
            raise invalid(error) from None
        except Exception:
            self.torn = True
            raise
        self.rows.append(row)
        if row.decision is not None:
            self._recent.setdefault((row.bandit, row.decision), []).append(row)
        return row

    def find(self, bandit: str, decision: str) -> list[Row]:
        """Return all rows about a decision, those of this turn included; not those of an erased bandit of that name."""
        rows = [*self._store.find(bandit, decision), *self._recent.get((bandit, decision), ())]
        since = self.state.lives[bandit].since if bandit in self.state.lives else 0
        return [row for row in rows if row.position > since]


class _Work(NamedTuple):
    run: Callable[[Turn], Any]
    writes: bool
    future: Future[Any] | asyncio.Future[Any]


class _Torn(Exception):  # noqa: N818 - it names a state of affairs, not a mistake
    """Work failed half way, which none may do: the state is no longer that of the log."""

    def __init__(self, work: _Work) -> None:
        super().__init__("work failed half way, and the log is folded anew")
        self.work = work


class Engine:
    """Runs work on the state, one after the other.

    Work that may append has the turn to write, and sees the end of the log. Other work sees the log as it was at most
    `max_age` seconds ago, and never waits for the turn of another process.

    Parameters
    ----------
    store : of the log
    snapshot_every : rows after which the state is kept, so that the next start need not fold them
    max_age : seconds after which the log is read again, and decisions expire even if nobody asks
    """

    def __init__(self, store: Store, snapshot_every: int = 10_000, max_age: float = 0.1) -> None:
        self.store, self.snapshot_every, self.max_age = store, snapshot_every, max_age
        self.secret = store.secret()
        #: None while the log has not been folded, or cannot be read
        self.state: State | None = None
        #: how far an upgrade moved the estimates of each bandit, in widths
        self.moved: dict[str, float] = {}
        #: called with the seconds that each commit took
        self.on_commit: Callable[[float], None] | None = None
        self._kept = 0
        self._queue: queue.SimpleQueue[_Work | None] = queue.SimpleQueue()
        self._put_off: deque[_Work] = deque()  # work that writes, taken while another process had the turn
        self._seen = -math.inf
        self._lost: State | None = None  # a state that was right when the store failed
        self._dirty = False  # whether the state holds what is not written yet
        self._trouble = self._no_turn = ""
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="overcast-writer", daemon=True)

    @property
    def ready(self) -> bool:
        """Whether the log has been folded and can be read."""
        return self.state is not None and not self._stopping and self.age < STUCK

    @property
    def age(self) -> float:
        """Seconds since the state was last known to be that of the whole log; infinite while it is not."""
        return time.monotonic() - self._seen

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Finish what was accepted, keep the state, and close the store."""
        self._stopping = True
        self._queue.put(None)
        self._thread.join()
        self.store.close()

    async def ask(self, run: Callable[[Turn], T], writes: bool = True) -> T:
        """Run work, and return its answer once all that it appended is durable.

        writes : whether it may append
        """
        self._check_open()
        future = asyncio.get_running_loop().create_future()
        self._queue.put(_Work(run, writes, future))
        if writes:
            return await future  # type: ignore[no-any-return]
        try:
            async with asyncio.timeout(STUCK):
                return await future  # type: ignore[no-any-return]
        except TimeoutError:
            raise _unavailable() from None

    def do(self, run: Callable[[Turn], T], writes: bool = True) -> T:
        """Do the same for callers that can wait."""
        self._check_open()
        future: Future[Any] = Future()
        self._queue.put(_Work(run, writes, future))
        return future.result()  # type: ignore[no-any-return]

    def _check_open(self) -> None:
        if self._stopping or self._queue.qsize() + len(self._put_off) > WAITING:
            raise Refusal(503, "service: is stopping or has too much to do; try again", headers={"Retry-After": "1"})

    def _run(self) -> None:
        while True:
            batch = self._taken(self.max_age)
            try:
                if batch or self.age >= self.max_age:
                    self._serve(batch)
            except Exception as error:  # whatever it is: without this thread, all writes wait for ever
                self._fail(error)
                _settle(batch, [(None, _unavailable()) for _ in batch])
            if self._stopping and not batch and not self._put_off and self._queue.empty():
                break
        self._keep()

    def _taken(self, wait: float) -> list[_Work]:
        """Return the work that is there, what was put off first, after waiting for some."""
        out = [self._put_off.popleft() for _ in range(min(BATCH, len(self._put_off)))]
        return out or self._queued(wait)

    def _queued(self, wait: float) -> list[_Work]:
        """Return the work in the queue, after waiting for some."""
        out: list[_Work] = []
        try:
            item = self._queue.get(timeout=wait) if wait else self._queue.get_nowait()
            while True:
                if item is not None:
                    out.append(item)
                if len(out) >= BATCH:
                    return out
                item = self._queue.get_nowait()
        except queue.Empty:
            return out

    def _serve(self, batch: Sequence[_Work]) -> None:
        reads, writes = _parted(batch)
        if reads or not writes:
            self._settled(reads, self._looked)
        if writes or (self.state is not None and is_due(self.state, time.time())):
            self._settled(writes, self._written)
        if self.state is not None and self.state.position - self._kept >= self.snapshot_every:
            self._keep()

    def _settled(self, batch: list[_Work], answered: Callable[[list[_Work]], list[_Answer]]) -> None:
        """Answer all work, or refuse it if the store fails."""
        try:
            with np.errstate(all="ignore"):  # numbers beyond all bounds are refused, not warned about
                answers = answered(batch)
        except Exception as error:
            self._fail(error)
            torn, cause = (error.work, error.__cause__) if isinstance(error, _Torn) else (None, None)
            answers = [(None, cause if work is torn else _unavailable()) for work in batch]
        else:
            if self._trouble:
                log.warning("the log can be written and read again")
                self._trouble = ""
        _settle(batch, answers)

    def _fail(self, error: Exception) -> None:
        """Drop the state if it may hold what was not written; the log knows."""
        self._lost = None if self._dirty or not isinstance(error, Unavailable) else self.state
        self.state, self._dirty, self._seen = None, False, -math.inf
        if (trouble := str(error) or type(error).__name__) != self._trouble:
            known = isinstance(error, (Unavailable, Replaced))
            log.error("the log cannot be written or read: %s", trouble, exc_info=not known)
            self._trouble = trouble
        self._end_turn()

    def _folded(self) -> State:
        if self.state is None:
            if self._lost is None:
                self.state, self._kept, self.moved = read_state(self.store)
            else:
                self.state, self._lost = self._lost, None
        return self.state

    def _looked(self, batch: list[_Work]) -> list[_Answer]:
        """Answer work that appends nothing."""
        state, out = self._folded(), []
        turn = Turn(state, self.store, time.time())
        self._refresh(state)
        for work in batch:
            if self.age > self.max_age:
                self._refresh(state)
            out.append(_answer(work, turn))
        return out

    def _refresh(self, state: State) -> None:
        now = time.monotonic()
        for row in self.store.news(state.position):
            state.apply(row)
        self._seen = now

    def _written(self, batch: list[_Work]) -> list[_Answer]:
        """Answer work that may append, and what more of it comes while others have the turn."""
        state = self._folded()
        try:
            news = self.store.begin(lambda: state.position, lambda: self._meanwhile(batch))
        except Unavailable as error:  # the state is still that of the log, and reading goes on if it can
            self._lack_turn(error)
            return [(None, _unavailable()) for _ in batch]
        if self._no_turn:
            log.warning("the turn to write came again")
            self._no_turn = ""
        for row in news:
            state.apply(row)
        self._dirty = True
        turn = Turn(state, self.store, time.time())
        expire_decisions(turn)
        answers = [_answer(work, turn) for work in batch]
        if turn.rows:
            begun = time.perf_counter()
            self.store.commit(turn.rows)
            if self.on_commit is not None:
                self.on_commit(time.perf_counter() - begun)
        else:
            self.store.end()
        self._dirty, self._seen = False, time.monotonic()
        return answers

    def _lack_turn(self, error: Unavailable) -> None:
        """Say once that the turn to write did not come, and give it up."""
        if str(error) != self._no_turn:
            log.error("the log cannot be written: %s", error)
            self._no_turn = str(error)
        self._end_turn()

    def _end_turn(self) -> None:
        try:
            self.store.end()
        except Exception as failed:
            log.warning("the turn to write ends with its connection: %s", failed)

    def _meanwhile(self, batch: list[_Work]) -> None:
        """Answer what does not need the turn, while another process has it."""
        reads, writes = _parted(self._queued(0.0))
        room = max(BATCH - len(batch), 0)
        batch += writes[:room]
        self._put_off += writes[room:]
        if not reads:
            return
        try:
            answers = self._looked(reads)
        except Exception:
            _settle(reads, [(None, _unavailable()) for _ in reads])
            raise
        _settle(reads, answers)

    def _keep(self) -> None:
        """Keep the state, so that the next start is quick; whether it succeeds does not matter otherwise."""
        if self.state is None or self.state.position == self._kept:
            return
        try:
            self.store.keep(Snapshots(self.state.position, overcast.__version__, self.state.contents()))
        except Exception as error:  # whatever it is, the log is the truth
            known = isinstance(error, (Unavailable, ValueError))
            log.warning("no snapshot was kept: %s", error, exc_info=not known)
        self._kept = self.state.position


def unknown(bandit: str) -> Refusal:
    """Return the refusal for a bandit that does not exist, or that the key may not see."""
    return Refusal(404, f"bandit: must be one that exists, got {bandit[:80]!r}")


def _parted(batch: Sequence[_Work]) -> tuple[list[_Work], list[_Work]]:
    """Return work that appends nothing, and work that may."""
    return [work for work in batch if not work.writes], [work for work in batch if work.writes]


def _answer(work: _Work, turn: Turn) -> _Answer:
    before = len(turn.rows)
    try:
        return work.run(turn), None
    except Refusal as refusal:
        return None, refusal
    except Unavailable:
        raise
    except Exception as error:
        if turn.torn or len(turn.rows) != before:
            raise _Torn(work) from error
        if isinstance(error, LIBRARY):
            return None, invalid(error)
        return None, error


def _unavailable() -> Refusal:
    return Refusal(503, "service: the log cannot be written or read now; try again", headers={"Retry-After": "1"})


def _settle(batch: Sequence[_Work], answers: Sequence[_Answer]) -> None:
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
        _set(future, value, error)


def _set(future: Any, value: Any, error: BaseException | None) -> None:
    if future.done():  # whoever asked may have gone
        return
    if error is None:
        future.set_result(value)
    else:
        future.set_exception(error)
