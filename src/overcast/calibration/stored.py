"""Convert the tracks of corrections to arrays, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from overcast._check import Array
from overcast.calibration.bank import SHAPES, Bank
from overcast.calibration.fit import Correction
from overcast.calibration.track import LearntTrack, Track

#: the numbers of a bank, in their order
NUMBERS = ("unit", "origin", "centre", "variance", "usual", "stated", "n", "first", "sizes", "sized")
WIDTH = len(Correction())


def to_arrays(tracks: Sequence[Track | LearntTrack], learnt: bool) -> dict[str, Array]:
    """Return the tracks of all dimensions as arrays."""
    out = {
        "rows": np.concatenate([track.rows for track in tracks]) if tracks else np.empty((0, 3)),
        "lengths": np.array([len(track.rows) for track in tracks], dtype=np.int64),
        "corrections": np.array([track.correction for track in tracks]).reshape(-1, WIDTH),
    }
    if not learnt:
        return out | {"new": np.array([track.new for track in tracks if isinstance(track, Track)], dtype=np.int64)}
    banks = [track.bank for track in tracks if isinstance(track, LearntTrack)]
    begun = [bank for bank in banks if bank is not None]
    out["begun"] = np.array([bank is not None for bank in banks], dtype=np.int64)
    out["numbers"] = np.array([[float(getattr(bank, name)) for name in NUMBERS] for bank in begun]).reshape(
        -1, len(NUMBERS)
    )
    for name, shape in SHAPES.items():
        out[name] = np.array([getattr(bank, name) for bank in begun]).reshape(-1, *shape)
    return out


def from_arrays(state: dict[str, Any], learnt: bool) -> tuple[Track | LearntTrack, ...]:
    """Rebuild the tracks of all dimensions from what `to_arrays` returned."""
    _check_names(state, learnt)
    lengths = state["lengths"].tolist()
    if min(lengths, default=0) < 0:
        raise ValueError(f"lengths must be >= 0, got {min(lengths)}")
    if sum(lengths) != len(state["rows"]):
        raise ValueError(f"lengths sum to {sum(lengths)}, but there are {len(state['rows'])} rows")
    pieces = np.split(state["rows"].reshape(-1, 3), np.cumsum(lengths, dtype=np.int64)[:-1]) if lengths else []
    corrections = [Correction(*row) for row in state["corrections"].reshape(-1, WIDTH).tolist()]
    if not learnt:
        return tuple(Track(*parts) for parts in zip(pieces, state["new"].tolist(), corrections, strict=True))
    begun = _banks(state)
    flags = state["begun"].tolist()
    if sum(flags) != len(begun):
        raise ValueError(f"begun counts {sum(flags)} banks, but there are {len(begun)}")
    if any(flag and length for flag, length in zip(flags, lengths, strict=True)):
        raise ValueError("a dimension has both rows and a bank")
    banks = iter(begun)
    each = zip(pieces, corrections, flags, strict=True)
    return tuple(LearntTrack(rows, correction, next(banks) if flag else None) for rows, correction, flag in each)


def _check_names(state: dict[str, Any], learnt: bool) -> None:
    """Raise ValueError unless the arrays are those of this kind of track."""
    known = {"rows", "lengths", "corrections"} | ({"begun", "numbers", *SHAPES} if learnt else {"new"})
    if state.keys() != known:
        raise ValueError(f"expected the arrays {', '.join(sorted(known))}, got {', '.join(sorted(state))}")


def _banks(state: dict[str, Any]) -> list[Bank]:
    """Rebuild the banks of experts."""
    numbers = state["numbers"].reshape(-1, len(NUMBERS))
    arrays = {name: state[name].reshape(-1, *shape) for name, shape in SHAPES.items()}
    for name, array in arrays.items():
        if len(array) != len(numbers):
            raise ValueError(f"numbers has {len(numbers)} rows, but {name} has {len(array)}")
    out = []
    for i, row in enumerate(numbers.tolist()):
        known = dict(zip(NUMBERS, row, strict=True))
        if not (known["unit"] > 0.0 and known["variance"] > 0.0 and known["usual"] > 0.0 and known["n"] >= 1.0):
            raise ValueError("unit, variance and usual must be > 0, and n at least 1")
        known |= {"stated": bool(known["stated"]), "n": int(known["n"])}
        out.append(Bank(**known, **{name: array[i] for name, array in arrays.items()}))
    return out
