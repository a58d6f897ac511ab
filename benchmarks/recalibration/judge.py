"""Judge recalibration against EMOS on sliding windows; run as `python -m recalibration.judge --data DIR --keep FILE`.

Every forecast is corrected by the outcomes before it. The second half of the record counts, in the mean CRPS. All
constants of `Recalibrated` were chosen on first halves of the records of Innsbruck and on generated records with the
seeds 0 to 2; the seeds here are others. Rain is told to `Recalibrated` by bounds=(0, None) alone.

A difference is ours minus the opponent's, negative if ours is better. Its 95 % interval is Newey-West's over the days
of a single record, and Student's t over the records of a generated kind.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import stdtrit

import overcast as oc
from overcast._check import Array
from overcast.calibration import recalibrate, scores
from recalibration import emos
from recalibration.records import FREE, KINDS, Record, generated, innsbruck

WINDOWS = 30, 365
SEEDS = range(1000, 1008)
#: days to either side whose correlation counts
LAGS = 30
OURS, RAW, FORMER = "recalibrated", "as they came", "memory of 500"


def opponents(record: Record) -> list[tuple[str, int, str]]:
    """Return the names of the opponents for a record, with their windows and forms."""
    forms = ["normal"] if record.bounds == FREE else ["censored normal", "censored gamma"]
    return [(f"EMOS, {form}, {window} days", window, form) for window in WINDOWS for form in forms]


def judged(record: Record) -> dict[str, Array]:
    """Return the CRPS of each day of the second half, by the name of the method."""
    half = len(record) // 2
    beliefs = [oc.Ensemble(row[:, None]) for row in record.members]
    y = record.outcomes
    bounds = None if record.bounds == FREE else record.bounds

    def score(corrected: list[Any]) -> Array:
        return np.asarray(scores.crps(corrected[half:], y[half:, None])[:, 0])

    out = {
        OURS: score(recalibrate(beliefs, y, bounds=bounds)),
        RAW: score(beliefs),
        FORMER: score(recalibrate(beliefs, y, memory=500)),
    }
    return out | {name: emos.scores(record, window, form, half) for name, window, form in opponents(record)}


def over_days(difference: Array) -> tuple[float, float, float]:
    """Return the mean of differences (t,) with the ends of its 95 % interval by Newey and West."""
    t, mean = len(difference), float(difference.mean())
    centred = difference - mean
    variance = float(centred @ centred) / t
    for lag in range(1, min(LAGS, t - 1) + 1):
        variance += 2.0 * (1.0 - lag / (LAGS + 1.0)) * float(centred[lag:] @ centred[:-lag]) / t
    half = 1.96 * float(np.sqrt(max(variance, 0.0) / t))
    return mean, mean - half, mean + half


def over_records(differences: Array) -> tuple[float, float, float]:
    """Return the mean of differences (r,) with the ends of its 95 % interval by Student."""
    r, mean = len(differences), float(differences.mean())
    half = float(stdtrit(r - 1, 0.975) * differences.std(ddof=1) / np.sqrt(r)) if r > 1 else np.nan
    return mean, mean - half, mean + half


def summary(found: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a row for each record of Innsbruck, and for each kind of generated records."""
    out = []
    for name in dict.fromkeys(entry["name"] for entry in found.values()):
        entries = [entry for entry in found.values() if entry["name"] == name]
        means = {method: float(np.mean([e["crps"][method] for e in entries])) for method in entries[0]["crps"]}
        differences: dict[str, list[float]] = {}
        for method in means:
            if method == OURS:
                continue
            if len(entries) == 1:
                differences[method] = entries[0]["differences"][method]
            else:
                gaps = np.array([e["crps"][OURS] - e["crps"][method] for e in entries])
                differences[method] = list(over_records(gaps))
        out.append({"name": name, "records": len(entries), "crps": means, "differences": differences})
    return out


def lines(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the table: a line for each record or kind and opponent."""
    for row in rows:
        yield f"{row['name']} ({row['records']} records): recalibrated {row['crps'][OURS]:.4f}"
        for method, (mean, low, high) in row["differences"].items():
            yield f"  {method:32s} {row['crps'][method]:8.4f}   difference {mean:+.4f} ({low:+.4f} to {high:+.4f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with forecast_innsbruck in it")
    parser.add_argument("--keep", type=Path, required=True, help="file of results; what it holds is not run again")
    args = parser.parse_args()
    found: dict[str, dict[str, Any]] = {}
    if args.keep.exists():
        found = json.loads(args.keep.read_text(encoding="utf-8"))["found"]
    jobs = {record.name: record for record in innsbruck(args.data / "forecast_innsbruck")}
    jobs |= {f"{kind} {seed}": generated(kind, seed) for seed in SEEDS for kind in KINDS}
    for key, record in jobs.items():
        if key in found:
            continue
        crps = judged(record)
        found[key] = {
            "name": record.name,
            "outcomes": len(crps[OURS]),
            "crps": {method: float(values.mean()) for method, values in crps.items()},
            "differences": {method: over_days(crps[OURS] - values) for method, values in crps.items()},
        }
        kept = {"summary": summary(found), "found": found}
        args.keep.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    print("\n".join(lines(summary(found))))


if __name__ == "__main__":
    main()
