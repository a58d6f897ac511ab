from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import overcast as oc
from overcast._check import Array
from overcast.environments import (
    Adversarial,
    CoinFlip,
    CropTrials,
    Environment,
    MovieLens,
    Round,
    Rounds,
    Synthetic,
    Trials,
    VectorEnvironment,
)
from overcast.environments.base import BUFFER, Stream
from overcast.round import Samples
from overcast.simulation import Setting

TABLE = np.random.default_rng(7).normal(size=(14, 3))
SEASONS: dict[str, Any] = {
    "varieties": TABLE[:4],
    "weather": TABLE[4:10],
    "loading": TABLE[10:13],
    "sites": [0, 0, 1, 1, 1, 1],
    "noise_values": [-0.1, 0.0, 0.1],
}
NORMAL_NOISE: list[VectorEnvironment] = [
    Synthetic(),
    Synthetic(k=3, dim=2, variance=0.2),
    CoinFlip(),
    Adversarial(),
    Adversarial(k=3, dim=2, choices=2, members=3),
]
ENVIRONMENTS: list[VectorEnvironment] = [
    *NORMAL_NOISE,
    MovieLens(users=1.0 + TABLE[:9], movies=1.0 + TABLE[9:], groups=list("aabbbbccc")),
    CropTrials(**SEASONS),
    CropTrials(**SEASONS, belief="forecast"),
    CropTrials(**SEASONS, belief="climatology", climate=np.stack([TABLE[4:10]] * 6)),
]
every_environment = pytest.mark.parametrize("env", ENVIRONMENTS, ids=repr)
with_normal_noise = pytest.mark.parametrize("env", NORMAL_NOISE, ids=repr)


def rngs(n: int, seed: int = 0) -> list[np.random.Generator]:
    return [np.random.default_rng([seed, i]) for i in range(n)]


def choices(trials: Trials, steps: int, n: int, seed: int = 3) -> NDArray[np.intp]:
    k = trials.actions.shape[-2]
    return np.random.default_rng(seed).integers(k, size=(n, steps)).astype(np.intp)


def play(trials: Trials, past: NDArray[np.intp]) -> list[Rounds]:
    return [trials.step(past[:, :t]) for t in range(past.shape[1])]


def actions_of(trials: Trials, i: int) -> Array:
    return trials.actions if trials.actions.ndim == 2 else np.asarray(trials.actions[i])


@every_environment
def test_single_trials_equal_the_lock_step(env: VectorEnvironment) -> None:
    n, steps = 4, 2 * BUFFER + 10
    trials = env.start_all(rngs(n))
    past = choices(trials, steps, n)
    rounds = play(trials, past)
    for i, rng in enumerate(rngs(n)):
        assert isinstance(env, Environment)
        trial = env.start(rng)
        np.testing.assert_array_equal(trial.actions, actions_of(trials, i))
        for t, together in enumerate(rounds):
            alone = trial.step(past[i, :t])
            np.testing.assert_array_equal(alone.belief.mean(), together.belief.mean()[i])
            np.testing.assert_array_equal(alone.belief.variance(), together.belief[i].variance())
            np.testing.assert_array_equal(alone.context, together.context[i])
            # products of matrices stacked differently may differ in the last bits
            np.testing.assert_allclose(alone.rewards, together.rewards[i], rtol=0, atol=1e-12)
            np.testing.assert_allclose(alone.expected, together.expected[i], rtol=0, atol=1e-12)
            assert isinstance(alone.epsilon, float if together.epsilon.ndim == 1 else np.ndarray)
            np.testing.assert_array_equal(alone.epsilon, together.epsilon[i])


@every_environment
def test_a_trial_does_not_depend_on_how_many_there_are(env: VectorEnvironment) -> None:
    few, many = env.start_all(rngs(3)), env.start_all(rngs(8))
    past = choices(many, BUFFER + 5, 8)
    np.testing.assert_array_equal(actions_of(few, 2), actions_of(many, 2))
    for a, b in zip(play(few, past[:3]), play(many, past), strict=True):
        np.testing.assert_array_equal(a.belief.mean(), b.belief.mean()[:3])
        np.testing.assert_array_equal(a.context, b.context[:3])
        np.testing.assert_allclose(a.rewards, b.rewards[:3], rtol=0, atol=1e-12)
        np.testing.assert_allclose(a.expected, b.expected[:3], rtol=0, atol=1e-12)
        np.testing.assert_array_equal(a.epsilon, b.epsilon[:3])


