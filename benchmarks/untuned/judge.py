"""Judge the default against tuned opponents on the family of problems; run as `python -m untuned.judge`.

The opponents are the paper's UCB with ridge one and the best beta of its grid, chosen for each horizon on trials of
another seed: in the problem's own units ("own"), on standardised coordinates with betas in the unit of the rewards
("standard"), and without the offset of the rewards too ("strict"). The default sees raw units and has no number to
choose. Ratios compare mean expected regrets over paired trials. With `--policy`, another policy without numbers is
judged in the same way, against itself with ridge one and the best number of a grid, "own" and "standard".
"""

from __future__ import annotations

import argparse
import fnmatch
import hashlib
import json
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

import overcast as oc
from overcast._check import Array
from overcast.beliefs.base import Generators
from overcast.environments.base import Rngs, Rounds, Trials, VectorEnvironment
from overcast.experiments.engine.executors import process_executor
from overcast.models.base import Progress
from overcast.policies import Policy
from overcast.policies.outlook import Outlook
from overcast.simulation import Setting
from untuned.problems import PARTS, Problem, Shown, Waves, problems
from untuned.report import SETTINGS, Row, draw, keep, ratio, table

BETAS = 0.5, 1.0, 2.0, 5.0, 10.0
POLICIES: dict[str, Callable[..., Policy]] = {
    "ucb": oc.UCB,
    "thompson": oc.Thompson,
    "ids": oc.IDS,
    "mostly-greedy": oc.MostlyGreedy,
}
#: what opponents choose from; the best scale of posterior sampling is the noise, which is 0.1 to 1 in the family
GRIDS = dict.fromkeys(POLICIES, BETAS) | {"thompson": (0.1, 0.2, 0.5, 1.0, 2.0)}
OPPONENTS: tuple[Shown, ...] = get_args(Shown)
#: rounds after which coverage is counted
WATCHED = 30, 100, 300, 1000
# Trials on which betas are chosen, and runs over which coverage is counted, if trials are as many as usual.
TRIALS, TUNING, RUNS = 100, 50, 300
TUNING_SEED, JUDGING_SEED = 1, 2
# Standard deviations to either side of the mean that make a 95 % interval.
WIDTHS = 1.96


@dataclass(frozen=True)
class Job:
    """One problem in one setting, judged with one policy."""

    problem: Problem
    setting: Setting
    policy: str
    trials: int
    folder: Path
    again: bool = False
    regret_only: bool = False

    @property
    def opponents(self) -> Path:
        """The file of what tuned opponents with the same policy do."""
        return self.path("opponents" if self.policy == "ucb" else f"{self.policy}-opponents")

    @property
    def label(self) -> str:
        return f"{self.problem.name} · {'both' if self.problem.certain else self.setting}"

    @property
    def runs(self) -> int:
        """The number of runs of the default: more if coverage is counted."""
        return self.trials * RUNS // TRIALS if self.covers else self.trials

    @property
    def covers(self) -> bool:
        """Whether coverage is counted."""
        return self.policy == "ucb" and self.problem.well_specified and not self.regret_only

    def path(self, kind: str) -> Path:
        """Return the file for results of a kind; its name changes with what they depend on."""
        key = hashlib.sha256(repr((self.problem, self.trials)).encode()).hexdigest()[:8]
        name = re.sub(r"\W+", "-", self.problem.name).strip("-")
        return self.folder / f"{name}.{self.setting}.{kind}.{key}.json"


def judge(job: Job) -> Row:
    """Return the ratios of one job; what was computed before is read from its file unless it is wanted again."""
    start = time.perf_counter()
    opponents = _kept(job.opponents, lambda: _opponents(job))
    default = _kept(job.path(job.policy), lambda: _default(job), job.again)
    problem, own = job.problem, default["regret"]
    ratios = {
        shown: {t: ratio(own[t], found["regret"]) for t, found in by_horizon.items()}
        for shown, by_horizon in opponents.items()
    }
    return Row(
        name=problem.name,
        setting="both" if problem.certain else job.setting,
        ratios=ratios,
        betas={shown: {t: found["beta"] for t, found in by.items()} for shown, by in opponents.items()},
        coverage=default["coverage"],
        seconds=time.perf_counter() - start,
    )


def _kept(path: Path, compute: Any, again: bool = False) -> dict[str, Any]:
    """Return what a file holds, after computing and writing it if need be."""
    if again or not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        part.write_text(json.dumps(compute()), encoding="utf-8")
        part.replace(path)
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _opponents(job: Job) -> dict[str, Any]:
    """Return for each opponent and horizon the beta chosen, and the regret of each judged trial with it."""
    found: dict[str, Any] = {}
    done: dict[Shown, Any] = {}
    for shown in OPPONENTS if job.policy == "ucb" else OPPONENTS[:2]:
        seen = job.problem.seen(shown)
        if seen.shown not in done:
            done[seen.shown] = _tuned(job, seen)
        found[shown] = done[seen.shown]
    return found


