"""How the latest forecasts of a bandit did, by the contexts that were revealed: numbers for monitoring."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from overcast._check import Array
from overcast.service.dashboard.window import Window
from overcast.service.errors import LIBRARY

#: nominal levels of the central intervals
LEVELS = (0.5, 0.8, 0.9)
#: dimensions that are judged at most
DIMENSIONS = 20


class Coverage(NamedTuple):
    """How forecasts of one dimension did.

    name : of the dimension
    outcomes : contexts that were revealed
    shares : of them inside of the central intervals with the nominal `LEVELS`; equal to these if all is well
    place : mean of their places in the forecasts, the probability integral transform; 0.5 if forecasts are unbiased
    """

    name: str
    outcomes: int
    shares: tuple[float, ...]
    place: float


def coverage(window: Window) -> list[Coverage]:
    """Return how the latest forecasts did, one entry for each dimension; none if no context was revealed."""
    places: list[Array] = []
    names: tuple[str, ...] | None = None
    for seen in window.decisions:
        if seen.context is None:
            continue
        try:
            belief = seen.belief
            came = seen.observed_context(belief)
            place = None if came is None else belief.place(np.array(came))[:, :DIMENSIONS]
        except LIBRARY:
            continue
        if place is None or (places and place.shape != places[0].shape) or not np.isfinite(place).all():
            continue
        places.append(place)
        names = names or belief.names
    if not places:
        return []
    lower, upper = np.stack(places, axis=1)  # (t, c) each
    inside = [((lower <= (1 + level) / 2) & (upper >= (1 - level) / 2)).mean(axis=0) for level in LEVELS]
    middle = ((lower + upper) / 2).mean(axis=0)
    called = names or tuple(f"c{i + 1}" for i in range(lower.shape[1]))
    return [
        Coverage(called[i], len(places), tuple(float(share[i]) for share in inside), float(middle[i]))
        for i in range(lower.shape[1])
    ]
