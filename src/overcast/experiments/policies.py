"""All policies and baselines against each other, on the paper's three problems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from matplotlib.figure import Figure

from overcast.experiments.claims import Verdict, text
from overcast.experiments.comparison import GRID, Comparison, Table, features_of
from overcast.experiments.experiment import Curve, Experiment
from overcast.experiments.outcome import Line, Outcome, with_error
from overcast.experiments.policies_figure import draw
from overcast.experiments.ranking import DEFAULT, PAPER, Place, ranking
from overcast.experiments.tuning import SETTINGS
from overcast.models import Exp4, FixedProfile, LinearModel, MeanContext, NoisyContext
from overcast.policies import IDS, UCB, EpsilonGreedy, Greedy, MostlyGreedy, PerturbedHistory, Proportional, Thompson
from overcast.simulation.runner import Setting

#: a hundred trials are enough to tell methods apart, and a share of them where trials do not share their work
TRIALS, SLOW = 100, 0.25

#: random directions that EXP4 takes for experts
EXPERTS = 100


class Policies(Comparison):
    """A ranking for each problem, hidden and observed."""

    name = "policies"
    title = "Policies and baselines"

    def experiment(self, problem: Experiment) -> Experiment:
        return replace(
            problem,
            trials=min(problem.trials, TRIALS),
            betas=dict.fromkeys(problem.betas, GRID),
            curves=tuple(curve for setting in SETTINGS for curve in _curves(problem, setting)),
        )

    def variants(self, outcome: Outcome) -> list[Line]:
        return [place.line for setting in SETTINGS for place in ranking(outcome, setting)]

    def found(self, outcome: Outcome) -> dict[str, Any]:
        return {"rankings": {setting: [place.summary() for place in ranking(outcome, setting)] for setting in SETTINGS}}

    def tables(self, outcomes: Sequence[Outcome]) -> list[Table]:
        return [_table(outcome, setting) for outcome in outcomes for setting in SETTINGS]

    def verdicts(self, outcomes: Sequence[Outcome]) -> list[Verdict]:
        return []

    def draw(self, outcomes: Sequence[Outcome]) -> Figure:
        return draw(outcomes)


def _curves(problem: Experiment, setting: Setting) -> list[Curve]:
    """Return every method, slow ones first: at the end all workers are then busy."""
    features = features_of(problem)
    default = LinearModel(features)
    # Models with a ridge of one have no scale of their own: they get the beta that the authors chose for theirs.
    appendix = UCB(problem.betas[setting][0])
    slow = [
        Curve(setting, None, "FixedProfile", FixedProfile(features), appendix),
        Curve(setting, 1, "NoisyContext", NoisyContext(features), appendix),
        Curve(setting, None, "EXP4", Exp4(features, EXPERTS), Proportional()),
    ]
    policies = [Thompson(), PerturbedHistory(), Greedy(), EpsilonGreedy(), MostlyGreedy(), IDS()]
    return [
        *(replace(curve, share=SLOW) for curve in slow),
        *(Curve(setting, None, type(policy).__name__, default, policy) for policy in policies),
        Curve(setting, None, "mean plugged in", MeanContext(default), UCB()),
        Curve(setting, 1, "one sampled context", default, UCB()),
        Curve(setting, None, PAPER),
        Curve(setting, None, DEFAULT, default, UCB()),
    ]


def _table(outcome: Outcome, setting: Setting) -> Table:
    e, places = outcome.experiment, ranking(outcome, setting)
    fewer = sorted({len(place.line.regret) for place in places} - {e.trials})
    note = "≈: within two standard errors of the best with all trials, trial by trial."
    if places[0].measure == "expected_regret":
        note += " Ranked by expected regret: forecasts are not calibrated here, and realised regret rewards luck."
    if fewer:
        names = ", ".join(place.line.curve.name for place in places if len(place.line.regret) in fewer)
        note += f" With {fewer[0]} trials only, and differences over those: {names}."
    if setting == "observed":
        note += " EXP4 has no use for a revealed context: its regret is that of the hidden setting."
    return Table(
        f"{e.title}, {setting}: {e.trials} trials of {e.steps} steps, data {e.data}",
        ("method", "regret", "expected regret", "more than the best"),
        tuple(_row(i, place) for i, place in enumerate(places, 1)),
        note,
    )


def _row(rank: int, place: Place) -> tuple[str, ...]:
    summary = place.line.summary()
    more = "" if place.more is None else text(place.more) + (" ≈" if place.tied else "  ")
    return f"{rank:>2}  {place.label}", with_error(summary["regret"]), with_error(summary["expected_regret"]), more
