"""The bandit: decide under a belief, learn from what came of it."""

from __future__ import annotations

import copy
import os
import uuid
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from overcast import _check, _storage
from overcast._check import Array
from overcast.actions import Actions
from overcast.beliefs import Belief, PointMass, as_belief
from overcast.calibration import Recalibrated
from overcast.calibration.spread import centre_and_spread
from overcast.decision import Decision
from overcast.models.base import Estimate, LastingLearner, Model, Outlook, Progress
from overcast.models.hyperparameters import Fit, fit_hyperparameters
from overcast.models.kernel import KernelLearner
from overcast.policies.base import Policy, check_shape, highest

Samples = int | Literal["t"] | None


# Rewards beyond this would overflow when they are added up.
MAX_REWARD = 1e150

# A bandit that was saved and loaded ever so often says of decisions older than this only that it does not know them.
KNOWN_TOKENS = 100


class Bandit:
    """Chooses actions when the context is known only as a distribution (Algorithms 1, 2 and 3).

    Parameters
    ----------
    actions : (k, a) array, mapping name -> vector, DataFrame (index = names), or a list of names (unit vectors)
    model : how rewards are estimated, e.g. `LinearModel(features)`
    policy : how estimates become a choice, e.g. `UCB()`
    samples : None for the exact expectation, L for the average of L draws of the belief a round, "t" for L = t
    seed : of the bandit's own randomness
    recalibrate : True to correct forecasts by the contexts revealed so far (`Recalibrated`), which `recalibrated` then
        shows; or a `Recalibrated` that has learnt from an archive, of which the bandit takes a copy

    Threads that share a bandit need a lock around its calls.

    Examples
    --------
    >>> import overcast as oc
    >>> bandit = oc.Bandit({"early": [1, 0], "late": [0, 1]}, oc.LinearModel(oc.features.Bilinear()), oc.UCB())
    >>> forecast = oc.Gaussian([20.0, 1.0], [4.0, 0.1])
    >>> decision = bandit.decide(forecast)
    >>> decision.action
    'early'
    >>> bandit.learn(decision, reward=-1.0)  # what the weather was stays unknown
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
        seed: int = 0,
        recalibrate: bool | Recalibrated = False,
    ) -> None:
        if not isinstance(model, Model):
            raise TypeError(f"Bandit: model must be a model such as LinearModel(features), got {_check.short(model)}")
        if not isinstance(policy, Policy):
            raise TypeError(f"Bandit: policy must be a policy such as UCB(beta), got {_check.short(policy)}")
        self.actions = Actions(actions)
        self.model = model
        self.policy = policy
        self.samples = check_samples("Bandit", samples)
        self._rng = np.random.default_rng(_check.integer("Bandit", "seed", seed, at_least=0))
        self._tokens = [_token()]  # this instance's mark on its decisions, after those it was loaded from
        self._round = 0  # decisions made
        self._open: dict[str, tuple[int, Any]] = {}  # decisions whose reward has not come: index and evidence
        self._dim: int | None = None  # context dimension, fixed by the first decision
        self._learner: LastingLearner | None = None
        self.recalibrated = _recalibrated(recalibrate)
        self._notes: dict[str, Array] = {}  # centre and spread (2, c) of the raw belief, for each open decision

    def estimate(self, belief: Any) -> Estimate:
        """Return mean and width of all k actions under a belief; with `samples`, from the next decision's draws."""
        belief, _ = self._corrected(as_belief(belief))
        before = self._rng.bit_generator.state
        try:
            learner, view = self._encode(belief, self._round + 1)
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
        mask = None if available is None else self.actions.mask(available)
        belief, note = self._corrected(as_belief(belief))
        t = self._round + 1
        draws = self.samples is not None or self.policy.random
        before = self._rng.bit_generator.state if draws else None
        try:
            learner, view = self._encode(belief, t)
            outlook = Outlook(learner, view, mask)
            progress = Progress(t, learner.log_det, self.model.theory_ridge, len(self.actions))
            scores = self.policy.scores(outlook, progress, self._rng)
            check_shape(scores, outlook.mean.shape)
            if mask is not None:
                scores = np.where(mask, scores, -np.inf)
            index = int(highest(scores))
        except BaseException:
            if before is not None:
                self._rng.bit_generator.state = before  # a failed call changes nothing
            raise
        evidence = learner.evidence(view, index)
        ticket = f"{self._tokens[-1]}-{t}"
        self._open[ticket] = index, evidence
        if note is not None:
            self._notes[ticket] = note
        self._round, self._learner, self._dim = t, learner, belief.dim
        return Decision(ticket, self.actions, index, outlook.estimate, scores)

    def learn(self, decision: Decision | str, reward: float, context: ArrayLike | Belief | None = None) -> None:
        """Take in the reward of a decision, at any time and in any order, once.

        Parameters
        ----------
        decision : what `decide` returned, or its id, which outlives the process when the bandit is saved
        reward : y_t; True and False count as 1 and 0
        context : c_t where it was revealed afterwards (Algorithm 2); None where it stays hidden (Algorithm 1); a
            belief where it was measured in part or with error
        """
        ticket = self._ticket(decision)
        reward = _check.number("Bandit", "reward", int(reward) if isinstance(reward, (bool, np.bool_)) else reward)
        index, evidence = self._open[ticket]
        assert self._learner is not None
        if context is not None:
            revealed = self._revealed(self._learner, context)
            if self.model.uses_context:
                evidence = self._learner.evidence(revealed, index)
        if abs(reward) > MAX_REWARD:
            raise ValueError(f"Bandit: reward must be of size {MAX_REWARD:g} at most, got {reward}; scale the rewards")
        lesson = None
        if self.recalibrated is not None and context is not None:
            lesson = self.recalibrated.lesson(self._notes[ticket], context)
        self._learner.learn(evidence, reward)
        if self.recalibrated is not None and lesson is not None:
            self.recalibrated.take(lesson)
        self._close(ticket)

    def forget(self, decision: Decision | str) -> None:
        """Stop waiting for the reward of a decision; it frees what was kept to learn from it."""
        self._close(self._ticket(decision))

    def _close(self, ticket: str) -> None:
        del self._open[ticket]
        self._notes.pop(ticket, None)

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

    def fit_hyperparameters(self) -> Fit:
        """Fit the kernel's parameters and the ridge to the rewards so far, and go on with them.

        All rounds are learnt again under the new model, and decisions that wait for their reward stay open. The policy
        stays as it is: beta is worth another look, since widths change with the ridge. `models.fit_hyperparameters`
        says how it is done; where it fails, nothing changes.

        Examples
        --------
        >>> import math, overcast as oc
        >>> model = oc.KernelModel(oc.kernels.Product(oc.kernels.RBF(0.1), oc.kernels.RBF(0.1)))
        >>> bandit = oc.Bandit([[0.0], [1.0]], model, oc.UCB(1.0))
        >>> for i in range(20):
        ...     decision = bandit.decide(oc.Gaussian([math.cos(i)], 0.01))
        ...     bandit.learn(decision, reward=decision.index * math.cos(i) + 0.1 * math.sin(9 * i))
        >>> fit = bandit.fit_hyperparameters()
        >>> bandit.model == fit.model
        True
        >>> bandit.policy = oc.UCB(2.0 * fit.noise)  # two standard deviations above the mean
        """
        fit, old = fit_hyperparameters(self.model, self._learner), self._learner
        assert isinstance(old, KernelLearner)
        assert self._dim is not None
        learner = fit.model.start(self.actions.vectors, self._dim)
        for evidence, reward in old.rounds():
            learner.learn(learner.adopt(evidence), reward)
        waiting = {ticket: (index, learner.adopt(evidence)) for ticket, (index, evidence) in self._open.items()}
        self.model, self._learner, self._open = fit.model, learner, waiting
        return fit

    def merge(self, other: Bandit) -> None:
        """Add what another bandit learnt apart from this one; both need the same actions and model.

        Rewards that both have seen would count twice, so do not merge copies of one bandit. Open decisions and the
        count of rounds stay as they are.
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
        learner.merge(other._learner)
        if self.recalibrated is not None and other.recalibrated is not None:
            self.recalibrated = self.recalibrated.joined(other.recalibrated)
        self._learner, self._dim = learner, other._dim

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the bandit to a file of arrays and JSON; `Bandit.load` gives one that decides the same.

        Functions and classes of your own are not written: give that model or policy to `load` again.
        """
        header = {
            "model": _storage.config(self.model),
            "policy": _storage.config(self.policy),
            "samples": self.samples,
            "names": _storage.check_names(self.actions.names),
            "tokens": self._tokens[-KNOWN_TOKENS:],
            "open": list(self._open),
            "round": self._round,
            "dim": self._dim,
            "rng": self._rng.bit_generator.state,
            "recalibrate": _memory(self),
        }
        arrays: dict[str, np.ndarray[Any, Any]] = {"actions": self.actions.vectors}
        if self._learner is not None:
            arrays["open.index"] = np.array([index for index, _ in self._open.values()], dtype=np.int64)
            waiting = self._learner.pack([evidence for _, evidence in self._open.values()])
            arrays |= {f"open.{name}": value for name, value in waiting.items()}
            arrays |= {f"learner.{name}": value for name, value in self._learner.state().items()}
        if self.recalibrated is not None:
            arrays["recalibrate.notes"] = np.array([self._notes[ticket] for ticket in self._open])
            arrays |= {f"recalibrate.{name}": value for name, value in self.recalibrated.state().items()}
        _storage.write(path, header, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str], model: Model | None = None, policy: Policy | None = None) -> Bandit:
        """Read a bandit that `save` wrote.

        Parameters
        ----------
        model, policy : the ones it was saved with, where they hold a function or a class of your own
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
            bandit._dim = header["dim"]
            if header.get("recalibrate") is not None:
                bandit.recalibrated = Recalibrated(header["recalibrate"])
                bandit.recalibrated.restore(_within("recalibrate.", arrays))
                bandit._notes = dict(zip(header["open"], arrays["recalibrate.notes"], strict=True))
                if len(bandit.recalibrated.bias) not in (0, bandit._dim or len(bandit.recalibrated.bias)):
                    raise ValueError("the corrections do not fit the contexts")
            bandit._rng.bit_generator.state = header["rng"]
            if bandit._dim is not None:
                bandit._learner = bandit._start(bandit._dim)
                bandit._learner.restore(_within("learner.", arrays))
                evidence = bandit._learner.unpack(_within("open.", arrays))
                waiting = zip(header["open"], arrays["open.index"], evidence, strict=True)
                bandit._open = {ticket: (range(len(vectors))[index], evidence) for ticket, index, evidence in waiting}
        return bandit

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Give a copy or an unpickled bandit a mark of its own, so that nobody mistakes its decisions for others."""
        self.__dict__ = state | {"_tokens": [*state["_tokens"], _token()]}

    def __copy__(self) -> Bandit:
        return copy.deepcopy(self)

    def __repr__(self) -> str:
        seen = f"{self._round} decisions, {len(self._open)} open"
        parts = [f"{len(self.actions)} actions", repr(self.model), repr(self.policy), f"samples={self.samples}"]
        if self.recalibrated is not None:
            parts.append(repr(self.recalibrated))
        return f"Bandit({', '.join(parts)}; {seen})"

    def _encode(self, belief: Belief, t: int) -> tuple[LastingLearner, Any]:
        """Return the learner (a fresh one before the first decision) and its view of the belief."""
        self._fitting(belief)
        learner = self._start(belief.dim) if self._learner is None else self._learner
        if self.samples is None:
            return learner, learner.encode(belief)
        return learner, learner.encode_sampled(belief, t if self.samples == "t" else self.samples, self._rng)

    def _corrected(self, belief: Belief) -> tuple[Belief, Array | None]:
        """Return the belief to decide by, and what learning of its errors later takes."""
        if self.recalibrated is None:
            return belief, None
        self._fitting(belief)
        note = centre_and_spread(belief)
        return self.recalibrated.correct(belief, note), note

    def _revealed(self, learner: LastingLearner, context: ArrayLike | Belief) -> Any:
        """Return the learner's view of a context that was revealed."""
        if isinstance(context, Belief):
            return learner.encode(self._fitting(context))
        return learner.encode(PointMass(_check.vector("Bandit", "context", context, self._dim or "c")))

    def _fitting(self, belief: Belief) -> Belief:
        if self._dim is not None and belief.dim != self._dim:
            raise ValueError(f"Bandit: belief must have dimension {self._dim}, got {belief.dim}")
        return belief

    def _start(self, dim: int) -> LastingLearner:
        return self.model.start(self.actions.vectors, dim)


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
    """Return the memory of a bandit's corrections, None where it makes none."""
    return None if bandit.recalibrated is None else bandit.recalibrated.memory


def _token() -> str:
    return uuid.uuid4().hex[:12]


def check_samples(owner: str, samples: Any) -> Samples:
    if samples is None:
        return None
    if isinstance(samples, str):
        if samples == "t":
            return "t"
        raise ValueError(f'{owner}: samples must be None, a whole number or "t", got {samples!r}')
    return _check.integer(owner, "samples", samples, at_least=1)
