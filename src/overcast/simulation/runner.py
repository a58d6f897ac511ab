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
    """Simulate `trials` independent trials of `steps` rounds.

    The environment supplies the actions of each trial. Trial i has the same actions, contexts and noise for all
    policies, settings and numbers of workers; they follow from `seed` and i alone.

    Parameters
    ----------
    samples : None for the exact expectation, L for the average of L draws per round, a million at most; "t" for L = t
    setting : "exact" reveals c_t before the decision, "observed" after it, "hidden" never
    executor : any `concurrent.futures.Executor` (of Dask: `client.get_executor()`), which runs batches of
        trials; None runs them in this process
    revealed : share of rounds whose context is revealed in the observed setting; the others stay hidden. A separate
        stream of random numbers selects them, so that a larger share reveals all that a smaller one does
    delay : number of further decisions before the reward of a decision arrives

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
    """Run all trials of a batch in lock-step, with array operations over the trials."""
    with one_thread():
        return _run(batch)


def _run(batch: Batch) -> Runs:
    env, model, policy, rows = batch.env, batch.model, batch.policy, np.arange(batch.trials)
    rngs, streams, revealed = batch.generators(0), batch.streams(), batch.revealed_mask()
    trials = env.start_all(rngs) if isinstance(env, VectorEnvironment) else Stepped([env.start(rng) for rng in rngs])
    audit = None if policy.confidence is None else _Audit(batch, policy.confidence, trials)
    choices = np.empty((batch.steps, batch.trials), dtype=np.intp)
    steps, distances = [], []
    # Decisions without rewards: evidence before the context is revealed, evidence to learn from, and rewards.
    pending: deque[tuple[Any, Any, Array]] = deque()
    learner: Learner | None = None
    points: Any = None
    for t in range(batch.steps):
        rounds = trials.step(choices[:t].T)
        if learner is None:
            learner = start(model, policy, trials.actions, rounds.context.shape[-1], batch.trials)
            points = learner.at(trials.actions)
        realised = PointStack(rounds.context)
        belief, samples = (realised, None) if batch.setting == "exact" else (rounds.belief, batch.samples)
        waiting = [evidence for evidence, *_ in pending]
        question = Question(belief, points, t + 1, draws(samples, t + 1), waiting=waiting)
        choice = answer(question, model, learner, policy, streams)
        if audit is not None:
            audit.step(learner, points, model.view(learner, realised), choice, rounds)
        choices[t] = chosen = np.asarray(choice.action)
        evidence = _evidence(batch, learner, points, choice, realised, None if revealed is None else revealed[:, t])
        unrevealed = learner.evidence(points, choice.view, choice.action) if batch.delay else None
        pending.append((unrevealed, evidence, rounds.reward(chosen)))
        if len(pending) > batch.delay:
            learner.learn(*pending.popleft()[1:])

        best, reward = highest(rounds.expected), rounds.rewards[rows, chosen]
        step = Step(
            regret=rounds.rewards[rows, best] - reward,
            expected_regret=rounds.expected[rows, best] - rounds.expected[rows, chosen],
            clairvoyant_regret=rounds.rewards.max(axis=-1) - reward,
            choices=chosen,
            log_det=np.full(batch.trials, learner.log_det, dtype=np.float64),  # a copy
        )
        steps.append(step)
        if t + 1 in batch.watched:
            assert trials.theta is not None
            distances.append(learner.distance(trials.theta))
    return Runs(
        **stack(steps),
        **({} if audit is None else audit.arrays()),
        distance=np.stack(distances, axis=-1) if distances else None,
        model=model,
        policy=policy,
        setting=batch.setting,
        samples=batch.samples,
        actions=trials.actions.shape[-2],
        noise=getattr(env, "noise", None),
        calibrated=getattr(env, "calibrated", True),
        revealed=batch.revealed,
        delay=batch.delay,
    )


def _evidence(
    batch: Batch, learner: Learner, points: Any, choice: Answer, realised: PointStack, revealed: Mask | None
) -> Any:
    """Compute the evidence of each trial, from the realised context if it is revealed, else from the belief."""
    hidden = batch.setting != "observed" or not batch.model.uses_context
    if hidden or (revealed is not None and not revealed.any()):
        return learner.evidence(points, choice.view, choice.action)
    evidence = revealed_evidence(batch.model, learner, points, choice.action, realised)
    if revealed is None or revealed.all():
        return evidence
    return where(revealed, evidence, learner.evidence(points, choice.view, choice.action))


class _Audit:
    """Checks the assumptions and confidence sets of the paper's beta_t, for the per-trial arrays of a `Record`."""

    def __init__(self, batch: Batch, confidence: Confidence, trials: Trials) -> None:
        self._confidence = confidence
        self._exact = batch.setting == "exact"
        # the true theta is comparable if learner and environment share the features, ||f|| if they share the kernel
        learned, true = ([getattr(x, n, None) for n in ("features", "kernel")] for x in (batch.model, batch.env))
        linear, kernel = (a is not None and a == b for a, b in zip(learned, true, strict=True))
        self._theta = trials.theta if linear else None
        norm = trials.norm if kernel else None
        if self._theta is not None:
            norm = np.linalg.norm(self._theta, axis=-1)
        self._theta_norm = None if norm is None else np.broadcast_to(norm, (batch.trials,))
        self._covered = None if norm is None else np.ones(batch.trials, dtype=bool)
        self._feature_norm = np.zeros(batch.trials)
        self._low, self._high = np.full(batch.trials, np.inf), np.full(batch.trials, -np.inf)

    def step(self, learner: Learner, points: Any, realised: Any, choice: Answer, rounds: Rounds) -> None:
        """Check one round before the learner learns from it; `realised` is the view of the realised contexts."""
        norm = learner.norm(learner.evidence(points, realised, choice.action))
        np.maximum(self._feature_norm, norm, out=self._feature_norm)
        np.minimum(self._low, rounds.rewards.min(axis=-1), out=self._low)
        np.maximum(self._high, rounds.rewards.max(axis=-1), out=self._high)
        if self._covered is None:
            return
        beta, estimate = self._confidence.beta(choice.progress), choice.estimate
        if self._theta is not None:
            self._covered &= learner.distance(self._theta) <= beta
        else:  # the set cannot be checked, but its band over the actions can
            error = np.abs(estimate.mean - (rounds.rewards if self._exact else rounds.expected))
            self._covered &= (error <= np.asarray(beta)[..., None] * estimate.width + BAND_ROUNDING).all(axis=-1)

    def arrays(self) -> dict[str, Any]:
        """Return the per-trial arrays by their names in a `Record`."""
        return {
            "feature_norm": self._feature_norm,
            "reward_range": self._high - self._low,
            "theta_norm": self._theta_norm,
            "covered": self._covered,
        }
