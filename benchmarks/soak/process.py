"""`overcast serve` as a process of its own, and requests to it."""

from __future__ import annotations

import atexit
import http.client
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

FARM = {
    "name": "farm",
    "actions": {"early": [1.0, 0.0], "late": [0.0, 1.0], "never": [0.5, 0.5]},
    "features": "Bilinear",
    "ridge": 1.0,
    "policy": {"type": "UCB", "beta": 2.0},
}
BELIEF = {"type": "Gaussian", "mean": [20.0, 1.0], "cov": [4.0, 0.1]}


class Process:
    """A server on a free port of 127.0.0.1, started with a command that takes the options of `overcast serve`."""

    def __init__(
        self,
        db: str,
        folder: Path,
        *options: str,
        module: str = "overcast.cli",
        environment: dict[str, str] | None = None,
    ) -> None:
        given = ["serve"] if module == "overcast.cli" else []
        command = [sys.executable, "-m", module, *given, "--db", db, "--port", "0", *options]
        paths = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
        settings = os.environ | {"OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, paths))}
        settings |= environment or {}
        self.log = folder / "server.log"
        with open(self.log, "a") as log:
            self.process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=log, cwd=folder, env=settings, text=True
            )
        atexit.register(self._end)
        assert self.process.stdout is not None
        self.line = self.process.stdout.readline()
        if "serves on http://127.0.0.1:" not in self.line:
            self.process.kill()
            self.process.communicate()
            raise OSError(f"soak: server must start, got {self.log.read_text().strip().splitlines()[-1:]}")
        self.port = int(self.line.split("127.0.0.1:")[1].split()[0])

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def _end(self) -> None:
        if self.alive:
            self.process.kill()

    def kill(self) -> None:
        """End it at once, as `kill -9` does."""
        self.process.kill()
        self.process.communicate()

    def stop(self, seconds: float = 60.0) -> tuple[int, str]:
        """Let it finish; return its exit code and what else it printed."""
        self.process.send_signal(signal.SIGTERM)
        assert self.process.stdout is not None
        rest = self.process.stdout.read()  # what was read ahead included
        self.process.stdout.close()
        return self.process.wait(timeout=seconds), rest


class Client:
    """One connection with a key."""

    def __init__(self, port: int, key: str, seconds: float = 60.0) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=seconds)
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Return status and body; raise OSError or HTTPException if the server is gone."""
        text = None if body is None else json.dumps(body)
        self._connection.request(method, path, text, self._headers)
        answer = self._connection.getresponse()
        content = answer.read()
        return answer.status, json.loads(content) if content[:1] in (b"{", b"[") else content.decode()

    def post(self, path: str, body: Any) -> tuple[int, Any]:
        return self.ask("POST", path, body)

    def close(self) -> None:
        self._connection.close()


def once(port: int, key: str, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    """Ask on a connection of its own, which cannot have been idle for too long."""
    client = Client(port, key)
    try:
        return client.ask(method, path, body)
    finally:
        client.close()


def first_key(path: Path, seconds: float = 10.0) -> str:
    """Return the key that a server leaves in a file at its first start."""
    until = time.monotonic() + seconds
    while not (path.exists() and path.read_text().strip()):
        if time.monotonic() > until:
            raise OSError(f"soak: first key must be in {path}, got none")
        time.sleep(0.02)
    return path.read_text().strip()


def wait_ready(port: int, seconds: float = 60.0) -> float:
    """Wait until a server says that it is ready; return the seconds that it took."""
    begun = time.monotonic()
    while time.monotonic() - begun < seconds:
        client = Client(port, "")
        try:
            if client.ask("GET", "/readyz")[0] == 200:
                return time.monotonic() - begun
        except (OSError, http.client.HTTPException):
            pass
        finally:
            client.close()
        time.sleep(0.02)
    raise OSError(f"soak: server must be ready within {seconds:g} seconds, got one that is not")
