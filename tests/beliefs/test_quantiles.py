from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import scipy.integrate

from overcast._check import Array
from overcast.beliefs import Belief, Quantiles, belief_from_json
from published import LAWS, PUBLISHED, spread
from support import refused

LEVELS = [0.05, 0.25, 0.5, 0.9]
VALUES = np.array([[-1.0, 2.0], [0.5, 2.0], [0.5, 3.5], [4.0, 9.0]])
EXAMPLES: list[Belief] = [
    Quantiles([0.1, 0.4, 0.9], [[0.0, -3.0], [1.0, -1.0], [4.0, -1.0]]),
    Quantiles([0.1, 0.4, 0.9], [[0.0, -3.0], [1.0, -1.0], [4.0, -1.0]], "none"),
    Quantiles([0.1, 0.4, 0.9], [[0.0, -3.0], [1.0, -2.0], [4.0, -1.0]], ["none", "normal"]),
]


def _quadrature(levels: list[float], values: Array, p: int) -> float:
    """E[c^p] as the integral of Q(u)^p over u in [0, 1]."""
    inner = [u for u in levels if 0 < u < 1]
    integral, _ = scipy.integrate.quad(
        lambda u: float(np.interp(u, levels, values)) ** p, 0.0, 1.0, points=inner, epsabs=1e-12, epsrel=1e-12
    )
    return float(integral)


@pytest.mark.parametrize("levels", [LEVELS, [0.0, 0.2, 0.7, 1.0]])
def test_moments_against_quadrature_of_the_quantile_function(levels: list[float]) -> None:
    belief = Quantiles(levels, VALUES, "none")
    for p in range(6):
        for i in range(2):
            power = np.zeros((1, 2), dtype=np.int64)
            power[0, i] = p
            assert belief.moments(power)[0] == pytest.approx(_quadrature(levels, VALUES[:, i], p), rel=1e-9)
    for i in range(2):
        first, second = (_quadrature(levels, VALUES[:, i], p) for p in (1, 2))
        assert belief.mean()[i] == pytest.approx(first, rel=1e-10)
        assert belief.variance()[i] == pytest.approx(second - first**2, rel=1e-9)


def test_coordinates_are_independent() -> None:
    belief = Quantiles(LEVELS, VALUES, "none")
    assert belief.cov()[0, 1] == 0.0
    joint, first, second = belief.moments(np.array([[2, 3], [2, 0], [0, 3]]))
    assert joint == pytest.approx(first * second, rel=1e-13)


def test_levels_zero_and_one_give_the_uniform_distribution() -> None:
    belief = Quantiles([0.0, 1.0], [2.0, 8.0])
    assert belief.mean()[0] == pytest.approx(5.0)
    assert belief.variance()[0] == pytest.approx(36 / 12)


def test_one_level_is_a_point() -> None:
    belief = Quantiles([0.5], [[3.0, 4.0]])
    np.testing.assert_array_equal(belief.mean(), [3.0, 4.0])
    np.testing.assert_array_equal(belief.cov(), np.zeros((2, 2)))
    np.testing.assert_array_equal(belief.sample(2, np.random.default_rng(0)), [[3.0, 4.0]] * 2)


def test_tails_sit_on_the_outermost_values() -> None:
    n = 50_000
    draws = Quantiles([0.1, 0.7], [0.0, 1.0], "none").sample(n, np.random.default_rng(0))[:, 0]
    # Five standard errors: false alarm below 6e-7 each.
    for share, p in ((np.mean(draws == 0.0), 0.1), (np.mean(draws == 1.0), 0.3)):
        assert abs(float(share) - p) <= 5 * np.sqrt(p * (1 - p) / n)
    assert draws.min() >= 0.0
    assert draws.max() <= 1.0


def test_draws_have_the_published_quantiles() -> None:
    n = 100_000
    draws = Quantiles([0.1, 0.5, 0.9], [0.0, 2.0, 8.0]).sample(n, np.random.default_rng(1))[:, 0]
    # Five standard errors of a share of one half: false alarm below 6e-7.
    assert abs(float(np.mean(draws <= 2.0)) - 0.5) <= 5 * 0.5 / np.sqrt(n)


