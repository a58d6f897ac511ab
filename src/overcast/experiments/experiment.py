"""What an experiment of the paper is: an environment, a model, and the curves of its figure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from overcast.environments.base import Environment
from overcast.models.base import Model
from overcast.policies import UCB, Policy
from overcast.simulation.runner import Block, Setting, blocks_of


@dataclass(frozen=True)
class Curve:
    """One line of a figure.

    setting, samples : what the learner sees, and how it takes the expectation
    name : what else sets the curve apart, e.g. another model
    model : None for the experiment's own
    policy : None for UCB with the betas of its setting
    panel : the title of the panel it is drawn in; empty for the main one
    revealed : share of rounds whose context is revealed in the observed setting
    share : of the trials that are run, where they take long
    watched : rounds after which the distance of the true theta to the estimate is kept
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
        if self.name:
            return f"{self.setting}, {self.name}"
        if self.setting == "exact":
            return "exact"
        return f"{self.setting}, " + ("expectation" if self.samples is None else f"L = {self.samples}")

    @property
    def key(self) -> str:
        words = [self.setting, str(self.samples or "expected"), *self.name.split()]
        return "-".join(words)


#: the seven curves of each panel of figure 1
CURVES = (
    Curve("exact", None),
    *(Curve("observed", samples) for samples in (10, 100, None)),
    *(Curve("hidden", samples) for samples in (10, 100, None)),
)


@dataclass(frozen=True)
class Experiment:
    """A figure: curves of regret in one environment.

    name : of the command and the folder
    title : of the figure
    data : where the numbers come from
    betas : the beta tried for each setting; a single one, as in the appendix, or a grid to tune over
    figure : its number in the paper; empty where the paper has none
    found : what preparing the data found, for summary.json
    notes : the same in sentences
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
    found: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def tuned_over(self, grid: tuple[float, ...]) -> Experiment:
        """Return the experiment with every beta of a grid tried for every curve."""
        return replace(self, betas=dict.fromkeys(self.betas, grid))

    def parts(self) -> Iterator[Part]:
        """Yield the work, curve by curve, in pieces of one lock-step each."""
        for curve in self.curves:
            trials = max(min(self.trials, 2), round(curve.share * self.trials))
            for beta in self.betas[curve.setting] if curve.policy is None else (None,):
                for first, count in blocks_of(curve.model or self.model, trials):
                    yield Part(self, curve, beta, first, count)

    def settings(self) -> dict[str, Any]:
        """Return what the numbers of a part depend on, besides curve, beta and trials."""
        return {
            "experiment": self.name,
            "env": repr(self.env),
            "arrays": _digest(self.env),
            "model": repr(self.model),
            "curves": repr(self.curves),
            "steps": self.steps,
            "seed": self.seed,
        }


def _digest(env: Environment) -> str:
    """Return a digest of the arrays that an environment holds, of which its repr shows no more than the sizes."""
    digest = hashlib.sha256()
    for name, value in sorted(vars(env).items()):
        if isinstance(value, np.ndarray):
            digest.update(f"{name} {value.shape} {value.dtype}".encode() + np.ascontiguousarray(value).tobytes())
    return digest.hexdigest()


@dataclass(frozen=True)
class Part:
    """Some trials of one curve at one beta; None for the curve's own policy."""

    experiment: Experiment
    curve: Curve
    beta: float | None
    first: int
    trials: int

    @property
    def key(self) -> str:
        return f"{self.curve.key}-beta{self.beta!r}-trials{self.first}+{self.trials}"

    def block(self) -> Block:
        e, curve = self.experiment, self.curve
        return Block(
            e.env,
            curve.model or e.model,
            curve.policy or UCB(self.beta),
            curve.samples,
            e.steps,
            curve.setting,
            e.seed,
            self.first,
            self.trials,
            curve.revealed,
            curve.watched,
        )
