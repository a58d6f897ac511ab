"""The bandit: decide under a belief, learn from the reward."""

from __future__ import annotations

import copy
import os
import uuid
from contextlib import AbstractContextManager, nullcontext
from itertools import islice, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from overcast import _check, _records, _storage
from overcast._check import Array
from overcast._threads import one_thread
from overcast.actions import Actions
from overcast.beliefs import Belief, as_belief
from overcast.beliefs.base import Beliefs
from overcast.beliefs.stacked import certain
from overcast.calibration import Recalibrated
from overcast.decision import Decision
from overcast.models.base import Estimate, LastingLearner, Model
from overcast.models.kernel.hyperparameters import Fitted, fit_hyperparameters
from overcast.models.kernel.learner import KeepsRounds
from overcast.policies.base import Policy
from overcast.round import Samples, check_pair, check_samples, choose, draws

# Rewards beyond this would overflow when they are added up.
MAX_REWARD = 1e150

# A bandit that was saved and loaded very often knows the marks of so many earlier instances; it says of older
# decisions only that it does not know them.
KNOWN_TOKENS = 100

# Open decisions, the latest, that count as if they had paid what is expected of them.
MAX_AWAITED = 256

_NO_HOLD: AbstractContextManager[None] = nullcontext()


class Waiting(NamedTuple):
    """A decision whose reward has not come.

    action : the index of the action taken
    round : the number of the decision, counting from 1
    evidence : what the learner will learn from
    stated : mean and spread (2, c) that the belief states for itself; None unless the bandit recalibrates
    """

    action: int
    round: int
    evidence: Any
    stated: Array | None


class Learnt(NamedTuple):
    """What a bandit has learnt so far.

    rounds : rewards taken in
    open : decisions whose reward has not come
    noise : standard deviation of the noise of rewards, given or learnt; None if the model does not know it (yet)
    ridge : lambda, given or learnt; None if the model has none, or does not know it yet
    theta : the estimated parameter of each feature by its name, with x1, x2, ... for the coordinates of an action and
        c1, c2, ... for those of a context; None if the model has none, or before the first decision
    """

    rounds: int
    open: int
    noise: float | None
    ridge: float | None
    theta: dict[str, float] | None