def test_variance_survives_a_large_mean() -> None:
    assert Quantiles([0.0, 1.0], [1e9, 1e9 + 6.0]).variance()[0] == pytest.approx(3.0, rel=1e-6)


@pytest.mark.parametrize(
    ("levels", "values", "kind", "message"),
    [
        ([], [], ValueError, "Quantiles: levels must have shape (levels,), got (0,)"),
        ([0.5, 0.1], [0.0, 1.0], ValueError, "Quantiles: levels must increase strictly, got 0.1 after 0.5"),
        ([0.5, 0.5], [0.0, 1.0], ValueError, "Quantiles: levels must increase strictly, got 0.5 after 0.5"),
        ([-0.1, 0.5], [0.0, 1.0], ValueError, "Quantiles: levels must lie in [0, 1], got -0.1 at index 0"),
        ([10, 50, 90], [0.0, 1.0, 2.0], ValueError, "Quantiles: levels must lie in [0, 1], got 10.0 at index 0"),
        ([0.1, np.nan], [0.0, 1.0], ValueError, "Quantiles: levels must be finite, got nan at index 1"),
        (["low"], [0.0], TypeError, "Quantiles: levels must be real numbers"),
        ([0.1, 0.9], [0.0, 1.0, 2.0], ValueError, "Quantiles: values must have shape (2, c), got (3,)"),
        ([0.1, 0.9], [[0.0, 1.0]], ValueError, "Quantiles: values must have shape (2, c), got (1, 2)"),
        ([0.1, 0.9], [0.0, np.inf], ValueError, "Quantiles: values must be finite, got inf at index (1, 0)"),
        ([0.1, 0.9], [["a"], ["b"]], TypeError, "Quantiles: values must be real numbers"),
        (
            [0.1, 0.9],
            [[0.0, 4.0], [1.0, 3.0]],
            ValueError,
            "values must not decrease along levels, got 3.0 at level 0.9 after 4.0 at level 0.1 in column 1",
        ),
    ],
)
def test_refuses(levels: object, values: object, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=re.escape(message)) as caught:
        Quantiles(levels, values)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_quantiles_are_the_published_ones_and_lie_between_them() -> None:
    belief = Quantiles(LEVELS, VALUES, "none")
    np.testing.assert_array_equal(belief.quantile(LEVELS), VALUES)
    np.testing.assert_array_equal(belief.quantile([0.0, 1.0]), VALUES[[0, -1]])
    np.testing.assert_allclose(belief.quantile(0.15), [-0.25, 2.0])


def test_the_distribution_function_jumps_where_values_are_equal_and_at_the_ends() -> None:
    belief = Quantiles(LEVELS, VALUES, "none")
    values = np.array([[-1.1, 1.9], [-1.0, 2.0], [-0.25, 2.75], [0.5, 3.5], [3.9, 8.9], [4.0, 9.0]])
    first = [0.0, 0.05, 0.15, 0.5, 0.5 + 0.4 * 3.4 / 3.5, 1.0]
    second = [0.0, 0.25, 0.375, 0.5, 0.5 + 0.4 * 5.4 / 5.5, 1.0]
    np.testing.assert_allclose(belief.cdf(values), np.stack([first, second], axis=1))
    for row in values[1:]:
        np.testing.assert_allclose(belief.place(row)[1], belief.cdf(row))


@pytest.mark.parametrize("name", PUBLISHED)
@pytest.mark.parametrize("law", LAWS)
def test_the_spread_of_published_sets_is_that_of_the_truth(name: str, law: str) -> None:
    within = 0.05 if law == "normal" else 0.15
    if name.startswith("99") and law == "t(5)":
        within = 0.25  # no rule can tell it from a wide normal distribution
    assert spread(name, law) == pytest.approx(1.0, abs=within)


