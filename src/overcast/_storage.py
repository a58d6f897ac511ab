"""Read and write files of arrays and JSON, without pickle."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import math
import os
import zipfile
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any

import numpy as np

from overcast import _check, confidence, features, kernels, models, objectives, policies, spaces
from overcast._files import replacing

FORMAT = "overcast-bandit"
VERSION = 6
#: readable versions
READABLE = (3, 4, 5, 6)
#: the array that holds the JSON text
HEADER = "header"

MODULES = {
    "confidence": confidence,
    "features": features,
    "kernels": kernels,
    "models": models,
    "objectives": objectives,
    "policies": policies,
    "spaces": spaces,
}


Arrays = dict[str, np.ndarray[Any, Any]]


def config(value: Any) -> Any:
    """Return a model or policy as JSON data, None if it holds a function or a class from outside the package."""
    try:
        return _encode(value)
    except TypeError:
        return None


def from_config(data: Any) -> Any:
    """Rebuild a model or policy from what `config` returned, None from None."""
    return _decode(data)


def given_or_stored(path: str, name: str, given: Any, data: Any) -> Any:
    """Return the user's model or policy, else the one in the file at `path`; raise ValueError if they differ."""
    with damage(path):
        stored = _decode(data)
    if given is None and stored is None:
        article = "an" if name[0] in "aeiou" else "a"
        raise ValueError(
            f"Bandit: {path} was saved with {article} {name} that holds a function or a class of your own; "
            f"pass it again as {name}="
        )
    if given is not None and stored is not None and given != stored:
        raise ValueError(f"Bandit: {name} must be the one that was saved, {stored}, got {given}")
    return stored if given is None else given


def _encode(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        name = type(value).__name__
        home = [key for key, module in MODULES.items() if getattr(module, name, None) is type(value)]
        if not home:
            raise TypeError
        parameters = {field.name: _encode(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return {"type": f"{home[0]}.{name}", **parameters}
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
    kind = getattr(MODULES[module], name)
    return kind(**{field: _decode(value) for field, value in data.items() if field != "type"})


def check_names(names: Sequence[Any] | None) -> list[Any] | None:
    """Return the names as a list; raise TypeError unless JSON preserves them."""
    return None if names is None else [_check.name("Bandit: save", name) for name in names]


def write(path: str | os.PathLike[str], header: dict[str, Any], arrays: Arrays) -> None:
    """Write header and arrays to one file, atomically."""
    folder = os.path.dirname(os.fspath(path)) or "."
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"Bandit: path must be in a folder that exists, got {os.fspath(path)}")
    parts = pack(header, arrays)
    with replacing(path) as file:
        _save(file, parts)


def pack(header: dict[str, Any], arrays: Arrays) -> Arrays:
    """Return the content of a file as arrays; raise ValueError for numbers that `read` would refuse."""
    for name, values in arrays.items():
        if not np.isfinite(values).all():
            raise ValueError(
                f"Bandit: save needs finite numbers, got others in {name}; forget decisions that hold them"
            )
    text = json.dumps({"format": FORMAT, "version": VERSION, **header}, allow_nan=False)
    return {HEADER: np.frombuffer(text.encode(), dtype=np.uint8), **arrays}


def to_bytes(header: dict[str, Any], arrays: Arrays) -> bytes:
    """Return the content of a file as bytes."""
    out = io.BytesIO()
    _save(out, pack(header, arrays))
    return out.getvalue()


def _save(file: IO[bytes], arrays: Arrays) -> None:
    np.savez(file, allow_pickle=False, **arrays)


def write_arrays(path: str | os.PathLike[str], arrays: Arrays) -> None:
    """Write arrays to one file, atomically."""
    with replacing(path) as file:
        _save(file, arrays)


def read_arrays(path: str | os.PathLike[str], needed: Sequence[str]) -> Arrays | None:
    """Read the arrays of `write_arrays`; return None unless there is a readable file with all of `needed`."""
    try:
        with open(path, "rb") as raw, zipfile.ZipFile(raw) as archive:
            arrays = {info.filename.removesuffix(".npy"): _array(archive, info) for info in _members(raw, archive)}
    except Exception:  # a damaged file may raise anything
        return None
    return arrays if all(name in arrays for name in needed) else None


def read(path: str, file: IO[bytes], wanted: Callable[[str], bool]) -> tuple[dict[str, Any], Arrays]:
    """Read a file of `write`, of this version or an earlier one, after checking every byte.

    wanted : returns whether a bandit may have an array of this name
    """
    with damage(path):
        if not zipfile.is_zipfile(file):
            raise ValueError("it is not an archive of arrays")
        file.seek(0)
        with zipfile.ZipFile(file) as archive:
            members = {info.filename.removesuffix(".npy"): info for info in _members(file, archive)}
            header = json.loads(_array(archive, members.pop(HEADER)).tobytes())
            known = header["format"] == FORMAT
            version = header["version"]
            if isinstance(version, bool) or not isinstance(version, int):
                raise ValueError(f"version must be a whole number, got {_check.short(version)}")
            for name in members:
                if not wanted(name):
                    raise ValueError(f"it holds {_check.short(name)}, which no bandit has")
            arrays = {}
            if known and version in READABLE:
                arrays = {name: _array(archive, info) for name, info in members.items()}
        for name, values in arrays.items():
            if not np.isfinite(values).all():
                raise ValueError(f"{name} holds numbers that are not finite")
    if not known or version not in READABLE:
        what = f"version {version}" if known else f"format {header['format']!r}"
        other = "newer" if not known or version > VERSION else "earlier"
        raise ValueError(
            f"Bandit: {path} must be a bandit file of version {READABLE[0]} to {VERSION}, got {what}; load it with the "
            f"{other} overcast that wrote it"
        )
    return header, arrays


def _members(file: IO[bytes], archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Return the members of an archive; raise ValueError if their stated sizes are inconsistent with the file."""
    members = archive.infolist()
    length = file.seek(0, os.SEEK_END)
    if len({info.filename for info in members}) < len(members):
        raise ValueError("it holds two arrays of one name")
    if any(info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size for info in members):
        raise ValueError("it is compressed, which save() never does")
    if sum(info.file_size for info in members) > length:
        raise ValueError("its arrays are longer than the file")
    return members


def _array(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray[Any, Any]:
    """Read an array, after checking its bytes and their number."""
    content = archive.read(info)  # reading the whole member compares its checksum
    raw = io.BytesIO(content)
    version = np.lib.format.read_magic(raw)
    read_header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
    shape, fortran, dtype = read_header(raw)
    if dtype.kind not in "biuf" or dtype.itemsize > 8:
        raise ValueError(f"{info.filename} holds {dtype}, not plain numbers")
    if math.prod(shape) * dtype.itemsize != len(content) - raw.tell():
        raise ValueError(f"{info.filename} is not as long as its shape says")
    flat = np.frombuffer(content, dtype=dtype, offset=raw.tell())
    return flat.reshape(shape, order="F" if fortran else "C")


@contextlib.contextmanager
def damage(path: str, source: str = "a file that save() wrote") -> Iterator[None]:
    """Turn any error by a damaged file, or by other data from `source`, into one clear ValueError."""
    try:
        yield
    except Exception as error:  # one flipped bit can ask for a password, a compression method, any amount of memory
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        text = f"Bandit: {path} must be {source}; it is damaged: {reason}"
        raise ValueError(text) from error
