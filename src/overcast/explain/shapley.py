"""Shapley values: what each member of a group contributes to what the group achieves."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from overcast._check import Array

# All 2^c groups are asked up to so many members. Above, the members join in random orders.
ALL_GROUPS = 10
# Random orders; each is also taken backwards.
ORDERS = 16

Group = NDArray[np.bool_]


def shapley(value: Callable[[Group], float], c: int) -> tuple[Array, bool]:
    """Return the Shapley values (c,) of c members, and whether they are exact.

    They sum to value(all) - value(none). The value of member i is the mean, over all orders in which the members may
    join, of what i adds when it joins:

        phi_i = sum over groups S without i of |S|! (c - |S| - 1)! / c! (value(S + i) - value(S)).

    Beyond ten members it is the mean over sixteen random orders, always the same, and the same backwards. That is
    exact if members interact at most in pairs: of two that do, each joins last as often as the other.
    """
    if c > ALL_GROUPS:
        return _by_orders(value, c), False
    values = np.array([value(group) for group in _groups(c)])
    number = np.arange(2**c)
    sizes = np.bitwise_count(number)
    weights = np.array([math.factorial(s) * math.factorial(c - s - 1) / math.factorial(c) for s in range(c)])
    out = np.empty(c)
    for i in range(c):
        without = number[(number >> i) & 1 == 0]
        out[i] = weights[sizes[without]] @ (values[without | (1 << i)] - values[without])
    return out, True


def _groups(c: int) -> Group:
    """Return all groups of c members, (2^c, c); row n holds the binary digits of n."""
    return np.asarray((np.arange(2**c)[:, None] >> np.arange(c)) & 1, dtype=bool)


def _by_orders(value: Callable[[Group], float], c: int) -> Array:
    rng, out = np.random.default_rng(0), np.zeros(c)
    none = np.zeros(c, dtype=bool)
    first, last = value(none), value(~none)
    for _ in range(ORDERS):
        order = rng.permutation(c)
        for way in (order, order[::-1]):
            group, before = none.copy(), first
            for i in way[:-1]:
                group[i] = True
                now = value(group)
                out[i] += now - before
                before = now
            out[way[-1]] += last - before
    return out / (2 * ORDERS)
