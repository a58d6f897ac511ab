"""An experiment: an environment, a model, and the curves of its figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from overcast.environments.base import Environment
from overcast.models.base import Model
from overcast.policies import UCB, Policy
from overcast.simulation.batch import Batch, Setting, batches_of


@dataclass(frozen=True)
class Curve:
    """One curve of a figure.

    setting, samples : what the learner sees, and the number of samples that replace the expectation (None for none)
    name : any other distinction, e.g. another model
    model : None for the experiment's model
    policy : None for UCB with the betas of its setting
    panel : the title of its panel; empty for the main panel
    revealed : share of rounds with a revealed context in the observed setting
    share : share of the experiment's trials; below 1 for slow methods
    watched : rounds at which to record the distance of the true theta from the estimate
    """

    setting: Setting
    samples: int | None
    name: str = ""
    model: Model | None = None
    policy: Policy | None = None
    panel: str = ""
    revealed: float = 1.0
    share: float = 1.0
    watched: tuple[int, ...] = ()

    @property
    def label(self) -> str:
        if self.setting == "exact" and not self.name:
            return "exact"
        return f"{self.setting}, {self.name or ('expectation' if self.samples is None else f'L = {self.samples}')}"

    @property
    def seen(self) -> float:
        """The share of contexts that the learner sees, before or after the decision."""
        return 0.0 if self.setting == "hidden" else self.revealed

    @property
    def key(self) -> str:
        return "-".join([self.setting, str(self.samples or "expected"), *self.name.split()])


#: the seven curves of each panel of figure 1
CURVES = (
    Curve("exact", None),
    *(Curve("observed", samples) for samples in (10, 100, None)),
    *(Curve("hidden", samples) for samples in (10, 100, None)),
)


@dataclass(frozen=True)
class Experiment:
    """A figure: the regret curves of one environment.

    name : the experiment's name in the command, and the name of its folder
    title : the title of the figure
    data : the source of the data
    betas : the betas to try for each setting: a single one, as in the appendix, or a grid to tune over
    figure : the number of the figure in the paper; empty if the paper has none
    facts : facts about the prepared data, for summary.json
    notes : the same facts in sentences
    """

    name: str
    title: str
    data: str
    env: Environment
    model: Model
    betas: Mapping[Setting, tuple[float, ...]]
    trials: int = 100
    steps: int = 1000
    seed: int = 0
    curves: tuple[Curve, ...] = CURVES
    figure: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def tuned_over(self, grid: tuple[float, ...]) -> Experiment:
        """Return the experiment with a grid of betas for every curve."""
        return replace(self, betas=dict.fromkeys(self.betas, grid))

    def parts(self) -> Iterator[Part]:
        """Yield the parts to run, one batch of trials each, curve by curve."""
        for curve in self.curves:
            trials = max(min(self.trials, 2), round(curve.share * self.trials))
            for beta in self.betas[curve.setting] if curve.policy is None else (None,):
                for first, count in batches_of(curve.model or self.model, trials):
                    yield Part(self, curve, beta, first, count)

    def settings(self) -> Iterator[bytes]:
        """Yield all that the results of a part depend on, beside its curve, beta and trials."""
        yield repr((self.name, self.env, self.model, self.curves, self.steps, self.seed)).encode()
        for name, value in sorted(vars(self.env).items()):
            if isinstance(value, np.ndarray):  # repr(env) shows only its size
                yield f"{name} {value.shape} {value.dtype}".encode() + np.ascontiguousarray(value).tobytes()


@dataclass(frozen=True)
class Part:
    """Some trials of one curve at one beta; beta is None for a curve with its own policy."""

    experiment: Experiment
    curve: Curve
    beta: float | None
    first: int
    trials: int

    @property
    def key(self) -> str:
        return f"{self.curve.key}-beta{self.beta!r}-trials{self.first}+{self.trials}"

    def batch(self) -> Batch:
        e, curve, (first, trials) = self.experiment, self.curve, (self.first, self.trials)
        model, policy = curve.model or e.model, curve.policy or UCB(self.beta)
        return Batch(
            e.env,
            model,
            policy,
            curve.samples,
            e.steps,
            curve.setting,
            e.seed,
            first,
            trials,
            revealed=curve.revealed,
            watched=curve.watched,
        )