def _tuned(job: Job, problem: Problem) -> dict[str, Any]:
    unit, policy, grid = problem.scale if problem.standard else 1.0, POLICIES[job.policy], GRIDS[job.policy]
    tuning = max(2, job.trials * TUNING // TRIALS)
    tried = {beta: _regrets(job, problem, policy(beta * unit), tuning, TUNING_SEED) for beta in grid}
    best = {t: min(grid, key=lambda beta: float(np.mean(tried[beta][t]))) for t in map(str, problem.horizons)}
    judged = {beta: _regrets(job, problem, policy(beta * unit), job.trials, JUDGING_SEED) for beta in {*best.values()}}
    return {t: {"beta": beta, "regret": judged[beta][t]} for t, beta in best.items()}


def _regrets(job: Job, problem: Problem, policy: Policy, trials: int, seed: int) -> dict[str, list[float]]:
    """Return the expected regret of each trial of an opponent, by horizon."""
    runs = _simulate(job, problem, problem.model(ridge=1.0), policy, problem.steps, trials, seed)
    return _at_horizons(problem, runs)


def _simulate(
    job: Job, env: Problem | Watched, model: oc.models.Model, policy: Policy, steps: int, trials: int, seed: int
) -> Array:
    """Return the expected regret, (trials, steps)."""
    delay: dict[str, Any] = {"delay": job.problem.delay} if job.problem.delay else {}
    runs = oc.simulate(env, model, policy, steps=steps, trials=trials, setting=job.setting, seed=seed, **delay)
    return runs.expected_regret


def _at_horizons(problem: Problem, regret: Array) -> dict[str, list[float]]:
    return {str(t): [float(f"{x:.6g}") for x in regret[:, t - 1]] for t in problem.horizons}


def _default(job: Job) -> dict[str, Any]:
    """Return the regret of the default in each judged trial, by horizon, and its coverage by round."""
    problem, policy = job.problem, POLICIES[job.policy]()
    if not job.covers:
        regret = _simulate(job, problem, problem.model(), policy, problem.steps, job.trials, JUDGING_SEED)
        return {"regret": _at_horizons(problem, regret), "coverage": {}}
    watched = tuple(t for t in WATCHED if t <= problem.steps)
    env, watching = Watched(problem, watched), Watching(watched)
    regret = _simulate(job, env, problem.model(), watching, problem.steps + 1, job.runs, JUDGING_SEED)
    inside = {str(t): np.concatenate(covered(env.expected[t], watching.intervals[t])) for t in watched}
    coverage = {t: [float(share.mean()), float(WIDTHS * _error(share))] for t, share in inside.items()}
    return {"regret": _at_horizons(problem, regret[: job.trials]), "coverage": coverage}


def _error(values: Array) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def covered(expected: Sequence[Array], intervals: Sequence[tuple[Array, Array]]) -> list[Array]:
    """Return for each batch the share of actions in each trial whose interval holds the expected reward, (r,).

    It is the chance that the interval of an action drawn uniformly does.
    """
    pairs = zip(expected, intervals, strict=True)
    return [(np.abs(truth - mean) <= WIDTHS * width).mean(axis=-1) for truth, (mean, width) in pairs]


@dataclass(frozen=True)
class Watched(VectorEnvironment):
    """A problem that keeps the expected rewards of the belief that follows each watched round, batch by batch."""

    problem: Problem
    rounds: tuple[int, ...]
    expected: dict[int, list[Array]] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "expected", {t: [] for t in self.rounds})

    def start_all(self, rngs: Rngs) -> Trials:
        return _WatchedTrials(self, rngs)


class _WatchedTrials(Trials):
    def __init__(self, env: Watched, rngs: Rngs) -> None:
        self._env, self._trials = env, env.problem.start_all(rngs)
        self.actions = self._trials.actions

    def step(self, past: NDArray[np.intp]) -> Rounds:
        now = self._trials.step(past)
        if (t := past.shape[1]) in self._env.expected:
            self._env.expected[t].append(now.expected)
        return now


class Watching(oc.UCB):
    """The default policy, which keeps mean and width under the belief that follows each watched round."""

    random = False
    lockstep = True
    intervals: dict[int, list[tuple[Array, Array]]]

    def __init__(self, rounds: Sequence[int]) -> None:
        super().__init__()
        object.__setattr__(self, "intervals", {t: [] for t in rounds})

    def scores(self, outlook: Outlook, progress: Progress, rng: Generators) -> Array:
        if (t := int(progress.round) - 1) in self.intervals:
            self.intervals[t].append((outlook.mean.copy(), outlook.width.copy()))
        return super().scores(outlook, progress, rng)


