"""The rounds of the race."""

from __future__ import annotations

import numpy as np
import pytest

from bench_support import SMALL
from overcast.bench.tasks import Task, tasks
from overcast.features import Quadratic


def test_the_shapes_are_those_of_the_synthetic_experiment_and_of_movielens() -> None:
    found = {task.name: (task.k, task.psi(0).shape, task.kind) for task in tasks(quick=True)}
    assert found == {
        "k = 100, d = 15, one model per action": (100, (100, 115), "blocks"),
        "k = 100, d = 15, one model": (100, (100, 15), "shared"),
        "k = 3706, d = 6, one model per action": (3706, (3706, 3712), "blocks"),
        "k = 3706, d = 36, one model": (3706, (3706, 36), "shared"),
        "GP-UCB, k = 50, T = 300": (50, (50, 2), "curved"),
    }


def test_features_are_those_of_the_map() -> None:
    rng = np.random.default_rng(0)
    task = Task("", "shared", rng.normal(size=(4, 2)), rng.normal(size=(3, 2)), np.zeros((9, 4)), Quadratic())
    for t in range(9):
        np.testing.assert_array_equal(task.psi(t), Quadratic()(task.actions, task.contexts[[t % 3]])[:, 0])
        np.testing.assert_array_equal(task.context(t), task.contexts[t % 3])


@pytest.mark.parametrize("task", SMALL, ids=lambda task: task.name)
def test_rounds_before_the_first_leave_no_tie(task: Task) -> None:
    indices, contexts, rewards = task.first()
    assert len(indices) == len(contexts) == len(rewards)
    if task.kind == "blocks":
        assert set(indices) == set(range(task.k))
