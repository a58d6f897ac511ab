"""`overcast calibrate`: verify a file of forecasts by their outcomes."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from overcast.cli.common import Commands, add_out, ensure_folder, print_rows, whole

if TYPE_CHECKING:
    from overcast.datasets.forecasts import ForecastRecord

#: fewest outcomes for a verification
FEW = 10

HELP = "judge forecasts by what happened"
EXTRAS = "plot,scores"


def add_to(commands: Commands) -> None:
    parser = commands.add_parser(
        "calibrate",
        help=HELP,
        description="Judge forecasts by what happened, and say what recalibration would have made of them.",
        epilog="A row is a forecast, in order of time; commas, semicolons, tabs, bars or spaces stand between cells. "
        "Columns: NAME for what happened, with the members of an ensemble in NAMEfc.1, NAMEfc.2, ... (or from 0), "
        "NAME_mean and NAME_sd of a normal forecast, or quantiles NAME_q0.1, NAME_q0.5, ...; any number of quantities. "
        "Or obs with one family of numbered columns, with mean and sd, or with q10, q50, .... Other columns, such as "
        "dates, are not read. Rows without an outcome (empty or NA) and missing members are left out and counted.",
    )
    parser.add_argument("file", type=Path, metavar="forecasts.csv", help="forecasts and outcomes")
    parser.add_argument(
        *("--columns", "-c"),
        action="append",
        default=[],
        metavar="OUTCOME=PATTERN",
        help="the outcome's column and those of its forecasts, e.g. 'obs=GFS_*'; once for each quantity",
    )
    parser.add_argument(
        "--by", metavar="COLUMN", help="column of groups, e.g. lead times: judge and correct each by itself"
    )
    parser.add_argument(
        "--event", metavar="'NAME < NUMBER'", help="judge the probabilities of an event, e.g. 'temp < 0'"
    )
    parser.add_argument(
        "--bounds",
        action="append",
        default=[],
        metavar="[NAME=]LOW:HIGH",
        help="values that outcomes can take, e.g. rain=0: for never below zero",
    )
    parser.add_argument(
        "--memory", type=_memory, metavar="N", help="correct by the latest N outcomes (default: learnt)"
    )
    parser.add_argument("--json", action="store_true", help="print all numbers as JSON instead of a table")
    add_out(parser)
    parser.set_defaults(run=_run, resumes=False)


def _run(args: argparse.Namespace) -> None:
    from overcast.calibration import Recalibrated
    from overcast.calibration.occurrence import Event
    from overcast.datasets.forecasts import read_forecasts
    from overcast.experiments.comparisons import calibrate

    if args.by == "":
        raise ValueError("calibrate: --by must name a column, got nothing; leave it out for no groups")
    record = read_forecasts(args.file, columns=args.columns, by=args.by)
    bounds = _bounds(args.bounds, record.names)
    Recalibrated(args.memory, bounds)  # this and Event check the options even if outcomes are few
    if args.event is not None:
        Event(args.event, record.names)
    folder = ensure_folder(args.out / "calibrate")
    if len(record.outcomes) < FEW:
        _too_few(record, args.json)
        return
    judged = calibrate.judge(record, args.memory, bounds, args.event)
    pictures = calibrate.draw(judged, folder)  # first, to fail early if the folder cannot be written to
    summary = json.dumps(judged.summary(), indent=1)
    (folder / "calibration.json").write_text(summary + "\n", encoding="utf-8")
    if args.json:
        print(summary)
        return
    print(judged.whole.verdict)
    for line in _left_out(record):
        print(line)
    half = len(judged.before)
    print(f"\nThe last {half} of {len(record.outcomes)}, each corrected by what was known by then:\n")
    print_rows([calibrate.HEADER, *judged.rows()], left=2)
    if len(record.names) > 1:
        print(f"\nEnergy score of all together: {judged.before.energy:.3g}, recalibrated {judged.after.energy:.3g}.")
    for title, verification in zip(("as they came", "recalibrated"), judged.verified, strict=True):
        if verification.event is not None:
            parts = (
                f"{verification.event.miscalibration:.3g} of it miscalibration; skill {verification.event.skill:.0%}"
            )
            print(f"\n{verification.event.text}, {title}: Brier score {verification.event.brier:.3g}, {parts}.")
    print(f"\nOpen {' and '.join(map(str, pictures))}")


def _too_few(record: ForecastRecord, as_json: bool) -> None:
    """Print that there are too few outcomes."""
    from overcast.calibration import check

    verdict = check(record.beliefs, record.outcomes, record.names).verdict
    print(
        json.dumps({"outcomes": len(record.outcomes), "verdict": verdict.splitlines()}, indent=1)
        if as_json
        else verdict
    )


def _left_out(record: ForecastRecord) -> list[str]:
    """Return sentences on rows and cells that were left out."""
    counts = {
        "rows without an outcome are left out": record.left_out,
        "rows without a forecast are left out": record.unforecast,
        "members or quantiles are missing; the others of their rows count": record.missing,
        "forecasts have quantiles that cross; they are put in order": record.crossed,
    }
    return [f"{count} {text}." for text, count in counts.items() if count]


def _memory(text: str) -> int:
    return whole(text, at_least=2)


def _bounds(texts: list[str], names: tuple[str, ...]) -> Any:
    """Parse --bounds to a pair for each quantity, None without bounds."""
    if not texts:
        return None
    pairs: dict[str, tuple[float | None, float | None]] = dict.fromkeys(names, (None, None))
    for text in texts:
        name, equals, limits = text.rpartition("=")
        low, colon, high = limits.partition(":")
        if not colon or (equals and name not in names):
            raise ValueError(f"--bounds: expected [NAME=]LOW:HIGH with one of {', '.join(names)}, got {text!r}")
        try:
            pair = float(low) if low.strip() else None, float(high) if high.strip() else None
        except ValueError:
            raise ValueError(f"--bounds: expected numbers around the colon, e.g. 0: or 0:1, got {text!r}") from None
        pairs.update(dict.fromkeys([name] if equals else names, pair))
    return list(pairs.values())
