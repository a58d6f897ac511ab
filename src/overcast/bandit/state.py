"""The state of a bandit: what it is made of, and what it has learnt."""

from __future__ import annotations

import copy
import warnings
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from overcast._check import Array
from overcast._linalg import Indices
from overcast._threads import one_thread
from overcast._units import Units, Vectors, same_vectors
from overcast.bandit.config import BanditConfig
from overcast.bandit.pending import Pending
from overcast.decisions.climatology import Climatology
from overcast.decisions.history import Journal
from overcast.models.base import LastingLearner, Model
from overcast.spaces import Space

_NO_HOLD: AbstractContextManager[None] = nullcontext()


class State:
    """All that a bandit remembers. The functions in `decide` and `learn` change it in place, in their last steps.

    options : as given to the bandit; of what may change since, `config` holds the present value
    actions, model, policy, samples, objective : as given to the bandit, and changed since
    stream : of random numbers
    pending : the decisions whose rewards have not come
    recalibrated : the correction of forecasts; None unless the bandit recalibrates
    climatology : what forecasts were like so far
    journal : the latest decisions; None unless a history is kept
    context : names of the contexts' dimensions; None if they have none
    rewards, observed : numbers of rewards taken in, and of rounds taken in that somebody else decided
    dim : dimension of the contexts; None before the first decision
    learner, points : the learner, and the actions as it prepared them; None before the first decision
    heavy : whether BLAS would start threads for questions to the learner
    reference : vectors (j, a) of the actions that the learner started with
    revision : grows with every change that later estimates or choices may rest on
    """

    __slots__ = (
        *("actions", "climatology", "context", "dim", "heavy", "journal", "learner", "model", "objective", "observed"),
        *("options", "pending", "points", "policy", "recalibrated", "reference", "revision", "rewards", "samples"),
        "stream",
    )

    def __init__(self, options: BanditConfig) -> None:
        self.options = options
        self.actions, self.model, self.policy = options.actions, options.model, options.policy
        self.samples, self.stream, self.context = options.samples, options.seed, options.context
        self.objective = options.objective
        self.recalibrated = copy.deepcopy(options.recalibrate) or None
        self.journal = None if options.history is None else Journal(options.history)
        self.pending, self.climatology = Pending(), Climatology()
        self.rewards = self.observed = self.revision = 0
        self.dim: int | None = None
        self.learner: LastingLearner | None = None
        self.points: Any = None
        self.heavy = True
        self.reference: Vectors | None = None

    def config(self) -> BanditConfig:
        """Collect the options with their present values."""
        present = {name: getattr(self, name) for name in ("actions", "model", "policy", "context")}
        return replace(self.options, recalibrate=self.recalibrated or False, **present)

    def begin(self, learner: LastingLearner, points: Any, dim: int) -> None:
        """Go on with the learner of the first decision."""
        self.dim, self.reference = dim, self.actions.candidates
        self.use(learner, points)

    def use(self, learner: LastingLearner, points: Any) -> None:
        """Go on with a learner, and the actions as it prepared them."""
        self.learner, self.points = learner, points
        self.heavy = learner.heavy(points)

    def threads(self) -> AbstractContextManager[None]:
        """Return the context manager that holds BLAS at one thread; light questions need none."""
        return one_thread() if self.heavy else _NO_HOLD

    def start(self, dim: int) -> tuple[LastingLearner, Any]:
        """Return the learner for contexts of this dimension and its points; fresh ones before the first decision."""
        if self.learner is not None:
            return self.learner, self.points
        learner = self.model.start(self.actions.candidates, dim)
        return learner, learner.at(self.actions.candidates)

    def row(self, learner: LastingLearner, points: Any, index: int | None, vector: Array | None) -> tuple[Any, int]:
        """Return points and the row among them of an action: by its index, or by its vector (a,) if that is given."""
        if vector is not None:
            return learner.at(padded(vector[None], self.actions.dim)), 0
        assert index is not None
        return points, index

    def change_actions(self, actions: Space, of: Indices) -> None:
        """Take over other actions, of which row i was row of[i], or has a new vector if that is -1."""
        a, learner = actions.dim, self.learner
        model = self.model if a == self.actions.dim else self.model.widened(a)
        labels = _moved_labels(self.actions, actions, of) if self.model.labels else None
        changed = len(actions) != len(self.actions) or not np.array_equal(of, np.arange(len(of)))
        if changed:
            check_actions_may_change(self.model)
        if learner is not None and (changed or (labels is not None and (labels != np.arange(len(labels))).any())):
            learner = copy.deepcopy(learner)  # a change that fails, here or below, leaves the learner as it is
            if labels is not None:
                learner.relabel(labels)
            else:
                learner.extend(actions.candidates)
        points = None if learner is None else learner.at(actions.candidates)
        gone = np.ones(len(self.actions), dtype=bool)
        gone[of[of >= 0]] = False
        former = {int(i): np.asarray(self.actions.candidates[int(i)]) for i in np.flatnonzero(gone)}
        if former:
            self.pending.keep_vectors(former)
        self.actions, self.model = actions, model
        if learner is not None and self.reference is not None:
            self.reference = padded(self.reference, a)
            self.use(learner, points)
        self.revision += 1

    def copy(self) -> State:
        """Return a shallow copy, whose learner is a copy of its own."""
        out = copy.copy(self)
        out.learner, out.pending = copy.deepcopy(self.learner), copy.copy(self.pending)
        return out


