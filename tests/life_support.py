"""Random lives of bandits, with their events."""

from __future__ import annotations

import copy
import math
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import strategies as st

import overcast as oc
from overcast import events, models
from overcast.features import Bilinear, Disjoint, Fourier, Linear, Polynomial, Quadratic
from overcast.kernels import RBF, Product

VECTORS = {"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [0.5, 0.25]}
KERNEL = Product(RBF(0.8), RBF(1.5))


class Made(NamedTuple):
    """What a bandit is made from."""

    actions: Any
    model: Any
    policy: Any
    options: dict[str, Any] = {}  # noqa: RUF012


CONFIGS: dict[str, Made] = {
    "ridge": Made(VECTORS, oc.LinearModel(Bilinear(), ridge=0.7), oc.UCB(1.5)),
    "learnt": Made(VECTORS, oc.LinearModel(Bilinear()), oc.UCB()),
    "polynomial": Made(VECTORS, oc.LinearModel(Polynomial(2)), oc.UCB()),
    "unnamed": Made(list(VECTORS.values()), oc.LinearModel(Linear()), oc.IDS()),
    "noise": Made(VECTORS, oc.LinearModel(Quadratic(), ridge=0.5, noise=0.3), oc.MostlyGreedy()),
    "forgetting": Made(VECTORS, oc.LinearModel(Bilinear(), window=8), oc.Greedy()),
    "disjoint": Made(["a", "b", "c"], oc.LinearModel(Disjoint(3)), oc.UCB()),
    "disjoint, ridge": Made(["a", "b", "c"], oc.LinearModel(Disjoint(3), ridge=1.0), oc.UCB(1.0)),
    "sampled": Made(VECTORS, oc.LinearModel(Bilinear()), oc.UCB(), {"samples": 3}),
    "random": Made(VECTORS, oc.LinearModel(Bilinear()), oc.Thompson()),
    "repeated": Made(VECTORS, oc.LinearModel(Bilinear()), oc.Repeated(oc.PerturbedHistory(), 5), {"samples": "t"}),
    "epsilon": Made(VECTORS, models.MeanContext(oc.LinearModel(Quadratic(), ridge=1.0)), oc.EpsilonGreedy(0.3)),
    "recalibrating": Made(VECTORS, oc.LinearModel(Bilinear()), oc.UCB(), {"recalibrate": True}),
    "history": Made(VECTORS, oc.LinearModel(Bilinear()), oc.UCB(), {"history": 6, "recalibrate": True}),
    "many features": Made(VECTORS, oc.LinearModel(Fourier(KERNEL, 60)), oc.UCB()),
    "kernel, ridge": Made(VECTORS, oc.KernelModel(KERNEL, ridge=0.5), oc.UCB(1.0)),
    "kernel, scales": Made(VECTORS, oc.KernelModel(KERNEL), oc.UCB()),
    "kernel": Made(VECTORS, oc.KernelModel(), oc.UCB()),
    "profile": Made(VECTORS, models.FixedProfile(Bilinear()), oc.UCB(1.0)),
    "noisy": Made(VECTORS, models.NoisyContext(Bilinear()), oc.UCB(1.0), {"samples": 2}),
    "exp4": Made(VECTORS, models.Exp4(Bilinear(), 5), oc.Proportional()),
}
# Kinds of steps; those at the end are questions and failures, which leave no event.
STEPS = (
    *("decide", "learn", "late", "forget", "observe", "many", "add", "change", "retire", "policy", "fit", "merge"),
    *("ask", "copy", "reload", "fail"),
)


def lives(name: str) -> st.SearchStrategy[list[str]]:
    """Return random lists of steps, most of them decisions and rewards."""
    often = [step for step in STEPS for _ in range(5 if step in ("decide", "learn", "late") else 1)]
    return st.lists(st.sampled_from(often), min_size=5, max_size=40)


def closed_log(config: Any, *happened: Any) -> list[Any]:
    """Return a configuration and events as a log that is closed."""
    out = [config]
    for event in (*happened, events.closed()):
        out.append(events.chained(event, after=out[-1]))
    return out


class Life:
    """A bandit that takes steps, and the events of its life; the same name and seed lead to the same life.

    named : whether all decisions get ids that do not depend on the process
    """

    def __init__(self, name: str, seed: int, named: bool = False) -> None:
        self.named = named
        self.made = CONFIGS[name]
        actions, model, policy, options = self.made
        self.bandit = oc.Bandit(actions, model, policy, seed=seed, **options)
        self.config = events.config(actions, model, policy, seed=seed, **options)
        self.events: list[dict[str, Any]] = []
        self.rng = np.random.default_rng(seed)
        self.open: list[oc.Decision] = []
        self.steps = 0

    def live(self, steps: int) -> None:
        """Take some steps of all kinds."""
        for _ in range(steps):
            self.take(str(self.rng.choice(["decide", "learn", "decide", "learn", *STEPS])))

    def take(self, step: str) -> None:
        self.steps += 1
        getattr(self, f"_{step}")()

    def _happened(self, event: dict[str, Any]) -> None:
        self.events.append(events.chained(event, after=self.events[-1] if self.events else self.config))

    def _belief(self) -> oc.Belief:
        mean = self.rng.normal(size=2)
        kinds: list[Callable[[], oc.Belief]] = [
            lambda: oc.Gaussian(mean, [0.3, 0.2]),
            lambda: oc.Gaussian(mean, [[0.3, 0.1], [0.1, 0.2]]),
            lambda: oc.Ensemble(mean + self.rng.normal(size=(4, 2))),
            lambda: oc.PointMass(mean),
        ]
        return kinds[int(self.rng.integers(len(kinds)))]()

    def _context(self) -> Any:
        kind = int(self.rng.integers(2 if isinstance(self.bandit.model, models.NoisyContext) else 3))
        values = self.rng.normal(size=2)
        return None if kind == 0 else values if kind == 1 else oc.Gaussian(values, [0.1, 0.0])

    def _decide(self) -> None:
        names = self.bandit.actions.names
        active = np.flatnonzero(self.bandit.actions.active).tolist()
        some = [active[0], active[-1]] if len(active) > 1 and self.rng.random() < 0.2 else None
        if some is not None and names is not None:
            some = [names[i] for i in some]
        mine = f"mine {self.steps}" if self.rng.random() < 0.3 or self.named else None
        decision = self.bandit.decide(self._belief(), available=some, id=mine)
        self.open.append(decision)
        self._happened(events.decided(decision))

    def _learn(self) -> None:
        self._reward(-1)

    def _late(self) -> None:
        self._reward(0)

    def _reward(self, at: int) -> None:
        if not self.open:
            self._decide()
        decision, reward, context = self.open.pop(at), float(self.rng.normal()), self._context()
        self.bandit.learn(decision, reward, context)
        self._happened(events.learnt(decision, reward, context))

    def _forget(self) -> None:
        if self.open:
            decision = self.open.pop()
            self.bandit.forget(decision)
            self._happened(events.forgotten(decision))

    def _observe(self) -> None:
        if self.bandit.model.takes_history:
            given = self._action(), self._belief(), float(self.rng.normal()), self._context()
            self.bandit.observe(*given)
            self._happened(events.observed(*given))

    def _many(self) -> None:
        if self.bandit.model.takes_history:
            actions = [self._action() for _ in range(4)]
            beliefs: Any = (
                self.rng.normal(size=(4, 2)) if self.rng.random() < 0.5 else [self._belief() for _ in range(4)]
            )
            contexts: Any = (
                self.rng.normal(size=(4, 2)) if self.rng.random() < 0.5 else [self._context() for _ in range(4)]
            )
            given = actions, beliefs, self.rng.normal(size=4), contexts
            self.bandit.observe(*given)
            self._happened(events.observed(*given))

    def _action(self) -> Any:
        actions = self.bandit.actions
        index = int(self.rng.integers(len(actions)))
        return index if actions.names is None else actions.names[index]

    def _add(self) -> None:
        if self.bandit.model.fixed_actions:
            return
        new: Any = {f"new {self.steps}": self.rng.normal(size=2).tolist()}
        if self.bandit.model.labels:
            new = [f"new {self.steps}"]
        elif self.bandit.actions.names is None:
            new = self.rng.normal(size=(2, 2))
        self.bandit.add_actions(new)
        self._happened(events.added(new))

    def _change(self) -> None:
        model, names = self.bandit.model, self.bandit.actions.names
        if model.fixed_actions or model.labels or names is None or isinstance(model, models.FixedProfile):
            return
        new = {names[int(self.rng.integers(len(names)))]: self.rng.normal(size=2).tolist()}
        self.bandit.add_actions(new)
        self._happened(events.added(new))

    def _retire(self) -> None:
        actions = self.bandit.actions
        if self.bandit.model.fixed_actions or actions.active.sum() < 2:
            return
        index = int(np.flatnonzero(actions.active)[0])
        item = index if actions.names is None else actions.names[index]
        self.bandit.retire([item])
        self._happened(events.retired([item]))

    def _policy(self) -> None:
        policy = [self.made.policy, oc.Greedy(), oc.Thompson(0.5), oc.UCB(2.0)][int(self.rng.integers(4))]
        if not isinstance(self.bandit.model, models.Exp4):
            self.bandit.policy = policy
            self._happened(events.policy(policy))

    def _fit(self) -> None:
        enough = self.bandit.learnt.rounds >= 4
        if isinstance(self.bandit.model, oc.KernelModel) and enough and self.rng.random() < 0.3:
            fit = self.bandit.fit_hyperparameters()
            self._happened(events.fitted(fit))

    def _merge(self) -> None:
        if self.bandit.model != self.made.model:  # of other actions or parameters
            return
        actions, model, policy, options = self.made
        other = oc.Bandit(actions, model, policy, seed=7, **options)
        for t in range(3):
            decision = other.decide(oc.Gaussian([math.sin(t), 1.0], 0.3))
            other.learn(decision, math.cos(t))
        try:
            event = events.merged(other)
            self.bandit.merge(other)
        except ValueError:  # actions have other vectors by now
            return
        self._happened(event)

    def _ask(self) -> None:
        self.bandit.estimate(self._belief())
        assert self.bandit.learnt.rounds >= 0
        assert repr(self.bandit)

    def _copy(self) -> None:
        self.bandit = copy.deepcopy(self.bandit)

    def _reload(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "bandit")
            self.bandit.save(path)
            self.bandit = oc.Bandit.load(path)

    def _fail(self) -> None:
        for call in (
            lambda: self.bandit.decide(oc.Sampler(lambda n, rng: rng.normal(size=(n, 3)), 2)),
            lambda: self.bandit.observe(self._action(), [1.0, 2.0], math.nan),
            lambda: self.bandit.learn("nothing", 1.0),
            lambda: self.bandit.retire("nobody"),
        ):
            with pytest.raises((ValueError, TypeError)):
                call()
        if isinstance(self.bandit.model, oc.KernelModel):
            return
        huge = [self._action()] * 3, [[1.0, 2.0], [1e300, 1e300], [0.0, 1.0]], [1.0, 2.0, 3.0]
        with np.errstate(all="ignore"), suppress(ValueError, TypeError):
            self.bandit.observe(*huge)
            self._happened(events.observed(*huge))  # waves take them
