from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import overcast as oc
import overcast.round
from overcast._check import Array
from overcast._random import POLICY, Stream
from overcast.environments import (
    Adversarial,
    CoinFlip,
    Environment,
    MovieLens,
    Round,
    Rounds,
    Synthetic,
    Trial,
    Trials,
    VectorEnvironment,
)
from overcast.models import FixedProfile, MeanContext, Model, Progress
from overcast.models.linear import LinearLearner
from overcast.policies import Outlook, Policy
from overcast.round import Question, Samples
from overcast.simulation import Setting, runner
from simulation_support import GOOD, Constant, generator, learner_seed

SETTINGS: tuple[Setting, ...] = ("exact", "observed", "hidden")
WORLDS: list[VectorEnvironment] = [Synthetic(k=9, dim=2), CoinFlip(), Adversarial(k=5, dim=2)]
every_setting = pytest.mark.parametrize("setting", SETTINGS)
every_world = pytest.mark.parametrize("env", WORLDS, ids=repr)


def first_best(values: Array) -> int:
    """argmax written out: ties by the lowest index."""
    best = 0
    for j in range(1, len(values)):
        if values[j] > values[best]:
            best = j
    return best


@dataclass(frozen=True)
class Indifferent(Policy):
    """All actions score the same."""

    lockstep = True

    def scores(self, outlook: Outlook, progress: Progress, rng: object) -> Array:
        return np.zeros(outlook.mean.shape)


@dataclass(frozen=True)
class Dice(Policy):
    """Scores drawn from the learner's own generators."""

    lockstep = True

    def scores(self, outlook: Outlook, progress: Progress, rng: Any) -> Array:
        return np.stack([one.random(outlook.mean.shape[-1]) for one in rng])


class Climatology:
    """The regrets of one trial, by their definitions, one step at a time."""

    def __init__(self) -> None:
        self.choices: list[int] = []
        self.regret: list[float] = []
        self.expected: list[float] = []
        self.clairvoyant: list[float] = []

    def add(self, now: Round, choice: int) -> None:
        best = first_best(now.expected)
        self.choices.append(choice)
        self.regret.append(float(now.rewards[best] - now.rewards[choice]))
        self.expected.append(float(now.expected[best] - now.expected[choice]))
        self.clairvoyant.append(float(max(now.rewards) - now.rewards[choice]))

    def assert_equals(self, runs: oc.Runs, trial: int) -> None:
        assert runs.choices[trial].tolist() == self.choices
        for curve, steps in (
            (runs.regret, self.regret),
            (runs.expected_regret, self.expected),
            (runs.clairvoyant_regret, self.clairvoyant),
        ):
            np.testing.assert_allclose(curve[trial], np.cumsum(steps), rtol=0, atol=1e-8)


@every_world
@every_setting
@pytest.mark.parametrize("beta", [1.5, oc.confidence.Expected(0.1, 0.1)], ids=repr)
def test_equals_bandits_driven_by_hand(env: VectorEnvironment, setting: Setting, beta: Any) -> None:
    trials, steps, seed = 4, 60, 11
    model, policy = oc.LinearModel(env.features, ridge=0.7), oc.UCB(beta)
    runs = oc.simulate(env, model, policy, steps=steps, trials=trials, setting=setting, seed=seed)
    for i in range(trials):
        trial = env.start(generator(seed, i, 0))
        bandit = oc.Bandit(trial.actions, model, policy)
        tally = Climatology()
        for t in range(steps):
            now = trial.step(np.array(tally.choices, dtype=np.intp))
            shown = oc.PointMass(now.context) if setting == "exact" else now.belief
            # Before the first reward, actions of one norm tie and rounding decides: any of them will do.
            tied = t == 0 and np.ptp(bandit.estimate(shown).width) <= 1e-12
            decision = bandit.decide(shown, available=[int(runs.choices[i, 0])] if tied else None)
            reward = now.reward(decision.index)
            if setting == "observed":
                bandit.learn(decision, reward, context=now.context)
            else:
                bandit.learn(decision, reward)
            tally.add(now, decision.index)
            assert bandit.state.learner is not None
            assert float(bandit.state.learner.log_det) == pytest.approx(runs.log_det[i, t], abs=1e-8)
        tally.assert_equals(runs, i)


