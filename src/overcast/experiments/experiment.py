"""What an experiment of the paper is: an environment, a model, and the curves of its figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from overcast.environments.base import Environment
from overcast.models.base import Model
from overcast.policies import UCB
from overcast.simulation.runner import Block, Setting, blocks_of


@dataclass(frozen=True)
class Curve:
    """One line of a figure: what the learner sees, and how it takes the expectation."""

    setting: Setting
    samples: int | None

    @property
    def label(self) -> str:
        if self.setting == "exact":
            return "exact"
        return f"{self.setting}, " + ("expectation" if self.samples is None else f"L = {self.samples}")

    @property
    def key(self) -> str:
        return f"{self.setting}-{self.samples or 'expected'}"


#: the seven curves of each panel of figure 1
CURVES = (
    Curve("exact", None),
    *(Curve("observed", samples) for samples in (10, 100, None)),
    *(Curve("hidden", samples) for samples in (10, 100, None)),
)


@dataclass(frozen=True)
class Experiment:
    """A panel of figure 1.

    name : of the command and the folder
    title : of the figure
    data : where the numbers come from
    betas : the beta tried for each setting; the appendix's single one, or a grid to tune over
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

    def tuned_over(self, grid: tuple[float, ...]) -> Experiment:
        """Return the experiment with every beta of a grid tried for every curve."""
        return replace(self, betas=dict.fromkeys(self.betas, grid))

    def parts(self) -> Iterator[Part]:
        """Yield the work, curve by curve, in pieces of one lock-step each."""
        for curve in CURVES:
            for beta in self.betas[curve.setting]:
                for first, count in blocks_of(self.model, self.trials):
                    yield Part(self, curve, beta, first, count)

    def settings(self) -> dict[str, Any]:
        """Return what the numbers of a part depend on, besides curve, beta and trials."""
        return {
            "experiment": self.name,
            "data": self.data,
            "env": repr(self.env),
            "model": repr(self.model),
            "steps": self.steps,
            "seed": self.seed,
        }


@dataclass(frozen=True)
class Part:
    """Some trials of one curve at one beta."""

    experiment: Experiment
    curve: Curve
    beta: float
    first: int
    trials: int

    @property
    def key(self) -> str:
        return f"{self.curve.key}-beta{self.beta!r}-trials{self.first}+{self.trials}"

    def block(self) -> Block:
        e = self.experiment
        return Block(
            e.env,
            e.model,
            UCB(self.beta),
            self.curve.samples,
            e.steps,
            self.curve.setting,
            e.seed,
            self.first,
            self.trials,
        )