def started(model: Model, reference: Vectors, actions: Space, dim: int) -> LastingLearner:
    """Return a fresh learner for the present actions, which started with those in `reference` (j, a)."""
    learner = model.start(reference, dim)
    if not same_vectors(reference, actions.candidates):
        learner.extend(actions.candidates)
    return learner


def check_actions_may_change(model: Model) -> None:
    """Raise TypeError if the model cannot do with other actions than those it started with."""
    if model.fixed_actions:
        advice = "start a new bandit, or leave some out of available="
        raise TypeError(f"{type(model).__name__}: actions cannot come and go with this model; {advice}")


def padded(vectors: Vectors, a: int) -> Vectors:
    """Return vectors (k, a), with zeros for the entries that they lack."""
    if isinstance(vectors, Units):
        return vectors.widened(a)
    return vectors if vectors.shape[1] == a else np.pad(vectors, ((0, 0), (0, a - vectors.shape[1])))


def _moved_labels(before: Space, now: Space, of: Indices) -> Indices:
    """Return the label that each of the present ones continues, -1 for none.

    Raise ValueError if actions that share a label do not share one afterwards, or the other way round: nobody could
    say which of them a reward was about.
    """
    known = of >= 0
    old, new = _places(before.candidates)[of[known]], _places(now.candidates)[known]
    pairs = np.unique(np.stack([old, new]), axis=1)
    if any(len(np.unique(side)) < pairs.shape[1] for side in pairs):
        must = "merge needs actions that share a unit vector in both bandits or in none"
        raise ValueError(f"Bandit: {must}, got some that share one in one bandit alone")
    out = np.full(now.dim, -1, dtype=np.intp)
    out[new] = old
    idle = np.setdiff1d(np.flatnonzero(out[: before.dim] < 0), out)  # labels whose actions have other vectors now
    out[idle] = idle
    return out


def _places(vectors: Vectors) -> Indices:
    return vectors.place if isinstance(vectors, Units) else np.asarray(vectors.argmax(axis=-1))


def warn_of_silence(model: Model, actions: Space, among: Indices, stacklevel: int) -> None:
    """Warn if one of these actions has no features in any context: its reward counts as zero for ever."""
    silent = among[model.silent(actions.candidates[among])]
    if len(silent):
        name = (
            f"action {actions.names[silent[0]]!r}" if actions.names is not None else f"the action of index {silent[0]}"
        )
        more = f", and {len(silent) - 1} more," if len(silent) > 1 else ""
        must = "an entry that is always 1, such as [1.0, amount], or take features with a constant, such as Polynomial"
        warnings.warn(
            f"Bandit: {name}{more} has no features under {model}, so that its reward counts as 0 for ever; give the "
            f"vectors of actions {must}",
            stacklevel=stacklevel + 1,
        )