def naive_trial(
    env: VectorEnvironment,
    setting: Setting,
    samples: Samples,
    ridge: float,
    beta: float,
    runs: oc.Runs,
    i: int,
    seed: int,
) -> tuple[Climatology, list[float]]:
    """Algorithms 1 and 2 as the paper prints them, with a fresh solve every round; no learner of the package."""
    trial, stream = env.start(generator(seed, i, 0)), Stream(learner_seed(seed, i))
    X: list[Array] = []
    y: list[float] = []
    tally, log_dets = Climatology(), []
    for t in range(1, runs.choices.shape[1] + 1):
        now = trial.step(np.array(tally.choices, dtype=np.intp))
        realised = env.features(trial.actions, now.context[None])[:, 0]
        if setting == "exact":
            psi = realised
        elif samples is None:
            psi = env.features.expected(trial.actions, now.belief)
        else:
            n, own = t if samples == "t" else samples, stream.at(t)
            if isinstance(now.belief, oc.Gaussian):  # draws the averages themselves, tested where it does
                psi = env.features.sampled(trial.actions, now.belief, n, own)
            else:
                draws = now.belief.sample(n, own)
                psi = np.mean([env.features(trial.actions, c[None])[:, 0] for c in draws], axis=0)
        d = psi.shape[1]
        A, b = np.array(X).reshape(-1, d), np.array(y)
        V = ridge * np.eye(d) + A.T @ A
        theta = np.linalg.solve(V, A.T @ b)
        ucb = np.array([row @ theta + beta * np.sqrt(row @ np.linalg.solve(V, row)) for row in psi])
        choice = next(j for j, score in enumerate(ucb) if score >= ucb.max() - 1e-12 * abs(ucb.max()))
        X.append(psi[choice] if setting == "hidden" else realised[choice])
        y.append(now.reward(choice))
        tally.add(now, choice)
        after = V + np.outer(X[-1], X[-1])
        log_dets.append(float(np.linalg.slogdet(after)[1] - d * np.log(ridge)))
    return tally, log_dets


@pytest.mark.parametrize("env", [Synthetic(k=9, dim=2), Adversarial(k=5, dim=2)], ids=repr)
@every_setting
@pytest.mark.parametrize("samples", [None, 3, "t"])
def test_equals_the_algorithms_as_printed(env: VectorEnvironment, setting: Setting, samples: Samples) -> None:
    trials, steps, seed = 3, 40, 2
    runs = oc.simulate(
        env,
        oc.LinearModel(env.features, ridge=1.3),
        oc.UCB(0.8),
        samples=samples,
        steps=steps,
        trials=trials,
        setting=setting,
        seed=seed,
    )
    for i in range(trials):
        tally, log_dets = naive_trial(env, setting, samples, 1.3, 0.8, runs, i, seed)
        tally.assert_equals(runs, i)
        np.testing.assert_allclose(runs.log_det[i], log_dets, rtol=0, atol=1e-8)


def test_samples_mean_nothing_where_the_context_is_known() -> None:
    env = Synthetic(k=6, dim=2)
    model, policy = oc.LinearModel(env.features, ridge=1.0), oc.UCB(1.0)
    a, b = (oc.simulate(env, model, policy, samples=n, steps=30, trials=3, setting="exact") for n in (None, 5))
    np.testing.assert_array_equal(a.regret, b.regret)


@every_setting
def test_shapes_and_what_was_asked_for(setting: Setting) -> None:
    env = CoinFlip()
    model, policy = oc.LinearModel(env.features, ridge=1.0), oc.UCB(1.0)
    runs = oc.simulate(env, model, policy, samples=2, steps=7, trials=3, setting=setting)
    curves = (runs.regret, runs.expected_regret, runs.clairvoyant_regret, runs.choices, runs.log_det)
    assert all(curve.shape == (3, 7) for curve in curves)
    assert (runs.feature_norm, runs.theta_norm, runs.covered) == (None, None, None)
    assert (runs.model, runs.policy, runs.setting, runs.samples, runs.actions) == (model, policy, setting, 2, 2)


