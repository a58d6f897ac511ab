"""What each package can do, by a small program for every claim: `make bench-peers` writes capabilities.json.

Each program runs the part of the package that the table names, and fails unless it does what the row says. A package
without a program in a row has, as far as its public names tell, nothing of the kind. The row about contexts that are
distributions is also searched for in the sources of all packages.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import tempfile
import warnings
from collections.abc import Callable
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from overcast.bench.peers import PEERS

PACKAGES = {"overcast": "overcast"} | {peer.package: peer.imported for peer in PEERS}

#: rows of the table, and what a program must do to count
ROWS = {
    "upper confidence bounds": "decides by a bound and learns from the reward",
    "Thompson sampling with contexts": "decides by a draw and learns from the reward",
    "kernels, Gaussian processes": "predicts mean and deviation of a reward that is not linear",
    "one model for all actions": "learns about one action, and expects more of another with like features",
    "contexts known as a distribution": "tells a sharp from a vague context with the same mean",
    "own scales learnt": "finds noise or prior from the rewards, with no number given",
    "late rewards": "keeps open decisions and learns by their ids, or has a rule for delays",
    "actions come and go": "takes an action more, and one less, and goes on",
    "old rounds forgotten": "has an option for a world that changes",
    "probability of the choice": "says how likely the action was that it chose",
    "policies judged from logs": "estimates what another policy would have earned",
    "simulation": "plays a policy against an environment and returns rewards or regret",
    "any classifier or regressor": "takes a model in the form of scikit-learn",
    "continuous actions": "picks a number from an interval",
    "files without pickle": "writes what it learnt to a file of its own format, and reads it back",
}

#: words that would name contexts with an uncertainty of their own
WORDS = re.compile(
    r"(uncertain|noisy|distribution(al)?|perturbed)[ _-]?(context|input)s?\b"
    r"|(context|input)[ _-]?(distribution|uncertainty|perturbation)",
    re.IGNORECASE,
)


class Claim(NamedTuple):
    """A package, a row, the name that provides it, and a program that tries it."""

    package: str
    row: str
    name: str
    tried: Callable[[], object]


CLAIMS: list[Claim] = []


def claim(package: str, row: str, name: str) -> Callable[[Callable[[], object]], Callable[[], object]]:
    """Note the program below as the evidence of a claim."""
    assert package in PACKAGES
    assert row in ROWS

    def note(tried: Callable[[], object]) -> Callable[[], object]:
        CLAIMS.append(Claim(package, row, name, tried))
        return tried

    return note


def module(name: str) -> Any:
    return import_module(name)


# Overcast


def _own(policy: str = "UCB", **given: Any) -> Any:
    oc = module("overcast")
    return oc.Bandit({"a": [1.0, 0.0], "b": [0.0, 1.0]}, oc.LinearModel(oc.features.Bilinear()), getattr(oc, policy)())


@claim("overcast", "upper confidence bounds", "UCB")
def _() -> object:
    bandit = _own()
    decision = bandit.decide([1.0, 0.5])
    bandit.learn(decision, 1.0)
    return decision.score >= decision.mean and bandit.learnt.rounds == 1


@claim("overcast", "Thompson sampling with contexts", "Thompson")
def _() -> object:
    bandit = _own("Thompson")
    return len({bandit.decide([1.0, 0.5]).action for _ in range(50)}) == 2


@claim("overcast", "kernels, Gaussian processes", "KernelModel")
def _() -> object:
    oc = module("overcast")
    bandit = oc.Bandit({"a": [0.0], "b": [1.0]}, oc.KernelModel(), oc.UCB())
    bandit.learn(bandit.decide([0.2]), 1.0)
    found = bandit.estimate([0.3])
    return bool((found.width > 0).all())


@claim("overcast", "one model for all actions", "features.Bilinear")
def _() -> object:
    oc = module("overcast")
    actions = {"a": [1.0], "b": [0.9]}
    bandit = oc.Bandit(actions, oc.LinearModel(oc.features.Bilinear(), ridge=1.0), oc.UCB())
    bandit.observe("a", [1.0], 5.0)
    return bool(bandit.estimate([1.0]).mean[1] > 1)


@claim("overcast", "contexts known as a distribution", "Gaussian, Ensemble, Quantiles, …")
def _() -> object:
    oc = module("overcast")
    features = oc.features.Polynomial(2)
    sharp, vague = (features.expected([[1.0]], oc.Gaussian([20.0], sd=sd)) for sd in (1.0, 6.0))
    return not np.allclose(sharp, vague)


@claim("overcast", "own scales learnt", "LinearModel, KernelModel")
def _() -> object:
    rng = np.random.default_rng(0)
    bandit = _own()
    for _ in range(100):
        decision = bandit.decide([1.0, rng.normal()])
        bandit.learn(decision, 3.0 * rng.normal())
    return 2.0 < bandit.learnt.noise < 4.0


@claim("overcast", "late rewards", "Bandit.learn")
def _() -> object:
    bandit = _own()
    bandit.decide([1.0, 0.5], id="monday")
    bandit.decide([1.0, 0.7], id="tuesday")
    bandit.learn("monday", 1.0)
    return (bandit.learnt.rounds, bandit.learnt.open) == (1, 1)


@claim("overcast", "actions come and go", "Bandit.add_actions, retire")
def _() -> object:
    bandit = _own()
    bandit.add_actions({"c": [1.0, 1.0]})
    bandit.retire(["a"])
    return bandit.decide([1.0, 0.5]).action in ("b", "c")


@claim("overcast", "old rounds forgotten", "LinearModel(discount=, window=)")
def _() -> object:
    oc = module("overcast")
    model = oc.LinearModel(oc.features.Bilinear(), discount=0.9)
    bandit = oc.Bandit({"a": [1.0]}, model, oc.Greedy())
    for reward in [0.0] * 50 + [1.0] * 50:
        bandit.observe("a", [1.0], reward)
    return bool(bandit.estimate([1.0]).mean[0] > 0.9)


@claim("overcast", "probability of the choice", "Decision.probability")
def _() -> object:
    return 0 < _own("EpsilonGreedy").decide([1.0, 0.5]).probability <= 1


@claim("overcast", "simulation", "simulate")
def _() -> object:
    oc = module("overcast")
    env = oc.environments.CoinFlip()
    runs = oc.simulate(env, oc.LinearModel(env.features), oc.UCB(), steps=5, trials=2)
    return bool(runs.regret.shape == (2, 5))


@claim("overcast", "files without pickle", "Bandit.save, load")
def _() -> object:
    oc, bandit = module("overcast"), _own()
    bandit.observe("a", [1.0, 0.5], 2.0)
    with tempfile.TemporaryDirectory() as folder:
        bandit.save(Path(folder) / "bandit.npz")
        return bool(oc.Bandit.load(Path(folder) / "bandit.npz").learnt.rounds == 1)


# MABWiser


def _mabwiser(policy: str, **given: Any) -> Any:
    mab = module("mabwiser.mab")
    bandit = mab.MAB([1, 2], getattr(mab.LearningPolicy, policy)(**given))
    bandit.fit([1, 2], [1.0, 0.0], [[1.0, 0.5], [1.0, 0.7]])
    return bandit


@claim("mabwiser", "upper confidence bounds", "LearningPolicy.LinUCB")
def _() -> object:
    bandit = _mabwiser("LinUCB")
    bandit.partial_fit([1], [1.0], [[1.0, 0.6]])
    return bandit.predict([[1.0, 0.5]]) in (1, 2)


@claim("mabwiser", "Thompson sampling with contexts", "LearningPolicy.LinTS")
def _() -> object:
    bandit = _mabwiser("LinTS")
    return bandit.predict([[1.0, 0.5]]) in (1, 2)


@claim("mabwiser", "actions come and go", "MAB.add_arm, remove_arm")
def _() -> object:
    bandit = _mabwiser("LinUCB")
    bandit.add_arm(3)
    bandit.remove_arm(1)
    return bandit.predict([[1.0, 0.5]]) in (2, 3)


@claim("mabwiser", "simulation", "simulator.Simulator")
def _() -> object:
    mab, simulator = module("mabwiser.mab"), module("mabwiser.simulator")
    bandits = [("ucb", mab.MAB([1, 2], mab.LearningPolicy.UCB1()))]
    run = simulator.Simulator(bandits, [1, 2] * 20, [1.0, 0.0] * 20, test_size=0.5, batch_size=0, is_quick=True)
    run.run()
    return bool(run.bandit_to_predictions)


# contextualbandits


def _online(kind: str, **given: Any) -> Any:
    policy = getattr(module("contextualbandits.online"), kind)(nchoices=2, random_state=1, **given)
    rng = np.random.default_rng(0)
    policy.fit(rng.normal(size=(20, 2)), np.arange(20) % 2, rng.integers(0, 2, 20).astype(float))
    return policy


@claim("contextualbandits", "upper confidence bounds", "online.LinUCB")
def _() -> object:
    return _online("LinUCB").predict(np.ones((1, 2)))[0] in (0, 1)


@claim("contextualbandits", "Thompson sampling with contexts", "online.LinTS")
def _() -> object:
    return _online("LinTS").predict(np.ones((1, 2)))[0] in (0, 1)


@claim("contextualbandits", "actions come and go", "online.LinUCB.add_arm, drop_arm")
def _() -> object:
    policy = _online("LinUCB")
    policy.add_arm()
    policy.drop_arm(0)
    return policy.predict(np.ones((1, 2)))[0] in (0, 1, 2)


@claim("contextualbandits", "policies judged from logs", "evaluation.evaluateDoublyRobust")
def _() -> object:
    rng = np.random.default_rng(0)
    given = rng.normal(size=(200, 2)), rng.integers(0, 2, 200), rng.integers(0, 2, 200).astype(float)
    judge = module("contextualbandits.evaluation").evaluateDoublyRobust
    found = judge(rng.integers(0, 2, 200), *given, np.full(200, 0.5), nchoices=2, reward_estimator=_classifier())
    return bool(np.isfinite(found))


@claim("contextualbandits", "any classifier or regressor", "online.BootstrappedUCB(base_algorithm)")
def _() -> object:
    policy = _online("BootstrappedUCB", base_algorithm=_classifier(), njobs_arms=1)
    return policy.predict(np.ones((1, 2)))[0] in (0, 1)


def _classifier() -> Any:
    return module("sklearn.linear_model").LogisticRegression()


# River


@claim("river", "upper confidence bounds", "bandit.LinUCBDisjoint")
def _() -> object:
    policy = module("river.bandit").LinUCBDisjoint(seed=0)
    policy.update(0, {"x": 1.0}, 1.0)
    return policy.pull([0, 1], context={"x": 1.0}) in (0, 1)


@claim("river", "actions come and go", "bandit.LinUCBDisjoint.pull(arm_ids)")
def _() -> object:
    policy = module("river.bandit").LinUCBDisjoint(seed=0)
    policy.update(0, {"x": 1.0}, 1.0)
    return policy.pull([1, 2], context={"x": 1.0}) in (1, 2)


@claim("river", "policies judged from logs", "bandit.evaluate_offline")
def _() -> object:
    bandit = module("river.bandit")
    history = [([0, 1], {"x": 1.0}, i % 2, 1.0) for i in range(20)]
    _, steps = bandit.evaluate_offline(policy=bandit.LinUCBDisjoint(seed=0), history=history)
    return bool(steps)


class _Coins:
    """A game in the form of Gymnasium: twenty throws of two coins."""

    def __init__(self) -> None:
        self.action_space = type("Space", (), {"n": 2, "seed": lambda self, seed: None})()
        self._left = 20

    def reset(self, seed: int) -> None:
        self._left = 20

    def step(self, arm: int) -> tuple[None, float, bool, bool, dict[str, Any]]:
        self._left -= 1
        return None, float(arm), self._left == 0, False, {}


@claim("river", "simulation", "bandit.evaluate")
def _() -> object:
    bandit = module("river.bandit")
    played = list(bandit.evaluate([bandit.EpsilonGreedy(0.1, seed=0)], _Coins(), n_episodes=2, seed=0))
    return len(played) == 40


@claim("river", "old rounds forgotten", "EpsilonGreedy(reward_obj=EWMean) (no contexts)")
def _() -> object:
    mean = module("river.stats").EWMean(0.5)
    policy = module("river.bandit").EpsilonGreedy(0.1, reward_obj=mean, seed=0)
    for reward in [0.0] * 50 + [1.0] * 10:
        policy.update(0, reward)
    return bool(policy._rewards[0].get() > 0.9)


# Coba


def _learnt(learner: Any) -> bool:
    actions = [(1.0, 0.0), (0.0, 1.0)]
    action, probability = learner.predict(None, actions)[:2]
    learner.learn(None, action, 1.0, probability)
    return action in actions and 0 < probability <= 1


@claim("coba", "upper confidence bounds", "LinUCBLearner")
@claim("coba", "probability of the choice", "LinUCBLearner.predict")
def _() -> object:
    return _learnt(module("coba.learners").LinUCBLearner(features=["a"]))


@claim("coba", "Thompson sampling with contexts", "LinTSLearner")
def _() -> object:
    return _learnt(module("coba.learners").LinTSLearner(features=["a"]))


@claim("coba", "one model for all actions", "LinUCBLearner(features=)")
@claim("coba", "actions come and go", "LinUCBLearner.predict(actions)")
def _() -> object:
    learner = module("coba.learners").LinUCBLearner(alpha=0.0, features=["a"])
    for _ in range(5):
        learner.learn(None, (1.0, 0.0), 5.0, 1.0)
    return bool(learner.predict(None, [(0.9, 0.0), (0.0, 1.0)])[0] == (0.9, 0.0))


@claim("coba", "policies judged from logs", "Environments.ope_rewards")
def _() -> object:
    cb = module("coba")
    logged = cb.Environments.from_linear_synthetic(20, n_actions=2, seed=1).logged(cb.RandomLearner())
    judged = logged.ope_rewards("IPS")
    return all("rewards" in one for one in judged[0].read())


@claim("coba", "simulation", "Experiment")
def _() -> object:
    cb = module("coba")
    worlds = cb.Environments.from_linear_synthetic(20, n_actions=2, seed=1)
    found = cb.Experiment(worlds, [cb.RandomLearner()]).run(quiet=True)
    return len(found.interactions) == 20


# bayesianbandits


def _agent(policy: Any, **given: Any) -> Any:
    theirs = module("bayesianbandits")
    arms = [theirs.Arm(i, learner=theirs.NormalRegressor(alpha=1.0, beta=1.0, **given)) for i in range(2)]
    agent = theirs.ContextualAgent(arms, policy, random_seed=0)
    agent.pull(np.ones((1, 2)))
    agent.update(np.ones((1, 2)), np.array([1.0]))
    return agent


@claim("bayesianbandits", "upper confidence bounds", "UpperConfidenceBound")
def _() -> object:
    agent = _agent(module("bayesianbandits").UpperConfidenceBound())
    return agent.pull(np.ones((1, 2)))[0] in (0, 1)


@claim("bayesianbandits", "Thompson sampling with contexts", "ThompsonSampling")
def _() -> object:
    agent = _agent(module("bayesianbandits").ThompsonSampling())
    return agent.pull(np.ones((1, 2)))[0] in (0, 1)


@claim("bayesianbandits", "own scales learnt", "EmpiricalBayesNormalRegressor")
def _() -> object:
    rng = np.random.default_rng(0)
    model = module("bayesianbandits").EmpiricalBayesNormalRegressor(alpha=1.0, beta=1.0)
    x = rng.normal(size=(500, 2))
    model.fit(x, x @ [1.0, 2.0] + 3.0 * rng.normal(size=500))
    return 2.0 < 1.0 / np.sqrt(model.beta) < 4.0


@claim("bayesianbandits", "actions come and go", "ContextualAgent.add_arm, remove_arm")
def _() -> object:
    theirs = module("bayesianbandits")
    agent = _agent(theirs.ThompsonSampling())
    agent.add_arm(theirs.Arm(2, learner=theirs.NormalRegressor(alpha=1.0, beta=1.0)))
    agent.remove_arm(0)
    return agent.pull(np.ones((1, 2)))[0] in (1, 2)


@claim("bayesianbandits", "old rounds forgotten", "ContextualAgent.decay")
def _() -> object:
    agent = _agent(module("bayesianbandits").ThompsonSampling())
    agent.decay(decay_rate=0.9)
    return agent.pull(np.ones((1, 2)))[0] in (0, 1)


@claim("bayesianbandits", "one model for all actions", "LipschitzContextualAgent")
def _() -> object:
    theirs = module("bayesianbandits")
    arms = [theirs.Arm(i) for i in (1.0, 0.9, 0.0)]
    featurizer = theirs.ArmColumnFeaturizer(column_name="arm")
    learner = theirs.NormalRegressor(alpha=1.0, beta=1.0)
    agent = theirs.LipschitzContextualAgent(arms, theirs.UpperConfidenceBound(), featurizer, learner, random_seed=0)
    agent.select_for_update(1.0).update(np.ones((5, 1)), np.full(5, 5.0))
    return agent.pull(np.ones((1, 1)))[0] in (0.9, 1.0)


# PyMAB


@claim("pymab", "upper confidence bounds", "policies.LinUCBPolicy")
def _() -> object:
    return _linear("LinUCBPolicy")


@claim("pymab", "Thompson sampling with contexts", "policies.LinearThompsonSamplingPolicy")
def _() -> object:
    return _linear("LinearThompsonSamplingPolicy")


def _linear(kind: str) -> bool:
    policy, rng = getattr(module("pymab.policies"), kind)(n_arms=2, n_features=2), np.random.default_rng(0)
    policy.update(action=0, reward=1.0, context=np.ones((2, 2)))
    return policy.select_action(context=np.ones((2, 2)), rng=rng) in (0, 1)


@claim("pymab", "old rounds forgotten", "policies.DiscountedUCBPolicy (no contexts)")
def _() -> object:
    policy, rng = module("pymab.policies").DiscountedUCBPolicy(n_arms=2), np.random.default_rng(0)
    policy.update(action=0, reward=1.0)
    return policy.select_action(rng=rng) in (0, 1)


@claim("pymab", "policies judged from logs", "offline.estimate_policy_value")
def _() -> object:
    offline, rng = module("pymab.offline"), np.random.default_rng(0)
    logged = offline.LoggedBanditDataset(
        actions=rng.integers(0, 2, 200), rewards=rng.uniform(size=200), propensities=np.full(200, 0.5), n_arms=2
    )
    target = type("Target", (), {"probabilities": lambda self, context: np.array([0.3, 0.7])})()
    found = offline.estimate_policy_value(logged, target)
    return 0.3 < found.estimate < 0.7


@claim("pymab", "simulation", "Experiment")
def _() -> object:
    theirs = module("pymab.simulation")
    world = module("pymab.environments").BanditEnvironment(means=np.array([0.2, 0.8]))
    policies = {"ucb": module("pymab.policies").UCBPolicy(n_arms=2)}
    size = theirs.ExperimentConfig(horizon=5, n_replicates=2, seed=0)
    return theirs.Experiment(environment=world, policies=policies, config=size).run() is not None


# BanditLab


@claim("banditlab", "upper confidence bounds", "UCBAlgorithm")
def _() -> object:
    theirs = module("mab_framework")
    bandit = theirs.UCBAlgorithm(2, [theirs.OnlineRidgeRegression(2) for _ in range(2)])
    bandit.update([{"action": 0, "reward": 1.0, "context": np.ones(2)}])
    return bandit.select_arm(np.ones(2)) in (0, 1)


@claim("banditlab", "one model for all actions", "UCBAlgorithm(model=[shared, …])")
def _() -> object:
    theirs = module("mab_framework")
    shared = theirs.OnlineRidgeRegression(2)
    bandit = theirs.UCBAlgorithm(2, [shared, shared], alpha=0.0)
    for _ in range(5):
        shared.fit(np.array([1.0, 0.0]), 5.0)
    return bool(bandit.select_arm(np.array([[0.0, 1.0], [0.9, 0.0]])) == 1)


@claim("banditlab", "Thompson sampling with contexts", "CustomTSBandit")
def _() -> object:
    theirs = module("mab_framework")
    bandit = theirs.CustomTSBandit([theirs.OnlineRidgeRegression(2) for _ in range(2)], n_arms=2, context_dim=2)
    bandit.update([{"action": 0, "reward": 1.0, "context": np.ones(2)}])
    return {bandit.select_arm(np.ones(2)) for _ in range(50)} == {0, 1}


@claim("banditlab", "late rewards", "JoulaniDelayedUCB (no contexts)")
def _() -> object:
    bandit = module("mab_framework").JoulaniDelayedUCB(2)
    taken = [bandit.select_arm() for _ in range(4)]
    bandit.update([{"action": taken[0], "reward": 1.0}])
    return sorted(taken) == [0, 0, 1, 1]


@claim("banditlab", "kernels, Gaussian processes", "GPUCBKernelFlexibleAlgorithm")
def _() -> object:
    bandit = module("mab_framework").GPUCBKernelFlexibleAlgorithm(n_arms=2, x_dim=2)
    bandit.update([{"action": 0, "reward": 1.0, "context": np.ones((2, 2))}])
    return bandit.select_arm(np.ones((2, 2))) in (0, 1)


@claim("banditlab", "policies judged from logs", "OPEEvaluator")
def _() -> object:
    rng = np.random.default_rng(0)
    logged = {"action": rng.integers(0, 2, 50), "reward": rng.uniform(size=50), "pscore": np.full(50, 0.5)}
    judge = module("mab_framework.experiment.ope_evaluator").OPEEvaluator(["ips"])
    return bool(judge.evaluate(logged, np.full((50, 2), 0.5)))


@claim("banditlab", "simulation", "ExperimentRunner")
def _() -> object:
    theirs = module("mab_framework")
    made = lambda: theirs.UCBAlgorithm(2, [theirs.OnlineRidgeRegression(3) for _ in range(2)])  # noqa: E731
    world = theirs.SyntheticLinearEnv(n_arms=2, context_dim=3)
    return bool(module("mab_framework.experiment.runner").ExperimentRunner(world, made, steps=5, seed=0).run())


# Vowpal Wabbit


def _workspace(options: str) -> Any:
    return module("vowpalwabbit").Workspace(f"--quiet {options}")


def _chosen(options: str) -> list[float]:
    vw = _workspace(f"--cb_explore_adf {options}")
    vw.learn(["shared |u x=1", "0:-1.0:0.5 |a one", "|a two"])
    found: list[float] = vw.predict(["shared |u x=1", "|a one", "|a two"])
    vw.finish()
    return found


@claim("vowpalwabbit", "upper confidence bounds", "--regcbopt")
def _() -> object:
    return len(_chosen("--regcbopt")) == 2


@claim("vowpalwabbit", "Thompson sampling with contexts", "--bag (bootstrap)")
def _() -> object:
    return len(_chosen("--bag 5")) == 2


@claim("vowpalwabbit", "one model for all actions", "--cb_explore_adf")
@claim("vowpalwabbit", "probability of the choice", "--cb_explore_adf")
def _() -> object:
    return abs(sum(_chosen("--squarecb")) - 1.0) < 1e-4


@claim("vowpalwabbit", "actions come and go", "--cb_explore_adf")
def _() -> object:
    vw = _workspace("--cb_explore_adf")
    vw.learn(["shared |u x=1", "0:-1.0:0.5 |a one", "|a two"])
    return len(vw.predict(["shared |u x=1", "|a two", "|a three", "|a four"])) == 3


@claim("vowpalwabbit", "old rounds forgotten", "--power_t 0")
def _() -> object:
    return len(_chosen("--squarecb --power_t 0")) == 2


@claim("vowpalwabbit", "policies judged from logs", "--explore_eval")
def _() -> object:
    vw = _workspace("--explore_eval --epsilon 0.1")
    for _ in range(20):
        vw.learn(["shared |u x=1", "0:-1.0:0.5 |a one", "|a two"])
    return bool(np.isfinite(vw.get_sum_loss()))


@claim("vowpalwabbit", "continuous actions", "--cats")
def _() -> object:
    vw = _workspace("--cats 4 --min_value 0 --max_value 10 --bandwidth 1")
    vw.learn("ca 5.0:-1.0:0.1 |u x=1")
    action, _ = vw.predict("|u x=1")
    return 0 <= action <= 10


@claim("vowpalwabbit", "files without pickle", "Workspace.save")
def _() -> object:
    vw = _workspace("--cb_explore_adf")
    vw.learn(["shared |u x=1", "0:-1.0:0.5 |a one", "|a two"])
    with tempfile.TemporaryDirectory() as folder:
        vw.save(f"{folder}/model.vw")
        again = _workspace(f"-i {folder}/model.vw")
        asked = ["shared |u x=1", "|a one", "|a two"]
        return bool(np.allclose(again.predict(asked), vw.predict(asked)))


# Gaussian processes


@claim("scikit-learn", "kernels, Gaussian processes", "GaussianProcessRegressor")
@claim("scikit-learn", "own scales learnt", "GaussianProcessRegressor with WhiteKernel")
def _() -> object:
    theirs, rng = module("sklearn.gaussian_process"), np.random.default_rng(0)
    x = rng.uniform(0, 10, (150, 1))
    kernel = theirs.kernels.ConstantKernel() * theirs.kernels.RBF() + theirs.kernels.WhiteKernel()
    model = theirs.GaussianProcessRegressor(kernel).fit(x, 3 * np.sin(x[:, 0]) + 0.5 * rng.normal(size=150))
    _, deviation = model.predict(x[:3], return_std=True)
    return bool((deviation > 0).all()) and 0.3 < np.sqrt(model.kernel_.k2.noise_level) < 0.7


def _process() -> tuple[Any, Any, Any]:
    gpytorch, torch = module("gpytorch"), module("torch")
    torch.manual_seed(0)
    x = torch.linspace(0, 10, 60, dtype=torch.double)
    y = 3 * torch.sin(x) + 0.5 * torch.randn(60, dtype=torch.double)

    def forward(model: Any, x: Any) -> Any:
        return gpytorch.distributions.MultivariateNormal(model.mean_module(x), model.covar_module(x))

    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = type("Process", (gpytorch.models.ExactGP,), {"forward": forward})(x, y, likelihood)
    model.mean_module = gpytorch.means.ConstantMean()
    model.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())
    return model.double(), x, y


@claim("gpytorch", "kernels, Gaussian processes", "models.ExactGP")
def _() -> object:
    model, x, _ = _process()
    return bool((model.eval()(x[:3]).variance > 0).all())


@claim("gpytorch", "own scales learnt", "mlls.ExactMarginalLogLikelihood")
def _() -> object:
    gpytorch, torch = module("gpytorch"), module("torch")
    model, x, y = _process()
    evidence = gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model)
    steps = torch.optim.Adam(model.parameters(), lr=0.1)
    for _ in range(100):
        steps.zero_grad()
        (-evidence(model(x), y)).backward()
        steps.step()
    return 0.3 < float(model.likelihood.noise.sqrt()) < 0.8


@claim("gpytorch", "contexts known as a distribution", "kernels.DistributionalInputKernel (normal inputs)")
def _() -> object:
    gpytorch, torch = module("gpytorch"), module("torch")
    kernel = gpytorch.kernels.GaussianSymmetrizedKLKernel()
    sharp, vague = torch.tensor([[[0.0, -2.0]]]), torch.tensor([[[0.0, 2.0]]])  # mean, log variance
    return isinstance(kernel, gpytorch.kernels.DistributionalInputKernel) and float(
        kernel(sharp, sharp).to_dense()
    ) > float(kernel(sharp, vague).to_dense())


def _single() -> Any:
    torch = module("torch")
    torch.manual_seed(0)
    x = torch.rand(20, 1, dtype=torch.double)
    return module("botorch.models").SingleTaskGP(x, torch.sin(6 * x)), x


@claim("botorch", "kernels, Gaussian processes", "models.SingleTaskGP")
def _() -> object:
    model, x = _single()
    return bool((model.posterior(x[:3]).variance > 0).all())


@claim("botorch", "upper confidence bounds", "acquisition.UpperConfidenceBound")
@claim("botorch", "continuous actions", "optim.optimize_acqf")
def _() -> object:
    torch = module("torch")
    model, _ = _single()
    bound = module("botorch.acquisition").UpperConfidenceBound(model, beta=1.0)
    bounds = torch.tensor([[0.0], [1.0]], dtype=torch.double)
    found, _ = module("botorch.optim").optimize_acqf(bound, bounds=bounds, q=1, num_restarts=2, raw_samples=8)
    return 0 <= float(found) <= 1


@claim("botorch", "own scales learnt", "fit_gpytorch_mll")
def _() -> object:
    model, _ = _single()
    evidence = module("gpytorch.mlls").ExactMarginalLogLikelihood(model.likelihood, model)
    before = float(model.covar_module.lengthscale)
    module("botorch.fit").fit_gpytorch_mll(evidence)
    return float(model.covar_module.lengthscale) != before


@claim("botorch", "contexts known as a distribution", "InputPerturbation, one set of perturbations for all inputs")
def _() -> object:
    torch = module("torch")
    perturb = module("botorch.models.transforms.input").InputPerturbation
    made = perturb(torch.tensor([[-0.1], [0.1]], dtype=torch.double)).eval()
    return made(torch.tensor([[[0.5]]], dtype=torch.double)).shape[-2] == 2


def try_all() -> list[str]:
    """Run all programs; return what failed."""
    failed = []
    for one in CLAIMS:
        try:
            if not one.tried():
                failed.append(f"{one.package}: {one.name} does not do what “{one.row}” says")
        except Exception as error:  # what others raise may be anything
            failed.append(f"{one.package}: {one.name} ({one.row}) raised {type(error).__name__}: {error}")
    return failed


def mentions(imported: str) -> list[str]:
    """Return the modules of a package whose source speaks of contexts or inputs with an uncertainty of their own."""
    spec = find_spec(imported)
    assert spec is not None
    assert spec.submodule_search_locations
    folder = Path(spec.submodule_search_locations[0])
    return sorted(
        str(path.relative_to(folder.parent))
        for path in folder.rglob("*.py")
        if "test" not in str(path.relative_to(folder)) and WORDS.search(path.read_text(encoding="utf-8"))
    )


def report() -> dict[str, Any]:
    """Return the table: for each row, the name that provides it in each package that has it."""
    rows = [
        {"row": row, "must": must, "by": {one.package: one.name for one in CLAIMS if one.row == row}}
        for row, must in ROWS.items()
    ]
    return {
        "versions": {package: metadata.version(package) for package in PACKAGES},
        "tried": len(CLAIMS),
        "rows": rows,
        "mentions": {package: mentions(imported) for package, imported in PACKAGES.items() if package != "overcast"},
    }


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    logging.disable(logging.INFO)
    if failed := try_all():
        sys.exit("\n".join(failed))
    Path(sys.argv[1]).write_text(json.dumps(report(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
