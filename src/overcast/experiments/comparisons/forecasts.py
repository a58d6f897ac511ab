"""Decide by forecasts that are biased and over-confident, with and without recalibration.

Each morning a grower chooses by how many degrees x, from 0 to 20, to protect a crop from the cold. Protection costs in
proportion to x. If the night is colder than the crop bears by more than x, the crop is damaged in proportion: the
reward is -cost x - damage (critical - x - temperature)^+, plus noise. The grower learns cost and damage, sees a
forecast of the temperature before the decision, and a measurement after it. Each trial is a crop with its critical
temperature, damage and random numbers; all trials meet the same record of weather, in its order.

Regret is the reward of the best action for the realised temperature, minus the reward of the chosen action. It includes
what no forecast could have predicted.
"""

from __future__ import annotations

import time
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from scipy.special import stdtrit

from overcast import _jobs
from overcast._check import Array
from overcast.bandit import Bandit
from overcast.datasets.forecasts import ForecastRecord
from overcast.experiments.comparisons.calibrate import Judged, draw, judge
from overcast.experiments.engine.files import write_figure, write_summary
from overcast.experiments.engine.outcome import versions, with_error
from overcast.experiments.engine.run import parts_folder
from overcast.experiments.figures.drawing import STYLE
from overcast.features import Function
from overcast.models import LinearModel
from overcast.policies import UCB
from overcast.simulation.record import draw_band, mean_and_error

TRIALS = 30
DEGREES = np.arange(21.0)[:, None]
COST, DAMAGE, CRITICAL, NOISE = 0.1, (0.3, 1.2), (-5.0, 5.0), 0.3
#: the two ways to use forecasts, with their colours
ARMS = {"as they came": "#d55e00", "recalibrated": "#0072b2"}
MEASURES = ("regret", "regret_rewards_known")
TENTHS = 10


@dataclass(frozen=True)
class Shortage:
    """Features of protection x and temperature c: x, and the uncovered degrees of cold."""

    critical: float

    def __call__(self, actions: Array, contexts: Array) -> Array:
        x = np.broadcast_to(actions, (len(actions), len(contexts)))
        return np.stack([x, np.maximum(self.critical - x - contexts[:, 0], 0.0)], axis=-1)


@dataclass(frozen=True, eq=False)
class Job:
    """One trial: a crop over the record. All trials share the seed."""

    record: ForecastRecord
    seed: int
    trial: int


def compute(job: Job) -> _jobs.Arrays:
    """Run a trial; return daily regret (4, t): raw and recalibrated forecasts, then both with known rewards."""
    rng = np.random.default_rng([job.seed, job.trial])
    theta = -np.array([COST, rng.uniform(*DAMAGE)])
    features = Function(Shortage(rng.uniform(*CRITICAL)), 2)
    outcomes = job.record.outcomes
    rewards = features(DEGREES, outcomes) @ theta  # (k, t)
    deviations = rng.normal(0.0, NOISE, len(outcomes))
    lost = rewards.max(axis=0) - rewards
    days = np.arange(len(outcomes))
    learning, knowing = [], []
    for recalibrate in (False, True):
        bandit = Bandit(DEGREES, LinearModel(features), UCB(), recalibrate=recalibrate)
        chosen, best = np.empty_like(days), np.empty_like(days)
        for day, (belief, context) in enumerate(zip(job.record.beliefs, outcomes, strict=True)):
            used = belief if bandit.recalibrated is None else bandit.recalibrated(belief)
            best[day] = np.argmax(features.expected(DEGREES, used) @ theta)
            decision = bandit.decide(belief)
            chosen[day] = decision.index
            bandit.learn(decision, rewards[decision.index, day] + deviations[day], context=context)
        learning.append(lost[chosen, days])
        knowing.append(lost[best, days])
    return {"regret": np.array([*learning, *knowing])}