@dataclass(frozen=True)
class ByAction(VectorEnvironment):
    """Synthetic with a noise that comes as one for each action: the number times a factor for each of them."""

    factors: tuple[float, ...]

    features = Synthetic.features

    def start_all(self, rngs: Sequence[np.random.Generator]) -> Trials:
        return ByActionTrials(Synthetic(k=len(self.factors), dim=2, noise=0.5).start_all(rngs), np.array(self.factors))


class ByActionTrials(Trials):
    def __init__(self, trials: Trials, factors: Array) -> None:
        self.actions = trials.actions
        self._trials, self._factors = trials, factors

    def step(self, past: NDArray[np.intp]) -> Rounds:
        now = self._trials.step(past)
        return now._replace(epsilon=now.epsilon[:, None] * self._factors)


class Plain:
    """The same, trial by trial: not in lock-step."""

    def __init__(self, env: VectorEnvironment) -> None:
        self._env = env

    def start(self, rng: np.random.Generator) -> Trial:
        return self._env.start(rng)


FACTORS = ByAction((1.0, -3.0, 0.0, 2.0, -0.5))
SMALL_MOVIELENS = MovieLens(
    users=[[1.0, 2.0], [2.0, 0.5], [3.0, 1.5], [0.5, 0.1], [0.2, 1.1]],
    movies=[[1.0, 1.2], [0.3, 2.0], [1.7, 0.4], [0.9, -0.2]],
    groups=[0, 0, 0, 1, 1],
)


@pytest.mark.parametrize("inner", [FACTORS, SMALL_MOVIELENS], ids=["factors", "MovieLens"])
@pytest.mark.parametrize("plain", [False, True], ids=["in lock-step", "trial by trial"])
@every_setting
def test_the_learner_sees_the_noise_of_the_action_taken(
    inner: VectorEnvironment, plain: bool, setting: Setting
) -> None:
    trials, steps, seed = 3, 60, 4
    env: Environment = Plain(inner) if plain else inner
    assert isinstance(env, VectorEnvironment) != plain
    model, policy = oc.LinearModel(inner.features, ridge=0.7), oc.UCB(1.5)
    runs = oc.simulate(env, model, policy, steps=steps, trials=trials, setting=setting, seed=seed)
    for i in range(trials):
        trial = inner.start(generator(seed, i, 0))
        bandit, tally = oc.Bandit(trial.actions, model, policy), Climatology()
        differing = 0
        for _ in range(steps):
            now = trial.step(np.array(tally.choices, dtype=np.intp))
            assert isinstance(now.epsilon, np.ndarray)
            differing += len(set(now.epsilon.tolist())) > 1
            decision = bandit.decide(oc.PointMass(now.context) if setting == "exact" else now.belief)
            j = decision.index
            reward = float(now.rewards[j]) + float(now.epsilon[j])
            bandit.learn(decision, reward, context=now.context if setting == "observed" else None)
            tally.add(now, j)
        assert differing > 5
        tally.assert_equals(runs, i)


@pytest.mark.parametrize("plain", [False, True], ids=["in lock-step", "trial by trial"])
def test_one_noise_for_all_actions_is_the_same_noise_for_each(plain: bool) -> None:
    same = ByAction((1.0,) * 5)
    env: Environment = Plain(same) if plain else same
    model, policy = oc.LinearModel(same.features, ridge=1.0), oc.UCB(1.0)
    a, b = (oc.simulate(world, model, policy, steps=50, trials=4) for world in (env, Synthetic(k=5, dim=2, noise=0.5)))
    np.testing.assert_array_equal(a.choices, b.choices)
    np.testing.assert_allclose(a.regret, b.regret, rtol=0, atol=1e-9)


MIXED: list[tuple[Model, Samples]] = [
    (oc.LinearModel(Synthetic.features, ridge=1.0), None),
    (oc.LinearModel(Synthetic.features), None),
    (oc.LinearModel(Synthetic.features), 3),
    (MeanContext(oc.LinearModel(Synthetic.features)), None),
    (oc.KernelModel(oc.kernels.Product(oc.kernels.RBF(2.0), oc.kernels.RBF(2.0)), ridge=0.1), None),
    (FixedProfile(Synthetic.features), None),
]
every_mix = pytest.mark.parametrize(("model", "samples"), MIXED, ids=str)


