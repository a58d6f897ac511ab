from __future__ import annotations

import re

import numpy as np
import pytest
import scipy.optimize
import scipy.stats

from overcast.beliefs import Belief, Ensemble, Gaussian, Mixture, NoClosedForm, PointMass, Quantiles, Sampler
from support import refused

POINTS = np.random.default_rng(0).normal(size=(6, 2))
EXAMPLES: list[Belief] = [
    Mixture([Gaussian([0.0, 1.0], 0.3), PointMass([2.0, 2.0]), Ensemble(POINTS)], [0.5, 0.2, 0.3]),
    Mixture([Sampler(lambda n, rng: rng.normal(size=(n, 1)), 1), PointMass(5.0)]),
]


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


def test_quantiles_of_two_normals_solve_the_equation() -> None:
    first, second = scipy.stats.norm(-3.0, 0.5), scipy.stats.norm(4.0, 2.0)
    mixture = Mixture([Gaussian(-3.0, 0.25), Gaussian(4.0, 4.0)], [0.3, 0.7])
    for p in (1e-6, 0.1, 0.3, 0.5, 0.9, 1 - 1e-6):
        root = scipy.optimize.brentq(lambda x, p=p: 0.3 * first.cdf(x) + 0.7 * second.cdf(x) - p, -40, 40, xtol=1e-13)
        assert mixture.quantile(p)[0] == pytest.approx(root, abs=1e-9)
    assert mixture.quantile([0.0, 1.0]).ravel().tolist() == [-np.inf, np.inf]


def test_quantiles_stop_at_jumps() -> None:
    rain = Mixture([PointMass(0.0), Gaussian(8.0, 4.0), Gaussian(-1.0, 4.0)], [0.5, 0.25, 0.25])
    below = float(rain.cdf(-1e-12)[0])
    np.testing.assert_allclose(rain.quantile([below + 1e-6, 0.3, below + 0.5 - 1e-6]), 0.0, atol=1e-12)
    assert rain.cdf(0.0)[0] - below == pytest.approx(0.5, abs=1e-9)


def test_quantiles_are_those_of_the_pooled_ensemble() -> None:
    mixture = Mixture([Ensemble(POINTS[:2]), Ensemble(POINTS[2:])], [1 / 3, 2 / 3])
    levels = np.linspace(0.01, 0.99, 33)
    np.testing.assert_allclose(mixture.quantile(levels), Ensemble(POINTS).quantile(levels), rtol=1e-12)
    np.testing.assert_allclose(mixture.cdf(POINTS), Ensemble(POINTS).cdf(POINTS))


def test_beliefs_without_weight_do_not_count() -> None:
    mixture = Mixture([Quantiles([0.0, 1.0], [0.0, 1.0]), Gaussian(0.0, 1.0)], [1.0, 0.0])
    np.testing.assert_allclose(mixture.quantile([0.0, 0.25, 1.0]).ravel(), [0.0, 0.25, 1.0])


def test_quantiles_need_them_of_all_beliefs() -> None:
    for ask in (EXAMPLES[1].cdf, EXAMPLES[1].quantile):
        with pytest.raises(NoClosedForm, match=r"^Sampler: .* no closed form; ask Ensemble\(belief.sample"):
            ask(0.5)


def test_repr_is_short_for_many_beliefs() -> None:
    assert repr(Mixture([PointMass(0.0)] * 100)) == "Mixture([100 beliefs], weights=[array of shape (100,)])"


def test_beliefs_so_far_apart_that_the_variance_is_not_finite_are_refused() -> None:
    for size in (1e160, 1.7e308):
        with refused(ValueError, "Mixture", "beliefs must have a finite mean and variance"):
            Mixture([PointMass([size]), PointMass([-size])])
    assert Mixture([PointMass([1e160])]).variance() == 0.0
    Mixture([Sampler(lambda n, rng: rng.normal(size=(n, 1)), 1), PointMass([1e160])])
