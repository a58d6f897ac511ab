"""Simulate a policy in an environment, many trials in lock-step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from overcast import _check
from overcast._check import Array
from overcast.bandit import Samples, check_samples
from overcast.beliefs.stacked import PointStack
from overcast.confidence import Confidence
from overcast.environments.base import Environment, Rounds, Stepped, Trials, VectorEnvironment
from overcast.models.base import Estimate, Learner, Mask, Model, Outlook, Progress
from overcast.models.learners import LinearLearner
from overcast.policies import UCB, Policy
from overcast.policies.base import check_shape, highest
from overcast.simulation.runs import Runs, join

# Rewards are known to so many digits.
BAND_ROUNDING = 1e-12

Setting = Literal["exact", "observed", "hidden"]


def simulate(
    env: Environment,
    model: Model,
    policy: Policy,
    samples: Samples = None,
    steps: int = 1000,
    trials: int = 100,
    setting: Setting = "hidden",
    seed: int = 0,
    executor: Executor | None = None,
    revealed: float = 1.0,
) -> Runs:
    """Run `trials` independent trials of `steps` rounds.

    The environment supplies the actions of each trial. Trial i meets the same actions, contexts and noise under
    every policy, setting and number of workers; they follow from `seed` and i alone.

    Parameters
    ----------
    samples : None for the exact expectation, L for the average of L draws a round, "t" for L = t
    setting : "exact" shows c_t before the decision, "observed" after it, "hidden" never
    executor : any `concurrent.futures.Executor` (of Dask: `client.get_executor()`), which gets blocks of trials;
        None runs here
    revealed : share of rounds whose context is revealed in the observed setting; the others stay hidden. Which ones is
        drawn from a stream of its own, so that all that a smaller share reveals, a larger one reveals too

    Examples
    --------
    >>> import overcast as oc
    >>> env = oc.environments.CoinFlip()
    >>> runs = simulate(env, oc.LinearModel(env.features), oc.UCB(1.0), steps=50, trials=20)
    >>> runs.regret.shape
    (20, 50)
    """
    trials = _check.integer("simulate", "trials", trials, at_least=1)
    if executor is not None and not isinstance(executor, Executor):
        raise TypeError(f"simulate: executor must be a concurrent.futures.Executor, got {_check.short(executor)}")
    blocks = [
        Block(env, model, policy, samples, steps, setting, seed, first, count, revealed)
        for first, count in blocks_of(model, trials)
    ]
    return join(list(map(Block.run, blocks) if executor is None else executor.map(Block.run, blocks)))


def blocks_of(model: Model, trials: int) -> Iterator[tuple[int, int]]:
    """Yield the first trial and the number of trials of each lock-step."""
    size = getattr(model, "block", trials)  # something else than a model is refused by the block itself
    for first in range(0, trials, size):
        yield first, min(size, trials - first)


@dataclass(frozen=True)
class Block:
    """Some trials of a simulation, from `first` on: the unit of work that goes to a worker."""

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
    watched: tuple[int, ...] = ()  # rounds after which the distance of the true theta to the estimate is kept

    def __post_init__(self) -> None:
        if isinstance(self.env, type) or not isinstance(self.env, Environment):
            raise TypeError(f"simulate: env must be an environment with a start method, got {_check.short(self.env)}")
        if not isinstance(self.model, Model):
            raise TypeError(
                f"simulate: model must be a model such as LinearModel(features), got {_check.short(self.model)}"
            )
        if not isinstance(self.policy, Policy):
            raise TypeError(f"simulate: policy must be a policy such as UCB(beta), got {_check.short(self.policy)}")
        if str(self.setting) not in ("exact", "observed", "hidden"):
            got = _check.short(self.setting)
            raise ValueError(f"simulate: setting must be 'exact', 'observed' or 'hidden', got {got}")
        check_samples("simulate", self.samples)
        _check.integer("simulate", "steps", self.steps, at_least=1)
        _check.integer("simulate", "seed", self.seed, at_least=0)
        share = _check.number("simulate", "revealed", self.revealed, at_least=0.0, at_most=1.0)
        if share < 1.0 and self.setting != "observed":
            raise ValueError(f"simulate: revealed is for setting 'observed', got {share} with {self.setting!r}")

    def run(self) -> Runs:
        return _LockStep(self).run()

    def generators(self, stream: int) -> list[np.random.Generator]:
        """Return one generator a trial: 0 drives the environment, 1 the learner, 2 what is revealed."""
        trials = range(self.first, self.first + self.trials)
        seeds = (np.random.SeedSequence(self.seed, spawn_key=(trial, stream)) for trial in trials)
        return [np.random.default_rng(seed) for seed in seeds]


class _LockStep:
    """The trials of a block, advanced together; what is recorded has axes (steps, trials) until the end."""

    def __init__(self, block: Block) -> None:
        self._block = block
        self._world = _start(block.env, block.generators(0))
        self._rngs = block.generators(1)
        self._shown = shown(block)
        self._rows = np.arange(block.trials)
        shape = (block.steps, block.trials)
        self._choices = np.empty(shape, dtype=np.intp)
        self._regret, self._expected, self._clairvoyant, self._log_det = (np.empty(shape) for _ in range(4))
        self._learner: Learner | None = None
        beta = block.policy.beta if isinstance(block.policy, UCB) else None
        self._audit = _Audit(block, beta, self._world) if isinstance(beta, Confidence) else None

    def run(self) -> Runs:
        block, audit = self._block, self._audit
        distances = []
        for t in range(block.steps):
            self._step(t)
            if t + 1 in block.watched:
                distances.append(self._distance())
        return Runs(
            model=block.model,
            policy=block.policy,
            setting=block.setting,
            samples=block.samples,
            actions=self._world.actions.shape[-2],
            regret=self._regret.cumsum(axis=0).T,
            expected_regret=self._expected.cumsum(axis=0).T,
            clairvoyant_regret=self._clairvoyant.cumsum(axis=0).T,
            choices=self._choices.T,
            log_det=self._log_det.T,
            feature_norm=None if audit is None else audit.feature_norm,
            theta_norm=None if audit is None else audit.theta_norm,
            reward_range=None if audit is None else audit.high - audit.low,
            noise=getattr(block.env, "noise", None),
            calibrated=getattr(block.env, "calibrated", True),
            covered=None if audit is None else audit.covered,
            revealed=block.revealed,
            distance=np.stack(distances, axis=-1) if distances else None,
        )

    def _distance(self) -> Array:
        assert isinstance(self._learner, LinearLearner)
        assert self._world.theta is not None
        return self._learner.distance(self._world.theta)

    def _step(self, t: int) -> None:
        block, world, rows = self._block, self._world, self._rows
        now = world.step(self._choices[:t].T)
        if self._learner is None:
            self._learner = block.model.start_all(world.actions, now.context.shape[-1], block.trials)
        learner = self._learner

        shown = block.setting == "exact" or (block.setting == "observed" and block.model.uses_context)
        realised = learner.encode(PointStack(now.context)) if shown else None
        if block.setting == "exact" and realised is not None:
            view = realised
        elif block.samples is None:
            view = learner.encode(now.belief)
        else:
            draws = t + 1 if block.samples == "t" else int(block.samples)
            view = learner.encode_sampled(now.belief, draws, self._rngs)

        progress = Progress(t + 1, learner.log_det, block.model.theory_ridge, world.actions.shape[-2])
        outlook = Outlook(learner, view)
        scores = block.policy.scores(outlook, progress, self._rngs)
        check_shape(scores, outlook.mean.shape)
        choice = highest(scores)
        if self._audit is not None:
            self._audit.step(learner, progress, outlook.estimate, now, choice)

        reward = now.rewards[rows, choice]
        learner.learn(self._evidence(t, view, realised, choice), now.reward(choice))

        best = highest(now.expected)
        self._choices[t] = choice
        self._regret[t] = now.rewards[rows, best] - reward
        self._expected[t] = now.expected[rows, best] - now.expected[rows, choice]
        self._clairvoyant[t] = now.rewards.max(axis=-1) - reward
        self._log_det[t] = learner.log_det

    def _evidence(self, t: int, view: Any, realised: Any, choice: NDArray[np.intp]) -> Any:
        """Return what the trials learn from: the realised context where it is revealed, else the belief."""
        assert self._learner is not None
        mask = None if self._shown is None else self._shown[:, t]
        if realised is None or (mask is not None and not mask.any()):
            return self._learner.evidence(view, choice)
        evidence = self._learner.evidence(realised, choice)
        if mask is None or mask.all():
            return evidence
        return chosen(mask, evidence, self._learner.evidence(view, choice))


class _Audit:
    """Watches whether the theorems' assumptions and their confidence sets hold along the way."""

    def __init__(self, block: Block, confidence: Confidence, world: Trials) -> None:
        self._confidence = confidence
        self._exact = block.setting == "exact"
        # theta means something to the learner only in the environment's own features, ||f|| only in its own kernel
        linear, kernel = (_shared(block.env, block.model, name) for name in ("features", "kernel"))
        self._theta = world.theta if linear else None
        norm = world.norm if kernel else None
        if self._theta is not None:
            norm = np.linalg.norm(self._theta, axis=-1)
        self.theta_norm = None if norm is None else np.broadcast_to(norm, (block.trials,))
        self.covered = None if norm is None else np.ones(block.trials, dtype=bool)
        self.feature_norm = np.zeros(block.trials)
        self.low, self.high = np.full(block.trials, np.inf), np.full(block.trials, -np.inf)

    def step(
        self, learner: Learner, progress: Progress, estimate: Estimate, now: Rounds, choice: NDArray[np.intp]
    ) -> None:
        realised = learner.evidence(learner.encode(PointStack(now.context)), choice)
        np.maximum(self.feature_norm, learner.norm(realised), out=self.feature_norm)
        np.minimum(self.low, now.rewards.min(axis=-1), out=self.low)
        np.maximum(self.high, now.rewards.max(axis=-1), out=self.high)
        if self.covered is None:
            return
        beta = self._confidence.beta(progress)
        if self._theta is not None:
            assert isinstance(learner, LinearLearner)
            self.covered &= learner.distance(self._theta) <= beta
        else:  # the whole set cannot be seen, but its band over the actions can
            error = np.abs(estimate.mean - (now.rewards if self._exact else now.expected))
            self.covered &= (error <= np.asarray(beta)[..., None] * estimate.width + BAND_ROUNDING).all(axis=-1)