@every_mix
def test_all_contexts_revealed_is_observed_and_none_is_hidden(model: Model, samples: Samples) -> None:
    env = Synthetic(k=9, dim=2)

    def run(setting: Setting, **given: Any) -> list[bytes]:
        return bitwise(oc.simulate(env, model, oc.UCB(1.0), samples, 40, 4, setting, 3, **given))

    assert run("observed", revealed=1.0) == run("observed")
    assert run("observed", revealed=0.0) == run("hidden")
    assert run("observed", revealed=0.5) not in (run("observed"), run("hidden"))


@every_mix
def test_contexts_revealed_in_part_equal_bandits_driven_by_hand(model: Model, samples: Samples) -> None:
    """Which contexts are revealed comes from stream 2 of each trial, what the learner draws from stream 1."""
    env, trials, steps, seed, share = Synthetic(k=9, dim=2), 3, 60, 6, 0.4
    policy = oc.UCB(1.0)
    runs = oc.simulate(env, model, policy, samples, steps, trials, "observed", seed, revealed=share)
    for i in range(trials):
        trial, shown = env.start(generator(seed, i, 0)), generator(seed, i, 2).random(steps) < share
        assert 10 < shown.sum() < 40
        bandit, tally = oc.Bandit(trial.actions, model, policy, samples, learner_seed(seed, i)), Climatology()
        for t in range(steps):
            now = trial.step(np.array(tally.choices, dtype=np.intp))
            decision = bandit.decide(now.belief, available=[int(runs.choices[i, 0])] if t == 0 else None)
            bandit.learn(decision, now.reward(decision.index), context=now.context if shown[t] else None)
            tally.add(now, decision.index)
        tally.assert_equals(runs, i)


LATE: dict[str, tuple[Model, Policy, str]] = {
    "untuned": (oc.LinearModel(Synthetic.features), oc.UCB(), "hidden"),
    "observed": (oc.LinearModel(Synthetic.features), oc.UCB(), "observed"),
    "ridge": (oc.LinearModel(Synthetic.features, ridge=1.0), oc.UCB(1.0), "hidden"),
    "random": (oc.LinearModel(Synthetic.features), oc.Thompson(), "hidden"),
}


@pytest.mark.parametrize(("model", "policy", "setting"), LATE.values(), ids=LATE.keys())
@pytest.mark.parametrize("delay", [0, 1, 7])
def test_late_rewards_equal_bandits_driven_by_hand(model: Model, policy: Policy, setting: Any, delay: int) -> None:
    """The reward of a decision comes after so many further ones have been made; those of the last never come."""
    env, trials, steps, seed = Synthetic(k=9, dim=2), 2, 40, 7
    runs = oc.simulate(env, model, policy, None, steps, trials, setting, seed, delay=delay)
    assert runs.delay == delay
    for i in range(trials):
        trial = env.start(generator(seed, i, 0))
        bandit, tally, late = oc.Bandit(trial.actions, model, policy, seed=learner_seed(seed, i)), Climatology(), []
        for t in range(steps):
            now = trial.step(np.array(tally.choices, dtype=np.intp))
            decision = bandit.decide(now.belief)
            late.append((decision, now.reward(decision.index), now.context if setting == "observed" else None))
            tally.add(now, decision.index)
            if t >= delay:
                bandit.learn(*late.pop(0))
            assert bandit.learnt.rounds == max(0, t + 1 - delay)
        tally.assert_equals(runs, i)


@pytest.mark.parametrize("delay", [0, 3, 100])
def test_a_learner_has_all_rewards_but_the_late_ones(delay: int, monkeypatch: pytest.MonkeyPatch) -> None:
    learnt, asked = [0], []

    def answer(question: Question, *given: Any) -> Any:
        asked.append((learnt[0], len(question.waiting)))
        return answer_one(question, *given)

    def learn(self: LinearLearner, evidence: Any, reward: Any) -> None:
        learnt[0] += 1
        learn_one(self, evidence, reward)

    answer_one = overcast.round.answer
    learn_one = LinearLearner.learn
    monkeypatch.setattr(runner, "answer", answer)
    monkeypatch.setattr(LinearLearner, "learn", learn)
    oc.simulate(Synthetic(k=4, dim=2), oc.LinearModel(Synthetic.features), oc.UCB(), steps=12, trials=2, delay=delay)
    assert asked == [(max(0, t - delay), min(t, delay)) for t in range(12)]


