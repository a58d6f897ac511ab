"""Shapley values."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from overcast.explain.shapley import ALL_GROUPS, Group, shapley


def _in_all_orders(value: dict[tuple[bool, ...], float], c: int) -> list[float]:
    """Return the average of what each member adds, over all orders."""
    out, orders = np.zeros(c), list(permutations(range(c)))
    for order in orders:
        group = [False] * c
        for i in order:
            before = value[tuple(group)]
            group[i] = True
            out[i] += value[tuple(group)] - before
    return list(out / len(orders))


@pytest.mark.parametrize("c", [1, 2, 3, 4])
def test_they_are_averages_over_all_orders(c: int) -> None:
    rng = np.random.default_rng(c)
    value = {tuple(map(bool, digits)): float(rng.normal()) for digits in np.ndindex(*[2] * c)}
    found, exact = shapley(lambda group: value[tuple(group.tolist())], c)
    assert exact
    np.testing.assert_allclose(found, _in_all_orders(value, c), atol=1e-12)


@pytest.mark.parametrize("c", [3, ALL_GROUPS, ALL_GROUPS + 1, 20])
def test_they_sum_to_what_all_achieve(c: int) -> None:
    weights = np.random.default_rng(0).normal(size=c)

    def value(group: Group) -> float:
        return float(np.exp(weights @ group) - (weights @ group) ** 3)

    none = np.zeros(c, dtype=bool)
    found, exact = shapley(value, c)
    assert exact == (c <= ALL_GROUPS)
    assert abs(found.sum() - (value(~none) - value(none))) < 1e-10


def test_many_members_that_interact_in_pairs_get_their_exact_values() -> None:
    """A pair's worth is shared in equal parts."""
    c, rng = 14, np.random.default_rng(1)
    alone, pairs = rng.normal(size=c), np.triu(rng.normal(size=(c, c)), 1)
    found, exact = shapley(lambda group: float(alone @ group + group @ pairs @ group), c)
    assert not exact
    np.testing.assert_allclose(found, alone + (pairs + pairs.T).sum(axis=1) / 2.0, atol=1e-12)