class Bandit:
    """Chooses actions when the context is known only as a distribution (Algorithms 1, 2 and 3).

    Parameters
    ----------
    actions : (k, a) array, mapping name -> vector, DataFrame (index = names), or a list of names (unit vectors)
    model : how rewards are estimated, e.g. `LinearModel(features)`
    policy : how estimates become a choice, e.g. `UCB()`
    samples : None for the exact expectation, L for the average of L draws of the belief per round, "t" for L = t
    seed : of the bandit's own randomness, a whole number or a numpy SeedSequence
    recalibrate : True to correct forecasts by the contexts revealed so far; `recalibrated` shows the correction. Or a
        `Recalibrated` that has learnt from an archive, which the bandit copies

    Threads that share a bandit need a lock around its calls.

    Examples
    --------
    >>> import overcast as oc
    >>> bandit = oc.Bandit({"early": [1, 0], "late": [0, 1]}, oc.LinearModel(oc.features.Bilinear()), oc.UCB())
    >>> forecast = oc.Gaussian([20.0, 1.0], [4.0, 0.1])
    >>> decision = bandit.decide(forecast)
    >>> decision.action
    'early'
    >>> bandit.learn(decision, reward=-1.0)  # the weather stays unknown
    >>> decision = bandit.decide(forecast)
    >>> decision.action
    'late'
    >>> bandit.learn(decision, reward=2.0, context=[18.0, 1.2])  # here it was measured afterwards
    """

    def __init__(
        self,
        actions: Any,
        model: Model,
        policy: Policy,
        samples: Samples = None,
        seed: int | np.random.SeedSequence = 0,
        recalibrate: bool | Recalibrated = False,
    ) -> None:
        check_pair("Bandit", model, policy)
        self._actions = Actions(actions)
        self._model = model
        self._policy = policy
        self._samples = check_samples("Bandit", samples)
        if not isinstance(seed, np.random.SeedSequence):
            seed = _check.integer("Bandit", "seed", seed, at_least=0)
        self._rng = np.random.default_rng(seed)
        self._tokens = [_token()]  # this instance's mark on its decisions, after those it was loaded from
        self._round = 0  # decisions made
        self._rewards = 0  # rewards taken in
        self._rewarded = 0  # the latest of the decisions that have their reward
        self._open: dict[str, Waiting] = {}
        self._dim: int | None = None  # context dimension, fixed by the first decision
        self._learner: LastingLearner | None = None
        self._recalibrated = _recalibrated(recalibrate)

    @property
    def actions(self) -> Actions:
        """The action set."""
        return self._actions

    @property
    def model(self) -> Model:
        """How rewards are estimated."""
        return self._model

    @property
    def samples(self) -> Samples:
        """How expectations are taken."""
        return self._samples

    @property
    def recalibrated(self) -> Recalibrated | None:
        """The correction of forecasts, as learnt so far; None unless the bandit recalibrates."""
        return self._recalibrated

    @property
    def policy(self) -> Policy:
        """How estimates become a choice. It may be replaced at any time: `bandit.policy = oc.Greedy()`."""
        return self._policy

    @policy.setter
    def policy(self, policy: Policy) -> None:
        check_pair("Bandit", self._model, policy)
        self._policy = policy

    @property
    def learnt(self) -> Learnt:
        """What was learnt so far: noise, ridge, theta by feature name, rounds and open decisions.

        Examples
        --------
        >>> import overcast as oc
        >>> bandit = oc.Bandit(["a", "b"], oc.LinearModel(oc.features.Disjoint(2), ridge=1.0), oc.UCB())
        >>> bandit.learn(bandit.decide([2.0]), reward=5.0)
        >>> bandit.learnt
        Learnt(rounds=1, open=0, noise=None, ridge=1.0, theta={'x1 c1': 2.0, 'x2 c1': 0.0})
        """
        if self._learner is None:
            return Learnt(self._rewards, len(self._open), None, None, None)
        return Learnt(self._rewards, len(self._open), *self._learner.parameters)

    def estimate(self, belief: Any) -> Estimate:
        """Return mean and width of all k actions under a belief; with `samples`, from the next decision's draws."""
        belief, _ = self._corrected(as_belief(belief))
        learner = self._learner_for(belief)
        before = self._rng.bit_generator.state
        with _threads_for(learner):
            try:
                view = self._model.view(learner, belief, draws(self._samples, self._round + 1), self._rng)
            finally:
                self._rng.bit_generator.state = before
            return learner.estimate(view)

    def decide(self, belief: Any, available: Any = None) -> Decision:
        """Choose an action.

        Parameters
        ----------
        belief : what is known about the context, or anything `as_belief` takes
        available : the actions that may be taken now, by names, indices or a mask; None for all
        """
        mask = None if available is None else self._actions.mask(available)
        belief, stated = self._corrected(as_belief(belief))
        learner, t = self._learner_for(belief), self._round + 1
        random = self._samples is not None or self._policy.random
        before = self._rng.bit_generator.state if random else None
        waiting, share = self._awaited()
        try:
            with _threads_for(learner):
                choice = choose(
                    self._model, learner, self._policy, belief, t, self._samples, self._rng, mask, waiting, share
                )
                index = int(choice.action)
                evidence = learner.evidence(choice.view, index)
        except BaseException:
            if before is not None:
                self._rng.bit_generator.state = before  # a failed call changes nothing
            raise
        ticket = f"{self._tokens[-1]}-{t}"
        self._open[ticket] = Waiting(index, t, evidence, stated)
        self._round, self._learner, self._dim = t, learner, belief.dim
        return Decision(ticket, self._actions, index, choice.estimate, choice.scores)

    def learn(self, decision: Decision | str, reward: float, context: ArrayLike | Belief | None = None) -> None:
        """Take in the reward of a decision, at any time and in any order, once.

        Parameters
        ----------
        decision : what `decide` returned, or its id, which outlives the process when the bandit is saved
        reward : y_t; True and False count as 1 and 0
        context : c_t if it was revealed afterwards (Algorithm 2); None if it stays hidden (Algorithm 1); a belief if it
            was measured in part or with error
        """
        ticket = self._ticket(decision)
        reward = _reward(reward)
        index, made, evidence, stated = self._open[ticket]
        assert self._learner is not None
        if context is not None:
            with _threads_for(self._learner):
                revealed = self._model.view(self._learner, self._revealed(context))
                if self._model.uses_context:
                    evidence = self._learner.evidence(revealed, index)
        lesson = None
        if self._recalibrated is not None and stated is not None and context is not None:
            lesson = self._recalibrated.lesson(stated, context)
        with _threads_for(self._learner):
            self._learner.learn(evidence, reward)
        if self._recalibrated is not None and lesson is not None:
            self._recalibrated.take(lesson)
        self._rewards += 1
        self._rewarded = max(self._rewarded, made)
        del self._open[ticket]

    def forget(self, decision: Decision | str) -> None:
        """Stop waiting for the reward of a decision, and free the memory that was kept to learn from it."""
        del self._open[self._ticket(decision)]

    def _awaited(self) -> tuple[list[Any], float]:
        """Return the evidence of the latest open decisions, and the share of them whose reward is likely to come.

        Of the decisions since the oldest of them and up to the latest one with a reward, some have their reward. Their
        share is taken for the share that gets one at all; it is 1 if rewards come in order.
        """
        if not self._open:
            return [], 1.0
        latest = list(islice(reversed(self._open.values()), MAX_AWAITED))
        overtaken = sum(one.round <= self._rewarded for one in latest)
        since = self._rewarded - latest[-1].round + 1
        return [one.evidence for one in latest], 1.0 - overtaken / since if overtaken else 1.0

    def _ticket(self, decision: Decision | str) -> str:
        """Return the id of an open decision of this bandit."""
        if not isinstance(decision, (Decision, str)):
            raise TypeError(f"Bandit: decision must be what decide() returned or its id, got {type(decision).__name__}")
        ticket = decision if isinstance(decision, str) else decision.id
        if ticket in self._open:
            return ticket
        token, _, number = ticket.rpartition("-")
        made = number.isdecimal() and len(number) <= len(str(self._round)) and 1 <= int(number) <= self._round
        if token in self._tokens and made:
            raise ValueError(
                f"Bandit: decision must be open, got {ticket}, which has its reward already or was forgotten"
            )
        raise ValueError(f"Bandit: decision must be one that this bandit made, got {_check.short(ticket)} of another")

    def fit_hyperparameters(self) -> Fitted:
        """Fit the kernel's parameters and the ridge to the rewards so far, and go on with them.

        The bandit learns all rounds again under the new model, and open decisions stay open. The policy stays as it is;
        check its beta, because widths change with the ridge. `models.fit_hyperparameters` says how the fit works. If it
        fails, nothing changes.

        Examples
        --------
        >>> import math, overcast as oc
        >>> model = oc.KernelModel(oc.kernels.Product(oc.kernels.RBF(0.1), oc.kernels.RBF(0.1)), ridge=1.0)
        >>> bandit = oc.Bandit([[0.0], [1.0]], model, oc.UCB(1.0))
        >>> for i in range(20):
        ...     decision = bandit.decide(oc.Gaussian([math.cos(i)], 0.01))
        ...     bandit.learn(decision, reward=decision.index * math.cos(i) + 0.1 * math.sin(9 * i))
        >>> fit = bandit.fit_hyperparameters()
        >>> bandit.model == fit.model
        True
        >>> bandit.policy = oc.UCB(2.0 * fit.noise)  # two standard deviations above the mean
        """
        with one_thread():
            fit, old = fit_hyperparameters(self._model, self._learner), self._learner
            assert isinstance(old, KeepsRounds)
            assert self._dim is not None
            learner = fit.model.start(self._actions.vectors, self._dim)
            for evidence, reward in old.rounds():
                learner.learn(learner.adopt(evidence), reward)
        waiting = {ticket: one._replace(evidence=learner.adopt(one.evidence)) for ticket, one in self._open.items()}
        self._model, self._learner, self._open = fit.model, learner, waiting
        return fit

    def merge(self, other: Bandit) -> None:
        """Add what another bandit with the same actions and model has learnt.

        Rewards that both have seen would count twice, so do not merge copies of one bandit. Open decisions, and the
        number of decisions made, stay as they are.
        """
        if not isinstance(other, Bandit):
            raise TypeError(f"Bandit: merge takes another Bandit, got {type(other).__name__}")
        if other is self:
            raise ValueError("Bandit: merge takes another bandit, got this one itself: its rewards would count twice")
        if other.model != self.model:
            raise ValueError(f"Bandit: merge needs the same model, got {other.model} for {self.model}")
        if other.actions != self.actions:
            raise ValueError("Bandit: merge needs the same actions under the same names, got others")
        if _memory(other) != _memory(self):
            raise ValueError(
                "Bandit: merge needs two bandits that recalibrate alike, or two that do not: beliefs would differ; "
                f"got memory {_memory(other)} for {_memory(self)}"
            )
        if other._learner is None:
            return
        if self._dim is not None and other._dim != self._dim:
            raise ValueError(f"Bandit: merge needs contexts of dimension {self._dim}, got {other._dim}")
        # On a copy, so that a merge that fails changes nothing.
        learner = self._start(other._dim or 0) if self._learner is None else copy.deepcopy(self._learner)
        with one_thread():
            learner.merge(other._learner)
        if self.recalibrated is not None and other.recalibrated is not None:
            self._recalibrated = self.recalibrated.joined(other.recalibrated)
        self._learner, self._dim = learner, other._dim
        self._rewards += other._rewards

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the bandit to a file of arrays and JSON; `Bandit.load` gives one that decides the same, up to rounding.

        The file does not hold functions and classes of your own: pass such a model or policy to `load` again.
        """
        header = {
            "model": _storage.config(self._model),
            "policy": _storage.config(self._policy),
            "samples": self._samples,
            "names": _storage.check_names(self._actions.names),
            "tokens": self._tokens[-KNOWN_TOKENS:],
            "open": list(self._open),
            "round": self._round,
            "rewards": self._rewards,
            "rewarded": self._rewarded,
            "dim": self._dim,
            "rng": self._rng.bit_generator.state,
            "recalibrate": _memory(self),
        }
        arrays: dict[str, np.ndarray[Any, Any]] = {"actions": self._actions.vectors}
        if self._learner is not None:
            arrays |= {f"open.{name}": value for name, value in _records.pack([*self._open.values()]).items()}
            arrays |= {f"learner.{name}": value for name, value in self._learner.state().items()}
        if self._recalibrated is not None:
            arrays |= {f"recalibrate.{name}": value for name, value in self._recalibrated.state().items()}
        _storage.write(path, header, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str], model: Model | None = None, policy: Policy | None = None) -> Bandit:
        """Read a bandit that `save` wrote.

        Parameters
        ----------
        model, policy : the ones it was saved with, if they hold a function or a class of your own
        """
        header, arrays = _storage.read(path)
        model = _storage.given_or_stored(path, "model", model, header)
        policy = _storage.given_or_stored(path, "policy", policy, header)
        with _storage.damage(path):
            names = header["names"]
            vectors = arrays["actions"]
            if names is not None and len(set(names)) != len(vectors):
                raise ValueError("the names do not fit the actions")
            actions = vectors if names is None else dict(zip(names, vectors, strict=True))
            bandit = cls(actions, model, policy, header["samples"])
            # Copies loaded from one file go separate ways: each marks its own decisions, and knows the earlier ones.
            bandit._tokens = [*map(str, header["tokens"]), *bandit._tokens]
            bandit._round = _check.integer("file", "round", header["round"], at_least=0)
            bandit._rewards = _check.integer("file", "rewards", header["rewards"], at_least=0)
            bandit._rewarded = _check.integer("file", "rewarded", header["rewarded"], at_least=0)
            if bandit._rewarded > bandit._round:
                raise ValueError("a decision that was never made has its reward")
            bandit._dim = header["dim"]
            if header["recalibrate"] is not None:
                bandit._recalibrated = Recalibrated(header["recalibrate"])
                bandit._recalibrated.restore(_within("recalibrate.", arrays))
                if len(bandit._recalibrated.bias) not in (0, bandit._dim or len(bandit._recalibrated.bias)):
                    raise ValueError("the corrections do not fit the contexts")
            bandit._rng.bit_generator.state = header["rng"]
            if bandit._dim is not None:
                bandit._learner = bandit._start(bandit._dim)
                with one_thread():
                    bandit._learner.restore(_within("learner.", arrays))
                bandit._open = dict(zip(header["open"], bandit._waiting(arrays, len(header["open"])), strict=True))
        return bandit

    def _waiting(self, arrays: dict[str, np.ndarray[Any, Any]], n: int) -> list[Waiting]:
        """Return n open decisions from a file, after checking that they fit."""
        assert self._learner is not None
        found = _records.unpack(Waiting, _within("open.", arrays), n, {"evidence": self._learner.evidence_type})
        rounds = [0, *(one.round for one in found)]
        if any(a >= b for a, b in pairwise(rounds)) or rounds[-1] > self._round:
            raise ValueError("the open decisions are out of order")
        for action, _, evidence, stated in found:
            if not 0 <= action < len(self._actions):
                raise ValueError("an open decision is about an action that does not exist")
            if (None if stated is None else stated.shape) != (None if self._recalibrated is None else (2, self._dim)):
                raise ValueError("the corrections do not fit the open decisions")
            self._learner.check(evidence)
        return found

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Give a copy or an unpickled bandit a mark of its own, which tells its decisions from those of others."""
        self.__dict__ = state | {"_tokens": [*state["_tokens"], _token()]}

    def __copy__(self) -> Bandit:
        return copy.deepcopy(self)

    def __repr__(self) -> str:
        seen = f"{self._round} decisions, {len(self._open)} open"
        parts = [f"{len(self.actions)} actions", repr(self.model), repr(self.policy), f"samples={self.samples}"]
        if self.recalibrated is not None:
            parts.append(repr(self.recalibrated))
        return f"Bandit({', '.join(parts)}; {seen})"

    def _learner_for(self, belief: Belief) -> LastingLearner:
        """Return the learner, a fresh one before the first decision."""
        self._fitting(belief)
        return self._start(belief.dim) if self._learner is None else self._learner

    def _corrected(self, belief: Belief) -> tuple[Belief, Array | None]:
        """Return the belief to decide by, and what the original stated of itself if the bandit recalibrates."""
        if self._recalibrated is None:
            return belief, None
        self._fitting(belief)
        stated = belief.stated_error()
        return self._recalibrated.correct(belief, stated), stated

    def _revealed(self, context: ArrayLike | Belief) -> Beliefs:
        """Return a context that was revealed as a belief."""
        if isinstance(context, Belief):
            return self._fitting(context)
        return certain(_check.vector("Bandit", "context", context, self._dim or "c"))

    def _fitting(self, belief: Belief) -> Belief:
        if self._dim is not None and belief.dim != self._dim:
            raise ValueError(f"Bandit: belief must have dimension {self._dim}, got {belief.dim}")
        return belief

    def _start(self, dim: int) -> LastingLearner:
        return self._model.start(self._actions.vectors, dim)