@every_environment
def test_same_generators_same_numbers_and_others_others(env: VectorEnvironment) -> None:
    first, again, other = (env.start_all(rngs(2, seed)) for seed in (0, 0, 1))
    past = choices(first, 20, 2)
    a, b, c = (play(trials, past) for trials in (first, again, other))
    for one, two in zip(a, b, strict=True):
        np.testing.assert_array_equal(one.context, two.context)
        np.testing.assert_array_equal(one.rewards, two.rewards)
        np.testing.assert_array_equal(one.epsilon, two.epsilon)
    assert any((one.context != three.context).any() for one, three in zip(a, c, strict=True))
    assert any((one.epsilon != three.epsilon).any() for one, three in zip(a, c, strict=True))


@with_normal_noise
def test_normal_noise_never_repeats_and_differs_between_trials_and_seeds(env: VectorEnvironment) -> None:
    n, steps = 3, 2 * BUFFER + 10
    first, other = (env.start_all(rngs(n, seed)) for seed in (0, 1))
    past = choices(first, steps, n)
    epsilon = np.concatenate([now.epsilon for trials in (first, other) for now in play(trials, past)])
    assert len(set(epsilon.tolist())) == 2 * n * steps


@every_environment
def test_rounds_that_were_kept_do_not_change(env: VectorEnvironment) -> None:
    n, steps = 2, 2 * BUFFER + 10
    trials = env.start_all(rngs(n))
    past = choices(trials, steps, n)
    copies, kept = [], []
    for t in range(steps):
        now = trials.step(past[:, :t])
        kept.append(now)
        copies.append((now.belief.mean().copy(), now.context.copy(), now.rewards.copy(), now.epsilon.copy()))
    for now, (mean, context, rewards, epsilon) in zip(kept, copies, strict=True):
        np.testing.assert_array_equal(now.belief.mean(), mean)
        np.testing.assert_array_equal(now.context, context)
        np.testing.assert_array_equal(now.rewards, rewards)
        np.testing.assert_array_equal(now.epsilon, epsilon)


BY_ACTION = Rounds(
    oc.beliefs.stacked.PointStack(np.array([[1.0], [2.0]])),
    np.array([[1.0], [2.0]]),
    np.array([[10.0, 20.0, 30.0], [40.0, 50.0, 60.0]]),
    np.array([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]),
    np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]),
)


def test_the_reward_of_an_action_includes_the_noise_of_that_action() -> None:
    assert BY_ACTION.reward(np.array([2, 1])).tolist() == [30.3, 50.5]
    assert [BY_ACTION.of(0).reward(j) for j in range(3)] == [10.1, 20.2, 30.3]
    assert BY_ACTION.of(1).reward(1) == 50.5


def test_noise_that_is_one_number_goes_to_every_action() -> None:
    rounds = BY_ACTION._replace(epsilon=np.array([0.25, 0.5]))
    assert rounds.reward(np.array([2, 1])).tolist() == [30.25, 50.5]
    assert rounds.reward(np.array([0, 0])).tolist() == [10.25, 40.5]
    assert [rounds.of(1).reward(j) for j in range(3)] == [40.5, 50.5, 60.5]


@pytest.mark.parametrize(
    "rounds", [BY_ACTION, BY_ACTION._replace(epsilon=np.array([0.25, 0.5]))], ids=["(r, k)", "(r,)"]
)
def test_the_round_of_one_trial_holds_its_rows(rounds: Rounds) -> None:
    for i in range(2):
        now = rounds.of(i)
        assert isinstance(now.reward(0), float)
        np.testing.assert_array_equal(now.belief.mean(), rounds.belief.mean()[i])
        for one, all_trials in zip(now[1:], rounds[1:], strict=True):
            np.testing.assert_array_equal(one, all_trials[i])


