"""How long `events.chained` takes for an event; run as `make bench`.

The fastest of several turns counts. What was found is kept in benchmarks/chain.json, which the site shows.
"""

from __future__ import annotations

import json
import platform
import sys
import timeit
from pathlib import Path
from typing import Any

import numpy as np

import overcast as oc
from overcast import events

TURNS, CALLS = 20, 500
KEPT = Path(__file__).with_name("chain.json")
BELIEFS: dict[str, Any] = {
    "normal": oc.Gaussian([1.0, 18.0], [0.0, 4.0]),
    "ensemble": oc.Ensemble(np.random.default_rng(0).normal(size=(50, 2))),
}


def microseconds(belief: oc.Belief, turns: int) -> float:
    """Return the least time per call to chain the event of a decision under a belief."""
    given = {"early": [1.0, 0.0], "late": [0.0, 1.0]}, oc.LinearModel(oc.features.Bilinear()), oc.UCB()
    event = events.decided(oc.Bandit(*given).decide(belief))
    before = events.chained(event, after=events.config(*given))
    found = timeit.repeat(lambda: events.chained(event, after=before), number=CALLS, repeat=turns)
    return round(1e6 * min(found) / CALLS, 1)


def measured(turns: int) -> dict[str, float]:
    """Return the microseconds of each kind of belief."""
    return {name: microseconds(belief, turns) for name, belief in BELIEFS.items()}


def main() -> int:
    found = measured(TURNS)
    kept = {"microseconds": found, "turns": TURNS, "python": platform.python_version()}
    KEPT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    print("events.chained: " + ", ".join(f"{name} {value:g} µs" for name, value in found.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
