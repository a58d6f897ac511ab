"""Decisions whose rewards have not come, and the names that they go by."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from itertools import islice
from typing import Any, NamedTuple

from overcast import _check
from overcast._check import Array
from overcast.decisions.record import Decision
from overcast.spaces import Space

# A bandit that was saved and loaded very often knows the marks of so many earlier instances; it says of older
# decisions only that they are not open.
KNOWN_TOKENS = 100

# Open decisions, the latest, that count as if they had paid what is expected of them.
MAX_AWAITED = 256


class OpenDecision(NamedTuple):
    """A decision whose reward has not come.

    action : the index of the action taken; None in a space without indices
    round : the number of the decision, counting from 1
    evidence : what the learner will learn from
    stated : mean and spread (2, c) that the belief states for itself; None unless the bandit recalibrates
    vector : (a,) of the action when it was taken; None if it is still the one of that index
    """

    action: int | None
    round: int
    evidence: Any
    stated: Array | None
    vector: Array | None = None


class Pending:
    """The decisions of a bandit: how many there were, and those that are open, by id in the order they were made.

    Ids of the bandit's own are a mark of the instance and the number of the decision, so that those of copies differ.
    """

    def __init__(self) -> None:
        #: marks of this instance, and before it of those that it was loaded or copied from
        self.tokens = [_token()]
        #: number of decisions
        self.made = 0
        #: the latest of the decisions that have their reward
        self.rewarded = 0
        self.open: dict[str, OpenDecision] = {}

    def new_instance(self) -> None:
        """Give the decisions to come a mark of their own."""
        self.tokens = [*self.tokens[-KNOWN_TOKENS:], _token()]

    def new_id(self, given: Any = None) -> str:
        """Return the id of the next decision, or the one that was given for it."""
        if given is None:
            return f"{self.tokens[-1]}-{self.made + 1}"
        ticket = self.unused(given)
        if ticket.rpartition("-")[0] == self.tokens[-1]:  # the bandit may make it up later
            raise ValueError(f"Bandit: id must not look like one of the bandit's own, got {_check.short(ticket)}")
        return ticket

    def unused(self, given: Any) -> str:
        """Return an id if no open decision has it."""
        ticket = _check.text("Bandit", "id", given)
        if ticket in self.open:
            raise ValueError(f"Bandit: id must differ from those of open decisions, got {_check.short(ticket)} again")
        return ticket

    def add(self, ticket: str, waiting: OpenDecision) -> None:
        """Add the next decision."""
        self.open[ticket] = waiting
        self.made = waiting.round

    def adopt(self, ticket: str, waiting: OpenDecision) -> None:
        """Add a decision that another instance made, and know that instance's mark from now on."""
        token, _, number = ticket.rpartition("-")
        if len(token) == len(self.tokens[-1]) and number.isdecimal() and token not in self.tokens:
            self.tokens = [*self.tokens[-KNOWN_TOKENS:-1], token, self.tokens[-1]]
        self.add(ticket, waiting)

    def close(self, ticket: str) -> None:
        """Take note that the reward of an open decision has come."""
        self.rewarded = max(self.rewarded, self.open.pop(ticket).round)

    def keep_vectors(self, former: dict[int, Array]) -> None:
        """Let open decisions remember the former vectors of actions that get new ones, by index."""
        self.open = {
            ticket: one._replace(vector=former[one.action]) if one.action in former and one.vector is None else one
            for ticket, one in self.open.items()
        }

    def find(self, decision: Decision | str, actions: Space | None = None) -> str:
        """Return the id of an open decision.

        actions : of the bandit, to say so if the name of one is given for a decision
        """
        if not isinstance(decision, (Decision, str)):
            raise TypeError(f"Bandit: decision must be what decide() returned or its id, got {type(decision).__name__}")
        ticket = decision if isinstance(decision, str) else decision.id
        if ticket in self.open:
            return ticket
        if actions is not None and actions.names is not None and ticket in actions.names:
            write = f"write bandit.observe({ticket!r}, belief, reward), or learn(decision, reward) after decide(belief)"
            raise ValueError(f"Bandit: decision must be what decide() returned, got the action {ticket!r}; {write}")
        token, _, number = ticket.rpartition("-")
        made = number.isdecimal() and len(number) <= len(str(self.made)) and 1 <= int(number) <= self.made
        if token in self.tokens and made:
            raise ValueError(
                f"Bandit: decision must be open, got {ticket}, which has its reward already or was forgotten"
            )
        raise ValueError(
            f"Bandit: decision must be an open one of this bandit, got {_check.short(ticket)}, which is of another, "
            "has its reward already or was forgotten"
        )

    def awaited(self, before: int | None = None) -> tuple[list[Any], float]:
        """Return the evidence of the latest open decisions, and the share of them whose reward is likely to come.

        before : the number of a decision, to leave out it and all later ones; None for all decisions

        Of the decisions since the oldest of them and up to the latest one with a reward, some have their reward. Their
        share is taken for the share that gets one at all; it is 1 if rewards come in order.
        """
        if not self.open:
            return [], 1.0
        known: Iterable[OpenDecision] = reversed(self.open.values())
        if before is not None:
            known = (one for one in known if one.round < before)
        latest = list(islice(known, MAX_AWAITED))
        if not latest:
            return [], 1.0
        overtaken = sum(one.round <= self.rewarded for one in latest)
        since = self.rewarded - latest[-1].round + 1
        return [one.evidence for one in latest], 1.0 - overtaken / since if overtaken else 1.0


def _token() -> str:
    return uuid.uuid4().hex[:12]
