"""The Dockerfile's commands as they stand, in a scratch folder, where no container engine is at hand.

    python tests/container.py

Every instruction is carried out under a scratch root: COPY copies, RUN runs in a virtual environment (without useradd,
which needs a system of its own), ENV sets, and CMD starts the service, which HEALTHCHECK then asks. It needs an index
of packages, as `docker build` does. `make container-check` runs it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]


def instructions(text: str) -> list[tuple[str, str]]:
    """Return the instructions of a Dockerfile: their names, and what follows, on one line."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    return [(name, rest.strip()) for name, _, rest in (line.partition(" ") for line in joined.splitlines() if line)]


def health(text: str) -> list[str]:
    """Return the command of HEALTHCHECK."""
    found: list[str] = json.loads(text.partition("CMD ")[2])
    return found


def variables(text: str) -> dict[str, str]:
    """Return what ENV sets."""
    return dict(part.split("=", 1) for part in text.split())


class Build:
    """One stage after the other, in one scratch root."""

    def __init__(self, root: Path) -> None:
        self.root, self.folder, self.environment = root, root, dict(os.environ)
        self.environment.pop("PYTHONPATH", None)

    def under(self, path: str) -> Path:
        """Return a path of the container as it is under the root."""
        return self.root / path.lstrip("/") if path.startswith("/") else self.folder / path

    def do(self, name: str, rest: str) -> None:
        if name == "FROM":
            home = self.root / f"venv-{len(list(self.root.glob('venv-*')))}"
            venv.create(home, with_pip=True)
            self.environment["PATH"] = f"{home / 'bin'}:{os.environ['PATH']}"
        elif name == "WORKDIR":
            self.folder = self.under(rest)
            self.folder.mkdir(parents=True, exist_ok=True)
        elif name == "COPY" and not rest.startswith("--from"):
            *sources, target = rest.split()
            for source in sources:
                at = self.under(target)
                if (ROOT / source).is_dir():
                    shutil.copytree(ROOT / source, at, dirs_exist_ok=True)
                else:
                    shutil.copy(ROOT / source, at)
        elif name == "RUN" and not rest.startswith("useradd"):
            command = re.sub(r"(?<=\s)/wheels", str(self.root / "wheels"), rest)
            subprocess.run(command, shell=True, check=True, cwd=self.folder, env=self.environment)
        elif name == "ENV":
            self.environment |= variables(rest)


def main() -> None:
    given = instructions((ROOT / "Dockerfile").read_text())
    with tempfile.TemporaryDirectory() as scratch:
        build = Build(Path(scratch))
        for name, rest in given:
            build.do(name, rest)
        build.environment |= {"OVERCAST_HOST": "127.0.0.1"}  # a test stays on this machine
        command, check = json.loads(dict(given)["CMD"]), health(dict(given)["HEALTHCHECK"])
        begun = time.monotonic()
        server = subprocess.Popen(command, cwd=build.folder, env=build.environment)
        try:
            while subprocess.run(check, env=build.environment, stderr=subprocess.DEVNULL, check=False).returncode:
                if server.poll() is not None or time.monotonic() - begun > 60.0:
                    sys.exit("container: the service must get healthy, got one that does not")
                time.sleep(0.5)
            print(f"container: healthy after {time.monotonic() - begun:.1f} seconds, from {command}")
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
