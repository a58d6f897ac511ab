"""A recurring choice by forecasts that are biased and too sure, with and without recalibration.

Each morning a grower chooses by how many degrees to protect a crop from the cold, x from 0 to 20. Protection costs in
proportion to x; where the night falls short of what the crop bears by more than that, the crop is damaged in
proportion: the reward is -cost x - damage (critical - x - temperature)^+, plus noise. Cost and damage are to be
learnt; the temperature is known as a forecast before, and is measured after. Each trial is a crop with a critical
temperature, damage and noise of its own; all face the same record of weather, in its order.

Regret is what the best action for the temperature that came would have brought more. It is the same yardstick for all,
and takes in what no forecast could have told.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from scipy.special import stdtrit

from overcast import _jobs, _storage
from overcast._check import Array
from overcast.bandit import Bandit
from overcast.beliefs import Belief
from overcast.datasets.forecasts import ForecastRecord
from overcast.experiments.calibrate import Judged, draw, judge
from overcast.experiments.figure import STYLE
from overcast.experiments.outcome import versions, with_error
from overcast.experiments.parts import source_digest
from overcast.features import Function
from overcast.models import LinearModel
from overcast.policies import UCB
from overcast.simulation.runs import draw_band, mean_and_error

TRIALS = 30
DEGREES = np.arange(21.0)[:, None]
COST, DAMAGE, CRITICAL, NOISE = 0.1, (0.3, 1.2), (-5.0, 5.0), 0.3
#: the two ways to take forecasts, each with its colour
ARMS = {"as they came": "#d55e00", "recalibrated": "#0072b2"}
TENTHS = 10


@dataclass(frozen=True)
class Shortage:
    """Features of protection x and temperature c: x, and the degrees that the crop is left in the cold."""

    critical: float

    def __call__(self, actions: Array, contexts: Array) -> Array:
        x = np.broadcast_to(actions, (len(actions), len(contexts)))
        return np.stack([x, np.maximum(self.critical - x - contexts[:, 0], 0.0)], axis=-1)


@dataclass(frozen=True, eq=False)
class Job:
    """One crop over the record: its number among the trials, and the seed of them all."""

    record: ForecastRecord
    seed: int
    trial: int


def compute(job: Job) -> Array:
    """Return the regret of each day, (4, t): forecasts as they came and recalibrated, then both with rewards known."""
    rng = np.random.default_rng([job.seed, job.trial])
    theta = -np.array([COST, rng.uniform(*DAMAGE)])
    features = Function(Shortage(rng.uniform(*CRITICAL)), 2)
    outcomes = job.record.outcomes
    rewards = features(DEGREES, outcomes) @ theta  # (k, t)
    noise = rng.normal(0.0, NOISE, len(outcomes))
    lost = rewards.max(axis=0) - rewards
    days = np.arange(len(outcomes))
    learning, knowing = [], []
    for recalibrate in (False, True):
        bandit = Bandit(DEGREES, LinearModel(features), UCB(), recalibrate=recalibrate)
        chosen, best = np.empty_like(days), np.empty_like(days)
        for day, (belief, context) in enumerate(zip(job.record.beliefs, outcomes, strict=True)):
            best[day] = _best(features, theta, belief if bandit.recalibrated is None else bandit.recalibrated(belief))
            decision = bandit.decide(belief)
            chosen[day] = decision.index
            bandit.learn(decision, rewards[decision.index, day] + noise[day], context=context)
        learning.append(lost[chosen, days])
        knowing.append(lost[best, days])
    return np.array([*learning, *knowing])


def _best(features: Function, theta: Array, belief: Belief) -> int:
    return int(np.argmax(features.expected(DEGREES, belief) @ theta))


@dataclass(frozen=True, eq=False)
class Found:
    """The regret of each day (trials, 4, t) as `compute` returns it, and the forecasts' calibration."""

    judged: Judged
    regret: Array
    seed: int
    seconds: float

    @property
    def saved(self) -> Array:
        """(trials,) what recalibration saves in all."""
        return np.asarray((self.regret[:, 0] - self.regret[:, 1]).sum(axis=1))

    def interval(self) -> tuple[float, float]:
        """Return the 95 % confidence interval (Student's t over the trials) of what recalibration saves on average."""
        n = len(self.saved)
        if n < 2:
            return float("nan"), float("nan")
        half = float(stdtrit(n - 1, 0.975)) * self.saved.std(ddof=1) / np.sqrt(n)
        return float(self.saved.mean() - half), float(self.saved.mean() + half)

    def tenths_won(self) -> int:
        """Return in how many tenths of the record recalibration costs less, the learning in the first one included."""
        saved = (self.regret[:, 0] - self.regret[:, 1]).mean(axis=0)
        return sum(float(part.sum()) > 0.0 for part in np.array_split(saved, TENTHS))

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Return the cells of the table: forecasts, coverage, regret, and regret were rewards known."""
        totals = self.regret.sum(axis=2)
        calibrations = (self.judged.before, self.judged.after)
        return [
            (
                arm,
                f"{found.coverage(0.8)[0]:.1%}",
                with_error(mean_and_error(totals[:, i])),
                with_error(mean_and_error(totals[:, i + 2])),
            )
            for i, (arm, found) in enumerate(zip(ARMS, calibrations, strict=True))
        ]

    def notes(self) -> list[str]:
        """Return sentences on what the table does not show."""
        low, high = self.interval()
        after = self.regret[:, 1].sum() / self.regret[:, 0].sum()
        return [
            f"Recalibration saves {self.saved.mean():,.1f} ({1 - after:.0%} of the regret), "
            f"95 % interval {low:,.1f} to {high:,.1f}, paired over trials.",
            f"It costs less in {self.tenths_won()} of {TENTHS} tenths of the record, the start included.",
        ]

    def summary(self) -> dict[str, Any]:
        totals = self.regret.sum(axis=2)
        record = self.judged.record
        calibrations = (self.judged.before, self.judged.after)
        return {
            "experiment": "forecasts",
            "steps": self.regret.shape[2],
            "trials": len(self.regret),
            "seed": self.seed,
            "seconds": round(self.seconds, 3),
            "data": record.source,
            "generated": record.generated,
            "versions": versions(),
            "variants": [
                {
                    "forecasts": arm,
                    "coverage_80": float(found.coverage(0.8)[0]),
                    "crps": float(found.crps[0]),
                    "regret": mean_and_error(totals[:, i]),
                    "regret_rewards_known": mean_and_error(totals[:, i + 2]),
                }
                for i, (arm, found) in enumerate(zip(ARMS, calibrations, strict=True))
            ],
            "saved": {"mean": float(self.saved.mean()), "interval_95": list(self.interval())},
            "tenths_won": self.tenths_won(),
        }


def run(
    record: ForecastRecord, trials: int, seed: int, folder: Path, executor: Executor | None, done: Callable[[], object]
) -> Found:
    """Run all trials and write summary.json, figure.png, figure.pdf and the forecasts' calibration to `folder`.

    Trials that an earlier run finished are taken from `folder/parts`; `done` is called for every trial.
    """
    start = time.perf_counter()
    store = folder / "parts" / _fingerprint(record, seed)
    store.mkdir(parents=True, exist_ok=True)
    regret: dict[int, Array] = {}
    missing = []
    for trial in range(trials):
        kept = _storage.read_arrays(store / f"{trial}.npz", ("regret",))
        if kept is None:
            missing.append(Job(record, seed, trial))
        else:
            regret[trial] = kept["regret"]
            done()
    jobs = _jobs.run(
        missing,
        compute,
        lambda job, result: _storage.write_arrays(store / f"{job.trial}.npz", {"regret": result}),
        executor,
    )
    with closing(jobs):
        for job, result in jobs:
            regret[job.trial] = result
            done()
    judged = judge(record)
    stacked = np.stack([regret[trial] for trial in range(trials)])
    found = Found(judged, stacked, seed, time.perf_counter() - start)
    figure = picture(found)
    figure.savefig(folder / "figure.png", dpi=160)
    figure.savefig(folder / "figure.pdf", metadata={"CreationDate": None})
    draw(judged, folder)
    (folder / "summary.json").write_text(json.dumps(found.summary(), indent=2) + "\n", encoding="utf-8")
    return found


def picture(found: Found) -> Figure:
    """Return the figure: regret over the record, learning and with rewards known."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(9.0, 4.8), layout="constrained")
        ax = figure.subplots()
        curves = found.regret.cumsum(axis=2)
        for i, (arm, color) in enumerate(ARMS.items()):
            draw_band(ax, curves[:, i], label=f"forecasts {arm}", color=color, linewidth=1.6)
            known = curves[:, i + 2].mean(axis=0)
            ax.plot(
                np.arange(1, len(known) + 1),
                known,
                label="the same, were rewards known",
                color=color,
                linewidth=1.2,
                dashes=(4, 2),
            )
        ax.set(xlabel="days", ylabel="cumulative regret")
        ax.margins(x=0)
        ax.legend(loc="upper left")
        where = "Generated forecasts" if found.judged.record.generated else "Forecasts for Innsbruck"
        figure.suptitle(
            f"{where}: frost protection, mean of {len(found.regret)} crops, bands of two standard errors", fontsize=11
        )
    return figure


def _fingerprint(record: ForecastRecord, seed: int) -> str:
    """Return a digest of what the numbers of a trial depend on."""
    digest = hashlib.sha256(source_digest() + f"{np.__version__} {seed}".encode())
    digest.update(record.outcomes.tobytes())
    for belief in record.beliefs:
        digest.update(belief.sample(5, np.random.default_rng(0)).tobytes())
    return digest.hexdigest()[:12]
