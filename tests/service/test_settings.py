"""Settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from overcast.service import Limits, Settings, load_settings
from overcast.service.settings import check_db
from support import refused


def test_defaults_listen_on_this_machine_only() -> None:
    assert Settings().host == "127.0.0.1"
    assert load_settings({}, environment={}) == Settings()


def test_flags_come_before_the_environment_and_that_before_the_file(tmp_path: Path) -> None:
    file = tmp_path / "overcast.toml"
    file.write_text('host = "10.0.0.1"\nport = 1\nmax_age = 1\n[limits]\nbody = 10\nbatch = 20\n')
    environment = {"OVERCAST_PORT": "2", "OVERCAST_DB": "b.db", "OVERCAST_LIMITS_BATCH": "30", "HOME": "/"}
    environment |= {"OVERCAST_LOG_REQUESTS": "false", "OVERCAST_DATA": "/data", "OVERCAST_KEY": "oc_"}
    found = load_settings({"db": "c.db", "port": None}, str(file), environment)
    assert found == Settings("c.db", "10.0.0.1", 2, Limits(body=10, batch=30), max_age=1.0, log_requests=False)
    assert load_settings({}, None, {"OVERCAST_CONFIG": str(file)}).limits == Limits(body=10, batch=20)
    assert load_settings({}, None, {"OVERCAST_LIMITS_RATE": "2.5"}).limits.rate == 2.5
    assert load_settings({}, None, {"OVERCAST_LIMITS_RATE": "null"}).limits.rate is None


@pytest.mark.parametrize(
    ("text", "environment", "word"),
    [
        ("prot = 1", {}, "'prot'"),
        ("[limits]\nbodies = 1", {}, "'limits.bodies'"),
        ("limits = 3", {}, "limits must be valid"),
        ("port = 70000", {}, "port must be valid"),
        ("port = [", {}, "must be TOML"),
        ("", {"OVERCAST_PROT": "1"}, "'prot' (environment)"),
        ("", {"OVERCAST_LIMITS_BODIES": "1"}, "'limits.bodies' (environment)"),
        ("", {"OVERCAST_PORT": "many"}, "port must be valid"),
        ("", {"OVERCAST_MAX_AGE": "0"}, "max_age must be valid"),
        ("", {"OVERCAST_SNAPSHOT_EVERY": "0"}, "snapshot_every must be valid"),
    ],
)
def test_what_is_no_setting_is_refused_in_one_line(
    text: str, environment: dict[str, str], word: str, tmp_path: Path
) -> None:
    file = tmp_path / "overcast.toml"
    file.write_text(text)
    with refused(ValueError, "serve", word):
        load_settings({}, str(file), environment)


def test_a_file_that_is_not_there() -> None:
    with refused(ValueError, "serve", "--config must be a file"):
        load_settings({}, "/no/file.toml", {})


@pytest.mark.parametrize("db", ["postgresql://me:secret@host/name", "postgresql://host/name?password=secret"])
def test_a_password_is_refused_on_the_command_line_alone(db: str, tmp_path: Path) -> None:
    with refused(ValueError, "serve", "must not hold a password"):
        load_settings({"db": db}, environment={})
    check_db("postgresql://me@host/name")
    check_db("a:b@c.db")
    file = tmp_path / "overcast.toml"
    file.write_text(f'db = "{db}"')
    given: Any
    for given in ((str(file), {}), (None, {"OVERCAST_DB": db})):
        assert load_settings({}, *given).db == db
