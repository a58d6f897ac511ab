"""Files of arrays and JSON, never pickle."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import uuid
import zipfile
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from overcast import _check, confidence, features, kernels, models, policies

FORMAT = "overcast-bandit"
VERSION = 3

_MODULES = {"confidence": confidence, "features": features, "kernels": kernels, "models": models, "policies": policies}


def config(value: Any) -> Any:
    """Return a model or policy as JSON data, or None if it holds a function or a class from outside the package."""
    try:
        return _encode(value)
    except TypeError:
        return None


def given_or_stored(path: str | os.PathLike[str], name: str, given: Any, header: dict[str, Any]) -> Any:
    """Return the model or policy that the user passed to `load`, else the one the file describes."""
    with damage(path):
        stored = _decode(header[name])
    if given is None and stored is None:
        raise ValueError(
            f"Bandit: {os.fspath(path)} was saved with a {name} that holds a function or a class of your own; "
            f"pass it again as {name}="
        )
    if given is not None and stored is not None and given != stored:
        raise ValueError(f"Bandit: {name} must be the one that was saved, {stored}, got {given}")
    return stored if given is None else given


def _encode(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        name = type(value).__name__
        home = [key for key, module in _MODULES.items() if getattr(module, name, None) is type(value)]
        if not home:
            raise TypeError
        own = {field.name: _encode(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return {"type": f"{home[0]}.{name}", **own}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, tuple):
        return [_encode(item) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError


def _decode(data: Any) -> Any:
    if isinstance(data, list):
        return tuple(_decode(item) for item in data)
    if not isinstance(data, dict):
        return data
    module, _, name = data["type"].partition(".")
    kind = getattr(_MODULES[module], name)
    return kind(**{field: _decode(value) for field, value in data.items() if field != "type"})


def check_names(names: Sequence[Any] | None) -> list[Any] | None:
    """Return the names if JSON gives them back as they are."""
    if names is None:
        return None
    plain = [name.item() if isinstance(name, np.generic) else name for name in names]
    odd = [name for name in plain if not isinstance(name, (str, int, float)) or isinstance(name, bool)]
    if odd:
        raise TypeError(f"Bandit: save needs names that are strings or numbers, got {_check.short(odd[0])}")
    return plain


def write(path: str | os.PathLike[str], header: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    """Write header and arrays to one file, whole or not at all."""
    text = json.dumps({"format": FORMAT, "version": VERSION, **header})
    folder = os.path.dirname(os.fspath(path)) or "."
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"Bandit: path must be in a folder that exists, got {os.fspath(path)}")
    write_arrays(path, {"header": np.frombuffer(text.encode(), dtype=np.uint8), **arrays})


def write_arrays(path: str | os.PathLike[str], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    """Write arrays to one file, whole or not at all."""
    partial = f"{os.fspath(path)}.{uuid.uuid4().hex[:8]}.partial"
    try:
        with open(partial, "xb") as file:
            np.savez(file, allow_pickle=False, **arrays)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(partial)
        raise


def read_arrays(path: str | os.PathLike[str], needed: Sequence[str]) -> dict[str, np.ndarray[Any, Any]] | None:
    """Return the arrays that `write_arrays` left, or None if no readable file there has all of `needed`."""
    try:
        with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
            arrays = dict(file)
    except Exception:  # a damaged file may raise anything
        return None
    return arrays if all(name in arrays for name in needed) else None


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
    """Return what `write` wrote."""
    with open(path, "rb") as raw, damage(path):
        if not zipfile.is_zipfile(raw):
            raise ValueError("it is not an archive of arrays")
        raw.seek(0)
        with np.load(raw, allow_pickle=False) as file:
            arrays = dict(file)
        header = json.loads(arrays.pop("header").tobytes())
        for name, values in arrays.items():
            if not np.isfinite(values).all():
                raise ValueError(f"{name} holds numbers that are not finite")
        known = header["format"] == FORMAT
        version = int(header["version"])
    if not known or version != VERSION:
        what = f"version {version}" if known else f"format {header['format']!r}"
        other = "newer" if not known or version > VERSION else "earlier"
        raise ValueError(
            f"Bandit: {os.fspath(path)} must be a bandit file of version {VERSION}, got {what}; load it with the "
            f"{other} overcast that wrote it"
        )
    return header, arrays


@contextlib.contextmanager
def damage(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn whatever a broken file provokes into one clear error."""
    try:
        yield
    except Exception as error:  # one flipped bit can ask for a password, a compression method, any amount of memory
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        text = f"Bandit: {os.fspath(path)} must be a file that save() wrote; it is damaged: {reason}"
        raise ValueError(text) from error
