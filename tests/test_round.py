"""One decision round: what goes together, ties, and policies that are asked trial by trial."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

import overcast as oc
from overcast import confidence
from overcast._check import Array
from overcast._units import Vectors
from overcast.features import Bilinear
from overcast.models import Estimate, Exp4, FixedProfile, Learner, MeanContext, Model, NoisyContext, Progress
from overcast.models.base import LastingLearner, Points
from overcast.policies import Outlook, Policy
from overcast.policies.base import highest
from overcast.round import check_pair, draws
from support import refused

PHI = Bilinear()
UNCOVERED: list[Model] = [
    FixedProfile(PHI),
    NoisyContext(PHI),
    Exp4(PHI, 4),
    MeanContext(oc.LinearModel(PHI, ridge=1.0)),
    oc.LinearModel(PHI),
    oc.LinearModel(PHI, ridge=1.0, discount=0.9),
]
CONFIDENCES = [confidence.Expected(), confidence.Sampled(), confidence.Observed(), confidence.Kernel()]


@pytest.mark.parametrize("model", UNCOVERED, ids=repr)
@pytest.mark.parametrize("width", CONFIDENCES, ids=lambda width: type(width).__name__)
@pytest.mark.parametrize("kind", [oc.UCB, oc.IDS, oc.MostlyGreedy])
def test_the_papers_widths_are_refused_for_models_they_do_not_cover(
    model: Model, width: confidence.Confidence, kind: Any
) -> None:
    words = ("confidence width", ", got ", "such as UCB()")
    with refused(ValueError, "Bandit", *words):
        oc.Bandit(np.eye(2), model, kind(width))
    with refused(ValueError, "simulate", *words):
        oc.simulate(oc.environments.CoinFlip(), model, kind(width), steps=2, trials=2)
    bandit = oc.Bandit(np.eye(2), model, oc.Greedy())
    with refused(ValueError, "Bandit", *words):
        bandit.policy = kind(width)
    assert bandit.policy == oc.Greedy()


@pytest.mark.parametrize(
    "model", [oc.LinearModel(PHI, ridge=1.0), oc.KernelModel(oc.kernels.RBF(1.0), ridge=1.0)], ids=repr
)
def test_the_papers_widths_go_with_the_papers_models(model: Model) -> None:
    for width in CONFIDENCES:
        check_pair("here", model, oc.UCB(width))


def test_draws_of_a_round() -> None:
    assert draws(None, 7) is None
    assert draws(5, 7) == 5
    assert draws("t", 7) == 7


@pytest.mark.parametrize(
    ("scores", "index"),
    [
        ([1.0, 3.0, 2.0], 1),
        ([1.0, 1.0 + 1e-14, 0.0], 0),
        ([1.0, 1.0 + 1e-10, 0.0], 1),
        ([-2.0, -2.0, -3.0], 0),
        ([-np.inf, 0.0, -1.0], 1),
        ([0.0, 0.0], 0),
    ],
)
def test_the_highest_score_wins_and_the_lowest_index_of_ties(scores: list[float], index: int) -> None:
    assert int(highest(np.array(scores))) == index
    assert np.asarray(highest(np.array([scores, scores]))).tolist() == [index, index]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_scores_without_a_finite_highest_are_refused(bad: float) -> None:
    with refused(ValueError, "Policy", "must be finite", str(bad)):
        highest(np.array([bad, bad]))
    with refused(ValueError, "Policy", "must be finite", str(bad)):
        highest(np.array([[1.0, 2.0], [bad, bad]]))


class _Restless(Policy):
    """Written for one bandit: numbers of size k, a choice, a branch on values."""

    def scores(self, outlook: Outlook, progress: Progress, rng: np.random.Generator) -> Array:
        k = len(outlook.mean)
        if rng.random() < 0.3:
            scores = np.zeros(k)
            scores[rng.choice(k)] = 1.0
            return scores
        if outlook.mean.max() > outlook.width.mean() and progress.round % 2:
            return outlook.mean + 0.1 * outlook.noise * rng.normal(size=k)
        return np.asarray(outlook.drawn(0.1, rng) + outlook.width * rng.normal(size=k))


class _Log(_Restless):
    """Remembers what it was shown."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, tuple[int, ...]]] = []

    def scores(self, outlook: Outlook, progress: Progress, rng: np.random.Generator) -> Array:
        assert isinstance(rng, np.random.Generator)
        assert np.ndim(progress.log_det) == 0
        assert np.ndim(outlook.residual_share if outlook.residual_share is not None else 0.0) == 0
        self.seen.append((int(progress.round), outlook.mean.shape))
        return super().scores(outlook, progress, rng)