def test_no_delay_is_the_default() -> None:
    env = Synthetic(k=9, dim=2)
    model = oc.LinearModel(env.features)
    one = oc.simulate(env, model, oc.UCB(), steps=30, trials=3)
    two, late = (oc.simulate(env, model, oc.UCB(), steps=30, trials=3, delay=delay) for delay in (0, 3))
    np.testing.assert_array_equal(one.regret, two.regret)
    assert (one.choices != late.choices).any()


def test_a_share_of_contexts_is_for_the_observed_setting() -> None:
    with pytest.raises(ValueError, match=r"^simulate: revealed is for setting 'observed', got 0.5 with 'hidden'$"):
        oc.simulate(**GOOD, revealed=0.5)
    env = Adversarial(k=4, dim=2)
    model, policy = oc.LinearModel(env.features, ridge=1.0), oc.UCB(oc.confidence.Observed())
    runs = oc.simulate(env, model, policy, steps=3, trials=2, setting="observed", revealed=0.5)
    with pytest.raises(ValueError, match=r"^Runs: bound needs every context revealed, got a share of 0.5$"):
        _ = runs.bound


class Recorded:
    """An environment that keeps what it showed."""

    def __init__(self, env: Environment) -> None:
        self.env = env
        self.shown: list[tuple[float, ...]] = []

    def start(self, rng: np.random.Generator) -> RecordedTrial:
        return RecordedTrial(self.env.start(rng), self.shown)


class RecordedTrial:
    def __init__(self, trial: Trial, shown: list[tuple[float, ...]]) -> None:
        self.actions = trial.actions
        self._trial, self._shown = trial, shown

    def step(self, past: NDArray[np.intp]) -> Round:
        now = self._trial.step(past)
        self._shown.append((*now.belief.mean(), *now.context, *now.rewards, float(now.epsilon)))
        return now


def test_all_policies_settings_and_samples_meet_the_same_luck() -> None:
    inner = Synthetic(k=5, dim=2)
    model = oc.LinearModel(inner.features, ridge=1.0)
    variants: list[tuple[Policy, Setting, Samples]] = [
        (oc.UCB(0.5), "hidden", None),
        (oc.UCB(5.0), "hidden", None),
        (oc.UCB(0.5), "observed", 10),
        (oc.UCB(0.5), "exact", None),
        (Constant(2), "hidden", "t"),
        (Dice(), "hidden", None),
    ]
    shown = []
    for policy, setting, samples in variants:
        env = Recorded(inner)
        oc.simulate(env, model, policy, samples=samples, steps=30, trials=3, setting=setting)
        shown.append(env.shown)
    assert len(set(shown[0])) == 90
    assert all(other == shown[0] for other in shown[1:])


def test_constant_policies_on_the_coin_share_every_toss() -> None:
    """One of the two actions wins each toss, so that their regrets against the clairvoyant add up to t."""
    env = CoinFlip()
    model = oc.LinearModel(env.features, ridge=1.0)
    zero, one = (oc.simulate(env, model, Constant(j), steps=200, trials=60) for j in (0, 1))
    np.testing.assert_array_equal(zero.clairvoyant_regret + one.clairvoyant_regret, np.tile(np.arange(1, 201), (60, 1)))
    np.testing.assert_array_equal(zero.regret, np.zeros((60, 200)))  # action 0 is x*_t
    np.testing.assert_allclose(one.expected_regret, np.tile(0.2 * np.arange(1, 201), (60, 1)), rtol=1e-12)


class Ties:
    """Actions 1 and 2 tie in expectation and differ in what they bring."""

    def start(self, rng: np.random.Generator) -> TiesTrial:
        return TiesTrial()


class TiesTrial:
    def __init__(self) -> None:
        self.actions = np.eye(3)

    def step(self, past: NDArray[np.intp]) -> Round:
        return Round(oc.PointMass([1.0]), np.ones(1), np.array([3.0, 7.0, 20.0]), np.array([0.0, 1.0, 1.0]), 0.0)


