"""A sound model of one's own passes `check_model`, and faulty ones do not."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from overcast import testing
from overcast._check import Array
from overcast._linalg import Indices
from overcast._units import Vectors
from overcast.beliefs import NoClosedForm
from overcast.features.design import Index
from overcast.models import Estimate, LastingLearner, Learner, Model
from overcast.models.base import Points

CONTEXTS = np.random.default_rng(0).normal(size=(5, 2))
ACTIONS = np.eye(3)


class _Sums:
    """What a learner of the average reward has seen of each action: counts and sums of rewards, (k,)."""

    def __init__(self, k: int) -> None:
        self.counts, self.sums = np.zeros(k), np.zeros(k)


class _Other(NamedTuple):
    """What no evidence here is."""

    numbers: Array


def _places(points: Points) -> Indices:
    """Return which unit vector each point is, (k,)."""
    return np.asarray(np.asarray(points.vectors).argmax(axis=-1))


class _Average(LastingLearner):
    """The average reward of each action, whatever the context."""

    evidence_type = int

    def __init__(self, sums: _Sums) -> None:
        self.k, self.seen = len(sums.counts), sums

    def at(self, vectors: Vectors) -> Points:
        return Points(vectors)

    def view(self, beliefs: Any, samples: int | None = None, rng: Any = None) -> Any:
        return beliefs.mean() if samples is None else beliefs.sample_mean(samples, rng)

    def estimate(self, points: Points, view: Any) -> Estimate:
        place, each = _places(points), np.ones((*view.shape[:-1], 1))
        n = self.seen.counts[place] + 1.0
        return Estimate(each * self.seen.sums[place] / n, each / np.sqrt(n))

    def evidence(self, points: Points, view: Any, index: Index) -> Any:
        return int(_places(points)[index])

    def learn(self, evidence: Any, reward: float | Array) -> None:
        self.seen.counts[evidence] += 1.0
        self.seen.sums[evidence] += reward

    @property
    def log_det(self) -> float:
        return float(np.log1p(self.seen.counts).sum())

    def state(self) -> dict[str, Array]:
        return {name: value.copy() for name, value in vars(self.seen).items()}

    def restore(self, state: dict[str, Array]) -> None:
        self.seen.counts, self.seen.sums = state["counts"].copy(), state["sums"].copy()

    def merge(self, other: _Average) -> None:
        self.seen.counts += other.seen.counts
        self.seen.sums += other.seen.sums


class _Model(Model):
    """Averages, with parts of the learner replaced."""

    def __init__(self, **parts: Any) -> None:
        self._kind = type("_Learner", (_Average,), parts)

    def start(self, reference: Vectors, context_dim: int) -> LastingLearner:
        learner: LastingLearner = self._kind(_Sums(len(reference)))
        return learner


def test_a_model_of_ones_own() -> None:
    testing.check_model(_Model(), ACTIONS, CONTEXTS)


def _learn_when_asked(self: Any, points: Points, view: Any) -> Estimate:
    self.seen.counts += 1.0
    return _Average.estimate(self, points, view)


def _remember(self: Any, points: Points, view: Any, index: Index) -> Any:
    self.place = getattr(self, "place", np.zeros((), dtype=int))  # one for all that wait
    self.place[...] = _places(points)[index]
    return self.place


def _too_hard(self: Any, beliefs: Any, samples: int | None = None, rng: Any = None) -> Any:
    raise NoClosedForm("too hard")


def _other_error(self: Any, points: Points, view: Any) -> Array:
    raise TypeError("no")


def _start_again_elsewhere(self: Any, vectors: Vectors) -> Points:
    """Own the actions that were asked about last."""
    if not np.array_equal(np.asarray(vectors), ACTIONS):
        self.seen.counts[:], self.seen.sums[:] = 0.0, 0.0
    return Points(vectors)


def _learn_from_others(self: Any, points: Points, view: Any) -> Estimate:
    """Count each question about other actions, once it has been answered."""
    out = _Average.estimate(self, points, view)
    if len(points) < 3:
        self.seen.counts += 1.0
    return out


def _in_its_own_order(self: Any, points: Points, view: Any) -> Estimate:
    whole = Points(ACTIONS[: len(points)])
    return _Average.estimate(self, whole, view)


def _compared_with_the_others(self: Any, points: Points, view: Any) -> Estimate:
    mean, width = _Average.estimate(self, points, view)
    return Estimate(mean - mean.mean(axis=-1, keepdims=True), width)


def _of_one_belief(self: Any, points: Points, view: Any) -> Estimate:
    return _Average.estimate(self, points, view.reshape(-1, view.shape[-1])[0])


def _mixed_up(self: Any, points: Points, view: Any) -> Estimate:
    """Take the axis of beliefs for something else where there are as many of them as dimensions of the context."""
    mean, width = _Average.estimate(self, points, view)
    return Estimate(mean + (view.T if view.shape == (2, 2) else view).sum(axis=-1, keepdims=view.ndim > 1), width)


def _corrupt(self: Any, reference: Vectors) -> None:
    self.seen.sums *= 2.0


def _notice(self: Any, points: Points, view: Any, index: Index) -> Any:
    if not np.array_equal(np.asarray(points.vectors), ACTIONS):
        self.seen.sums += 1.0
    return _Average.evidence(self, points, view, index)


def _share(self: Any, state: dict[str, Array]) -> None:
    self.seen.counts, self.seen.sums = state["counts"], state["sums"]


def _take_over(self: Any, other: Any) -> None:
    self.seen = other.seen


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"estimate": lambda self, points, view: Estimate(np.zeros(2), np.ones(3))}, r"mean must have shape \(3,\)"),
        ({"estimate": lambda self, points, view: Estimate(np.full(3, np.nan), np.ones(3))}, "mean must be finite"),
        (
            {"estimate": lambda self, points, view: Estimate(self.seen.sums, np.full(3, -1.0))},
            "width must be >= 0, got -1",
        ),
        ({"estimate": _learn_when_asked}, "when asked twice"),
        ({"learn": lambda self, evidence, reward: None}, "learn must change"),
        ({"view": _too_hard}, "must say to pass samples=, got too hard"),
        ({"log_det": np.inf}, "log_det must be finite"),
        ({"residual_share": -0.5}, "residual_share must be >= 0"),
        ({"noise": _other_error}, "noise must give numbers, or be left to Learner to refuse, got no"),
        ({"noise": lambda self, points, view: np.ones(())}, "noise must have shape"),
        ({"draw": lambda self, points, view, rng: np.random.default_rng().normal(size=3)}, "draw when asked twice"),
        ({"__deepcopy__": lambda self, memo: self}, "while what deepcopy gave learns"),
        ({"restore": lambda self, state: None}, "after restore"),
        ({"restore": _share, "state": lambda self: vars(self.seen)}, "while what restore gave learns"),
        ({"merge": lambda self, other: None}, "after merge"),
        ({"merge": _take_over}, "while what merge gave learns"),
        ({"evidence": _remember}, "after evidence was packed and unpacked"),
        ({"at": _start_again_elsewhere}, "mean of actions in another order"),
        ({"estimate": _learn_from_others}, "width of (one action alone|actions in another order)"),
        ({"estimate": _in_its_own_order}, "mean of actions in another order"),
        ({"estimate": _compared_with_the_others}, "mean of one action alone"),
        ({"evidence": _notice}, "after questions about other actions"),
        ({"extend": _corrupt}, "after the same reference set is given again"),
        ({"estimate": _of_one_belief}, r"mean of 1 beliefs must have shape \(1, 3\)"),
        ({"estimate": _mixed_up}, "mean of 2 beliefs at once and one by one"),
        ({"evidence_type": _Other}, "evidence_type must name the type of its evidence"),
    ],
)
def test_faulty_models(parts: dict[str, Any], words: str) -> None:
    with pytest.raises(AssertionError, match=rf"^_Model: .*{words}"):
        testing.check_model(_Model(**parts), ACTIONS, CONTEXTS)


class _Silent(_Model):
    def __repr__(self) -> str:
        return ""


class _Shared(_Model):
    """All learners write to the same sums."""

    def __init__(self) -> None:
        super().__init__()
        self._sums = _Sums(3)

    def start(self, reference: Vectors, context_dim: int) -> LastingLearner:
        return _Average(self._sums)


class _Hasty(_Model):
    """In lock-step, of another model."""

    def start_all(self, reference: Vectors, context_dim: int, trials: int) -> Learner:
        return _Model(estimate=lambda self, points, view: Estimate(self.seen.sums, np.ones(3))).start_all(
            reference, context_dim, trials
        )


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (_Silent(), "repr must not be empty"),
        (_Shared(), "while another learner learns"),
        (_Hasty(), "in lock-step and alone"),
    ],
)
def test_faulty_configurations(model: Model, words: str) -> None:
    with pytest.raises(AssertionError, match=rf"^{type(model).__name__}: .*{words}"):
        testing.check_model(model, ACTIONS, CONTEXTS)
