"""A policy of one's own passes `check_policy`, and faulty ones do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from overcast import testing
from overcast._check import Array
from overcast.beliefs.base import Generators
from overcast.models import Progress
from overcast.policies import Outlook, Policy


class _Policy(Policy):
    lockstep = True

    def __init__(self, scores: Callable[[Outlook, Progress, Any], Any]) -> None:
        self._scores = scores

    def scores(self, outlook: Outlook, progress: Progress, rng: Generators) -> Array:
        return np.asarray(self._scores(outlook, progress, rng))


def _in_place(outlook: Outlook, progress: Progress, rng: Any) -> Array:
    np.maximum(outlook.mean, 0.0, out=outlook.mean)
    return outlook.mean


def _perturbed(outlook: Outlook, progress: Progress, rng: Any) -> Array:
    if isinstance(rng, np.random.Generator):
        return outlook.mean + rng.normal(size=outlook.mean.shape)
    return np.stack([m + g.normal(size=m.shape) for m, g in zip(outlook.mean, rng, strict=True)])


def test_a_random_policy_of_ones_own() -> None:
    testing.check_policy(_Policy(_perturbed))


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        (lambda e, p, rng: e.mean[..., :-1], "scores must have shape"),
        (lambda e, p, rng: e.mean * np.nan, "must be finite"),
        (lambda e, p, rng: np.where(e.width > 0.5, np.inf, e.mean), "must be finite"),
        (lambda e, p, rng: np.where(e.mean.ndim == 2, -np.inf, e.mean), "lock-step.* -inf for the same actions"),
        (lambda e, p, rng: e.mean + np.random.default_rng().random(e.mean.shape), "same seed"),
        (lambda e, p, rng: e.mean - e.mean.mean(), "lock-step"),
        (_in_place, "leave the estimate"),
    ],
)
def test_faulty_policies(scores: Callable[[Outlook, Progress, Any], Any], words: str) -> None:
    with pytest.raises(AssertionError, match=rf"^_Policy: .*{words}"):
        testing.check_policy(_Policy(scores))


@pytest.mark.parametrize(
    ("law", "words"),
    [
        (np.full(4, 0.3), "add up to 1, got 1.2"),
        (np.ones(1), r"shape \(4,\)"),
        (2.0 - np.arange(4.0), ">= 0"),
    ],
)
def test_faulty_laws(law: Array, words: str) -> None:
    class Lawful(_Policy):
        def law(self, outlook: Outlook, progress: Progress) -> Array:
            return law

    with pytest.raises(AssertionError, match=rf"^Lawful: law.*{words}"):
        testing.check_policy(Lawful(_perturbed))