def test_tails_by_default() -> None:
    for levels in PUBLISHED.values():
        many = len(levels) >= 20
        assert Quantiles(levels, levels).tails == (("none", "none") if many else ("normal", "normal"))
    inside = np.linspace(0.06, 0.94, 50)
    assert Quantiles(inside, inside).tails == ("normal", "normal")
    assert Quantiles([0.0, 0.5, 1.0], [0.0, 1.0, 2.0]).tails == ("none", "none")
    assert Quantiles([0.5], [1.0]).tails == ("none", "none")


def test_a_tail_of_equal_values_is_an_atom_and_one_side_may_end() -> None:
    dry = Quantiles([0.1, 0.5, 0.9], [0.0, 0.0, 8.0])
    assert dry.quantile(0.001)[0] == 0.0
    assert dry.cdf([[-0.001], [0.0]]).ravel().tolist() == pytest.approx([0.0, 0.5])
    rain = Quantiles([0.1, 0.5, 0.9], [0.5, 2.0, 8.0], tails=("none", "normal"))
    assert rain.quantile([0.001, 0.999])[:, 0] == pytest.approx(
        [0.5, 8.0 + 6.0 * (3.090232 / 1.281552 - 1.0)], rel=1e-6
    )


def test_json_keeps_tails_and_earlier_json_has_none() -> None:
    for belief in (Quantiles([0.1, 0.9], [0.0, 1.0]), Quantiles([0.1, 0.9], [0.0, 1.0], ["none", "normal"])):
        twin = belief_from_json(belief.to_json())
        assert isinstance(twin, Quantiles)
        assert twin.tails == belief.tails
        np.testing.assert_array_equal(twin.variance(), belief.variance())
    old = belief_from_json({"type": "Quantiles", "levels": [0.1, 0.5, 0.9], "values": [[0.0], [2.0], [8.0]]})
    assert old.mean()[0] == pytest.approx(3.2)
    assert Quantiles([0.1, 0.9], [0.0, 1.0], ("none", "normal")).moved(1.0, 2.0).to_json()["tails"] == [
        "none",
        "normal",
    ]


@pytest.mark.parametrize("tails", ["heavy", ["normal"], 3, ("normal", "flat")])
def test_other_tails_are_refused(tails: Any) -> None:
    with pytest.raises(ValueError, match='Quantiles: tails must be "normal", "none", a pair of them, or None'):
        Quantiles([0.1, 0.9], [0.0, 1.0], tails)
    with pytest.raises(ValueError, match='tails must be "none" with levels 0 or 1'):
        Quantiles([0.0, 0.9], [0.0, 1.0], "normal")


@pytest.mark.parametrize("size", [1e160, 1.7e308])
@pytest.mark.parametrize("tails", ["normal", "none"])
def test_values_whose_moments_are_not_finite_are_refused(size: float, tails: str) -> None:
    with refused(ValueError, "Quantiles", f"values must have a finite mean and variance, got {size:g}; scale"):
        Quantiles([0.1, 0.5, 0.9], [-size, 0.0, size], tails)
    with refused(ValueError, "Quantiles", "finite mean and variance"):
        belief_from_json({"type": "Quantiles", "levels": [0.1, 0.9], "values": [[-size], [size]], "tails": tails})


def test_large_values_with_finite_moments_are_taken() -> None:
    assert np.isfinite(Quantiles([0.1, 0.9], [-1e152, 1e152]).variance()).all()


def test_levels_in_percent_are_refused_with_what_to_write() -> None:
    levels = [10, 50, 90]
    with refused(ValueError, "Quantiles", "got 10.0 at index 0; write np.divide(levels, 100) for percents"):
        Quantiles(levels, [1.0, 2.0, 4.0])
    np.testing.assert_allclose(Quantiles(np.divide(levels, 100), [1.0, 2.0, 4.0]).levels, [0.1, 0.5, 0.9])
    for other in ([0.1, 0.5, 900.0], [-10.0, 50.0]):
        with pytest.raises(ValueError, match=r"lie in \[0, 1\], got [^;]+$"):
            Quantiles(other, other)
