"""Simulate a policy in an environment, many trials in lock-step."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Executor
from dataclasses import replace
from typing import Any

import numpy as np

from overcast import _check
from overcast._check import Array
from overcast._records import where
from overcast._threads import one_thread
from overcast.beliefs.stacked import PointStack
from overcast.confidence import Confidence
from overcast.environments.base import Environment, Rounds, Stepped, Trials, VectorEnvironment
from overcast.models.base import Learner, Mask, Model
from overcast.policies import Policy
from overcast.policies.base import highest
from overcast.round import Answer, Question, Samples, answer, draws, revealed_evidence, start
from overcast.simulation.batch import Batch, Setting, batches_of
from overcast.simulation.record import Step, arrays, join, stack
from overcast.simulation.runs import Runs

# Expected rewards carry rounding errors of about this size.
BAND_ROUNDING = 1e-12


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
    delay: int = 0,
) -> Runs:
    """Run `trials` independent trials of `steps` rounds.

    The environment supplies the actions of each trial. Trial i meets the same actions, contexts and noise under
    every policy, setting and number of workers; they follow from `seed` and i alone.

    Parameters
    ----------
    samples : None for the exact expectation, L for the average of L draws per round, a million at most; "t" for L = t
    setting : "exact" shows c_t before the decision, "observed" after it, "hidden" never
    executor : any `concurrent.futures.Executor` (of Dask: `client.get_executor()`), which gets batches of trials;
        None runs here
    revealed : share of rounds whose context is revealed in the observed setting; the others stay hidden. A stream of
        random numbers of its own decides which ones, so that a larger share reveals all that a smaller one does
    delay : number of further decisions that are made before the reward of a decision arrives

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
    batches = [
        Batch(env, model, policy, samples, steps, setting, seed, first, count, revealed, delay)
        for first, count in batches_of(model, trials)
    ]
    runs = list((map if executor is None else executor.map)(run_batch, batches))
    return replace(runs[0], **join([arrays(part) for part in runs]))


def run_batch(batch: Batch) -> Runs:
    """Run all trials of a batch; one array operation per step serves all of them."""
    with one_thread():
        return _run(batch)


def _run(batch: Batch) -> Runs:
    env, model, policy, rows = batch.env, batch.model, batch.policy, np.arange(batch.trials)
    luck, streams, shown = batch.generators(0), batch.streams(), batch.shown()
    world = env.start_all(luck) if isinstance(env, VectorEnvironment) else Stepped([env.start(rng) for rng in luck])
    audit = None if policy.confidence is None else _Audit(batch, policy.confidence, world)
    choices = np.empty((batch.steps, batch.trials), dtype=np.intp)
    steps, distances = [], []
    # Of decisions whose rewards are under way: evidence before the context is revealed, evidence, and rewards.
    late: deque[tuple[Any, Any, Array]] = deque()
    learner: Learner | None = None
    points: Any = None
    for t in range(batch.steps):
        now = world.step(choices[:t].T)
        if learner is None:
            learner = start(model, policy, world.actions, now.context.shape[-1], batch.trials)
            points = learner.at(world.actions)
        realised = PointStack(now.context)
        seen, samples = (realised, None) if batch.setting == "exact" else (now.belief, batch.samples)
        awaited_so_far = [one for one, *_ in late]
        question = Question(seen, points, t + 1, draws(samples, t + 1), waiting=awaited_so_far)
        choice = answer(question, model, learner, policy, streams)
        if audit is not None:
            audit.step(learner, points, model.view(learner, realised), choice, now)
        choices[t] = taken = np.asarray(choice.action)
        evidence = _evidence(batch, learner, points, choice, realised, None if shown is None else shown[:, t])
        awaited = learner.evidence(points, choice.view, choice.action) if batch.delay else None
        late.append((awaited, evidence, now.reward(taken)))
        if len(late) > batch.delay:
            learner.learn(*late.popleft()[1:])

        best, reward = highest(now.expected), now.rewards[rows, taken]
        step = Step(
            regret=now.rewards[rows, best] - reward,
            expected_regret=now.expected[rows, best] - now.expected[rows, taken],
            clairvoyant_regret=now.rewards.max(axis=-1) - reward,
            choices=taken,
            log_det=np.full(batch.trials, learner.log_det, dtype=np.float64),  # a copy
        )
        steps.append(step)
        if t + 1 in batch.watched:
            assert world.theta is not None
            distances.append(learner.distance(world.theta))
    return Runs(
        **stack(steps),
        **({} if audit is None else audit.found()),
        distance=np.stack(distances, axis=-1) if distances else None,
        model=model,
        policy=policy,
        setting=batch.setting,
        samples=batch.samples,
        actions=world.actions.shape[-2],
        noise=getattr(env, "noise", None),
        calibrated=getattr(env, "calibrated", True),
        revealed=batch.revealed,
        delay=batch.delay,
    )


