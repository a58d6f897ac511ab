"""Batches: groups of trials that run in lock-step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from overcast import _check
from overcast._random import Stream
from overcast.environments.base import Environment
from overcast.models.base import Mask, Model
from overcast.policies import Policy
from overcast.round import Samples, check_pair, check_samples

Setting = Literal["exact", "observed", "hidden"]


def batches_of(model: Model, trials: int) -> Iterator[tuple[int, int]]:
    """Yield the first trial and the number of trials of each batch."""
    size = getattr(model, "batch", trials)  # Batch raises TypeError for an object that is not a model
    for first in range(0, trials, size):
        yield first, min(size, trials - first)


@dataclass(frozen=True)
class Batch:
    """Trials of a simulation from number `first` on, run by one worker.

    revealed : share of rounds whose context is revealed in the observed setting
    delay : number of further decisions before the reward of a decision arrives
    watched : rounds after which the distance of the estimate to the true theta is recorded
    """

    env: Environment
    model: Model
    policy: Policy
    samples: Samples
    steps: int
    setting: Setting
    seed: int
    first: int
    trials: int
    revealed: float = 1.0
    delay: int = 0
    watched: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.env, type) or not isinstance(self.env, Environment):
            raise TypeError(f"simulate: env must be an environment with a start method, got {_check.short(self.env)}")
        check_pair("simulate", self.model, self.policy)
        if str(self.setting) not in get_args(Setting):
            got = _check.short(self.setting)
            raise ValueError(f"simulate: setting must be 'exact', 'observed' or 'hidden', got {got}")
        check_samples("simulate", self.samples)
        _check.integer("simulate", "steps", self.steps, at_least=1)
        _check.integer("simulate", "seed", self.seed, at_least=0)
        _check.integer("simulate", "delay", self.delay, at_least=0)
        share = _check.number("simulate", "revealed", self.revealed, at_least=0.0, at_most=1.0)
        if share < 1.0 and self.setting != "observed":
            raise ValueError(f"simulate: revealed is for setting 'observed', got {share} with {self.setting!r}")

    def generators(self, stream: int) -> list[np.random.Generator]:
        """Create one generator per trial: stream 0 is for the environment, 2 for revealed contexts."""
        return [np.random.default_rng(seed) for seed in self._seeds(stream)]

    def streams(self) -> list[Stream]:
        """Create one stream of random numbers per trial for the learner."""
        return [Stream(seed) for seed in self._seeds(1)]

    def _seeds(self, stream: int) -> Iterator[np.random.SeedSequence]:
        trials = range(self.first, self.first + self.trials)
        return (np.random.SeedSequence(self.seed, spawn_key=(trial, stream)) for trial in trials)

    def revealed_mask(self) -> Mask | None:
        """Draw a mask (r, t) of the rounds whose context is revealed; None if all are."""
        if self.revealed == 1.0:
            return None
        return np.stack([rng.random(self.steps) for rng in self.generators(2)]) < self.revealed
