"""Shapley values of the members of a group."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from overcast._check import Array

# Number of members up to which all 2^c groups are evaluated, instead of random orders.
ALL_GROUPS = 10
# Number of random orders; each is also used backwards.
ORDERS = 16

Group = NDArray[np.bool_]


def shapley(value: Callable[[Group], float], c: int) -> tuple[Array, bool]:
    """Compute the Shapley values (c,) of c members; also return whether they are exact.

    They sum to value(all) - value(none). The value of member i is the mean, over all orders in which the members may
    join, of what i adds when it joins:

        phi_i = sum over groups S without i of |S|! (c - |S| - 1)! / c! (value(S + i) - value(S)).

    For more than ten members, it is the mean over sixteen fixed random orders and their reverses. That is exact if
    members interact at most in pairs: of two members, each joins last equally often.
    """
    if c > ALL_GROUPS:
        return _from_random_orders(value, c), False
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
    """List all groups of c members, (2^c, c); row n holds the binary digits of n."""
    return np.asarray((np.arange(2**c)[:, None] >> np.arange(c)) & 1, dtype=bool)


def _from_random_orders(value: Callable[[Group], float], c: int) -> Array:
    rng, out = np.random.default_rng(0), np.zeros(c)
    nobody = np.zeros(c, dtype=bool)
    first, last = value(nobody), value(~nobody)
    for _ in range(ORDERS):
        order = rng.permutation(c)
        for sequence in (order, order[::-1]):
            group, before = nobody.copy(), first
            for i in sequence[:-1]:
                group[i] = True
                after = value(group)
                out[i] += after - before
                before = after
            out[sequence[-1]] += last - before
    return out / (2 * ORDERS)
