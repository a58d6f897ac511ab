"""A second policy or model that sees everything a bandit sees, and never acts."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any

import msgspec

from overcast import events
from overcast._storage import from_config
from overcast.bandit import Bandit
from overcast.bandit.files import MAX_COUNT
from overcast.bandit.state import State, check_actions_may_change
from overcast.beliefs import Belief
from overcast.decisions.record import Decision

#: what an event of a shadow may fail with, if its model cannot do what the bandit does
_CANNOT = (ValueError, TypeError, ArithmeticError)


class Choice(msgspec.Struct):
    """The choice of the shadow: the index of its action, and its estimates for that action and for the one taken."""

    index: int
    chosen: float = msgspec.field(name="own")
    taken: float


class Waiting(msgspec.Struct):
    """A choice whose outcome has not come.

    probability : with which the bandit took its action; None unless any action could be taken
    """

    choice: Choice
    agrees: bool
    probability: float | None


class Comparison(msgspec.Struct):
    """Both side by side.

    decisions, agreed : decisions that the shadow saw, and those on which both agree
    expected : sum over decisions of what the shadow expects to gain by its own choice
    outcomes, gain, squares : outcomes from which a difference can be estimated, and the sums of it and of its square
    """

    decisions: Annotated[int, msgspec.Meta(ge=0, le=MAX_COUNT)] = 0
    agreed: Annotated[int, msgspec.Meta(ge=0, le=MAX_COUNT)] = 0
    expected: float = 0.0
    outcomes: Annotated[int, msgspec.Meta(ge=0, le=MAX_COUNT)] = 0
    gain: float = 0.0
    squares: float = 0.0

    @property
    def difference(self) -> float | None:
        """Return the estimated gain per decision; None without outcomes to estimate it from."""
        return self.gain / self.outcomes if self.outcomes else None

    @property
    def two_se(self) -> float | None:
        """Return two standard errors of it; None below two outcomes, and if rewards are too large to tell."""
        if self.outcomes < 2:
            return None
        variance = (self.squares - self.gain * (self.gain / self.outcomes)) / (self.outcomes - 1)
        return None if not math.isfinite(variance) else 2.0 * math.sqrt(max(variance, 0.0) / self.outcomes)


class Shadow:
    """A bandit that learns from what another one does, and the comparison of both.

    With a policy alone, it starts from what the bandit has learnt. With a model of its own, it starts from nothing,
    since the log from before may be long. It learns the rewards of the actions that were taken.

    The difference in reward is estimated by the doubly robust formula of Dudik, Langford & Li (2011): for an outcome y
    of an action a that was taken with probability p, where the shadow would have taken s and expects m, it is
    m(s) + 1{s = a} (y - m(a)) / p - y. It counts decisions that were made with a share of uniform choices; without one,
    nothing is known of the actions that the bandit does not take.
    """

    def __init__(self, config: dict[str, Any], live: Bandit, position: int, time: float) -> None:
        self.config, self.position, self.time = config, position, time
        self.bandit = _begin(config, live)
        self.open: dict[str, Waiting] = {}
        self.compared = Comparison()
        #: why it had to stop; None while it goes on
        self.failed: str | None = None

    def choice(self, belief: Belief, available: Any, id_: str, taken: int) -> Choice | None:
        """Return the choice of the shadow; None if it cannot choose."""
        if self.failed is not None:
            return None
        try:
            decision = self.bandit.propose(belief, available, id=id_)
        except _CANNOT:
            return None
        assert decision._ranking is not None
        mean = decision._ranking.estimate.mean
        out = Choice(decision.index, float(mean[decision.index]), float(mean[taken]))
        return out if math.isfinite(out.chosen) and math.isfinite(out.taken) else None

    def record_decision(self, decision: Decision, data: Any, probability: float | None) -> None:
        """Adopt a decision, and compare it with the choice that was recorded with it."""

        def see() -> None:
            choice = None if data is None else msgspec.convert(data, Choice)
            self.bandit.adopt(decision)
            if choice is not None:
                agrees = choice.index == decision.index
                self.compared.decisions += 1
                self.compared.agreed += agrees
                expected = self.compared.expected + (choice.chosen - choice.taken)
                self.compared.expected = expected if math.isfinite(expected) else self.compared.expected
                self.open[decision.id] = Waiting(choice, agrees, probability)

        self._attempt(see)

    def record_outcome(self, id_: str, event: Any) -> None:
        """Learn the outcome of a decision, or forget it if there will be none."""
        if id_ in self.bandit.state.pending.open:
            self._attempt(lambda: events.apply(self.bandit, event))
        waiting = self.open.pop(id_, None)
        if event["event"] == "learn" and waiting is not None and waiting.probability:
            choice, reward = waiting.choice, event["reward"]
            gain = choice.chosen - reward + waiting.agrees * (reward - choice.taken) / waiting.probability
            if math.isfinite(self.compared.squares + gain * gain):
                self.compared.outcomes += 1
                self.compared.gain += gain
                self.compared.squares += gain * gain

    def apply_change(self, event: Any) -> None:
        """Let actions come, go or get other names, or take over another policy of the bandit."""
        self._attempt(lambda: events.apply(self.bandit, event))

    def _attempt(self, what: Callable[[], None]) -> None:
        """Do something; if the model cannot, the shadow stops and the bandit goes on."""
        if self.failed is not None:
            return
        try:
            what()
        except _CANNOT as error:
            self.failed = str(error).splitlines()[0][:200]

    def to_data(self) -> dict[str, Any]:
        """Return all of it but the bandit as JSON data."""
        names = ("config", "position", "time", "open", "compared", "failed")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def of(cls, data: dict[str, Any], bandit: Bandit) -> Shadow:
        """Return the shadow from what `to_data` returned, and its bandit."""
        out = cls.__new__(cls)
        out.config, out.position, out.time = data["config"], data["position"], data["time"]
        out.open = msgspec.convert(data["open"], dict[str, Waiting])
        out.compared = msgspec.convert(data["compared"], Comparison)
        out.failed, out.bandit = data["failed"], bandit
        return out


def _begin(config: dict[str, Any], live: Bandit) -> Bandit:
    """Copy the bandit and give it another policy, or make a fresh one with another model."""
    policy = live.policy if config["policy"] is None else from_config(config["policy"])
    if config["model"] is None:
        out = Bandit.from_bytes(live.to_bytes())
        out.policy = policy
        return out
    model = from_config(config["model"])
    if not live.actions.active.all():
        check_actions_may_change(model)
    return Bandit._of_state(State(replace(live.state.config(), model=model, policy=policy)))