def _evidence(
    batch: Batch, learner: Learner, points: Any, choice: Answer, realised: PointStack, shown: Mask | None
) -> Any:
    """Return the evidence that each trial learns from: the realised context if it is revealed, else the belief."""
    hidden = batch.setting != "observed" or not batch.model.uses_context
    if hidden or (shown is not None and not shown.any()):
        return learner.evidence(points, choice.view, choice.action)
    evidence = revealed_evidence(batch.model, learner, points, choice.action, realised)
    if shown is None or shown.all():
        return evidence
    return where(shown, evidence, learner.evidence(points, choice.view, choice.action))


class _Audit:
    """Whether the assumptions and confidence sets of the paper's beta_t hold: the per-trial arrays of a `Record`."""

    def __init__(self, batch: Batch, confidence: Confidence, world: Trials) -> None:
        self._confidence = confidence
        self._exact = batch.setting == "exact"
        # theta means something to the learner only in the environment's own features, ||f|| only in its own kernel
        mine, theirs = ([getattr(x, n, None) for n in ("features", "kernel")] for x in (batch.model, batch.env))
        linear, kernel = (a is not None and a == b for a, b in zip(mine, theirs, strict=True))
        self._theta = world.theta if linear else None
        norm = world.norm if kernel else None
        if self._theta is not None:
            norm = np.linalg.norm(self._theta, axis=-1)
        self._theta_norm = None if norm is None else np.broadcast_to(norm, (batch.trials,))
        self._covered = None if norm is None else np.ones(batch.trials, dtype=bool)
        self._feature_norm = np.zeros(batch.trials)
        self._low, self._high = np.full(batch.trials, np.inf), np.full(batch.trials, -np.inf)

    def step(self, learner: Learner, points: Any, realised: Any, choice: Answer, now: Rounds) -> None:
        """Look at one round, before the learner learns from it; `realised` is the view of the contexts that came."""
        norm = learner.norm(learner.evidence(points, realised, choice.action))
        np.maximum(self._feature_norm, norm, out=self._feature_norm)
        np.minimum(self._low, now.rewards.min(axis=-1), out=self._low)
        np.maximum(self._high, now.rewards.max(axis=-1), out=self._high)
        if self._covered is None:
            return
        beta, estimate = self._confidence.beta(choice.progress), choice.estimate
        if self._theta is not None:
            self._covered &= learner.distance(self._theta) <= beta
        else:  # the set itself cannot be checked, but its band over the actions can
            error = np.abs(estimate.mean - (now.rewards if self._exact else now.expected))
            self._covered &= (error <= np.asarray(beta)[..., None] * estimate.width + BAND_ROUNDING).all(axis=-1)

    def found(self) -> dict[str, Any]:
        """Return the per-trial arrays by their names in a `Record`."""
        return {
            "feature_norm": self._feature_norm,
            "reward_range": self._high - self._low,
            "theta_norm": self._theta_norm,
            "covered": self._covered,
        }