def test_ties_go_to_the_lowest_index() -> None:
    model = oc.LinearModel(oc.features.Bilinear(), ridge=1.0)
    runs = oc.simulate(Ties(), model, Indifferent(), steps=4, trials=2)
    assert not runs.choices.any()
    t = np.arange(1, 5)
    np.testing.assert_array_equal(runs.regret[0], (7 - 3) * t)  # x*_t is action 1, not 2
    np.testing.assert_array_equal(runs.expected_regret[0], 1 * t)
    np.testing.assert_array_equal(runs.clairvoyant_regret[0], (20 - 3) * t)
    negative = oc.simulate(Ties(), model, Constant(2), steps=4, trials=2)
    np.testing.assert_array_equal(negative.regret[0], (7 - 20) * t)
    np.testing.assert_array_equal(negative.expected_regret[0], 0 * t)


def bitwise(runs: oc.Runs) -> list[bytes]:
    curves = (runs.regret, runs.expected_regret, runs.clairvoyant_regret, runs.choices, runs.log_det)
    watched = (runs.feature_norm, runs.theta_norm, runs.covered)
    return [curve.tobytes() for curve in curves] + [b"" if array is None else array.tobytes() for array in watched]


def processes(n: int) -> Executor:
    # Fresh interpreters: forking is unsafe, and warned about, where other threads run.
    return ProcessPoolExecutor(n, mp_context=multiprocessing.get_context("spawn"))


@pytest.mark.parametrize(
    "executor",
    [lambda: processes(1), lambda: processes(2), lambda: ThreadPoolExecutor(2)],
    ids=["one process", "two processes", "two threads"],
)
def test_numbers_do_not_depend_on_the_workers(executor: Callable[[], Executor]) -> None:
    env, trials = Adversarial(k=4, dim=2), 2 * oc.LinearModel.batch + 7

    def run(workers: Executor | None) -> list[oc.Runs]:
        model = oc.LinearModel(env.features, ridge=1.0)
        return [
            oc.simulate(env, model, oc.UCB(oc.confidence.Expected()), steps=15, trials=trials, executor=workers),
            oc.simulate(env, model, oc.UCB(1.0), samples=4, steps=15, trials=trials, executor=workers),
        ]

    here = run(None)
    with executor() as workers:
        there = run(workers)
    assert [bitwise(runs) for runs in here] == [bitwise(runs) for runs in there]


@every_world
@pytest.mark.parametrize("samples", [None, 5, "t"])
def test_same_seed_same_numbers_other_seed_others(env: VectorEnvironment, samples: Samples) -> None:
    model, policy = oc.LinearModel(env.features, ridge=1.0), oc.UCB(1.0)
    a, b, c = (oc.simulate(env, model, policy, samples=samples, steps=40, trials=4, seed=seed) for seed in (3, 3, 4))
    assert bitwise(a) == bitwise(b)
    assert not np.array_equal(a.regret, c.regret)
    assert not np.array_equal(a.regret[0], a.regret[1])  # trials differ too


@every_world
def test_first_trials_and_steps_do_not_depend_on_how_many_follow(env: VectorEnvironment) -> None:
    model, policy = oc.LinearModel(env.features, ridge=1.0), oc.UCB(1.0)
    few = oc.simulate(env, model, policy, samples=2, steps=20, trials=3)
    many = oc.simulate(env, model, policy, samples=2, steps=35, trials=oc.LinearModel.batch + 2)
    for name in ("model", "policy", "setting", "samples", "actions"):
        assert getattr(few, name) == getattr(many, name)
    np.testing.assert_array_equal(few.choices, many.choices[:3, :20])
    np.testing.assert_allclose(few.regret, many.regret[:3, :20], rtol=0, atol=1e-9)


def test_trials_of_later_batches_have_seeds_of_their_own() -> None:
    """Synthetic rewards are continuous, so that no two trials agree by chance; the last is rebuilt by hand."""
    env, n, seed = Synthetic(k=6, dim=2), 2 * oc.LinearModel.batch + 3, 5
    runs = oc.simulate(env, oc.LinearModel(env.features, ridge=1.0), Dice(), steps=8, trials=n, seed=seed)
    assert len({row.tobytes() for row in runs.regret}) == n
    trial, own, tally = env.start(generator(seed, n - 1, 0)), Stream(learner_seed(seed, n - 1)), Climatology()
    for t in range(1, 9):
        now = trial.step(np.array(tally.choices, dtype=np.intp))
        tally.add(now, first_best(own.at(t, kind=POLICY).random(6)))
    tally.assert_equals(runs, n - 1)