def shown(block: Block) -> Mask | None:
    """Return which contexts are revealed, (r, t), or None where all are."""
    if block.revealed == 1.0:
        return None
    return np.stack([rng.random(block.steps) for rng in block.generators(2)]) < block.revealed


def chosen(mask: Mask, yes: Any, no: Any) -> Any:
    """Return the evidence of each trial from one of two, by a mask (r,): an array, a list of trials, or a tuple."""
    if isinstance(yes, list):
        return [a if shown else b for shown, a, b in zip(mask, yes, no, strict=True)]
    if isinstance(yes, tuple):
        parts = (chosen(mask, a, b) for a, b in zip(yes, no, strict=True))
        return type(yes)(*parts) if hasattr(yes, "_fields") else tuple(parts)
    return np.where(mask.reshape(-1, *[1] * (yes.ndim - 1)), yes, no)


def _shared(env: Environment, model: Model, name: str) -> bool:
    """Return whether environment and model have the same features, or the same kernel."""
    mine = getattr(model, name, None)
    return mine is not None and getattr(env, name, None) == mine


def _start(env: Environment, rngs: Sequence[np.random.Generator]) -> Trials:
    if isinstance(env, VectorEnvironment):
        return env.start_all(rngs)
    return Stepped([env.start(rng) for rng in rngs])
