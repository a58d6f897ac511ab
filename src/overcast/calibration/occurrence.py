"""Events such as frost: conditions on the context, and their probabilities under forecasts."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from overcast._check import Array, short
from overcast.beliefs import Belief, NoClosedForm

# Draws that estimate the probability of an event given as a function, under a belief without finite support.
DRAWS = 1000
RELATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}

Function = Callable[[Array], Any]


class Event:
    """An event: a function of a context (c,), or a comparison such as "temp < 0".

    Parameters
    ----------
    event : function from a context to True or False; or text: the name of a dimension, <, <=, > or >=, and a number
    names : (c,) names of the dimensions
    """

    def __init__(self, event: str | Function, names: Sequence[str]) -> None:
        self.text = event if isinstance(event, str) else getattr(event, "__name__", "event")
        if self.text == "<lambda>":
            self.text = "event"
        self._at: int | None = None
        if not isinstance(event, str):
            if not callable(event):
                raise TypeError(f"Event: event must be a function or text like 'temp < 0', got {short(event)}")
            self._holds = event
            return
        match = re.fullmatch(r"\s*(.*?)\s*(<=|>=|<|>)\s*(\S+)\s*", event)
        try:
            name, relation, number = match.groups() if match else ("", "", "")
            self._at, self._relation, self._bound = list(names).index(name), relation, float(number)
            if not math.isfinite(self._bound):
                raise ValueError
        except ValueError:
            known = ", ".join(names)
            raise ValueError(f"Event: event must be like '{names[0]} < 0' with one of {known}, got {event!r}") from None

    def happened(self, contexts: Array) -> NDArray[np.bool_]:
        """Return whether the event happens in each of the contexts (n, c), shape (n,)."""
        if self._at is not None:
            return np.asarray(RELATIONS[self._relation](contexts[:, self._at], self._bound), dtype=bool)
        return np.array([bool(self._holds(context)) for context in contexts], dtype=bool)

    def probability(self, belief: Belief) -> float:
        """Return the probability of the event: exact for comparisons and finite supports, else from 1000 draws."""
        if (finite := belief.support()) is not None:
            return min(max(float(finite[1] @ self.happened(finite[0])), 0.0), 1.0)
        if self._at is not None:
            bound = self._bound if self._relation in ("<=", ">") else np.nextafter(self._bound, -np.inf)
            try:
                below = float(belief.cdf(np.full(belief.dim, bound))[self._at])
            except NoClosedForm:
                pass
            else:
                return below if self._relation in ("<", "<=") else 1.0 - below
        return float(self.happened(belief.sample(DRAWS, np.random.default_rng(0))).mean())
