from __future__ import annotations

import re

import numpy as np
import pytest

from overcast.beliefs import Ensemble, Gaussian, Mixture, NoClosedForm, PointMass, Sampler


def test_law_of_total_variance_against_the_pooled_support() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(4, 2)), rng.normal(size=(5, 2)) + 3.0
    mixture = Mixture([Ensemble(first), Ensemble(second)], [0.3, 0.7])
    pooled = Ensemble(np.concatenate([first, second]), np.repeat([0.3 / 4, 0.7 / 5], [4, 5]))
    np.testing.assert_allclose(mixture.mean(), pooled.mean(), rtol=1e-12)
    np.testing.assert_allclose(mixture.cov(), pooled.cov(), rtol=1e-12)
    np.testing.assert_allclose(mixture.variance(), np.diag(pooled.cov()), rtol=1e-12)
    finite = mixture.support()
    assert finite is not None
    np.testing.assert_array_equal(finite[0], pooled.support()[0])
    np.testing.assert_allclose(finite[1], pooled.support()[1], rtol=1e-14)


def test_moments_of_two_normals() -> None:
    # E[x^4] = m^4 + 6 m^2 v + 3 v^2 for each.
    mixture = Mixture([Gaussian(1.0, 2.0), Gaussian(-2.0, 0.5)], [0.25, 0.75])
    fourth = 0.25 * (1 + 6 * 2 + 3 * 4) + 0.75 * (16 + 6 * 4 * 0.5 + 3 * 0.25)
    assert mixture.moments(np.array([[4]]))[0] == pytest.approx(fourth, rel=1e-13)


def test_support_is_unknown_with_one_continuous_belief() -> None:
    assert Mixture([PointMass(0.0), Gaussian(0.0, 1.0)]).support() is None


def test_rows_are_exchangeable() -> None:
    # First and last rows of two over 20,000 draws: each is a one with probability 0.3, and they are independent.
    # Five standard errors: false alarm below 6e-7 for each of the three comparisons.
    mixture = Mixture([PointMass(1.0), PointMass(0.0)], [0.3, 0.7])
    rng = np.random.default_rng(1)
    n = 20_000
    pairs = np.stack([mixture.sample(2, rng)[:, 0] for _ in range(n)])
    for rate, p in ((pairs[:, 0].mean(), 0.3), (pairs[:, 1].mean(), 0.3), (pairs.prod(axis=1).mean(), 0.09)):
        assert abs(rate - p) <= 5 * np.sqrt(p * (1 - p) / n)


def test_moments_need_them_of_all_beliefs() -> None:
    mixture = Mixture([PointMass(1.0), Sampler(lambda n, rng: rng.normal(size=n), 1)])
    assert not mixture.exact
    with pytest.raises(NoClosedForm, match="Sampler: moments have no closed form"):
        mixture.moments(np.array([[1]]))


@pytest.mark.parametrize(
    ("beliefs", "weights", "kind", "message"),
    [
        ([], None, ValueError, "Mixture: beliefs must hold at least one belief, got none"),
        (PointMass(0.0), None, TypeError, "Mixture: beliefs must be a sequence of beliefs, got PointMass"),
        ([PointMass(0.0), [1.0]], None, TypeError, "beliefs must hold beliefs only, got list [1.0] at index 1"),
        ([PointMass(0.0), PointMass([1.0, 2.0])], None, ValueError, "equal dimension, got 2 at index 1 after 1"),
        ([PointMass(0.0)], [0.5], ValueError, "Mixture: weights must sum to 1, got a sum of 0.5"),
        ([PointMass(0.0)] * 2, [-0.5, 1.5], ValueError, "Mixture: weights must be >= 0, got -0.5 at index 0"),
        ([PointMass(0.0)] * 2, [1.0], ValueError, "Mixture: weights must have shape (2,), got (1,)"),
    ],
)
def test_refuses(beliefs: object, weights: object, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=re.escape(message)) as caught:
        Mixture(beliefs, weights)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)