def _threads_for(learner: LastingLearner) -> AbstractContextManager[None]:
    """Return the context manager that holds BLAS at one thread; a light learner needs none."""
    return one_thread() if learner.heavy else _NO_HOLD


def _within(prefix: str, arrays: dict[str, np.ndarray[Any, Any]]) -> dict[str, np.ndarray[Any, Any]]:
    """Return the arrays under a prefix, without it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _recalibrated(recalibrate: bool | Recalibrated) -> Recalibrated | None:
    if isinstance(recalibrate, Recalibrated):
        return copy.deepcopy(recalibrate)
    if not isinstance(recalibrate, (bool, np.bool_)):
        raise TypeError(f"Bandit: recalibrate must be True, False or a Recalibrated, got {_check.short(recalibrate)}")
    return Recalibrated() if recalibrate else None


def _memory(bandit: Bandit) -> int | None:
    """Return the memory of a bandit's corrections, None if it makes none."""
    return None if bandit.recalibrated is None else bandit.recalibrated.memory


def _reward(value: Any) -> float:
    """Return a reward as a float that is finite and not too large."""
    if type(value) is not float or not abs(value) <= MAX_REWARD:  # most rewards are plain numbers and skip the checks
        value = _check.number("Bandit", "reward", int(value) if isinstance(value, (bool, np.bool_)) else value)
        if abs(value) > MAX_REWARD:
            raise ValueError(f"Bandit: reward must be of size {MAX_REWARD:g} at most, got {value}; scale the rewards")
    return float(value)


def _token() -> str:
    return uuid.uuid4().hex[:12]