@pytest.mark.parametrize("normal", [True, False])
def test_a_stream_is_its_generators_own_sequence(normal: bool) -> None:
    n, width, steps = 3, 2, 2 * BUFFER + 3
    stream = Stream(rngs(n), width, normal=normal)
    drawn = np.stack([stream.next().copy() for _ in range(steps)], axis=1)
    for i, rng in enumerate(rngs(n)):
        for t in range(steps):
            one_by_one = [rng.standard_normal() if normal else rng.random() for _ in range(width)]
            assert drawn[i, t].tolist() == one_by_one


class OneCoin:
    """CoinFlip as a user would write it: nothing but start and step, one number at a time."""

    def start(self, rng: np.random.Generator) -> OneCoinTrial:
        return OneCoinTrial(rng)


class OneCoinTrial:
    def __init__(self, rng: np.random.Generator) -> None:
        self.actions = np.eye(2)
        self._coin, self._noise = rng.spawn(2)

    def step(self, past: NDArray[np.intp]) -> Round:
        c = int(self._coin.random() < 0.6)
        belief = oc.Ensemble(np.eye(2), [0.4, 0.6])
        rewards = np.array([float(c), 1.0 - c])
        return Round(belief, np.eye(2)[c], rewards, np.array([0.6, 0.4]), 0.1 * self._noise.standard_normal())


class OneSynthetic:
    """Synthetic as a user would write it: other actions each trial, another Gaussian each round."""

    def start(self, rng: np.random.Generator) -> OneSyntheticTrial:
        return OneSyntheticTrial(rng)


class OneSyntheticTrial:
    def __init__(self, rng: np.random.Generator) -> None:
        self.actions = rng.standard_normal((12, 3))
        self._rng, self._noise = rng.spawn(2)

    def step(self, past: NDArray[np.intp]) -> Round:
        centre = self._rng.standard_normal(3)
        context = centre + self._rng.standard_normal(3)
        rewards = ((self.actions - context) ** 2).sum(axis=1)
        expected = ((self.actions - centre) ** 2).sum(axis=1) + 3.0
        return Round(oc.Gaussian(centre, 1.0), context, rewards, expected, 0.1 * self._noise.standard_normal())


class OneAdversary:
    """An adversary over three known sites that answers the last action."""

    def start(self, rng: np.random.Generator) -> OneAdversaryTrial:
        return OneAdversaryTrial(rng)


class OneAdversaryTrial:
    def __init__(self, rng: np.random.Generator) -> None:
        self.actions = np.eye(3)
        self.pasts: list[list[int]] = []
        self._rng = rng

    def step(self, past: NDArray[np.intp]) -> Round:
        self.pasts.append(past.tolist())
        site = int(past[-1]) if len(past) else 0
        rewards = np.ones(3)
        rewards[site] = 0.0
        return Round(oc.PointMass(np.eye(3)[site]), np.eye(3)[site], rewards, rewards, 0.0)


@pytest.mark.parametrize("setting", ["exact", "observed", "hidden"])
@pytest.mark.parametrize(
    ("mine", "theirs", "samples"),
    [
        (OneCoin(), CoinFlip(), None),
        (OneCoin(), CoinFlip(), 3),
        (OneSynthetic(), Synthetic(k=12, dim=3), None),
        (OneSynthetic(), Synthetic(k=12, dim=3), "t"),
    ],
)
def test_a_users_environment_equals_ours(
    mine: Environment, theirs: VectorEnvironment, samples: Samples, setting: Setting
) -> None:
    model, policy = oc.LinearModel(theirs.features, ridge=1.0), oc.UCB(1.0)
    a, b = (
        oc.simulate(env, model, policy, samples=samples, steps=BUFFER + 20, trials=3, setting=setting)
        for env in (mine, theirs)
    )
    np.testing.assert_array_equal(a.choices, b.choices)
    np.testing.assert_allclose(a.regret, b.regret, rtol=0, atol=1e-9)
    np.testing.assert_allclose(a.expected_regret, b.expected_regret, rtol=0, atol=1e-9)
    np.testing.assert_allclose(a.clairvoyant_regret, b.clairvoyant_regret, rtol=0, atol=1e-9)
    np.testing.assert_allclose(a.log_det, b.log_det, rtol=0, atol=1e-9)


