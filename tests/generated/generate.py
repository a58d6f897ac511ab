"""Generate a client from the description of a running service, and let it work: `make test-generated` does so.

    python tests/generated/generate.py ENVIRONMENT

starts `overcast serve`, lets openapi-python-client in the virtual environment ENVIRONMENT generate a client, and runs
`tests/generated/use.py` there, which creates a bandit, decides, learns and reads with that client alone.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

SERVE = [sys.executable, "-m", "overcast.cli", "serve", "--port", "0"]
USE = Path(__file__).with_name("use.py")


def generate(environment: Path, described: Path, out: Path) -> None:
    """Generate a client as the package `generated` in a folder; raise RuntimeError if an operation was left out."""
    generator, where = environment / "bin" / "openapi-python-client", out / "generated"
    command = [generator, "generate", "--meta", "none", "--path", described, "--output-path", where]
    done = subprocess.run([str(one) for one in command], capture_output=True, text=True, check=True)
    text = done.stdout + done.stderr
    if "will not be generated" in text or "Unable to process" in text:
        raise RuntimeError(f"the generator left something out:\n{text}")


def main(environment: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        service = subprocess.Popen(
            [*SERVE, "--db", folder / "log.db"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert service.stdout is not None
        try:
            url = service.stdout.readline().split("serves on ")[1].split()[0]
            described = folder / "openapi.json"
            described.write_bytes(urllib.request.urlopen(f"{url}/openapi.json").read())
            generate(environment, described, folder)
            key = (folder / "log.db.key").read_text().strip()
            subprocess.run([environment / "bin" / "python", USE, url, key], cwd=folder, check=True)
        finally:
            service.terminate()
            service.communicate()


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
