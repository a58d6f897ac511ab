"""The service as a process: its first key, its end, and its death."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from overcast.service import Settings
from overcast.service.serve import hand_out, shrink_file
from overcast.service.start import read_state
from overcast.service.store import SqliteStore, Unavailable, open_store
from service_support import FARM, GAUSSIAN, Api, remembered
from support import refused

COMMAND = [sys.executable, "-m", "overcast.cli", "serve", "--port", "0"]


class Process:
    """`overcast serve` as a process of its own."""

    def __init__(self, db: str, folder: Path, *options: str) -> None:
        command = [*COMMAND, "--db", db, *options]
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder, env=environment, text=True
        )
        assert self._process.stdout is not None
        self.lines = [self._process.stdout.readline()]
        assert "serves on http://127.0.0.1:" in self.lines[0], self.lines
        self.port = int(self.lines[0].split("127.0.0.1:")[1].split()[0])

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()

    def stop(self) -> tuple[int, str]:
        self._process.send_signal(signal.SIGTERM)
        assert self._process.stdout is not None
        rest = self._process.stdout.read()  # what was read ahead included
        self._process.stdout.close()
        return self._process.wait(timeout=30), rest


def post(port: int, path: str, body: Any, key: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("POST", path, json.dumps(body), {"Authorization": f"Bearer {key}"})
    status = connection.getresponse().status
    connection.close()
    return status


def test_the_first_key_and_a_graceful_end(tmp_path: Path) -> None:
    db = str(tmp_path / "log.db")
    process = Process(db, tmp_path)
    key_file = tmp_path / "log.db.key"
    code, rest = process.stop()
    assert code == -signal.SIGTERM
    assert key_file.stat().st_mode & 0o777 == 0o600
    key = key_file.read_text().strip()
    assert key.startswith("oc_")
    assert key not in rest  # it is in the file alone
    assert "log.db.key" in rest
    key_file.unlink()
    process = Process(db, tmp_path)
    assert post(process.port, "/v1/bandits", FARM, key) == 201
    process.stop()
    assert not key_file.exists()
    store = open_store(db)
    kept = store.snapshots()
    assert kept is not None
    assert kept.position == read_state(store)[0].position == 2  # it had time to keep its state
    store.close()


def test_a_key_that_cannot_be_handed_out_does_not_count(tmp_path: Path) -> None:
    db = tmp_path / "log.db"
    (tmp_path / "log.db.key").mkdir()
    command = [*COMMAND, "--db", str(db)]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 1
    assert "Is a directory; no key was made" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert "serves on" not in ended.stdout
    (tmp_path / "log.db.key").rmdir()
    process = Process(str(db), tmp_path)
    process.stop()
    assert (tmp_path / "log.db.key").read_text().startswith("oc_")


def test_a_lost_key_is_replaced(tmp_path: Path) -> None:
    db, key_file = str(tmp_path / "log.db"), tmp_path / "log.db.key"
    Process(db, tmp_path).stop()
    lost = key_file.read_text().strip()
    key_file.unlink()
    process = Process(db, tmp_path, "--new-key")
    key = key_file.read_text().strip()
    assert key != lost
    assert post(process.port, "/v1/bandits", FARM, key) == 201
    assert post(process.port, "/v1/bandits", FARM | {"name": "other"}, lost) == 201  # until it is revoked
    process.stop()


def test_an_address_of_sqlite_is_a_path(tmp_path: Path) -> None:
    for db, name in ((f"sqlite:///{tmp_path / 'one.db'}", "one.db"), ("sqlite:///two.db", "two.db")):
        process = Process(db, tmp_path)
        process.stop()
        assert f"log in {db.removeprefix('sqlite:///')})" in process.lines[0]
        assert {name, f"{name}.key"} <= {one.name for one in tmp_path.iterdir()}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--host", ""], ["--host must be an address to listen on, got ''"]),
        (["--host", "192.0.2.1"], ["--host must be an address of this machine", "'192.0.2.1'"]),
        (["--db", "sqlite:///"], ["--db must name a file", "'sqlite:///'"]),
        (["--db", "sqlite:///a.db?mode=ro"], ["--db must name a file"]),
        (["--db", ":memory:"], ["--db must name a file", "':memory:'"]),
        (["--db", "sqlite://a.db"], ["--db must be a path", "sqlite://"]),
    ],
)
def test_what_cannot_be_served_ends_in_one_line(options: list[str], words: list[str], tmp_path: Path) -> None:
    ended = subprocess.run([*COMMAND, *options], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode in (1, 2)
    assert ended.stdout == ""
    assert len(ended.stderr.splitlines()) == 1
    assert all(word in ended.stderr for word in words), ended.stderr


def test_a_port_that_is_taken_ends_the_start_in_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ended = subprocess.run(
            [*COMMAND[:-1], port], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
        )
    assert ended.returncode == 1
    assert len(ended.stderr.splitlines()) == 1
    assert f"--port must be one that is free on 127.0.0.1, got {port}" in ended.stderr
    assert list(tmp_path.iterdir()) == []  # nothing was made


def test_a_file_gives_back_the_space_of_what_was_erased(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "service" / "operations.md").read_text(encoding="utf-8")
    options = re.findall(r"^\$ overcast serve (--shrink)$", page, re.MULTILINE)
    assert len(options) == 1
    api = Api(Settings(db=str(tmp_path / "log.db")))
    api.post("/v1/bandits", FARM)
    for _ in range(3):
        api.post("/v1/bandits/farm/decisions", {"decisions": [{"belief": GAUSSIAN}] * 1000})
        outcomes = [{"id": id_, "reward": 1.0} for id_ in api.state.lives["farm"].open]
        api.post("/v1/bandits/farm/outcomes", {"outcomes": outcomes})
    assert api.post("/v1/bandits/farm/erase", {"before": time.time() + 1.0}).body["entries"] > 5000
    before = remembered(api.state)
    api.stop()
    size = (tmp_path / "log.db").stat().st_size
    Process(str(tmp_path / "log.db"), tmp_path, *options).stop()
    assert (tmp_path / "log.db").stat().st_size < size / 2
    assert (tmp_path / "log.db").stat().st_mode & 0o777 == 0o600
    again = Api(Settings(db=str(tmp_path / "log.db")))
    assert remembered(again.state) == before
    again.stop()


def test_what_cannot_be_shrunk(postgres: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(postgres)
    with refused(ValueError, "serve", "--shrink", "VACUUM FULL"):
        shrink_file(store)
    store.close()
    store = SqliteStore(tmp_path / "log.db")

    def fails() -> None:
        raise Unavailable("database: disk is full")

    monkeypatch.setattr(store, "shrink", fails)
    with refused(OSError, "serve", "--shrink", "second copy", "disk is full"):
        shrink_file(store)
    store.close()


def test_a_terminal_sees_the_key_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    hand_out("oc_key", tmp_path / "key")
    assert "oc_key" in capsys.readouterr().out
    assert not (tmp_path / "key").exists()


def test_what_was_accepted_is_finished_before_the_end(tmp_path: Path) -> None:
    process = Process(str(tmp_path / "log.db"), tmp_path)
    key_file = tmp_path / "log.db.key"
    while not (key_file.exists() and key_file.read_text()):
        time.sleep(0.02)
    key = key_file.read_text().strip()
    assert post(process.port, "/v1/bandits", FARM, key) == 201
    statuses: list[int] = []
    body = {"decisions": [{"belief": GAUSSIAN}] * 1000}
    threads = [
        threading.Thread(target=lambda: statuses.append(post(process.port, "/v1/bandits/farm/decisions", body, key)))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    time.sleep(0.2)  # they are under way
    process.stop()
    for thread in threads:
        thread.join()
    assert statuses == [200, 200, 200]
    store = open_store(str(tmp_path / "log.db"))
    assert sum(row.kind == "decide" for row in store.read()) == 3000
    store.close()