@dataclass(frozen=True, eq=False)
class ForecastsResult:
    """The regret of each day (trials, 4, t), in the order of `compute`, and the forecasts' calibration."""

    judged: Judged
    regret: Array
    seed: int
    seconds: float

    @property
    def saved(self) -> Array:
        """The regret that recalibration saves in each trial, (trials,)."""
        return np.asarray((self.regret[:, 0] - self.regret[:, 1]).sum(axis=1))

    def interval(self) -> tuple[float, float]:
        """Return the 95 % confidence interval of the mean regret saved, Student's t over the trials."""
        n, mean = len(self.saved), self.saved.mean()
        half = stdtrit(n - 1, 0.975) * self.saved.std(ddof=1) / np.sqrt(n) if n > 1 else np.nan
        return float(mean - half), float(mean + half)

    def number_of_tenths_won(self) -> int:
        """Return how many tenths of the record recalibration wins; the first one includes its learning."""
        saved = (self.regret[:, 0] - self.regret[:, 1]).mean(axis=0)
        return sum(float(part.sum()) > 0.0 for part in np.array_split(saved, TENTHS))

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Return the cells of the table: forecasts, coverage, regret, and regret with rewards known."""
        return [
            (arm["forecasts"], f"{arm['coverage_80']:.1%}", *(with_error(arm[name]) for name in MEASURES))
            for arm in self.variants()
        ]

    def notes(self) -> list[str]:
        """Return sentences beside the table."""
        low, high = self.interval()
        after = self.regret[:, 1].sum() / self.regret[:, 0].sum()
        return [
            f"Recalibration saves {self.saved.mean():,.1f} ({1 - after:.0%} of the regret), "
            f"95 % interval {low:,.1f} to {high:,.1f}, paired over trials.",
            f"It costs less in {self.number_of_tenths_won()} of {TENTHS} tenths of the record, the start included.",
        ]

    def variants(self) -> list[dict[str, Any]]:
        """Return coverage, score and total regret of raw and of recalibrated forecasts."""
        totals = self.regret.sum(axis=2)
        return [
            {
                "forecasts": arm,
                "coverage_80": float(calibration.coverage(0.8)[0]),
                "crps": float(calibration.crps[0]),
                **{name: mean_and_error(totals[:, i + 2 * known]) for known, name in enumerate(MEASURES)},
            }
            for i, (arm, calibration) in enumerate(zip(ARMS, (self.judged.before, self.judged.after), strict=True))
        ]

    def summary(self) -> dict[str, Any]:
        record = self.judged.record
        return {
            "experiment": "forecasts",
            "steps": self.regret.shape[2],
            "trials": len(self.regret),
            "seed": self.seed,
            "seconds": round(self.seconds, 3),
            "data": record.source,
            "generated": record.generated,
            "versions": versions(),
            "variants": self.variants(),
            "saved": {"mean": float(self.saved.mean()), "interval_95": list(self.interval())},
            "tenths_won": self.number_of_tenths_won(),
        }


def run(
    record: ForecastRecord, trials: int, seed: int, folder: Path, executor: Executor | None, done: _jobs.Done
) -> ForecastsResult:
    """Run all trials and write summary.json, figure.png, figure.pdf and the forecasts' calibration to `folder`."""
    start = time.perf_counter()
    settings = (belief.sample(5, np.random.default_rng(0)).tobytes() for belief in record.beliefs)
    kept = parts_folder(folder, [f"forecasts {seed}".encode() + record.outcomes.tobytes(), *settings])
    jobs = {kept / f"{trial}.npz": Job(record, seed, trial) for trial in range(trials)}
    results = _jobs.resume(jobs, compute, ("regret",), executor, done)
    judged = judge(record)
    outcome = ForecastsResult(
        judged, np.stack([result["regret"] for result in results]), seed, time.perf_counter() - start
    )
    write_figure(picture(outcome), folder)
    draw(judged, folder)
    write_summary(outcome.summary(), folder)
    return outcome


def picture(result: ForecastsResult) -> Figure:
    """Draw the figure: regret over the record, with learnt and with known rewards."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(9.0, 4.8), layout="constrained")
        ax = figure.subplots()
        curves = result.regret.cumsum(axis=2)
        for i, (arm, color) in enumerate(ARMS.items()):
            draw_band(ax, curves[:, i], label=f"forecasts {arm}", color=color, linewidth=1.6)
            known = curves[:, i + 2].mean(axis=0)
            days, label = np.arange(1, len(known) + 1), "the same, were rewards known"
            ax.plot(days, known, label=label, color=color, linewidth=1.2, dashes=(4, 2))
        ax.set(xlabel="days", ylabel="cumulative regret")
        ax.margins(x=0)
        ax.legend(loc="upper left")
        where = "Generated forecasts" if result.judged.record.generated else "Forecasts for Innsbruck"
        mean = f"mean of {len(result.regret)} crops, bands of two standard errors"
        figure.suptitle(f"{where}: frost protection, {mean}", fontsize=11)
    return figure
