"""What the default would save if it were told what it has to learn; run as `python -m untuned.told`.

Opponents on standardised coordinates know the unit of the rewards, their level if it is zero, and the unit and the
zero point of every context. Decisions of the default may not depend on any of these, so it learns them. Here it is told
them one after the other, and compared with the same opponents after 30 rounds, where learning them costs most.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import overcast as oc
from overcast._check import Array
from overcast._units import Vectors
from overcast.features.standard import Frame, Moments
from overcast.models.linear import averaged
from overcast.models.linear.averaged import Averaged
from overcast.models.linear.learner import LinearLearner
from overcast.models.linear.weighted import Settings
from overcast.models.prior import LOG_PRIOR, RATIOS
from overcast.simulation import Setting
from untuned.judge import BETAS, JUDGING_SEED, TUNING_SEED
from untuned.problems import Problem, problems
from untuned.report import LIMIT, ratio

HORIZON = 30
PARTS = "choose", "held-out"
# Contexts from which their moments are computed.
DRAWS = 100_000


@dataclass(frozen=True)
class Stage:
    """What the default is told.

    strength : standard deviation of the noise, and how much stronger the signal is
    level : that rewards without noise lie around zero
    contexts : mean and variance of the context terms
    """

    name: str
    strength: bool = False
    level: bool = False
    contexts: bool = False


STAGES = (
    Stage("nothing"),
    Stage("strength", strength=True),
    Stage("level", level=True),
    Stage("contexts", contexts=True),
    Stage("strength and level", strength=True, level=True),
    Stage("all", strength=True, level=True, contexts=True),
)


@dataclass(frozen=True)
class Told(oc.LinearModel):
    """The default, told that its rewards have no level, or what contexts are like."""

    level: bool = False
    moments: Moments | None = None

    def _start(self, reference: Vectors, context_dim: int, leading: tuple[int, ...]) -> LinearLearner:
        design = self.features.design(reference.shape[-1], context_dim).standard(reference)

        def frame(seen: Moments) -> Frame:
            if self.moments is not None:
                seen = Moments(*(np.broadcast_to(known, seen.mean.shape) for known in self.moments))
            found = design.frame(seen)
            return found._replace(one=np.zeros_like(found.one)) if self.level else found

        fit = Averaged(design.shape, Settings(noise=self.noise), True, leading, frame, design.terms)
        return LinearLearner(design, fit)


def candidates(part: str) -> list[Problem]:
    """Return the problems of a part whose assumptions hold and whose rewards have no offset, over 30 rounds."""
    return [replace(p, steps=HORIZON) for p in problems(part) if p.well_specified and not p.offset]


def regrets(problem: Problem, setting: Setting, stage: Stage, trials: int) -> Array:
    """Return the expected regret of each trial of the default that is told something."""
    assert isinstance(problem.shape, oc.features.FeatureMap)
    model = Told(
        problem.shape,
        noise=problem.noise * problem.scale if stage.strength else None,
        level=stage.level,
        moments=moments(problem) if stage.contexts else None,
    )
    ratios, prior = RATIOS, LOG_PRIOR
    if stage.strength:  # rewards of actions have standard deviation one
        ratios, prior = np.array([problem.noise**-2]), np.zeros(1)
    with mock.patch.multiple(averaged, RATIOS=ratios, LOG_PRIOR=prior):
        return _simulate(problem, setting, model, oc.UCB(), trials, JUDGING_SEED)


def moments(problem: Problem) -> Moments:
    """Return mean and variance of the context terms over all days."""
    normal = np.random.default_rng(0).standard_normal((DRAWS, len(problem.centre)))
    native = np.asarray(problem.centre) + np.hypot(problem.between, problem.within) * normal
    contexts = problem.context_units[problem.standard].of(native)
    terms = getattr(problem.shape, "context_terms", lambda own: own)(contexts)  # blocks take contexts as they are
    return Moments(terms.mean(axis=0), terms.var(axis=0))


def opponent(problem: Problem, setting: Setting, trials: int) -> Array:
    """Return the same of the best beta on standardised coordinates, chosen on other trials."""
    seen = problem.seen("standard")
    unit = seen.scale if seen.standard else 1.0

    def run(beta: float, n: int, seed: int) -> Array:
        return _simulate(seen, setting, seen.model(ridge=1.0), oc.UCB(beta * unit), n, seed)

    best = min(BETAS, key=lambda beta: float(run(beta, trials // 2, TUNING_SEED).mean()))
    return run(best, trials, JUDGING_SEED)


def _simulate(
    problem: Problem, setting: Setting, model: oc.models.Model, policy: oc.UCB, trials: int, seed: int
) -> Array:
    runs = oc.simulate(problem, model, policy, steps=problem.steps, trials=trials, setting=setting, seed=seed)
    return runs.expected_regret[:, -1]


def row(part: str, problem: Problem, setting: Setting, trials: int) -> dict[str, Any]:
    """Return the ratios of all stages on one problem, with their intervals."""
    other = opponent(problem, setting, trials).tolist()
    found = {stage.name: ratio(regrets(problem, setting, stage, trials).tolist(), other) for stage in STAGES}
    return {
        "part": part,
        "name": problem.name,
        "setting": "both" if problem.certain else setting,
        "ratios": {name: None if r is None else [round(x, 4) for x in r] for name, r in found.items()},
    }


def summary(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return for each stage the geometric mean of the ratios, and the worst."""
    out = []
    for stage in STAGES:
        found = {f"{r['name']}, {r['setting']}": r["ratios"][stage.name] for r in rows}
        values = {name: triple[0] for name, triple in found.items() if triple is not None}
        worst = max(values, key=lambda name: values[name])
        out.append(
            {
                "told": stage.name,
                "problems": len(values),
                "mean": round(math.exp(np.mean(np.log(list(values.values())))), 4),
                "worst": values[worst],
                "worst_name": worst,
                "above": sum(value > LIMIT for value in values.values()),
            }
        )
    return out


def _json(trials: int, stages: Sequence[Any], rows: Sequence[Any]) -> str:
    """Return JSON with one line for each stage and each problem."""
    parts = [",\n".join("  " + json.dumps(item, ensure_ascii=False) for item in items) for items in (stages, rows)]
    head = f' "trials": {trials},\n "horizon": {HORIZON},\n'
    return f'{{\n{head} "stages": [\n{parts[0]}\n ],\n "rows": [\n{parts[1]}\n ]\n}}\n'


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m untuned.told", description=__doc__.split("\n\n")[0])
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--keep", type=Path, metavar="FILE", help="JSON file to write")
    options = parser.parse_args(arguments)
    rows = []
    for part in PARTS:
        for problem in candidates(part):
            for setting in problem.settings:
                rows.append(row(part, problem, setting, options.trials))
                each = " ".join("–" if r is None else f"{r[0]:.2f}" for r in rows[-1]["ratios"].values())
                print(f"{part:9}{problem.name:40}{rows[-1]['setting']:10}{each}", flush=True)
    stages = summary(rows)
    for stage in stages:
        print(f"told {stage['told']:20} mean {stage['mean']:.3f}, worst {stage['worst']:.2f} ({stage['worst_name']})")
    if options.keep:
        unfinished = options.keep.with_suffix(".part")
        unfinished.write_text(_json(options.trials, stages, rows), encoding="utf-8")
        unfinished.replace(options.keep)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
