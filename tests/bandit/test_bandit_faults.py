"""A call that fails changes nothing, whatever fails."""

from __future__ import annotations

import contextlib
import warnings
from typing import Any

import numpy as np
import pytest

import overcast as oc
from life_support import CONFIGS
from memory_support import differences, unchanged
from overcast import models
from overcast._check import Array
from overcast.features import Bilinear, Function, Linear, Polynomial, Quadratic
from overcast.kernels import RBF, Product
from overcast.models.kernel import untuned
from support import refused

PRODUCT = Product(RBF(1.3), RBF(0.7))


def _made(name: str) -> oc.Bandit:
    made = CONFIGS[name]
    return oc.Bandit(made.actions, made.model, made.policy, **made.options)


def test_a_sampler_that_fails_when_evidence_is_made_moves_no_draw() -> None:
    """Evidence of a variance-aware model asks for the covariance, which a sampler estimates from draws."""
    mood = {"fails": True}

    def draw(n: int, rng: np.random.Generator) -> Array:
        out = rng.normal(size=(n, 2))
        if n > 100 and mood["fails"]:
            raise RuntimeError("no weather today")
        return out

    bandits = [oc.Bandit(np.eye(2), oc.LinearModel(Quadratic()), oc.Thompson(), samples=3, seed=4) for _ in range(2)]
    with unchanged(bandits[0]), pytest.raises(RuntimeError, match="no weather"):
        bandits[0].decide(oc.Sampler(draw, 2))
    mood["fails"] = False
    decisions = [bandit.decide(oc.Sampler(draw, 2)) for bandit in bandits]
    assert decisions[0].index == decisions[1].index
    assert (decisions[0].mean, decisions[0].score) == (decisions[1].mean, decisions[1].score)
    assert [name for name in differences(*bandits) if name != "open"] == []


@pytest.mark.parametrize("name", CONFIGS)
def test_the_callers_own_settings_of_what_is_an_error_do_no_harm(name: str) -> None:
    """Under np.errstate(all="raise") and warnings as errors, a call works, or fails and changes nothing."""
    rng = np.random.default_rng(1)
    strict, plain = _made(name), _made(name)
    for t in range(25):
        scale = 10.0 ** rng.integers(-170, 3) if t % 4 == 3 else 1.0
        belief, reward = oc.Gaussian(scale * rng.normal(size=2), scale * scale), scale * float(rng.normal())
        try:
            with np.errstate(all="raise"):
                decision = strict.decide(belief, id=str(t))
        except (FloatingPointError, ValueError):
            continue
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            plain.adopt(decision)
        try:
            with np.errstate(all="raise"), unchanged_on_failure(strict):
                strict.learn(decision, reward)
        except (FloatingPointError, ValueError):
            strict.forget(decision)
            plain.forget(decision)
        else:
            plain.learn(decision, reward)
        assert differences(strict, plain) == []


class unchanged_on_failure:  # noqa: N801 - it reads as a phrase
    def __init__(self, bandit: oc.Bandit) -> None:
        self._bandit = bandit

    def __enter__(self) -> None:
        self._context = unchanged(self._bandit)
        self._context.__enter__()

    def __exit__(self, kind: Any, *error: Any) -> None:
        if kind is not None:
            self._context.__exit__(None, None, None)


@pytest.mark.parametrize(
    "model",
    [oc.LinearModel(Bilinear(), ridge=0.3), models.NoisyContext(Bilinear()), oc.KernelModel(), oc.KernelModel(PRODUCT)],
    ids=repr,
)
@pytest.mark.parametrize("how", ["learn", "observe"])
def test_learning_does_not_depend_on_what_the_caller_calls_an_error(model: Any, how: str) -> None:
    strict, plain = (oc.Bandit({"a": [1.0, 2.0], "b": [0.5, -1.0]}, model, oc.Greedy()) for _ in range(2))
    for t, power in enumerate([*range(-165, 3, 8), *range(2, -165, -8)]):
        context = 10.0**power * np.array([1.0, (-1.0) ** t])
        for bandit in (plain, strict):
            with np.errstate(all="ignore"):
                decision = bandit.decide(context, id=str(t))
            settings = np.errstate(all="raise" if bandit is strict else "ignore")
            with settings, contextlib.suppress(FloatingPointError), unchanged_on_failure(bandit):
                if how == "learn":
                    bandit.learn(decision, 10.0 ** (power / 2.0))
                else:
                    bandit.observe("a", context, 10.0 ** (power / 2.0))
        if how == "learn":
            assert differences(strict, plain) == []


