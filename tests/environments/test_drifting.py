"""A parameter that turns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import overcast as oc
from overcast._check import Array
from overcast.environments import Drifting, Environment, Rounds, Trials
from support import refused

EXAMPLES: list[Environment] = [
    Drifting(k=4, dim=2),
    Drifting(k=1, dim=3, noise=0.0, variance=0.0, speed=0.0),
]


def _play(env: Drifting, steps: int, trials: int = 2) -> tuple[Trials, list[Rounds]]:
    started = env.start_all([np.random.default_rng([0, i]) for i in range(trials)])
    past = np.zeros((trials, steps), dtype=np.intp)
    return started, [started.step(past[:, :t]) for t in range(steps)]


def _images(env: Drifting, steps: int) -> Array:
    """Return Theta_t c_t, solved from the rewards of all actions, beside c_t: the second trial, (steps, 2 dim)."""
    started, rounds = _play(env, steps)
    actions = started.actions[1]
    out = []
    for now in rounds:
        rows = np.linalg.lstsq(actions, now.rewards[1], rcond=None)[0]  # Theta_t c
        out.append(np.concatenate([rows, now.context[1]]))
    return np.array(out)


def test_rewards_follow_a_parameter_that_turns_in_a_plane() -> None:
    """Theta_t is known from rounds at the same angle: speed 2 pi / 7 gives each of 7 angles again and again."""
    env = Drifting(k=9, dim=3, noise=0.0, speed=2 * np.pi / 7)
    both = _images(env, 70)
    thetas = []
    for angle in range(7):
        image, contexts = both[angle::7, :3], both[angle::7, 3:]
        solved, residual, *_ = np.linalg.lstsq(contexts, image, rcond=None)
        assert np.all(residual < 1e-20)
        thetas.append(solved.T.ravel())
    t = np.array(thetas)
    np.testing.assert_allclose(np.linalg.norm(t, axis=1), 1.0, atol=1e-10)
    np.testing.assert_allclose(np.vecdot(t[:-1], t[1:]), np.cos(2 * np.pi / 7), atol=1e-10)
    assert np.linalg.matrix_rank(t, tol=1e-8) == 2


def test_expected_rewards_are_those_at_the_centre_of_the_same_round() -> None:
    started, rounds = _play(Drifting(k=9, dim=2, variance=0.0, speed=0.3), 20)
    assert started.theta is None
    for now in rounds:
        np.testing.assert_allclose(now.rewards, now.expected, atol=1e-12)
        np.testing.assert_array_equal(now.context, now.belief.mean())


def test_a_world_that_stands_still_knows_its_theta() -> None:
    env = Drifting(k=4, dim=2, speed=0.0)
    started, rounds = _play(env, 10)
    assert started.theta is not None
    for now in rounds:
        for i in range(2):
            phi = env.features(started.actions[i], now.context[i][None])[:, 0]
            np.testing.assert_allclose(phi @ started.theta[i], now.rewards[i], atol=1e-12)


def test_drift_costs_a_model_that_never_forgets() -> None:
    """Paired over 10 trials, more than four standard errors apart."""
    still, drifting = (
        oc.simulate(env, oc.LinearModel(env.features, ridge=1.0), oc.UCB(1.0), steps=400, trials=10).expected_regret
        for env in (Drifting(speed=0.0), Drifting(speed=0.01))
    )
    gap = drifting[:, -1] - still[:, -1]
    assert gap.mean() > 4 * gap.std(ddof=1) / np.sqrt(10)


def test_lock_step_equals_trials_of_their_own() -> None:
    env = Drifting(k=4)
    model = oc.LinearModel(env.features, ridge=1.0)
    together, alone = (oc.simulate(env, model, oc.UCB(1.0), steps=20, trials=n) for n in (3, 1))
    np.testing.assert_array_equal(together.choices[:1], alone.choices)
    np.testing.assert_allclose(together.regret[:1], alone.regret)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"k": 0}, "k must be >= 1, got 0"),
        ({"dim": 1}, "dim must be >= 2, got 1"),
        ({"noise": -0.1}, "noise must be >= 0, got -0.1"),
        ({"variance": -1.0}, "variance must be >= 0, got -1.0"),
        ({"speed": -1.0}, "speed must be >= 0, got -1.0"),
        ({"speed": np.nan}, "speed must be finite, got nan"),
    ],
)
def test_bad_values(arguments: dict[str, Any], words: str) -> None:
    with refused(ValueError, "Drifting", words):
        Drifting(**arguments)
