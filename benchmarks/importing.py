"""How long `import overcast` takes, beside what it needs of NumPy and SciPy; run as `make bench`.

Each import runs in fresh interpreters that take turns, and the fastest counts. Processor time counts, so that other
work on the machine matters little. The command fails if the ratio is above its limit, and keeps what it found in
benchmarks/importing.json, which the site shows.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

#: what importing the package imports of others
DEPENDENCIES = "import numpy, scipy.linalg, scipy.spatial.distance, scipy.special, threadpoolctl"
OURS = "import overcast"
TURNS, LIMIT = 20, 1.6
KEPT = Path(__file__).with_name("importing.json")


def milliseconds(statement: str, cache: str) -> float:
    """Return the processor time of a statement in a fresh interpreter, which finds compiled modules in a folder."""
    program = f"import time; start = time.process_time(); {statement}; print(time.process_time() - start)"
    settings = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    settings |= {"PYTHONPYCACHEPREFIX": cache, "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=settings)
    return 1000.0 * float(done.stdout)


def measured(turns: int) -> dict[str, float]:
    """Return the least milliseconds of the package, and of its dependencies alone."""
    with tempfile.TemporaryDirectory() as cache:
        milliseconds(OURS, cache)  # compiles the modules
        pairs = [(milliseconds(OURS, cache), milliseconds(DEPENDENCIES, cache)) for _ in range(turns)]
    ours, others = (min(side) for side in zip(*pairs, strict=True))
    return {"overcast": round(ours, 1), "dependencies": round(others, 1)}


def main() -> int:
    found = measured(TURNS)
    ratio = found["overcast"] / found["dependencies"]
    kept = {"milliseconds": found, "turns": TURNS, "python": platform.python_version()}
    KEPT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    print(f"import overcast: {found['overcast']:.0f} ms, what it needs {found['dependencies']:.0f} ms: {ratio:.2f}")
    return 1 if ratio > LIMIT else 0


if __name__ == "__main__":
    sys.exit(main())
