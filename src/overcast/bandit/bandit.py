"""The bandit: decide under a belief, learn from the reward."""

from __future__ import annotations

import copy
import io
import os
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from overcast import _check, _guesses, _html, _storage
from overcast._threads import one_thread
from overcast.bandit import files, learn
from overcast.bandit.arguments import checked_reward, one_or_many
from overcast.bandit.config import BanditConfig
from overcast.bandit.decide import adopt, propose, record_decision
from overcast.bandit.explain import explain_decision
from overcast.bandit.forecast import check_dim, correct, in_order
from overcast.bandit.state import State, check_actions_may_change, warn_of_silence
from overcast.calibration import Recalibrated
from overcast.decisions.history import History
from overcast.decisions.record import Decision
from overcast.explain import Explanation
from overcast.models.base import Estimate, Model
from overcast.models.kernel.hyperparameters import Fitted, fit_hyperparameters
from overcast.objectives import Objective
from overcast.policies.base import Policy
from overcast.round import MEAN, Samples, check_pair, draws
from overcast.spaces import Space
from overcast.spaces.actions import SHOWN, listed

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Learnt(NamedTuple):
    """A summary of the state of a bandit.

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
    actions : (k, a) array, mapping name -> vector, DataFrame (index = names), or a list of names (unit vectors); or a
        `spaces.Space`, whose actions are vectors without an index
    model : how rewards are estimated, e.g. `LinearModel(features)`
    policy : how estimates become a choice, e.g. `UCB()`
    samples : None for the exact expectation, L for the average of L draws of the belief per round, a million at most;
        "t" for L = t
    seed : of the bandit's own randomness, a whole number or a numpy SeedSequence. The draws of a decision follow from
        the seed and the number of the decision alone
    recalibrate : True to correct forecasts by the contexts revealed so far; `recalibrated` shows the correction. Or a
        `Recalibrated` that has learnt from an archive, which the bandit copies
    context : names of the context's dimensions in order; None to take them from the first belief that has names
    history : the number of latest decisions to keep for `bandit.history` and `bandit.plot()`; None to keep none. Files,
        copies and `replay` keep it too; a merge leaves it as it is
    objective : what decisions maximise, given the rewards in all contexts that may come; `objectives.Mean()` for the
        expected reward

    Once dimensions have names, beliefs and contexts with names are put in their order; those without go by position.
    A call that fails changes nothing. Threads may share a bandit: its calls wait for each other.

    Examples
    --------
    >>> import overcast as oc
    >>> bandit = oc.Bandit({"early": [1, 0], "late": [0, 1]}, oc.LinearModel(oc.features.Bilinear()), oc.UCB())
    >>> forecast = oc.Gaussian([1.0, 20.0], [0.0, 4.0])  # constant, °C
    >>> decision = bandit.decide(forecast)
    >>> decision.action
    'early'
    >>> bandit.learn(decision, reward=-1.0)  # the weather stays unknown
    >>> decision = bandit.decide(forecast)
    >>> decision.action
    'late'
    >>> bandit.learn(decision, reward=2.0, context=[1.0, 18.0])  # here it was measured afterwards
    """

    def __init__(
        self,
        actions: Any,
        model: Model,
        policy: Policy,
        samples: Samples = None,
        seed: int | np.random.SeedSequence = 0,
        recalibrate: bool | Recalibrated = False,
        context: Sequence[str] | None = None,
        history: int | None = None,
        objective: Objective = MEAN,
    ) -> None:
        options = BanditConfig.of(actions, model, policy, samples, seed, recalibrate, context, history, objective)
        self._state = State(options)
        self._lock = threading.RLock()
        warn_of_silence(model, options.actions, np.arange(len(options.actions)), stacklevel=2)

    @property
    def state(self) -> State:
        """All that the bandit remembers; it changes with every call."""
        return self._state

    @property
    def actions(self) -> Space:
        """The actions: a list, as `Actions`, or another space."""
        return self._state.actions

    @property
    def model(self) -> Model:
        """How rewards are estimated."""
        return self._state.model

    @property
    def samples(self) -> Samples:
        """How expectations are taken."""
        return self._state.samples

    @property
    def context(self) -> tuple[str, ...] | None:
        """Names of the context's dimensions, in order; None as long as nobody gave any.

        Examples
        --------
        >>> import overcast as oc
        >>> bandit = oc.Bandit(["a", "b"], oc.LinearModel(oc.features.Disjoint(2)), oc.UCB())
        >>> decision = bandit.decide({"warm": 21.0, "wet": 0.4})
        >>> bandit.context
        ('warm', 'wet')
        >>> bandit.learn(decision, reward=1.0, context={"wet": 0.5, "warm": 20.0})  # put in order
        """
        return self._state.context

    @property
    def history(self) -> History | None:
        """The latest decisions, forecasts, contexts and rewards as arrays; None unless `history=` was given.

        It holds decisions of this bandit, and those that it adopted, but no rounds that it observed.

        Examples
        --------
        >>> import overcast as oc
        >>> model = oc.LinearModel(oc.features.Disjoint(2))
        >>> bandit = oc.Bandit(["a", "b"], model, oc.UCB(), context=["warm"], history=100)
        >>> for reward in (1.0, 3.0):
        ...     bandit.learn(bandit.decide(oc.Gaussian([20.0], sd=1.0)), reward, context=[21.5])
        >>> bandit.history
        History(2 decisions, 2 with a reward; warm)
        >>> bandit.history.reward
        array([1., 3.])
        >>> bandit.history.to_frame()[["action", "reward", "forecast_warm", "context_warm"]].iloc[1].to_dict()
        {'action': 'b', 'reward': 3.0, 'forecast_warm': 20.0, 'context_warm': 21.5}
        """
        with self._lock:
            state = self._state
            if state.journal is None:
                return None
            dims = state.dim or len(state.context or ())
            names = state.context or tuple(f"c{i + 1}" for i in range(dims))
            return state.journal.history(listed("history", state.actions), names)

    def plot(self) -> Figure:
        """Draw the history: rewards, shares of actions, widths, and forecasts with what came.

        The forecasts are bands from 5 to 95 % and from 25 to 75 %, for up to four dimensions of the context.
        """
        history = self.history
        if history is None:
            raise ValueError("Bandit: plot needs a history, got none; make the bandit with history=1000")
        if not len(history):
            raise ValueError("Bandit: plot needs a history of at least one decision, got none yet")
        return history.plot()

    @property
    def recalibrated(self) -> Recalibrated | None:
        """The correction of forecasts, as learnt so far; None unless the bandit recalibrates."""
        return self._state.recalibrated

    @property
    def policy(self) -> Policy:
        """How estimates become a choice. It may be replaced at any time: `bandit.policy = oc.Greedy()`."""
        return self._state.policy

    @policy.setter
    def policy(self, policy: Policy) -> None:
        with self._lock:
            check_pair("Bandit", self._state.model, policy)
            self._state.policy = policy
            self._state.revision += 1

    @property
    def learnt(self) -> Learnt:
        """A summary of the state: noise, ridge, theta by feature name, rounds and open decisions.

        Examples
        --------
        >>> import overcast as oc
        >>> bandit = oc.Bandit(["a", "b"], oc.LinearModel(oc.features.Disjoint(2), ridge=1.0), oc.UCB())
        >>> bandit.learn(bandit.decide([1.0]), reward=4.0)
        >>> bandit.learnt
        Learnt(rounds=1, open=0, noise=None, ridge=1.0, theta={'x1 c1': 2.0, 'x2 c1': 0.0})
        """
        with self._lock:
            state = self._state
            parameters = (None, None, None) if state.learner is None else state.learner.parameters
            return Learnt(state.rewards, len(state.pending.open), *parameters)

    def estimate(self, belief: Any) -> Estimate:
        """Return mean and width of all k actions under a belief; with `samples`, from the next decision's draws."""
        with self._lock:
            state = self._state
            belief, *_ = correct(state, in_order(state, belief))
            check_dim(state, belief)
            (learner, points), t = state.start(belief.dim), state.pending.made + 1
            rng = None if state.samples is None else state.stream.at(t)
            with state.threads():
                return learner.estimate(points, state.model.view(learner, belief, draws(state.samples, t), rng))

    def decide(self, belief: Any, available: Any = None, *, id: str | None = None) -> Decision:  # noqa: A002
        """Choose an action.

        Parameters
        ----------
        belief : what is known about the context, or anything `as_belief` takes
        available : the actions that may be taken now, by names, indices or a mask; None for all
        id : a name of your own for the decision, not that of an open one; None for one that the bandit makes up
        """
        with self._lock:
            state = self._state
            mask, ticket = state.actions.mask(available), state.pending.new_id(id)
            proposal = propose(state, in_order(state, belief), mask, ticket, state.stream)
            record_decision(state, proposal)
            state.pending.add(ticket, proposal.waiting)
            decision = proposal.decision
            decision.set_origin(self, state.revision, state.climatology.snapshot())
            return decision

    def propose(self, belief: Any, available: Any = None, *, id: str) -> Decision:  # noqa: A002
        """Choose an action without recording the decision; `adopt` records it later.

        Draws follow from the seed and the id, so that several processes may propose at once.

        Examples
        --------
        >>> import overcast as oc
        >>> bandit = oc.Bandit(["a", "b"], oc.LinearModel(oc.features.Disjoint(2), ridge=1.0), oc.Thompson())
        >>> decision = bandit.propose([2.0], id="monday")
        >>> bandit.propose([2.0], id="monday").action == decision.action
        True
        >>> bandit.learnt.open
        0
        >>> bandit.adopt(decision)
        >>> bandit.learnt.open
        1
        """
        with self._lock:
            state = self._state
            mask, ticket = state.actions.mask(available), state.pending.unused(id)
            given = in_order(state, belief)
            proposal = propose(state, given, mask, ticket, state.stream.named(ticket))
            decision = proposal.decision
            decision.set_origin(self, state.revision, state.climatology.snapshot(), proposal[1:])
            return decision

    def explain(self, decision: Decision) -> Explanation:
        """Explain a decision by what is known now; `Decision.explain` explains it as it was made.

        If the bandit has learnt since, the explanation says so, and what would be chosen now.

        Parameters
        ----------
        decision : one that this bandit made, or the record of one that could have been its own
        """
        with self._lock:
            if not isinstance(decision, Decision):
                raise TypeError(f"Bandit: decision must be a Decision, got {_check.short(decision)}")
            return explain_decision(self._state, decision, as_made=decision.forecasts_before(self))

    def adopt(self, decision: Decision) -> None:
        """Take in a decision that was made elsewhere, as if `decide` had returned it; it then waits for its reward.

        Evidence is rebuilt from the record: its belief, action and draws. Nothing is decided again, so it does not
        matter who decided, or from which state. What this bandit proposed, and adopts before it learns or changes,
        needs no rebuilding.
        """
        with self._lock:
            proposal = adopt(self._state, decision, self)
            record_decision(self._state, proposal)
            self._state.pending.adopt(decision.id, proposal.waiting)
            decision.drop_basis()

    def learn(self, decision: Decision | str, reward: float, context: Any = None) -> None:
        """Take in the reward of a decision, at any time and in any order, once.

        Parameters
        ----------
        decision : what `decide` returned, or its id, which outlives the process when the bandit is saved
        reward : y_t; True and False count as 1 and 0
        context : c_t if it was revealed afterwards (Algorithm 2), as an array or anything `as_belief` takes, such as
            numbers by name; None if it stays hidden (Algorithm 1); a belief if it was measured in part or with error
        """
        with self._lock:
            ticket = self._state.pending.find(decision, self._state.actions)
            learn.learn(self._state, ticket, checked_reward(reward), context)

    def forget(self, decision: Decision | str) -> None:
        """Stop waiting for the reward of a decision, and free the memory that was kept to learn from it."""
        with self._lock:
            pending = self._state.pending
            del pending.open[pending.find(decision)]
            self._state.revision += 1

    def observe(self, action: Any, belief: Any, reward: Any, context: Any = None) -> None:
        """Learn from a round that somebody else decided, or from many in order.

        With a list or an array of n rewards, the other arguments hold one entry for each of them. All rounds are taken
        in, or none. With a given ridge alone, they are added at once; the result is that of one after the other, up to
        rounding.

        Parameters
        ----------
        action : the action taken, by name or index; or n of them
        belief : what was known about the context, or anything `as_belief` takes; or a list of n, or an (n, c) array or
            DataFrame of contexts that were known
        reward : y_t, or n of them
        context : c_t if it was revealed afterwards, as for `learn`; or an (n, c) array or DataFrame, or a list in which
            None means that a context stayed hidden

        Examples
        --------
        >>> import overcast as oc
        >>> bandit = oc.Bandit(["a", "b"], oc.LinearModel(oc.features.Disjoint(2), ridge=1.0), oc.UCB())
        >>> bandit.observe("b", oc.Gaussian([2.0], 0.1), reward=5.0)
        >>> bandit.observe(["a", "b"], [[1.0], [3.0]], reward=[0.5, 6.0])
        >>> bandit.learnt.rounds
        3
        """
        with self._lock:
            state = self._state
            rounds = one_or_many(state.actions, action, belief, reward, context, state.context, state.dim)
            check_dim(state, rounds)
            learn.observe(state, rounds)

    def add_actions(self, actions: Any) -> None:
        """Add actions, give known names new vectors, or bring retired ones back; what was learnt stays.

        Indices never move. Open decisions keep the vectors that they were made with. `Disjoint` opens a block of
        parameters for every unit vector in a new dimension. Standard features follow from the actions that there were
        at the first decision.

        Parameters
        ----------
        actions : mapping name -> vector, or DataFrame (index = names); a list of names, each with a dimension of its
            own; or an (m, a) array if actions have no names

        Examples
        --------
        >>> import overcast as oc
        >>> bandit = oc.Bandit(["a", "b"], oc.LinearModel(oc.features.Disjoint(2), ridge=1.0), oc.UCB())
        >>> bandit.learn(bandit.decide([2.0]), reward=5.0)
        >>> bandit.add_actions(["c"])
        >>> bandit.retire("b")
        >>> bandit.decide([2.0]).top(3)[1].action
        'c'
        """
        with self._lock, one_thread():
            more, of = listed("add_actions", self._state.actions).added(actions)
            self._state.change_actions(more, of)
            warn_of_silence(self._state.model, more, np.flatnonzero(of < 0), stacklevel=2)

    def retire(self, actions: Any) -> None:
        """Never take these actions again, given by name, or by index if they have none; `add_actions` brings them back.

        Open decisions for them still count.
        """
        with self._lock:
            check_actions_may_change(self._state.model)
            self._state.actions = listed("retire", self._state.actions).retired(actions)
            self._state.revision += 1

    def rename(self, action: Any, name: Any) -> None:
        """Give an action another name; what was learnt stays, and open decisions for it still count.

        Examples
        --------
        >>> import overcast as oc
        >>> bandit = oc.Bandit(["a", "b"], oc.LinearModel(oc.features.Disjoint(2)), oc.UCB())
        >>> bandit.rename("b", "better")
        >>> bandit.actions.names
        ('a', 'better')
        """
        with self._lock:
            self._state.actions = listed("rename", self._state.actions).renamed(action, name)
            self._state.revision += 1

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
        with self._lock:
            with one_thread():
                fit = fit_hyperparameters(self._state.model, self._state.learner)
            self.relearn(fit.model)
            return fit

    def relearn(self, model: Model) -> None:
        """Learn all rounds again under a kernel model that differs in its parameters, and go on with it."""
        with self._lock, one_thread():
            learn.relearn(self._state, model)

    def merge(self, other: Bandit) -> None:
        """Add what another bandit with the same model has learnt.

        Actions are matched by name, or by index if they have none; those that only the other has are added. Rewards
        that both have seen would count twice, so do not merge copies of one bandit. Open decisions, and the number of
        decisions made, stay as they are.
        """
        if not isinstance(other, Bandit):
            raise TypeError(f"Bandit: merge takes another Bandit, got {type(other).__name__}")
        if other is self:
            raise ValueError("Bandit: merge takes another bandit, got this one itself: its rewards would count twice")
        first, second = sorted((self, other), key=id)  # two threads that merge both ways must not wait for each other
        with first._lock, second._lock, one_thread():
            learn.merge(self._state, other._state)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the bandit to a file of arrays and JSON; `Bandit.load` gives one that decides the same.

        The file does not hold functions and classes of your own: pass such a model or policy to `load` again. A file
        that was there keeps its mode, and a link stays a link; if writing fails, the former file stays.
        """
        with self._lock:
            header, arrays = files.written(self._state)
        _storage.write(path, header, arrays)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], model: Model | None = None, policy: Policy | None = None, **more: Any
    ) -> Bandit:
        """Read a bandit that `save` wrote, with this release or an earlier one.

        Parameters
        ----------
        model, policy : the ones it was saved with, if they hold a function or a class of your own
        more : the same for `actions` and `objective`
        """
        with open(path, "rb") as file:
            return cls._of_state(files.read(os.fspath(path), file, {"model": model, "policy": policy} | more))

    @classmethod
    def _of_state(cls, state: State) -> Bandit:
        out = cls.__new__(cls)
        out._state = state
        out._lock = threading.RLock()
        return out

    @classmethod
    def from_bytes(
        cls, content: bytes, model: Model | None = None, policy: Policy | None = None, **more: Any
    ) -> Bandit:
        """Return the bandit that `to_bytes` wrote; the other arguments as for `load`."""
        return cls._of_state(files.read("the content", io.BytesIO(content), {"model": model, "policy": policy} | more))

    def to_bytes(self) -> bytes:
        """Return the content of the file that `save` would write."""
        with self._lock:
            return _storage.to_bytes(*files.written(self._state))

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Give a copy or an unpickled bandit a mark of its own, which tells its decisions from those of others."""
        self.__dict__ = state | {"_lock": threading.RLock()}
        self._state.pending.new_instance()

    def __deepcopy__(self, memo: dict[int, Any]) -> Bandit:
        with self._lock:
            out = type(self).__new__(type(self))
            out.__setstate__(copy.deepcopy(self.__getstate__(), memo))
            return out

    def __copy__(self) -> Bandit:
        return copy.deepcopy(self)

    if not TYPE_CHECKING:  # a checker of types would take any name for one that is there

        def __getattr__(self, name):
            """Raise AttributeError that says what to write for a method's name from elsewhere."""
            if hasattr(type(self), name):  # a property that failed: let it fail again, with its own error
                return object.__getattribute__(self, name)
            raise _guesses.method(name)

    def _repr_html_(self) -> str:
        """Return a table of configuration and counts, for notebooks."""
        with self._lock:
            learnt, state = self.learnt, self._state
            names, pending = list(state.context or ()), state.pending
            shown = ", ".join(names[:SHOWN]) + f", {len(names) - SHOWN} more" * (len(names) > SHOWN)
            dim = f"{state.dim} dimension{'s' * (state.dim > 1)}" if state.dim else "not seen yet"
            rows = [
                ["actions", repr(state.actions).removeprefix("Actions(").removesuffix(")")],
                ["context", shown or dim],
                ["model", repr(state.model)],
                ["policy", repr(state.policy)],
                ["decisions", f"{pending.made:,}, {len(pending.open):,} open"],
                ["rewards", f"{state.rewards:,}" + f", {state.observed:,} of them observed" * (state.observed > 0)],
            ]
            scales = {"noise": learnt.noise, "ridge": learnt.ridge}
            rows += [[name, f"{value:.4g}"] for name, value in scales.items() if value is not None]
            if state.recalibrated is not None:
                rows.append(["recalibrated by", f"{state.recalibrated.outcomes:,} outcomes"])
            return _html.table("Bandit", [], rows)

    def __repr__(self) -> str:
        with self._lock:
            seen = f"{self._state.pending.made} decisions, {len(self._state.pending.open)} open"
            parts = [f"{len(self.actions)} actions", repr(self.model), repr(self.policy), f"samples={self.samples}"]
            if self.recalibrated is not None:
                parts.append(repr(self.recalibrated))
            return f"Bandit({', '.join(parts)}; {seen})"
