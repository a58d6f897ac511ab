"""The contract of a store of the log."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

#: rows that are read at once
CHUNK = 1000
#: rows that are deleted at once, so that nobody waits long
ERASED = 2000


class Unavailable(Exception):  # noqa: N818 - it names a state of affairs, not a mistake
    """The store cannot be written to or read; what was asked for did not happen, or its fate is unknown."""


class Replaced(Exception):  # noqa: N818 - it names a state of affairs, not a mistake
    """The log ends before a position that it had reached, as after a backup was restored."""


class Row(NamedTuple):
    """One line of the log.

    position : counting from 1, without gaps unless rows were erased
    time : when it was written, in seconds since 1970 (UTC)
    bandit : its name; empty for what concerns the service as a whole
    kind : what happened, e.g. `decide`
    decision : the id of the decision that it is about; None if it is about none
    version : of the overcast that wrote it
    body : the event as JSON
    detail : of a decision, mean, width and score of every action, as `fold.detail` packs them; of a base, the bandit
        as it was there, as `fold.Life.to_bytes` writes it; None for all others
    """

    position: int
    time: float
    bandit: str
    kind: str
    decision: str | None
    version: str
    body: str
    detail: bytes | None = None


class Snapshots(NamedTuple):
    """The state of the fold at a position, by name of the bandit, and the version of overcast that folded it."""

    position: int
    version: str
    contents: dict[str, bytes]


class Store(Protocol):
    """A log, of which one writer at a time has the turn. Every method raises `Unavailable` if the store fails.

    `begin` and `news` raise `Replaced` if the log ends before the position that they are given.
    """

    def begin(self, after: Callable[[], int], meanwhile: Callable[[], None]) -> Sequence[Row]:
        """Take the turn to write, and return what others have written after a position.

        after : tells the position once the turn is there
        meanwhile : is called now and then while another process has the turn
        """

    def commit(self, rows: Sequence[Row]) -> None:
        """Write rows durably, and give the turn back; on failure none of them is written, or all are."""

    def end(self) -> None:
        """Give the turn back without writing."""

    def news(self, after: int) -> Sequence[Row]:
        """Return the rows that others have written after a position, without taking the turn."""

    def read(self, after: int = 0) -> Iterator[Row]:
        """Return all rows after a position, in order."""

    def find(self, bandit: str, decision: str) -> Sequence[Row]:
        """Return all rows about one decision, in order."""

    def latest(self, bandit: str, kinds: Sequence[str], after: int, until: int, limit: int) -> Sequence[Row]:
        """Return the last rows of some kinds about one bandit between two positions, in order, without details."""

    def snapshots(self) -> Snapshots | None:
        """Return the latest snapshots; None if there are none."""

    def keep(self, snapshots: Snapshots) -> None:
        """Replace the snapshots, unless there are later ones."""

    def last(self) -> int:
        """Return the last position; 0 if there is none."""

    def erase(self, bandit: str, until: int, base: Row | None) -> int:
        """Delete the rows of a bandit up to a position, the last ones first, and return how many were deleted.

        What a failure leaves is a beginning of them: snapshots go after all rows.

        base : replaces the row at its position, and stands for all before it; None to keep nothing, not even snapshots
            from before the position
        """

    def secret(self) -> bytes:
        """Return the 32 random bytes that were made with the database."""

    def begin_session(self, digest: str, key: str, expires: float, now: float) -> None:
        """Keep the hash of a session of the dashboard with the id of its key, and delete the ones that have ended."""

    def find_session(self, digests: Sequence[str], now: float) -> tuple[str, str] | None:
        """Return the first of some hashes that is that of a session, and the id of its key; None if none is."""

    def end_session(self, digest: str) -> None:
        """Delete a session."""

    def close(self) -> None:
        """Close files and connections."""


def grouped(rows: Sequence[tuple[str, int, str, bytes]]) -> Snapshots | None:
    """Return snapshots from rows of name, position, version and content."""
    if not rows:
        return None
    _, position, version, _ = rows[0]
    return Snapshots(position, version, {name: bytes(content) for name, _, _, content in rows})


def listed(snapshots: Snapshots) -> list[tuple[str, int, str, bytes]]:
    """Return snapshots as rows of name, position, version and content."""
    position, version, contents = snapshots
    return [(name, position, version, content) for name, content in contents.items()]


Steps = Mapping[int, Sequence[str]]


def pending(steps: Steps, version: int) -> list[tuple[int, Sequence[str]]]:
    """Return the steps that bring a schema of this version up to date; raise ValueError if it is from the future."""
    latest = max(steps)
    if version > latest:
        raise ValueError(f"serve: database must have schema version {latest} at most, got {version}; upgrade overcast")
    return [(number, steps[number]) for number in sorted(steps) if number > version]