@pytest.mark.parametrize("model", [oc.LinearModel(PHI, ridge=1.0), oc.LinearModel(PHI)], ids=repr)
def test_a_policy_for_one_bandit_runs_in_a_simulation_and_does_the_same(model: Model) -> None:
    env, policy = oc.environments.CoinFlip(), _Log()
    runs = oc.simulate(env, model, policy, steps=12, trials=3, seed=4)
    assert policy.seen == [(t, (2,)) for t in range(1, 13) for _ in range(3)]
    again = oc.simulate(env, model, _Restless(), steps=12, trials=3, seed=4)
    np.testing.assert_array_equal(runs.choices, again.choices)
    assert len(np.unique(runs.choices)) == 2


class _Shape(Policy):
    def scores(self, outlook: Outlook, progress: Progress, rng: Any) -> Array:
        return np.zeros(5)


def test_scores_of_another_shape_are_refused() -> None:
    model = oc.LinearModel(PHI, ridge=1.0)
    with refused(ValueError, "Policy", "scores must be an array of shape (2,)"):
        oc.Bandit(np.eye(2), model, _Shape()).decide([1.0])
    with refused(ValueError, "Policy", "scores must be an array of shape (2,)"):
        oc.simulate(oc.environments.CoinFlip(), model, _Shape(), steps=2, trials=2)


class _Seen(NamedTuple):
    """Evidence of one's own."""

    action: NDArray[np.intp]
    context: Array
    comment: None = None


class _Averages(Learner):
    """The average reward of each action of r trials, with evidence of its own; it takes down the contexts."""

    def __init__(self, trials: int, k: int) -> None:
        self.leading = (trials,)
        self.sums, self.counts = np.zeros((trials, k)), np.ones((trials, k))
        self.contexts: list[Array] = []

    def at(self, vectors: Vectors) -> Points:
        return Points(vectors)

    def view(self, beliefs: Any, samples: int | None = None, rng: Any = None) -> Array:
        return np.asarray(beliefs.mean())

    def estimate(self, points: Points, view: Array) -> Estimate:
        return Estimate(self.sums / self.counts, 1.0 / np.sqrt(self.counts))

    def evidence(self, points: Points, view: Array, index: Any) -> _Seen:
        return _Seen(np.asarray(index), view)

    def learn(self, evidence: _Seen, reward: Any) -> None:
        at = np.arange(len(self.sums)), evidence.action
        self.sums[at] += reward
        self.counts[at] += 1.0
        self.contexts.append(evidence.context)


@dataclass(frozen=True)
class _AveragesModel(Model):
    made: tuple[_Averages, ...] = ()

    def start(self, reference: Vectors, context_dim: int) -> LastingLearner:
        raise AssertionError("not in lock-step")

    def start_all(self, reference: Vectors, context_dim: int, trials: int) -> Learner:
        learner = _Averages(trials, reference.shape[-2])
        object.__setattr__(self, "made", (*self.made, learner))
        return learner


def test_evidence_of_ones_own_is_picked_where_some_contexts_are_revealed() -> None:
    """With a coin for context, a revealed context is 0 or 1, and a hidden one has the mean 0.6."""
    model = _AveragesModel()
    oc.simulate(oc.environments.CoinFlip(), model, oc.UCB(1.0), steps=40, trials=5, setting="observed", revealed=0.5)
    contexts = np.array(model.made[0].contexts)[..., 1]  # (t, r)
    hidden = np.isclose(contexts, contexts[~np.isin(contexts, (0.0, 1.0))][0])
    assert 0.25 < hidden.mean() < 0.75
    assert np.isin(contexts[~hidden], (0.0, 1.0)).all()


def test_draws_are_bounded_wherever_their_number_comes_from() -> None:
    assert [draws(samples, 7) for samples in (None, 3, "t")] == [None, 3, 7]
    assert draws("t", 2**53) == 1_000_000
    belief = oc.PointMass([1.0])
    rng, made = np.random.default_rng(0), (["a"], oc.LinearModel(oc.features.Disjoint(1)), oc.UCB())
    for call in (
        lambda n: oc.Bandit(*made, samples=n),
        lambda n: oc.simulate(oc.environments.CoinFlip(), made[1], made[2], samples=n, steps=1, trials=1),
        lambda n: oc.features.Bilinear().sampled([[1.0]], belief, n, rng),
        lambda n: oc.kernels.RBF(1.0).sampled([belief], [belief], n, rng),
    ):
        for number in (1_000_001, 10**9, 10**30):
            with pytest.raises(ValueError, match=r"^\w+: samples must be 1000000 at most, got"):
                call(number)
