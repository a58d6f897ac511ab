"""Environments in Gymnasium's form, by its own checker, and Gymnasium's environments in ours."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env

import examples
import overcast as oc
from overcast.environments import Adversarial, CoinFlip, Environment, Synthetic, as_gym, from_gym
from overcast.testing import check_environment


class Signs(gymnasium.Env[Any, Any]):
    """Pays 1 for naming the sign of the number shown, -1 or 1, else 0; an episode has three steps."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012
    observation_space = spaces.Box(-1.0, 1.0, (1,), np.float64)
    action_space = spaces.Discrete(2, start=5)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.left = 3
        return self._show(), {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        reward = float((self.shown > 0) == (action == 6))
        self.left -= 1
        return self._show(), reward, self.left == 0, False, {}

    def _show(self) -> Any:
        self.shown = self.np_random.uniform(-1.0, 1.0)
        return np.array([self.shown])


@pytest.mark.parametrize("points", [None, 3])
@pytest.mark.parametrize("env", examples.examples("environments"), ids=examples.label)
def test_every_environment_passes_the_checker_of_gymnasium(env: Environment, points: int | None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(as_gym(env, points=points))


def test_steps_are_the_rounds_of_a_trial() -> None:
    env = Adversarial(k=4)
    world = as_gym(env)
    observation, _ = world.reset(seed=3)
    trial = env.start(np.random.default_rng(3).spawn(2)[0])
    taken: list[int] = []
    for action in (0, 3, 3, 1, 2):
        now = trial.step(np.array(taken, dtype=np.intp))
        np.testing.assert_array_equal(observation["actions"], trial.actions)
        np.testing.assert_array_equal(observation["mean"], now.belief.mean())
        np.testing.assert_array_equal(observation["cov"], now.belief.cov())
        np.testing.assert_array_equal(world.belief.mean(), now.belief.mean())
        observation, reward, terminated, truncated, info = world.step(action)
        assert reward == now.reward(action)
        assert (terminated, truncated) == (False, False)
        np.testing.assert_array_equal(info["context"], now.context)
        np.testing.assert_array_equal(info["rewards"], now.rewards)
        np.testing.assert_array_equal(info["expected"], now.expected)
        taken.append(action)


def test_a_bandit_plays_as_in_a_simulation_of_the_same_rounds() -> None:
    """The luck of a trial is that of its generator, and the simulation is given the same one."""
    world = as_gym(Synthetic(k=8, dim=2), steps=40)

    class Same:
        def start(self, rng: np.random.Generator) -> Any:
            return Synthetic(k=8, dim=2).start(np.random.default_rng(11).spawn(2)[0])

    model = oc.LinearModel(oc.features.Quadratic(), ridge=1.0)
    runs = oc.simulate(Same(), model, oc.UCB(1.0), steps=40, trials=1)
    observation, _ = world.reset(seed=11)
    bandit = oc.Bandit(observation["actions"], model, oc.UCB(1.0))
    regret, truncated = 0.0, False
    while not truncated:
        decision = bandit.decide(world.belief)
        observation, reward, _, truncated, info = world.step(decision.index)
        bandit.learn(decision, reward)
        regret += info["rewards"][info["expected"].argmax()] - info["rewards"][decision.index]
    assert regret == pytest.approx(runs.regret[0, -1], rel=1e-9)


def test_an_episode_is_truncated_after_its_steps_and_another_one_differs() -> None:
    world = as_gym(Synthetic(k=3, dim=2), steps=3)
    first, _ = world.reset(seed=0)
    assert [world.step(0)[3] for _ in range(3)] == [False, False, True]
    second, _ = world.reset()
    assert not np.array_equal(first["mean"], second["mean"])
    world.reset(seed=0)
    again, _ = world.reset()
    np.testing.assert_array_equal(second["mean"], again["mean"])


def test_points_are_draws_from_the_belief_and_leave_the_rewards_alone() -> None:
    plain, drawn = as_gym(CoinFlip()), as_gym(CoinFlip(), points=2000)
    plain.reset(seed=1)
    observation, _ = drawn.reset(seed=1)
    # A share of 2000 flips: four standard errors, about 6e-5.
    assert abs(observation["points"].mean(axis=0)[1] - 0.6) < 4 * np.sqrt(0.24 / 2000)
    assert [plain.step(1)[1] for _ in range(5)] == [drawn.step(1)[1] for _ in range(5)]


def test_one_vector_is_made_by_gymnasium() -> None:
    world = gymnasium.wrappers.FlattenObservation(as_gym(CoinFlip()))
    observation, _ = world.reset(seed=0)
    assert observation.shape == (2 * 2 + 2 * 2 + 2,)
    np.testing.assert_allclose(observation[-2:], [0.4, 0.6])


def test_gymnasium_makes_another_one_and_several_at_once() -> None:
    world = as_gym(CoinFlip(), steps=3)
    assert world.spec is not None
    twin = gymnasium.make(world.spec)
    world.reset(seed=0)
    twin.reset(seed=0)
    assert world.step(1)[1] == twin.step(1)[1]
    several = gymnasium.vector.SyncVectorEnv([lambda: as_gym(CoinFlip(), steps=3)] * 2)
    observation, _ = several.reset(seed=0)
    assert observation["mean"].shape == (2, 2)
    rewards = several.step(np.array([1, 1]))[1]
    world.reset(seed=0)
    assert rewards[0] == world.step(1)[1]


def test_there_and_back_is_the_environment_itself() -> None:
    env = Synthetic(k=3)
    assert from_gym(as_gym(env)) is env


def test_an_environment_of_gymnasium_is_one_of_ours() -> None:
    check_environment(from_gym(Signs()))


def test_every_action_is_tried_and_episodes_follow_each_other() -> None:
    env = from_gym(Signs())
    trial = env.start(np.random.default_rng(0))
    np.testing.assert_array_equal(trial.actions, np.eye(2))
    for t in range(7):
        now = trial.step(np.zeros(t, dtype=np.intp))
        shown = float(now.context[0])
        assert now.rewards.tolist() == [float(shown <= 0), float(shown > 0)]
        assert now.belief.mean().tolist() == [shown]


def test_a_bandit_learns_in_an_environment_of_gymnasium() -> None:
    runs = oc.simulate(from_gym(Signs()), oc.LinearModel(oc.features.Disjoint(2)), oc.UCB(), steps=200, trials=2)
    late = runs.regret[:, -1] - runs.regret[:, 99]
    assert (late < 0.5 * 50).all(), "guessing loses half of 100 rounds"


def test_what_cannot_be_converted_is_refused() -> None:
    with pytest.raises(TypeError, match=r"as_gym: env must have a method start\(rng\), got int 3"):
        as_gym(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="as_gym: steps must be"):
        as_gym(CoinFlip(), steps=0)
    with pytest.raises(ValueError, match="as_gym: points must be"):
        as_gym(CoinFlip(), points=0)
    with pytest.raises(TypeError, match=r"from_gym: env must be a gymnasium.Env, got CoinFlip"):
        from_gym(CoinFlip())  # type: ignore[arg-type]
    wrapped = gymnasium.wrappers.TimeLimit(as_gym(CoinFlip()), 3)
    with pytest.raises(
        ValueError, match=r"from_gym: env must have observations in a Box, got Dict.*FlattenObservation"
    ):
        from_gym(wrapped)
    with pytest.raises(ValueError, match="from_gym: env must have Discrete actions, got Box"):
        from_gym(gymnasium.make("Pendulum-v1"))
