"""`overcast serve` on a SQLite file with other syncs, for the tests that must fail without the right ones."""

from __future__ import annotations

import argparse

from overcast.service import load_settings, run
from overcast.service.store import SqliteStore


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--db", required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--synchronous", default=SqliteStore.synchronous, choices=("OFF", "NORMAL", "FULL"))
    args = parser.parse_args()
    SqliteStore.synchronous = args.synchronous
    # Every few commits the log of writes goes into the file, so that power cuts hit this too.
    SqliteStore.checkpoint = 200
    run(load_settings({"db": args.db, "port": args.port}))


if __name__ == "__main__":
    main()
