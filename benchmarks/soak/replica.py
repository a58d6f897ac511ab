"""`overcast serve` that leaves a hash of its state in a file when it ends."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from overcast.service import load_settings, run
from overcast.service.engine import Engine
from soak.books import digest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--db", required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    stop = Engine.stop

    def leave(engine: Engine) -> None:
        stop(engine)
        if engine.state is not None:
            found = {"position": engine.state.position, "digest": digest(engine.state)}
            args.out.write_text(json.dumps(found))

    Engine.stop = leave  # type: ignore[method-assign, assignment]
    run(load_settings({"db": args.db, "port": args.port}))


if __name__ == "__main__":
    main()
