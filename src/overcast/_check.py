"""Argument checks. Every error is one line: owner, parameter, expected, got."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

# Longest id of a decision.
MAX_TEXT = 1000
#: most draws of a belief in one round
MAX_SAMPLES = 1_000_000

# Numbers that are looked at one by one, which is faster for so few.
FEW = 32

# Weights from text files rarely sum to one to the last bit.
WEIGHT_TOLERANCE = 1e-6


def array(owner: str, name: str, value: ArrayLike, shape: Sequence[int | str]) -> Array:
    """Return a read-only float copy of `value` after checking its shape and that it is finite.

    `shape` mixes fixed sizes and axis letters: ("n", 2) allows any number of rows of two.
    """
    return checked(owner, name, floats(owner, name, value), shape)


def checked(owner: str, name: str, out: Array, shape: Sequence[int | str]) -> Array:
    """Run the checks of `array` on `out` without a copy, make it read-only, and return it."""
    fits = out.ndim == len(shape) and 0 not in out.shape
    for want, got in zip(shape, out.shape, strict=False):
        fits = fits and (want == got or isinstance(want, str))
    if not fits:
        raise ValueError(f"{owner}: {name} must have shape {_axes(tuple(shape))}, got {_axes(out.shape)}")
    if not (all(map(math.isfinite, out.tolist())) if out.ndim == 1 and len(out) <= FEW else np.isfinite(out).all()):
        at = tuple(int(i) for i in np.argwhere(~np.isfinite(out))[0])
        bad = out[at]
        where = f" at index {at[0] if len(at) == 1 else at}" if at else ""
        raise ValueError(f"{owner}: {name} must be finite, got {bad}{where}")
    return read_only(out)


def read_only(out: Array) -> Array:
    """Make an array read-only in place, and return it."""
    out.setflags(write=False)
    return out


def floats(owner: str, name: str, value: ArrayLike) -> Array:
    """Return a float copy of `value`, of any shape; masked entries become NaN."""
    if isinstance(value, np.ma.MaskedArray):
        # np.asarray would drop the mask and treat the values under it as data.
        value = np.ma.filled(value.astype(np.float64), np.nan)
    try:
        raw = np.asarray(value)
    except ValueError:
        raise ValueError(f"{owner}: {name} must be a rectangular array, got rows of different lengths") from None
    if raw.dtype.kind not in "fiub":
        raise TypeError(f"{owner}: {name} must be real numbers, got {short(value)}")
    return np.array(raw, dtype=np.float64)


def vector(owner: str, name: str, value: ArrayLike, size: int | str) -> Array:
    """Return a read-only float vector, with the checks of `array`; a single number counts as a vector of length one."""
    out = floats(owner, name, value)
    return checked(owner, name, out.reshape(1) if out.ndim == 0 else out, (size,))


def number(
    owner: str,
    name: str,
    value: Any,
    *,
    at_least: float | None = None,
    above: float | None = None,
    at_most: float | None = None,
    below: float | None = None,
) -> float:
    """Return `value` as a finite float inside the stated range."""
    if isinstance(value, (str, bytes, bool, np.bool_, complex, np.complexfloating)):
        raise TypeError(f"{owner}: {name} must be a number, got {value!r}")
    try:
        out = float(value)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{owner}: {name} must be a number, got {short(value)}") from None
    if not math.isfinite(out):
        raise ValueError(f"{owner}: {name} must be finite, got {out}")
    if at_least is not None and out < at_least:
        raise ValueError(f"{owner}: {name} must be >= {at_least:g}, got {out}")
    if above is not None and out <= above:
        raise ValueError(f"{owner}: {name} must be > {above:g}, got {out}")
    if at_most is not None and out > at_most:
        raise ValueError(f"{owner}: {name} must be <= {at_most:g}, got {out}")
    if below is not None and out >= below:
        raise ValueError(f"{owner}: {name} must be < {below:g}, got {out}")
    return out


def integer(owner: str, name: str, value: Any, *, at_least: int | None = None) -> int:
    """Return `value` as an int; raise TypeError for floats and booleans."""
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        out = operator.index(value)
    except TypeError:
        raise TypeError(f"{owner}: {name} must be a whole number, got {short(value)}") from None
    if at_least is not None and out < at_least:
        raise ValueError(f"{owner}: {name} must be >= {at_least}, got {out}")
    return out


def samples(owner: str, value: Any) -> int:
    """Return a number of draws of a belief, from 1 to `MAX_SAMPLES`."""
    out = integer(owner, "samples", value, at_least=1)
    if out > MAX_SAMPLES:
        raise ValueError(f"{owner}: samples must be {MAX_SAMPLES} at most, got {short(out)}")
    return out


def table(owner: str, name: str, frame: Any) -> Array:
    """Return the numbers of a pandas DataFrame, with NaN for missing ones; raise TypeError for other columns."""
    for column, dtype in frame.dtypes.items():
        if dtype.kind not in "fiub":
            raise TypeError(
                f"{owner}: {name} must have numeric columns, got {dtype} in column {column!r}; leave it out"
            )
    return np.asarray(frame.to_numpy(dtype=np.float64, na_value=np.nan))


def cut(text: object, room: int) -> str:
    """Shorten a text to one line of at most `room` characters, without its middle, as long names differ at the end.

    Examples
    --------
    >>> cut("irrigation of the northern field, plan 12", 20)
    'irrigation…, plan 12'
    """
    line = " ".join(str(text).split())
    tail = (room - 1) // 2
    return line if len(line) <= room else f"{line[: room - 1 - tail]}…{line[-tail:]}"


def weights(owner: str, value: ArrayLike | None, n: int) -> Array:
    """Return `n` probabilities (uniform for None), renormalised to sum to one up to round-off."""
    if value is None:
        out = np.full(n, 1.0 / n)
    else:
        out = np.array(array(owner, "weights", value, (n,)))
        if (out < 0).any():
            at = int(np.argmax(out < 0))
            raise ValueError(f"{owner}: weights must be >= 0, got {out[at]} at index {at}")
        total = float(out.sum())
        if abs(total - 1.0) > WEIGHT_TOLERANCE:
            raise ValueError(f"{owner}: weights must sum to 1, got a sum of {total:.6g}; divide by it")
        # Weights that sum to one up to round-off are not changed, so that saving and loading changes nothing.
        if abs(total - 1.0) > n * np.finfo(np.float64).eps:
            out /= total
    return read_only(out)


def labels(owner: str, name: str, value: ArrayLike, n: int) -> NDArray[np.intp]:
    """Return `n` labels, all integers or all strings, as indices into the sorted distinct labels."""
    raw = np.asarray(value, dtype=object)
    if raw.shape != (n,):
        raise ValueError(f"{owner}: {name} must have shape ({n},), got {_axes(raw.shape)}")
    alike = any(all(isinstance(label, kind) for label in raw.tolist()) for kind in (str, int))
    if not alike or np.ma.is_masked(value):
        raise TypeError(f"{owner}: {name} must be whole numbers or names, got {short(value)}")
    out = np.unique(raw, return_inverse=True)[1].astype(np.intp)
    out.setflags(write=False)
    return out


def centred(owner: str, name: str, value: ArrayLike) -> Array:
    """Return a read-only vector whose mean is zero up to round-off."""
    out = array(owner, name, value, ("m",))
    if abs(out.mean()) > 1e-9 * (1.0 + np.abs(out).max()):
        raise ValueError(f"{owner}: {name} must have mean zero, got {out.mean():.6g}; subtract it")
    return out


def _axes(shape: Sequence[int | str]) -> str:
    return "(" + ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"


def short(value: object) -> str:
    """Return type and value on one line of bounded length, for error messages."""
    try:
        text = repr(value).replace("\n", " ")
    except RecursionError:
        text = "nested too deep"
    kind = type(value).__name__
    return f"{kind} {text}" if len(text) <= 40 else f"{kind} {text[:37]}..."


def text(owner: str, name: str, value: Any) -> str:
    """Return a string that is neither empty nor very long."""
    if not isinstance(value, str):
        raise TypeError(f"{owner}: {name} must be a string, got {short(value)}")
    if not 1 <= len(value) <= MAX_TEXT:
        raise ValueError(f"{owner}: {name} must have 1 to {MAX_TEXT} characters, got {len(value)}")
    return str(value)


def distinct_names(owner: str, name: str, value: Any, n: int | None = None) -> tuple[str, ...]:
    """Return distinct names, `n` of them unless that is None; one string counts as one name."""
    items = (value,) if isinstance(value, str) else tuple(value) if hasattr(value, "__iter__") else None
    if items is None:
        raise TypeError(f"{owner}: {name} must be a list of strings, got {short(value)}")
    out = tuple(text(owner, name, item) for item in items)
    if not out or len(out) != (n or len(out)):
        raise ValueError(f"{owner}: {name} must have {n or 'at least one'} entries, got {len(out)}")
    if len(set(out)) < len(out):
        twice = next(item for item in out if out.count(item) > 1)
        raise ValueError(f"{owner}: {name} must differ from each other, got {twice!r} twice")
    return out


def name(owner: str, value: Any) -> Any:
    """Return the name of an action; raise TypeError unless JSON preserves it: a string or a finite number."""
    plain = value.item() if isinstance(value, np.generic) else value
    if (
        isinstance(plain, bool)
        or not isinstance(plain, (str, int, float))
        or (isinstance(plain, float) and not math.isfinite(plain))
    ):
        raise TypeError(f"{owner} needs names that are strings or numbers, got {short(value)}")
    return plain
