"""What the environment in Gymnasium's form refuses; `test_gym.py` tests what it does."""

from __future__ import annotations

from itertools import count
from typing import Any

import gymnasium
import numpy as np
import pytest

from overcast.environments import CoinFlip, Synthetic, as_gym


def test_a_step_needs_a_reset() -> None:
    world = as_gym(CoinFlip())
    with pytest.raises(gymnasium.error.ResetNeeded, match="as_gym: call reset before step"):
        world.step(0)


@pytest.mark.parametrize("action", [2, -1, 0.0, "0"])
def test_an_action_that_is_no_index_is_refused_and_changes_nothing(action: Any) -> None:
    world, twin = as_gym(CoinFlip()), as_gym(CoinFlip())
    world.reset(seed=0)
    twin.reset(seed=0)
    with pytest.raises(ValueError, match="as_gym: action must be an integer from 0 to 1, got"):
        world.step(action)
    assert world.step(1)[1] == twin.step(1)[1]


def test_trials_must_have_actions_of_one_shape() -> None:
    sizes = count(2)

    class Growing:
        def start(self, rng: np.random.Generator) -> Any:
            return Synthetic(k=next(sizes), dim=2).start(rng)

    world = as_gym(Growing())
    with pytest.raises(ValueError, match=r"same shape in all trials, \(2, 2\), got \(3, 2\)"):
        world.reset()


def test_what_is_returned_belongs_to_the_caller() -> None:
    world, twin = as_gym(Synthetic(k=3, dim=2)), as_gym(Synthetic(k=3, dim=2))
    observation, _ = world.reset(seed=0)
    twin.reset(seed=0)
    for array in observation.values():
        array[:] = 7.0
    _, reward, _, _, info = world.step(0)
    assert reward == twin.step(0)[1]
    info["rewards"][:] = 7.0
    np.testing.assert_array_equal(world.step(1)[0]["actions"], twin.step(1)[0]["actions"])
