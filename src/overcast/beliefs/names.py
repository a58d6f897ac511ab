"""Reorder beliefs by the names of the context's dimensions."""

from __future__ import annotations

from overcast import _check
from overcast.beliefs.base import Belief


def arranged(owner: str, parameter: str, belief: Belief, names: tuple[str, ...] | None) -> Belief:
    """Return the belief about the dimensions with these names, in this order; drop other dimensions.

    A belief without names, or `names` None, keeps its order.

    Examples
    --------
    >>> from overcast.beliefs import PointMass
    >>> arranged("Bandit", "belief", PointMass([0.4, 21.0]).named(["wet", "warm"]), ("warm", "wet"))
    PointMass([21.0, 0.4])
    """
    if names is None or belief.names is None or belief.names == names:
        return belief
    missing = [name for name in names if name not in belief.names]
    if missing:
        got = _check.short(list(belief.names))
        raise ValueError(
            f"{owner}: {parameter} must have the dimensions {_shown(names)}, got {got} without {missing[0]!r}"
        )
    return belief.select(names)


def _shown(names: tuple[str, ...]) -> str:
    text = ", ".join(names)
    return text if len(text) <= 80 else f"{text[:77]}..."