def test_a_users_adversary_sees_the_choices_of_its_own_trial() -> None:
    started: list[OneAdversaryTrial] = []

    class Watched(OneAdversary):
        def start(self, rng: np.random.Generator) -> OneAdversaryTrial:
            started.append(super().start(rng))
            return started[-1]

    runs = oc.simulate(Watched(), oc.LinearModel(oc.features.Bilinear(), ridge=1.0), oc.UCB(0.5), steps=15, trials=4)
    assert len(started) == 4
    for trial, row in zip(started, runs.choices.tolist(), strict=True):
        assert trial.pasts == [row[:t] for t in range(15)]
    # Coverage is unknown, because theta is.
    assert runs.covered is None


class OneFaulty:
    """Two actions in the plane, with rounds of the given content."""

    features = oc.features.Bilinear()

    def __init__(self, **parts: Any) -> None:
        self.parts = parts

    def start(self, rng: np.random.Generator) -> OneFaultyTrial:
        return OneFaultyTrial(self.parts)


class OneFaultyTrial:
    def __init__(self, parts: dict[str, Any]) -> None:
        self.actions = np.eye(2)
        self.theta = np.array([0.0, 1.0, 1.0, 0.0])
        self._round = Round(oc.PointMass([1.0, 0.0]), np.array([1.0, 0.0]), np.zeros(2), np.zeros(2), 0.0)
        self._round = self._round._replace(**parts)

    def step(self, past: NDArray[np.intp]) -> Round:
        return self._round


@pytest.mark.parametrize(
    ("parts", "error", "message"),
    [
        ({"epsilon": np.nan}, ValueError, "Round: epsilon must be finite, got nan"),
        ({"epsilon": None}, TypeError, "Round: epsilon must be a number, got NoneType None"),
        ({"epsilon": np.ones((2, 2))}, TypeError, "Round: epsilon must be a number, got ndarray"),
        ({"epsilon": np.ones(3)}, ValueError, "Round: epsilon must have shape (2,), got (3,)"),
        ({"epsilon": np.array([0.0, np.nan])}, ValueError, "Round: epsilon must be finite, got nan at index 1"),
        ({"rewards": np.zeros(3)}, ValueError, "Round: rewards must have shape (2,), got (3,)"),
        ({"expected": np.array([0.0, np.inf])}, ValueError, "Round: expected must be finite, got inf at index 1"),
        ({"context": np.zeros(3)}, ValueError, "Round: context must have shape (2,), got (3,)"),
        ({"belief": [1.0, 0.0]}, TypeError, "Round: belief must be a Belief, got list [1.0, 0.0]"),
    ],
)
def test_faulty_rounds_are_refused(parts: dict[str, Any], error: type[Exception], message: str) -> None:
    env = OneFaulty(**parts)
    with pytest.raises(error) as caught:
        oc.simulate(env, oc.LinearModel(env.features, ridge=1.0), oc.UCB(1.0), steps=2, trials=2)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_a_users_environment_may_know_its_parameter() -> None:
    env = OneFaulty()
    policy = oc.UCB(oc.confidence.Expected(norm=1.5))
    runs = oc.simulate(env, oc.LinearModel(env.features, ridge=1.0), policy, steps=3, trials=2)
    assert runs.covered is not None
    assert runs.covered.all()
    assert runs.theta_norm is not None
    assert runs.theta_norm.tolist() == pytest.approx([np.sqrt(2)] * 2)
    assert (runs.bound > 0).all()


def test_a_users_environment_may_be_disjoint() -> None:
    env = OneFaulty(rewards=np.array([0.0, 1.0]), expected=np.array([0.0, 1.0]))
    runs = oc.simulate(env, oc.LinearModel(oc.features.Disjoint(2), ridge=1.0), oc.UCB(1.0), steps=20, trials=3)
    assert (runs.regret[:, -1] <= 2.0).all()
    assert (runs.choices[:, -1] == 1).all()
