"""The service as a process: its first key, its end, and its death."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from overcast.service.engine import started
from overcast.service.serve import check_db, hand_out
from overcast.service.store import open_store
from service_support import FARM, GAUSSIAN, check_replay
from support import refused


class Process:
    """`overcast serve` as a process of its own."""

    def __init__(self, db: str, folder: Path) -> None:
        command = [sys.executable, "-m", "overcast.cli", "serve", "--db", db, "--port", "0"]
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


class Caller(threading.Thread):
    """Asks for decisions and reports their outcomes until the server is gone; remembers what was acknowledged."""

    def __init__(self, port: int, key: str, number: int) -> None:
        super().__init__()
        self.port, self.key, self.number = port, key, number
        self.decided: set[str] = set()
        self.rewarded: dict[str, float] = {}
        self.others: list[int] = []

    def run(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        rng = np.random.default_rng(self.number)
        try:
            while True:
                made = self._post(connection, "/v1/bandits/farm/decisions", {"belief": GAUSSIAN})
                self.decided.add(made["id"])
                reward = float(rng.normal())
                self._post(connection, f"/v1/bandits/farm/decisions/{made['id']}/outcome", {"reward": reward})
                self.rewarded[made["id"]] = reward
        except (OSError, http.client.HTTPException):
            connection.close()

    def _post(self, connection: http.client.HTTPConnection, path: str, body: Any) -> Any:
        connection.request("POST", path, json.dumps(body), {"Authorization": f"Bearer {self.key}"})
        answer = connection.getresponse()
        content = answer.read()
        if answer.status not in (200, 201):
            self.others.append(answer.status)
            raise OSError
        return json.loads(content)


def post(port: int, path: str, body: Any, key: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("POST", path, json.dumps(body), {"Authorization": f"Bearer {key}"})
    status = connection.getresponse().status
    connection.close()
    return status


def check_deaths(db: str, folder: Path, key_file: Path, times: int) -> None:
    """Kill the server under load, again and again: nothing acknowledged is lost, and nothing counts twice."""
    rng = np.random.default_rng(0)
    decided: set[str] = set()
    rewarded: dict[str, float] = {}
    key = ""
    for time_ in range(times):
        process = Process(db, folder)
        if not key:
            for _ in range(100):
                if key_file.exists() and key_file.read_text():
                    break
                time.sleep(0.02)
            key = key_file.read_text().strip()
            assert post(process.port, "/v1/bandits", FARM, key) == 201
        callers = [Caller(process.port, key, 10 * time_ + i) for i in range(4)]
        for caller in callers:
            caller.start()
        time.sleep(0.2 + 0.3 * float(rng.random()))
        process.kill()
        for caller in callers:
            caller.join()
            decided |= caller.decided
            rewarded |= caller.rewarded
            assert caller.others == []
    store = open_store(db)
    rows = list(store.read())
    kept = [row.decision for row in rows if row.kind == "decide"]
    learnt = {row.decision: json.loads(row.body)["reward"] for row in rows if row.kind == "learn"}
    assert len(kept) == len(set(kept))
    assert decided <= set(kept)
    assert rewarded.items() <= learnt.items()
    assert len(rewarded) > times
    assert sum(row.kind == "learn" for row in rows) == len(learnt)
    check_replay(store, started(store)[0])
    store.close()


def test_nothing_acknowledged_is_lost_when_the_process_is_killed(tmp_path: Path) -> None:
    check_deaths(str(tmp_path / "log.db"), tmp_path, tmp_path / "log.db.key", 3)


def test_nothing_acknowledged_is_lost_on_postgres_either(postgres: str, tmp_path: Path) -> None:
    check_deaths(postgres, tmp_path, tmp_path / "overcast.key", 2)


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
    assert kept.position == started(store)[0].position == 2  # it had time to keep its state
    store.close()


def test_a_terminal_sees_the_key_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    hand_out("oc_key", tmp_path / "key")
    assert "oc_key" in capsys.readouterr().out
    assert not (tmp_path / "key").exists()


@pytest.mark.parametrize("db", ["postgresql://me:secret@host/name", "postgresql://host/name?password=secret"])
def test_a_password_in_the_address_is_refused(db: str) -> None:
    with refused(ValueError, "serve", "must not hold a password"):
        check_db(db)
    check_db("postgresql://me@host/name")
    check_db("a:b@c.db")