def jobs(
    part: str,
    policy: str,
    trials: int,
    pattern: str,
    folder: Path,
    again: bool = False,
    settings: Sequence[str] = SETTINGS,
    regret_only: bool = False,
) -> list[Job]:
    """Return the jobs of a part in these settings whose problem's name holds the pattern, the longest first."""
    found = [
        Job(problem, setting, policy, trials, folder / part, again, regret_only)
        for problem in problems(part)
        if fnmatch.fnmatch(problem.name, f"*{pattern}*")
        for setting in problem.settings
        if problem.certain or setting in settings
    ]
    return sorted(found, key=guess, reverse=True)


def guess(job: Job) -> float:
    """Return a rough guess of the seconds that a job takes; without the opponents, it takes a third."""
    problem, share = job.problem, job.trials / TRIALS
    if job.path(job.policy).exists() and not job.again:
        return 0.0
    seconds = 120.0 if isinstance(problem.shape, Waves) else 18.0 + 0.012 * problem.k * problem.d
    return seconds * share * (0.35 if job.opponents.exists() else 1.0)


def run(todo: Sequence[Job], executor: Executor | None) -> Iterator[tuple[Job, Row | Exception]]:
    """Yield every job with its row as it gets done; a job that fails comes with its error."""
    if executor is None:
        for job in todo:
            try:
                yield job, judge(job)
            except Exception as error:
                yield job, error
        return
    waiting = {executor.submit(judge, job): job for job in todo}
    for future in as_completed(waiting):
        try:
            yield waiting[future], future.result()
        except Exception as error:
            yield waiting[future], error


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge, print the table and write summary and figure."""
    parser = argparse.ArgumentParser(prog="python -m untuned.judge", description=__doc__.split("\n\n")[0])
    parser.add_argument("--part", choices=[*PARTS, "all"], default="choose")
    parser.add_argument("--policy", choices=POLICIES, default="ucb")
    parser.add_argument("--trials", type=int, default=TRIALS, help="paired trials; tuning takes half as many")
    parser.add_argument("--only", default="", metavar="PATTERN", help="problems whose name holds this, e.g. 'arms'")
    parser.add_argument("--setting", choices=SETTINGS, help="one setting alone")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--again", action="store_true", help="run the default again, as it changed; keep opponents")
    parser.add_argument(
        "--regret-only", action="store_true", help="count no coverage, which takes three times the runs"
    )
    parser.add_argument("--out", type=Path, default=Path("overcast-out/judge"), help="folder for results")
    parser.add_argument(
        "--keep",
        type=Path,
        metavar="FILE",
        help="JSON file to put the summary into; with `--only`, beside that of the whole part",
    )
    options = parser.parse_args(arguments)
    parts = PARTS if options.part == "all" else (options.part,)
    failed = 0
    try:
        with process_executor(options.workers) as executor:
            for part in parts:
                settings = (options.setting,) if options.setting else SETTINGS
                chosen = options.policy, options.trials, options.only, options.out, options.again, settings
                todo = jobs(part, *chosen, options.regret_only)
                rows, errors = _judged(todo, part, executor, options.workers)
                failed += errors
                if rows:
                    print("\n" + table(rows) + "\n", flush=True)
                    draw(rows, f"{part}, {options.policy}").savefig(
                        options.out / f"{part}-{options.policy}.png", dpi=120
                    )
                if rows and options.keep and not errors:
                    name = f"{part}: {options.only}" if options.only else part
                    keep(options.keep, options.policy, name, options.trials, rows)
    except KeyboardInterrupt:
        print("stopped; what is done is kept", file=sys.stderr)
        return 130
    return 1 if failed else 0


def _judged(todo: Sequence[Job], part: str, executor: Executor | None, workers: int) -> tuple[list[Row], int]:
    """Return the rows of all jobs that succeed, in the order of their names, and the number of those that fail."""
    cost = {job: guess(job) for job in todo}
    left, spent, start = sum(cost.values()), 0.0, time.perf_counter()
    new = sum(seconds > 0.0 for seconds in cost.values())
    print(f"{part}: {len(todo)} runs, {new} to compute, about {left / workers / 60:.0f} min", flush=True)
    rows, failed = [], 0
    for n, (job, row) in enumerate(run(todo, executor), 1):
        spent, left = spent + cost[job], left - cost[job]
        minutes = abs((time.perf_counter() - start) / spent * left if spent else left / workers) / 60
        if isinstance(row, Row):
            rows.append(row)
        else:
            failed += 1
        said = row.text if isinstance(row, Row) else f"FAILED: {type(row).__name__}: {row}"
        print(f"[{n}/{len(todo)}, {minutes:.0f} min left] {job.label:44} {said}", flush=True)
    return sorted(rows, key=lambda row: (row.name, row.setting)), failed


if __name__ == "__main__":
    sys.exit(main())