@pytest.mark.parametrize("model", [oc.KernelModel(), oc.KernelModel(PRODUCT)], ids=repr)
def test_a_fit_that_is_interrupted_leaves_no_round(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, bandit = np.random.default_rng(0), oc.Bandit({"a": [1.0, 2.0], "b": [0.5, -1.0]}, model, oc.UCB())

    def interrupted(*given: Any) -> None:
        raise KeyboardInterrupt

    for _ in range(40):
        decision, reward = bandit.decide(rng.normal(size=2)), float(rng.normal())
        with monkeypatch.context() as patch:
            patch.setattr(untuned.UntunedLearner, "_factorise", interrupted)
            with contextlib.suppress(KeyboardInterrupt), unchanged_on_failure(bandit):
                bandit.learn(decision, reward)
                continue
        bandit.learn(decision, reward)
    assert bandit.learnt.rounds == 40


@pytest.mark.parametrize("at", ["_refit", "_renew", "_append"])
def test_a_failure_in_the_middle_of_learning_leaves_no_round(at: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bandit = oc.Bandit(np.eye(2), oc.LinearModel(Bilinear(), window=5), oc.UCB())
    for _ in range(4):
        bandit.learn(bandit.decide([1.0, 2.0]), 1.0)
    decision = bandit.decide([1.0, 2.0])
    fit = type(bandit.state.learner.fit)  # type: ignore[union-attr]
    own = getattr(fit, at)

    def fails(self: Any, *given: Any) -> None:
        own(self, *given)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(fit, at, fails)
        with unchanged(bandit), pytest.raises(KeyboardInterrupt):
            bandit.learn(decision, 1.0)
    bandit.learn(decision, 1.0)


@pytest.mark.parametrize(
    "model",
    [oc.LinearModel(Polynomial(2)), oc.LinearModel(Linear()), oc.LinearModel(Bilinear(), ridge=0.3, noise=0.2)],
    ids=repr,
)
@pytest.mark.parametrize("size", [1e-164, 1e-72, 1e82, 1e160])
@pytest.mark.parametrize("reward", [1.0, 1e108])
def test_numbers_that_no_file_could_hold_are_refused_at_once(model: Any, size: float, reward: float) -> None:
    for before in (0, 3):
        rng = np.random.default_rng(0)
        bandit = oc.Bandit({"a": [1.0, 2.0], "b": [0.5, -1.0]}, model, oc.Greedy())
        for _ in range(before):
            bandit.observe("a", rng.normal(size=2), float(rng.normal()))
        with np.errstate(all="ignore"), contextlib.suppress(ValueError), unchanged_on_failure(bandit):
            bandit.observe("b", size * np.array([1.0, -1.0]), reward)
        for _ in range(8):
            bandit.observe("a", rng.normal(size=2), float(rng.normal()))
        assert differences(oc.Bandit.from_bytes(bandit.to_bytes()), bandit) == []


@pytest.mark.parametrize("outcome", [1e151, -1.79e308, 1e155])
@pytest.mark.parametrize("model", [oc.KernelModel(), oc.LinearModel(Bilinear(), ridge=1.0)], ids=repr)
def test_outcomes_that_no_correction_can_take_are_refused_at_once(outcome: float, model: Any) -> None:
    """A file's value for missing data, say: the bandit goes on as before."""
    bandit = oc.Bandit({"a": [1.0, 0.0], "b": [0.0, 1.0]}, model, oc.UCB(), recalibrate=True)
    for t in range(5):
        bandit.learn(bandit.decide(oc.Gaussian([float(t), 1.0], 0.5)), 1.0, context=[t + 1.0, 1.0])
    decision = bandit.decide(oc.Gaussian([1.0, 1.0], 0.5))
    with (
        unchanged(bandit),
        pytest.raises(ValueError, match=r"^(Recalibrated|LinearModel|KernelModel): "),
        np.errstate(all="ignore"),
    ):
        bandit.learn(decision, 1.0, context=[outcome, 1.0])
    assert repr(bandit)
    bandit.learn(decision, 1.0, context=[2.0, 1.0])
    assert np.isfinite(bandit.estimate(oc.Gaussian([1.0, 1.0], 0.5)).mean).all()


def test_forecasts_that_no_correction_can_take_are_refused_at_once() -> None:
    bandit = oc.Bandit(np.eye(2), oc.KernelModel(), oc.UCB(), recalibrate=True)
    with unchanged(bandit), refused(ValueError, "Recalibrated", "belief must hold numbers of size 1e+150 at most"):
        bandit.decide(oc.Gaussian([1e160, 1.0], 0.5))


def _square(x: Array, c: Array) -> Array:
    return np.asarray(x[:, None, :] * c[None] ** 2)


@pytest.mark.parametrize("step", ["extend", "at"])
def test_a_failed_change_of_actions_changes_nothing(step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bandit = oc.Bandit({"a": [1.0], "b": [2.0]}, oc.LinearModel(Function(_square, 1), ridge=1.0), oc.UCB(1.0))
    bandit.learn(bandit.decide([1.0]), 1.0)

    def fails(*_: Any) -> None:
        raise RuntimeError("no room")

    monkeypatch.setattr(type(bandit.state.learner), step, fails)
    with unchanged(bandit), pytest.raises(RuntimeError, match="no room"):
        bandit.add_actions({"c": [3.0]})


@pytest.mark.parametrize("given", [{}, {"ridge": 1.0}], ids=str)
@pytest.mark.parametrize("vector", [[0.0, 0.0, 2.0], [0.5, 0.5], [0.0, 0.0, 0.0]], ids=str)
def test_vectors_that_are_no_unit_vectors_change_no_blocks(given: Any, vector: list[float]) -> None:
    model = oc.LinearModel(oc.features.Disjoint(2), **given)
    bandit = oc.Bandit({"a": [1.0, 0.0], "b": [0.0, 1.0]}, model, oc.UCB(1.0))
    bandit.learn(bandit.decide([1.0]), 1.0)
    before = bandit.estimate([2.0])
    with unchanged(bandit), pytest.raises(ValueError, match=r"^Disjoint: actions must be unit vectors"):
        bandit.add_actions({"c": vector})
    np.testing.assert_array_equal(bandit.estimate([2.0]), before)
    bandit.learn(bandit.decide([1.0]), 2.0)


def test_profiles_of_functions_take_no_new_actions() -> None:
    """Their profiles are averages of features that were computed round by round."""
    model = models.FixedProfile(Function(_square, 1))
    bandit = oc.Bandit({"a": [1.0], "b": [2.0]}, model, oc.UCB(1.0))
    bandit.learn(bandit.decide([1.0]), 1.0)
    before = bandit.estimate([2.0])
    for vectors in ({"c": [3.0]}, {"a": [3.0]}):
        with unchanged(bandit), refused(ValueError, "FixedProfile", "actions must be those that it started with"):
            bandit.add_actions(vectors)
    np.testing.assert_array_equal(bandit.estimate([2.0]), before)
    bandit.learn(bandit.decide([1.0]), 2.0)


def test_a_failed_fit_changes_nothing() -> None:
    bandit = _made("ridge")
    bandit.learn(bandit.decide([1.0, 2.0]), 1.0)
    with unchanged(bandit), refused(TypeError, "fit_hyperparameters", "KernelModel"):
        bandit.fit_hyperparameters()
    with unchanged(bandit), refused(TypeError, "Bandit", "relearn needs a KernelModel"):
        bandit.relearn(oc.KernelModel())
    kernel = _made("kernel")
    kernel.learn(kernel.decide([1.0, 2.0]), 1.0)
    with unchanged(kernel), refused(ValueError, "fit_hyperparameters", "at least 2 rewards"):
        kernel.fit_hyperparameters()


def test_profiles_and_experts_stay_whole() -> None:
    for model, policy in (
        (models.FixedProfile(Bilinear()), oc.UCB(1.0)),
        (models.Exp4(Bilinear(), 3), oc.Proportional()),
    ):
        bandit = oc.Bandit(np.eye(2), model, policy)
        bandit.learn(bandit.decide([1.0, 2.0]), 1.0)
        decision = bandit.decide([1.0, 2.0])
        with unchanged(bandit), refused(ValueError, "Bandit", "context"):
            bandit.learn(decision, 1.0, context=[1.0])
