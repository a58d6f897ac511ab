"""Files of arrays and JSON, never pickle."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import uuid
from collections.abc import Iterator
from typing import Any

import numpy as np

from overcast import _check, confidence, features, models, policies

FORMAT = "overcast-bandit"
VERSION = 1

_MODULES = (confidence, features, models, policies)


def to_config(value: Any) -> Any:
    """Return a model, policy, feature map or beta_t as JSON data."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: to_config(getattr(value, field.name)) for field in dataclasses.fields(value)}
        name = type(value).__name__
        if not any(getattr(module, name, None) is type(value) for module in _MODULES):
            raise TypeError(f"Bandit: save knows this package's own classes only, got {type(value).__qualname__}")
        return {"type": name, **fields}
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(
        f"Bandit: save stores numbers and this package's own classes, no functions, got {_check.short(value)}"
    )


def config_or_none(value: Any) -> Any:
    """Return what `to_config` does, or None for what only its owner can make again."""
    try:
        return to_config(value)
    except TypeError:
        return None


def given_or_stored(path: str | os.PathLike[str], name: str, given: Any, header: dict[str, Any]) -> Any:
    """Return what the user passed to `load`, else what the file describes."""
    if given is not None:
        return given
    with damage(path):
        stored = from_config(header[name])
    if stored is None:
        raise ValueError(
            f"Bandit: {os.fspath(path)} was saved with a {name} that holds a function or a class of your own; "
            f"pass it again as {name}="
        )
    return stored


def from_config(data: Any) -> Any:
    """Build what `to_config` described."""
    if not isinstance(data, dict):
        return data
    fields = {name: from_config(value) for name, value in data.items() if name != "type"}
    for module in _MODULES:
        kind = getattr(module, data["type"], None)
        if isinstance(kind, type) and dataclasses.is_dataclass(kind):
            return kind(**fields)
    raise ValueError(f"unknown type {data['type']!r}")


def check_names(names: list[Any] | None) -> list[Any] | None:
    """Return the names if JSON gives them back as they are."""
    if names is not None:
        names = [name.item() if isinstance(name, np.generic) else name for name in names]
        odd = [name for name in names if not isinstance(name, (str, int, float)) or isinstance(name, bool)]
        if odd:
            raise TypeError(f"Bandit: save needs names that are strings or numbers, got {_check.short(odd[0])}")
    return names


def write(path: str | os.PathLike[str], header: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    """Write header and arrays to one file, whole or not at all."""
    text = json.dumps({"format": FORMAT, "version": VERSION, **header})
    partial = f"{os.fspath(path)}.{uuid.uuid4().hex[:8]}.partial"
    try:
        with open(partial, "xb") as file:
            np.savez(file, allow_pickle=False, header=np.frombuffer(text.encode(), dtype=np.uint8), **arrays)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(partial)
        raise


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
    """Return what `write` wrote."""
    with open(path, "rb") as raw, damage(path), np.load(raw, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
        header = json.loads(arrays.pop("header").tobytes())
        known = header["format"] == FORMAT
        version = int(header["version"])
    if not known or version > VERSION:
        what = f"version {version}" if known else f"format {header['format']!r}"
        raise ValueError(
            f"Bandit: {os.fspath(path)} must be a bandit file of version {VERSION} or older, got {what}; "
            "load it with a newer overcast"
        )
    return header, arrays


@contextlib.contextmanager
def damage(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn whatever a broken file provokes into one clear error."""
    try:
        yield
    except Exception as error:  # one flipped bit can ask for a password, a compression method, any amount of memory
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ValueError(
            f"Bandit: {os.fspath(path)} must be a file that save() wrote; it is damaged: {reason}"
        ) from error
