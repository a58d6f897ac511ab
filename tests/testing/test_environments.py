"""An environment of one's own passes `check_environment`, and faulty ones do not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import overcast as oc
from overcast import testing
from overcast.environments import CoinFlip, Environment, Round, Trial, Trials


class _Env:
    """A coin flip whose rounds are changed on the way; not in lock-step."""

    def __init__(self, change: Callable[[Round], Round]) -> None:
        self._change = change

    def start(self, rng: np.random.Generator) -> Trial:
        return _Changed(CoinFlip().start(rng), self._change)


class _Changed:
    def __init__(self, trial: Trial, change: Callable[[Round], Round]) -> None:
        self.actions = trial.actions
        self._trial, self._change = trial, change

    def step(self, past: Any) -> Round:
        return self._change(self._trial.step(past))


def test_an_environment_of_ones_own() -> None:
    """Six standard errors, about 1e-8 a number."""
    testing.check_environment(_Env(lambda now: now))


def test_the_noise_of_ones_own_environment_may_depend_on_the_action() -> None:
    """Then it need not have mean zero, as where it is cut off at the end of a scale. Six standard errors, 1e-8."""
    testing.check_environment(_Env(lambda now: now._replace(epsilon=now.epsilon * np.array([1.0, -2.0]))))
    testing.check_environment(_Env(lambda now: now._replace(epsilon=np.maximum(now.epsilon, [0.0, -np.inf]))))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda now: now._replace(context=now.context[:1]), "context must have shape"),
        (lambda now: now._replace(rewards=now.rewards[:1]), "rewards must have shape"),
        (lambda now: now._replace(expected=now.expected * np.inf), "expected must be finite"),
        (lambda now: now._replace(epsilon=np.zeros(3)), r"epsilon must have shape \(2,\), got \(3,\)"),
        (lambda now: now._replace(epsilon=np.zeros((2, 2))), r"epsilon must have shape \(2,\), got \(2, 2\)"),
        (lambda now: now._replace(epsilon=np.array([0.0, np.nan])), "epsilon must be finite"),
        (
            lambda now: now._replace(epsilon=np.random.default_rng().normal(size=2)),
            "epsilon of round 1 with the same seed",
        ),
        (
            lambda now: now._replace(epsilon=float(np.random.default_rng().normal())),
            "epsilon of round 1 with the same seed",
        ),
        (lambda now: now._replace(epsilon=now.epsilon + 1.0), "epsilon must be the average"),
        (lambda now: now._replace(rewards=now.rewards + 0.5), "rewards - expected"),
        (lambda now: now._replace(context=now.context + 0.5), "point of the belief's support"),
        (lambda now: now._replace(belief=oc.Ensemble(np.eye(2))), "average of rewards over the support"),
    ],
)
def test_faulty_environments(change: Callable[[Round], Round], words: str) -> None:
    with pytest.raises(AssertionError, match=rf"^_Env: .*{words}"):
        testing.check_environment(_Env(change))


class _Boastful(CoinFlip):
    """States a parameter that is not the one behind its rewards."""

    def start_all(self, rngs: Sequence[np.random.Generator]) -> Trials:
        trials = super().start_all(rngs)
        trials.theta = np.array([0.0, 1.0, 0.9, 0.0])
        return trials


class _Entangled(CoinFlip):
    """Trials that share one generator."""

    def start_all(self, rngs: Sequence[np.random.Generator]) -> Trials:
        return super().start_all([np.random.default_rng(5 * len(rngs)) for _ in rngs])


@pytest.mark.parametrize(
    ("env", "words"), [(_Boastful(), "features times theta"), (_Entangled(), "in lock-step and alone")]
)
def test_faulty_lock_step(env: Environment, words: str) -> None:
    with pytest.raises(AssertionError, match=rf"^{type(env).__name__}: .*{words}"):
        testing.check_environment(env)


def test_something_else_is_no_environment() -> None:
    with pytest.raises(AssertionError, match=r"^object: must have a method start"):
        testing.check_environment(object())  # type: ignore[arg-type]