def test_the_learner_draws_from_its_own_stream() -> None:
    """Scores that are dice of the learner's generators: rebuilt from stream 1 of each trial."""
    env = CoinFlip()
    runs = oc.simulate(env, oc.LinearModel(env.features, ridge=1.0), Dice(), steps=25, trials=3, seed=8)
    for i in range(3):
        own = Stream(learner_seed(8, i))
        assert runs.choices[i].tolist() == [first_best(own.at(t, kind=POLICY).random(2)) for t in range(1, 26)]


def test_features_that_do_not_fit_the_environment() -> None:
    with pytest.raises(ValueError, match=r"^Disjoint: actions must be unit vectors of 3 entries, got vectors of 2$"):
        oc.simulate(CoinFlip(), oc.LinearModel(oc.features.Disjoint(3), ridge=1.0), oc.UCB(1.0), steps=2, trials=2)


def test_coverage_and_bound_equal_their_definitions() -> None:
    """theta leaves the ellipsoid in some trials: Observed's width is too small where the context stays hidden."""
    env = Adversarial(k=5, dim=2, noise=0.01)
    confidence = oc.confidence.Observed(0.1, 0.01)
    model = oc.LinearModel(env.features, ridge=1.0)
    n, steps = 20, 120
    runs = oc.simulate(env, model, oc.UCB(confidence), steps=steps, trials=n, seed=1)
    truth = env.start_all([generator(1, i, 0) for i in range(n)]).theta
    assert truth is not None
    covered = []
    for i in range(n):
        trial = env.start(generator(1, i, 0))
        V, b, inside, norm = np.eye(4), np.zeros(4), True, 0.0
        for t in range(steps):
            now = trial.step(runs.choices[i, :t])
            error = np.linalg.solve(V, b) - truth[i]
            ratio = np.sqrt(np.linalg.det(V)) / (0.1 / 3)
            inside &= bool(np.sqrt(error @ V @ error) <= 0.01 * np.sqrt(2 * np.log(ratio)) + 1.0)
            j = runs.choices[i, t]
            psi = env.features.expected(trial.actions, now.belief)[j]
            V += np.outer(psi, psi)
            b += psi * now.reward(j)
            phi = env.features(trial.actions, now.context[None])[j, 0]
            norm = max(norm, float(np.sqrt((phi**2).sum())))
        covered.append(inside)
        assert runs.feature_norm is not None
        assert runs.feature_norm[i] == pytest.approx(norm, rel=1e-12)
    assert runs.covered is not None
    assert runs.covered.tolist() == covered
    assert 0 < sum(covered) < n

    proper = oc.simulate(env, model, oc.UCB(confidence), steps=steps, trials=3, setting="observed", seed=1)
    for i in range(3):
        trial = env.start(generator(1, i, 0))
        V = np.eye(4)
        for t in range(steps):
            now = trial.step(proper.choices[i, :t])
            phi = env.features(trial.actions, now.context[None])[proper.choices[i, t], 0]
            V += np.outer(phi, phi)
            T, det = t + 1, np.linalg.det(V)
            beta = 0.01 * np.sqrt(2 * np.log(np.sqrt(det) * 3 / 0.1)) + 1.0
            luck = 4 * (1 + beta) * np.sqrt(2 * T * np.log(3 / 0.1))
            assert proper.bound[i, t] == pytest.approx(beta * np.sqrt(8 * T * np.log(det)) + luck, rel=1e-9)


def test_coverage_is_known_only_with_theory_and_the_environments_features() -> None:
    env = CoinFlip()
    theory = oc.UCB(oc.confidence.Expected(norm=1.5))

    def covered(model: oc.LinearModel, policy: Policy) -> NDArray[np.bool_] | None:
        return oc.simulate(env, model, policy, steps=3, trials=2).covered

    assert covered(oc.LinearModel(env.features, ridge=1.0), theory) is not None
    assert covered(oc.LinearModel(env.features, ridge=1.0), oc.UCB(2.0)) is None
    assert covered(oc.LinearModel(env.features, ridge=1.0), Constant(0)) is None
    assert covered(oc.LinearModel(oc.features.Linear(), ridge=1.0), theory) is None
