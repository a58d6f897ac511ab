"""Settings of the service: flags first, then the environment, then a TOML file."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import parse_qs, urlsplit

import msgspec

_Count = Annotated[int, msgspec.Meta(ge=1)]
_Positive = Annotated[float, msgspec.Meta(gt=0)]

#: variables that begin like settings and are none
_OTHERS = {"OVERCAST_CONFIG", "OVERCAST_DATA", "OVERCAST_KEY", "OVERCAST_REQUIRE", "OVERCAST_TRACEBACK"}


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits on requests.

    body : bytes of a request
    upload : bytes of a log to import
    depth : of nested lists and objects in a request
    batch : decisions or outcomes in a request
    actions : of a bandit
    dimensions : of an action, of a context, and of the features of both
    rate : requests per second of one key; None for no limit
    connections : at one time; fewer if the system allows too few open files
    wait : seconds that a client has for the head of a request, for each 64 KiB of its body, and to take each 64 KiB of
        the answer
    """

    body: _Count = 1_000_000
    upload: _Count = 32_000_000
    depth: _Count = 40
    batch: _Count = 1000
    actions: _Count = 10_000
    dimensions: _Count = 2000
    rate: _Positive | None = None
    connections: _Count = 1000
    wait: _Positive = 20.0


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All settings.

    db : path of a SQLite file, or postgresql://...
    host, port : to listen on
    limits : of requests
    snapshot_every : rows of the log after which the state is kept
    max_age : seconds that an answer may lag behind the log; what is older is read anew, or refused with 503
    keep_days : days after which entries of the log are erased; None to keep all
    log_requests : whether every request is a line in the log of the process
    """

    db: str = "overcast.db"
    host: str = "127.0.0.1"
    port: Annotated[int, msgspec.Meta(ge=0, le=65535)] = 8765
    limits: Limits = Limits()
    snapshot_every: _Count = 10_000
    max_age: _Positive = 0.1
    keep_days: _Positive | None = None
    log_requests: bool = True


def load_settings(
    flags: Mapping[str, Any], config: str | None = None, environment: Mapping[str, str] = os.environ
) -> Settings:
    """Return settings from flags, from variables such as OVERCAST_LIMITS_BODY, and from a TOML file, in that order.

    flags : what was given on the command line, by name; None for what was not
    config : path of the file; None for the one that OVERCAST_CONFIG names, if it names one
    """
    check_db(flags.get("db"))
    path = config or environment.get("OVERCAST_CONFIG")
    out = Settings()
    if path is not None:
        out = _changed(out, _read_settings_file(path), path)
    out = _changed(out, _variables(environment), "environment")
    return _changed(out, {name: value for name, value in flags.items() if value is not None}, "flags")


def check_db(db: str | None) -> None:
    """Raise ValueError if a password is in an address on the command line, where other users can read it."""
    if db is None or "://" not in db:
        return
    parts = urlsplit(db)
    if parts.password or "password" in parse_qs(parts.query):
        raise ValueError(
            "serve: --db must not hold a password; set PGPASSWORD or OVERCAST_DB, or use a file (--config, ~/.pgpass)"
        )


def _read_settings_file(path: str) -> dict[str, Any]:
    try:
        return tomllib.loads(Path(path).read_text())
    except OSError as error:
        raise ValueError(f"serve: --config must be a file that can be read, got {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"serve: --config must be TOML, got {path}: {str(error).splitlines()[0]}") from None


def _variables(environment: Mapping[str, str]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    limits: dict[str, Any] = {}
    for name, value in environment.items():
        if not name.startswith("OVERCAST_") or name in _OTHERS:
            continue
        key = name.removeprefix("OVERCAST_").lower()
        if key.startswith("limits_"):
            limits[key.removeprefix("limits_")] = value
        else:
            out[key] = value
    return out | ({"limits": limits} if limits else {})


def _changed(settings: Settings, given: Mapping[str, Any], source: str) -> Settings:
    """Return settings with some of them replaced; raise ValueError, in one line, for what is none of them."""
    known = msgspec.to_builtins(settings)
    for name, value in given.items():
        inner = isinstance(value, dict) and name == "limits"
        if name not in known or (inner and (strange := [key for key in value if key not in known["limits"]])):
            shown = f"limits.{strange[0]}" if name in known else name
            places = [*(key for key in known if key != "limits"), *(f"limits.{key}" for key in known["limits"])]
            raise ValueError(f"serve: settings must be some of {', '.join(places)}, got {shown!r} ({source})")
        known[name] = known[name] | value if inner else value
    try:
        return msgspec.convert(known, Settings, strict=False)
    except msgspec.ValidationError as error:
        message, _, where = str(error).partition(" - at `$.")
        name = where.rstrip("`") or "settings"
        raise ValueError(f"serve: {name} must be valid, got a value that is not: {message} ({source})") from None
