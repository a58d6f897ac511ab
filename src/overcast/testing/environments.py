"""The conformance check of an environment."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from overcast._check import Array
from overcast.beliefs import NoClosedForm
from overcast.environments import Environment, Round, VectorEnvironment
from overcast.testing._compare import draws_of, require, require_average, require_equal, require_shape


def check_environment(env: Environment, steps: int = 200) -> None:
    """Check the rounds of two trials: shapes, reproducibility by seed, and `expected` as the mean of rewards.

    Examples
    --------
    >>> from overcast.environments import CoinFlip
    >>> check_environment(CoinFlip())
    """
    name = type(env).__name__
    require(isinstance(env, Environment), name, "must have a method start(rng)")
    past = np.random.default_rng(0).integers(1 << 30, size=steps)
    for seed in (0, 1):
        trial, twin = env.start(np.random.default_rng(seed)), env.start(np.random.default_rng(seed))
        actions = np.asarray(trial.actions)
        require_shape(name, "actions", actions, (len(actions), actions.shape[-1]))
        require_equal(name, "actions with the same seed", twin.actions, actions)
        taken = past % len(actions)
        rounds = [trial.step(taken[:t]) for t in range(steps)]
        for t, now in enumerate(rounds):
            _round(name, now, len(actions))
            _require_equal_rounds(name, f"round {t + 1} with the same seed", twin.step(taken[:t]), now)
        kinds = {np.ndim(now.epsilon) for now in rounds}
        require(len(kinds) == 1, name, "epsilon must be one number in all rounds, or (k,) in all")
        deviations = np.stack([now.rewards - now.expected for now in rounds])
        require_average(name, "rewards - expected", deviations, np.zeros(len(actions)))
        if np.ndim(rounds[0].epsilon) == 0:  # one per action may be cut off at the ends of a scale
            require_average(name, "epsilon", np.array([now.epsilon for now in rounds]), np.zeros(()))
        _finite_beliefs(name, rounds)
        if isinstance(env, VectorEnvironment):
            _lock_step(name, env, seed, taken, rounds)


def _round(name: str, now: Round, k: int) -> None:
    require_shape(name, "context", now.context, (now.belief.dim,))
    require_shape(name, "rewards", now.rewards, (k,))
    require_shape(name, "expected", now.expected, (k,))
    require_shape(name, "epsilon", now.epsilon, (k,) if np.ndim(now.epsilon) else ())


def _require_equal_rounds(name: str, which: str, got: Round, expected: Round) -> None:
    """Raise AssertionError unless two rounds are equal."""
    for field in ("context", "rewards", "expected", "epsilon"):
        require_equal(name, f"{field} of {which}", getattr(got, field), getattr(expected, field))
    require_equal(name, f"draws of the belief of {which}", draws_of(got.belief, 3), draws_of(expected.belief, 3))


def _finite_beliefs(name: str, rounds: list[Round]) -> None:
    """Check beliefs of finite support: c_t is one of the points, and `expected` is the average of f over them."""
    seen: dict[bytes, Array] = {}
    for now in rounds:
        rewards = seen.setdefault(now.context.tobytes(), now.rewards)
        require_equal(name, "rewards of a context that comes again", now.rewards, rewards)
    for now in rounds:
        if (finite := now.belief.support()) is None:
            continue
        points, weights = finite
        near = np.isclose(points, now.context, rtol=1e-12, atol=1e-12).all(axis=1)
        require(bool(weights[near].sum() > 0), name, "the context must be a point of the belief's support")
        rows = [seen[point.tobytes()] for point in points if point.tobytes() in seen]
        if len(rows) == len(points):
            require_equal(
                name, "expected and the average of rewards over the support", now.expected, weights @ np.stack(rows)
            )


def _lock_step(name: str, env: VectorEnvironment, seed: int, taken: Any, rounds: list[Round]) -> None:
    """Check that trials in lock-step equal single trials, and that `theta`, if any, gives the rewards."""
    trials = env.start_all([np.random.default_rng(s) for s in (99, seed, 98)])
    actions = trials.actions if trials.actions.ndim == 2 else trials.actions[1]
    for t, now in enumerate(rounds):
        round_of_all = trials.step(np.stack([taken[:t]] * 3))
        _require_equal_rounds(name, f"round {t + 1} in lock-step and alone", round_of_all.of(1), now)
        if trials.theta is not None:
            theta = trials.theta if trials.theta.ndim == 1 else trials.theta[1]
            phi = env.features(actions, now.context[None])[:, 0]
            require_equal(name, "rewards and features times theta", phi @ theta, now.rewards)
            with suppress(NoClosedForm):
                psi = env.features.expected(actions, now.belief)
                require_equal(name, "expected and expected features times theta", psi @ theta, now.expected)
