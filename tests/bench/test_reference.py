"""The bare calls, and this package beside them."""

from __future__ import annotations

import numpy as np
import pytest

from bench_support import SMALL
from overcast.bench.race import race
from overcast.bench.reference import ENTRIES, BareBlocks, BareCurved, BareShared
from overcast.bench.tasks import BETA, LENGTH, NOISE, RIDGE, Task


@pytest.mark.parametrize("task", SMALL, ids=lambda task: task.name)
def test_this_package_chooses_as_the_bare_calls(task: Task) -> None:
    bare, own, untuned = race(task, ENTRIES)
    assert (bare.agreement, own.agreement, own.label) == (1.0, 1.0, "overcast")
    assert untuned.rounds == task.steps


def _scores(rows: np.ndarray, rewards: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Return the scores of ridge regression, solved anew."""
    V = RIDGE * np.eye(rows.shape[1]) + rows.T @ rows
    width2 = np.einsum("kd,kd->k", asked @ np.linalg.inv(V), asked)
    return np.asarray(asked @ np.linalg.solve(V, rows.T @ rewards) + BETA * np.sqrt(width2))


def test_bare_blocks_solve_one_regression_per_action() -> None:
    task = SMALL[0]
    racer = BareBlocks(task)
    racer.start()
    indices, contexts, rewards = task.first()
    seen = [(int(i), x, float(y)) for i, x, y in zip(indices, contexts, rewards, strict=True)]
    for t in range(task.steps):
        x = task.context(t)
        best = []
        for i in range(task.k):
            own = [(c, y) for j, c, y in seen if j == i]
            best.append(_scores(np.array([c for c, _ in own]), np.array([y for _, y in own]), x[None])[0])
        chosen = racer.step(t)
        assert chosen == int(np.argmax(best))
        seen.append((chosen, x, float(task.rewards[t, chosen])))


def test_bare_shared_solves_one_regression() -> None:
    task = SMALL[1]
    racer = BareShared(task)
    racer.start()
    indices, contexts, rewards = task.first()
    assert task.features is not None
    rows = [task.features(task.actions[[i]], c[None])[0, 0] for i, c in zip(indices, contexts, strict=True)]
    paid = list(rewards)
    for t in range(task.steps):
        chosen = racer.step(t)
        assert chosen == int(_scores(np.array(rows), np.array(paid), task.psi(t)).argmax())
        rows.append(task.psi(t)[chosen])
        paid.append(task.rewards[t, chosen])


def test_bare_curved_is_a_gaussian_process() -> None:
    task = SMALL[2]
    racer = BareCurved(task)
    racer.start()
    indices, contexts, rewards = task.first()
    points, paid = np.hstack([task.actions[indices], contexts]), list(rewards)

    def kernel(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.array([[np.exp(-np.sum((p - q) ** 2) / (2 * LENGTH**2)) for q in b] for p in a])

    for t in range(task.steps):
        K, across = kernel(points, points) + NOISE * np.eye(len(points)), kernel(task.psi(t), points)
        mean = across @ np.linalg.solve(K, np.array(paid))
        variance = 1.0 - np.einsum("kn,nk->k", across, np.linalg.solve(K, across.T))
        chosen = racer.step(t)
        assert chosen == int((mean + BETA * np.sqrt(variance)).argmax())
        points, paid = np.vstack([points, task.psi(t)[chosen]]), [*paid, task.rewards[t, chosen]]
