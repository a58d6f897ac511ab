"""Generic operations on evidence, which is a named tuple of arrays: packing for files, and selection by a mask.

A record is a number, an array, None, a named tuple of records, or a tuple of them.
"""

from __future__ import annotations

import functools
import itertools
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray[Any, Any]]

_hints = functools.cache(typing.get_type_hints)


def pack(records: Sequence[Any]) -> Arrays:
    """Pack records of one type into arrays, one for each leaf, named by its path such as "view.clouds.0.weights".

    Leaves of one shape are stacked. Leaves of several shapes, or absent in some records, are concatenated, with their
    shapes under "<path>.shape".
    """
    leaves: dict[str, list[Any]] = {}
    for n, record in enumerate(records):
        for path, value in _leaves(record, ""):
            leaves.setdefault(path, [None] * len(records))[n] = value
    out: Arrays = {}
    for path, values in leaves.items():
        known = [np.asarray(value) for value in values if value is not None]
        if any(value.dtype.kind not in "biuf" for value in known):
            raise TypeError(
                f"Learner: evidence must be a named tuple of arrays and numbers, got {type(records[0]).__name__} with "
                f"{type(next(value for value in values if value is not None)).__name__}"
            )
        if len(known) == len(values) and len({value.shape for value in known}) == 1:
            out[path] = np.stack(known)
        elif known:
            out[path] = np.concatenate([value.ravel() for value in known])
            out[f"{path}.shape"] = _shapes(values)
    return out


def unpack(kind: Any, arrays: Arrays, n: int, known: Mapping[str, Any] | None = None) -> list[Any]:
    """Undo `pack`: build n records of a type, by the type's annotations.

    `known` maps paths to types where the annotation leaves them open.
    """
    columns = {path: _column(path, arrays, n) for path in arrays if not path.endswith(".shape")}
    builder = _Builder(columns, known or {})
    out = [builder.build(kind, "", i) for i in range(n)]
    if n and builder.used != set(columns):
        raise ValueError(f"{min(set(columns) - builder.used)} belongs to no {getattr(kind, '__name__', kind)}")
    return out


def where(mask: np.ndarray[Any, np.dtype[np.bool_]], yes: Any, no: Any) -> Any:
    """Select the records of r trials from one of two by a mask (r,), like `numpy.where`.

    Arrays have a leading axis r; a list holds one record of any type for each trial.
    """
    if isinstance(yes, list):
        return [a if shown else b for shown, a, b in zip(mask, yes, no, strict=True)]
    if isinstance(yes, tuple):
        return _like(yes, [where(mask, a, b) for a, b in zip(yes, no, strict=True)])
    if isinstance(yes, np.ndarray):
        return np.where(mask.reshape(-1, *[1] * (yes.ndim - 1)), yes, no)
    if yes is None and no is None:
        return None
    raise TypeError(
        f"Learner: evidence of trials in lock-step must be a named tuple of arrays with a leading axis, or a list with "
        f"one entry for each trial, got {type(yes).__name__}"
    )


def _leaves(record: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(record, tuple):
        names = getattr(record, "_fields", range(len(record)))
        for name, value in zip(names, record, strict=True):
            yield from _leaves(value, f"{path}.{name}" if path else str(name))
    elif record is not None:
        yield path or "value", record


def _like(record: tuple[Any, ...], values: list[Any]) -> Any:
    return type(record)(*values) if hasattr(record, "_fields") else tuple(values)


def _shapes(values: Sequence[Any]) -> np.ndarray[Any, Any]:
    """Return a row for each value: its number of axes, -1 if absent, and its shape."""
    shapes = [None if value is None else np.shape(value) for value in values]
    out = np.full((len(values), 1 + max(len(shape) for shape in shapes if shape is not None)), -1)
    for row, shape in zip(out, shapes, strict=True):
        if shape is not None:
            row[: 1 + len(shape)] = len(shape), *shape
    return out


def _column(path: str, arrays: Arrays, n: int) -> list[Any]:
    """Return the leaf at a path of every record, None where absent."""
    values = arrays[path]
    if f"{path}.shape" not in arrays:
        if len(values) != n:
            raise ValueError(f"{path} must have {n} entries, got {len(values)}")
        return list(values)
    shapes = [tuple(row[1 : 1 + row[0]]) if row[0] >= 0 else None for row in arrays[f"{path}.shape"].tolist()]
    if len(shapes) != n or any(length < 0 for shape in shapes if shape is not None for length in shape):
        raise ValueError(f"{path} must have {n} shapes, got others")
    sizes = [0 if shape is None else int(np.prod(shape)) for shape in shapes]
    if sum(sizes) != len(values):
        raise ValueError(f"{path} must have {sum(sizes)} numbers, got {len(values)}")
    parts = np.split(values, np.cumsum(sizes)[:-1])
    return [None if shape is None else part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]


class _Builder:
    """Builds records from the leaves of all of them."""

    def __init__(self, columns: dict[str, list[Any]], known: Mapping[str, Any]) -> None:
        self._columns = columns
        self._known = known
        self.used: set[str] = set()

    def _has(self, path: str, i: int) -> bool:
        """Return whether entry i has a leaf at the path or below it."""
        below = (key for key in self._columns if key == (path or "value") or key.startswith(f"{path}."))
        return any(self._columns[key][i] is not None for key in below)

    def build(self, kind: Any, path: str, i: int) -> Any:
        """Build the record of this type at a path, for entry i."""
        kind, optional = self._known.get(path, kind), False
        if typing.get_origin(kind) in (typing.Union, types.UnionType):
            kind, optional = next(option for option in typing.get_args(kind) if option is not type(None)), True
        optional = optional or kind is Any
        prefix = f"{path}." if path else ""
        if optional and not self._has(path, i):
            return None
        if hasattr(kind, "_fields"):
            hints = _hints(kind)
            return kind(*(self.build(hints[name], f"{prefix}{name}", i) for name in kind._fields))
        if typing.get_origin(kind) is tuple:
            item = typing.get_args(kind)[0]
            present = itertools.takewhile(lambda j: self._has(f"{prefix}{j}", i), itertools.count())
            return tuple(self.build(item, f"{prefix}{j}", i) for j in present)
        path = path or "value"
        if path not in self._columns:
            raise ValueError(f"{path} is missing")
        self.used.add(path)
        value = self._columns[path][i]
        if value is None:
            raise ValueError(f"{path} is missing in entry {i}")
        return kind(value) if kind in (int, float) else value
