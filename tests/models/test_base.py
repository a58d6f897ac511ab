"""Defaults of learners and models, and the checks of a restored state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from overcast._check import Array
from overcast._units import Vectors
from overcast.beliefs import PointMass
from overcast.beliefs.base import Beliefs
from overcast.features.design import Index
from overcast.models import Estimate, LastingLearner, Model, Parameters
from overcast.models.base import Points, draw_each, normals, restored
from overcast.models.stack import LearnerStack
from support import refused


class Least(LastingLearner):
    """The least that a learner must give."""

    def at(self, vectors: Vectors) -> Points:
        return Points(vectors)

    def view(self, beliefs: Beliefs, samples: int | None = None, rng: Any = None) -> Array:
        return beliefs.mean()

    def estimate(self, points: Points, view: Array) -> Estimate:
        return Estimate(np.full(len(points), view.sum()), np.ones(len(points)))

    def evidence(self, points: Points, view: Array, index: Index) -> Array:
        return view

    def learn(self, evidence: Array, reward: float | Array) -> None:
        pass

    def state(self) -> dict[str, Array]:
        return {}

    def restore(self, state: dict[str, Array]) -> None:
        pass

    def merge(self, other: Least) -> None:
        pass


class LeastModel(Model):
    def start(self, reference: Vectors, context_dim: int) -> Least:
        return Least()


def test_a_learner_of_mean_and_width_alone_says_so() -> None:
    learner, rng = Least(), np.random.default_rng(0)
    points, view = learner.at(np.eye(2)), learner.view(PointMass([1.0]))
    assert learner.log_det == 0.0
    assert learner.residual_share is None
    assert learner.parameters == Parameters(None, None, None)
    learner.check(view)
    asked: list[Callable[[], Any]] = [
        lambda: learner.prior(points, view),
        lambda: learner.noise(points, view),
        lambda: learner.draw(points, view, rng),
        lambda: learner.perturb(points, view, rng),
        lambda: learner.norm(view),
        lambda: learner.distance(np.zeros(1)),
    ]
    for ask in asked:
        with refused(TypeError, "Least", "gives mean and width alone", "take UCB, or LinearModel"):
            ask()


def test_a_model_has_no_theory_and_runs_trials_side_by_side_unless_it_says_otherwise() -> None:
    model = LeastModel()
    assert model.theory_ridge is None
    assert model.uses_context
    learners = model.start_all(np.eye(2), 1, 3)
    assert isinstance(learners, LearnerStack)
    assert len(learners.learners) == 3
    np.testing.assert_array_equal(model.view(learners.learners[0], PointMass([4.0])), [4.0])


def test_a_restored_state_is_a_copy_with_the_types_of_a_fresh_learner() -> None:
    fresh: dict[str, Any] = {"rounds": np.zeros(()), "rows": np.zeros((0, 2)), "taken": np.zeros(0, dtype=np.intp)}
    state: dict[str, Any] = {"rounds": np.array(3), "rows": np.ones((3, 2)), "taken": np.array([0, 1, 0])}
    got = restored("Own", fresh, state, {"rows": -2, "taken": -1})
    assert got["rounds"].dtype == np.float64
    assert got["taken"].dtype == np.intp
    state["rows"][:] = 7.0
    np.testing.assert_array_equal(got["rows"], np.ones((3, 2)))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rounds": np.zeros(1)}, "rounds must have shape (), got (1,)"),
        ({"rows": np.zeros((3, 5))}, "rows must have shape (3, 2), got (3, 5)"),
        ({"taken": np.zeros(4)}, "taken must have shape (3,), got (4,)"),
        ({"more": np.zeros(4)}, "state must hold rounds, rows, taken, got rounds, rows, taken, more"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_state_that_does_not_fit_is_refused(change: dict[str, Array], words: str) -> None:
    fresh = {"rounds": np.zeros(()), "rows": np.zeros((0, 2)), "taken": np.zeros(0)}
    state = {"rounds": np.zeros(()), "rows": np.ones((3, 2)), "taken": np.zeros(3)}
    with refused(ValueError, "Own", words):
        restored("Own", fresh, state | change, {"rows": -2, "taken": -1})
    with refused(ValueError, "Own", "state must hold"):
        restored("Own", fresh, {}, {"rows": -2})


def test_numbers_from_each_generator() -> None:
    one, two = normals(np.random.default_rng(1), 3), normals(np.random.default_rng(2), 3)
    rngs = [np.random.default_rng(1), np.random.default_rng(2)]
    np.testing.assert_array_equal(normals(rngs, 3), [one, two])
    np.testing.assert_array_equal(
        draw_each(np.random.default_rng(1), lambda generator: generator.standard_normal(3)), one
    )
