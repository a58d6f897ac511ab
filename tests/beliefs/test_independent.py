from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

from overcast.beliefs import Belief, Ensemble, Gaussian, Independent, PointMass, Quantiles

EXAMPLES: list[Belief] = [
    Independent([Gaussian([1.0], 0.5), Ensemble(np.random.default_rng(0).normal(size=(6, 2))), PointMass(3.0)]),
]


def test_mean_and_block_diagonal_covariance() -> None:
    cov = np.array([[2.0, 0.5], [0.5, 1.0]])
    belief = Independent([Gaussian([1.0, 2.0], cov), PointMass(7.0), Gaussian(3.0, 4.0)])
    np.testing.assert_array_equal(belief.mean(), [1.0, 2.0, 7.0, 3.0])
    expected = np.zeros((4, 4))
    expected[:2, :2], expected[3, 3] = cov, 4.0
    np.testing.assert_array_equal(belief.cov(), expected)


def test_product_of_supports_by_enumeration() -> None:
    first, second = Ensemble([[0.0], [1.0]], [0.2, 0.8]), Ensemble([[5.0, 6.0], [7.0, 8.0], [9.0, 10.0]])
    finite = Independent([first, second]).support()
    assert finite is not None
    found = {tuple(point): weight for point, weight in zip(finite[0].tolist(), finite[1].tolist(), strict=True)}
    assert len(found) == 6
    for (a, p), (b, q) in itertools.product(*(zip(*s.support(), strict=True) for s in (first, second))):
        assert found[(*a.tolist(), *b.tolist())] == pytest.approx(p * q)


def test_moments_by_the_product_support() -> None:
    rng = np.random.default_rng(0)
    belief = Independent([Ensemble(rng.normal(size=(3, 2))), Ensemble(rng.normal(size=(4, 1)))])
    finite = belief.support()
    assert finite is not None
    powers = np.array(list(itertools.product(range(3), repeat=3)))
    np.testing.assert_allclose(belief.moments(powers), Ensemble(*finite).moments(powers), rtol=1e-10, atol=1e-14)


def test_large_products_have_no_listed_support() -> None:
    part = Ensemble(np.arange(100.0)[:, None])
    within = Independent([part, part]).support()
    assert within is not None
    assert len(within[1]) == 10_000
    assert Independent([part] * 3).support() is None


def test_support_is_unknown_with_one_continuous_part() -> None:
    assert Independent([PointMass(0.0), Quantiles([0.1, 0.9], [0.0, 1.0])]).support() is None


def test_parts_of_the_draws_are_uncorrelated() -> None:
    n = 100_000
    draws = Independent([Gaussian(0.0, 1.0), Gaussian(0.0, 1.0)]).sample(n, np.random.default_rng(2))
    # The product of two standard normals has variance one; five standard errors, false alarm below 6e-7.
    assert abs(float(np.mean(draws[:, 0] * draws[:, 1]))) <= 5 / np.sqrt(n)


@pytest.mark.parametrize(
    ("beliefs", "kind", "message"),
    [
        ([], ValueError, "Independent: beliefs must hold at least one belief, got none"),
        (3, TypeError, "Independent: beliefs must be a sequence of beliefs, got int 3"),
        ([PointMass(0.0), 3], TypeError, "Independent: beliefs must hold beliefs only, got int 3 at index 1"),
    ],
)
def test_refuses(beliefs: object, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=re.escape(message)) as caught:
        Independent(beliefs)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_distribution_functions_and_quantiles_stand_side_by_side() -> None:
    parts: list[Belief] = [Gaussian([1.0], 0.5), Quantiles([0.0, 1.0], [[0.0, 2.0], [1.0, 4.0]])]
    both = Independent(parts)
    values = np.array([[0.5, 0.2, 3.0], [1.0, 2.0, 1.0]])
    np.testing.assert_array_equal(both.cdf(values)[:, :1], parts[0].cdf(values[:, :1]))
    np.testing.assert_array_equal(both.cdf(values)[:, 1:], parts[1].cdf(values[:, 1:]))
    np.testing.assert_allclose(both.quantile(0.5), [1.0, 0.5, 3.0])
