"""A sound model of one's own passes `check_model`, and faulty ones do not."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from overcast import testing
from overcast._check import Array
from overcast.beliefs import NoClosedForm
from overcast.features.design import Index
from overcast.models import Estimate, LastingLearner, Learner, Model

CONTEXTS = np.random.default_rng(0).normal(size=(5, 2))
ACTIONS = np.eye(3)


class _Sums:
    """What a learner of the average reward has seen of each action: counts and sums of rewards, (k,)."""

    def __init__(self, k: int) -> None:
        self.counts, self.sums = np.zeros(k), np.zeros(k)


class _Other(NamedTuple):
    """What no evidence here is."""

    numbers: Array


class _Average(LastingLearner):
    """The average reward of each action, whatever the context."""

    evidence_type = int

    def __init__(self, sums: _Sums) -> None:
        self.k, self.seen = len(sums.counts), sums

    def view(self, beliefs: Any, samples: int | None = None, rng: Any = None) -> Any:
        return beliefs.mean() if samples is None else beliefs.sample_mean(samples, rng)

    def estimate(self, view: Any) -> Estimate:
        n = self.seen.counts + 1.0
        return Estimate(self.seen.sums / n, 1.0 / np.sqrt(n))

    def evidence(self, view: Any, index: Index) -> Any:
        return index

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

    def start(self, actions: Array, context_dim: int) -> LastingLearner:
        learner: LastingLearner = self._kind(_Sums(len(actions)))
        return learner


def test_a_model_of_ones_own() -> None:
    testing.check_model(_Model(), ACTIONS, CONTEXTS)


def _learn_when_asked(self: Any, view: Any) -> Estimate:
    self.seen.counts += 1.0
    return _Average.estimate(self, view)


def _remember(self: Any, view: Any, index: Index) -> Any:
    self.place = getattr(self, "place", np.zeros((), dtype=int))  # one for all that wait
    self.place[...] = index
    return self.place


def _too_hard(self: Any, beliefs: Any, samples: int | None = None, rng: Any = None) -> Any:
    raise NoClosedForm("too hard")


def _other_error(self: Any, view: Any) -> Array:
    raise TypeError("no")


def _share(self: Any, state: dict[str, Array]) -> None:
    self.seen.counts, self.seen.sums = state["counts"], state["sums"]


def _take_over(self: Any, other: Any) -> None:
    self.seen = other.seen


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"estimate": lambda self, view: Estimate(np.zeros(2), np.ones(3))}, r"mean must have shape \(3,\)"),
        ({"estimate": lambda self, view: Estimate(np.full(3, np.nan), np.ones(3))}, "mean must be finite"),
        ({"estimate": lambda self, view: Estimate(self.seen.sums, np.full(3, -1.0))}, "width must be >= 0, got -1"),
        ({"estimate": _learn_when_asked}, "when asked twice"),
        ({"learn": lambda self, evidence, reward: None}, "learn must change"),
        ({"view": _too_hard}, "must say to pass samples=, got too hard"),
        ({"log_det": np.inf}, "log_det must be finite"),
        ({"residual_share": -0.5}, "residual_share must be >= 0"),
        ({"noise": _other_error}, "noise must give numbers, or be left to Learner to refuse, got no"),
        ({"noise": lambda self, view: np.ones(())}, "noise must have shape"),
        ({"draw": lambda self, view, rng: np.random.default_rng().normal(size=3)}, "draw when asked twice"),
        ({"__deepcopy__": lambda self, memo: self}, "while what deepcopy gave learns"),
        ({"restore": lambda self, state: None}, "after restore"),
        ({"restore": _share, "state": lambda self: vars(self.seen)}, "while what restore gave learns"),
        ({"merge": lambda self, other: None}, "after merge"),
        ({"merge": _take_over}, "while what merge gave learns"),
        ({"evidence": _remember}, "after evidence was packed and unpacked"),
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

    def start(self, actions: Array, context_dim: int) -> LastingLearner:
        return _Average(self._sums)


class _Hasty(_Model):
    """In lock-step, of another model."""

    def start_all(self, actions: Array, context_dim: int, trials: int) -> Learner:
        return _Model(estimate=lambda self, view: Estimate(self.seen.sums, np.ones(3))).start_all(
            actions, context_dim, trials
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
