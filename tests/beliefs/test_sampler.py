from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

from overcast._check import Array
from overcast.beliefs import Belief, NoClosedForm, Sampler, belief_from_json
from overcast.beliefs.sampler import ESTIMATE_DRAWS

EXAMPLES: list[Belief] = [Sampler(lambda n, rng: rng.gamma(2.0, 3.0, size=(n, 2)), 2)]


def _gamma(n: int, rng: np.random.Generator) -> Array:
    return rng.gamma(2.0, 3.0, size=(n, 2))


def test_estimates_are_near_the_truth_and_repeat() -> None:
    belief = Sampler(_gamma, 2)
    # Gamma(2, 3) has mean 6 and variance 18. Five standard errors: false alarm below 6e-7 a coordinate.
    assert (np.abs(belief.mean() - 6.0) <= 5 * np.sqrt(18.0 / ESTIMATE_DRAWS)).all()
    # Fourth central moment of Gamma(k, s) is (3 k^2 + 6 k) s^4 = 1944, so Var[(c - 6)^2] = 1944 - 324.
    assert (np.abs(belief.variance() - 18.0) <= 5 * np.sqrt((1944.0 - 324.0) / ESTIMATE_DRAWS)).all()
    np.testing.assert_array_equal(belief.mean(), Sampler(_gamma, 2).mean())
    assert not belief.mean().flags.writeable
    assert not belief.cov().flags.writeable


def test_estimates_are_drawn_once() -> None:
    calls: list[int] = []

    def draw(n: int, rng: np.random.Generator) -> Array:
        calls.append(n)
        return rng.normal(size=(n, 1))

    belief = Sampler(draw, 1)
    belief.mean(), belief.cov(), belief.mean()
    assert calls == [ESTIMATE_DRAWS]


def test_flat_draws_will_do_for_one_dimension() -> None:
    belief = Sampler(lambda n, rng: rng.normal(size=n), 1)
    assert belief.sample(4, np.random.default_rng(0)).shape == (4, 1)


def test_moments_have_no_closed_form() -> None:
    with pytest.raises(NoClosedForm, match="Sampler: moments have no closed form; pass samples=") as caught:
        Sampler(_gamma, 2).moments(np.array([[1, 0]]))
    assert "\n" not in str(caught.value)


def test_has_no_json_form() -> None:
    with pytest.raises(TypeError, match="Sampler: no JSON form"):
        Sampler(_gamma, 2).to_json()
    with pytest.raises(TypeError, match="Sampler: no JSON form"):
        belief_from_json({"type": "Sampler"})


@pytest.mark.parametrize(
    ("draw", "kind", "message"),
    [
        (lambda n, rng: np.zeros((n, 3)), ValueError, "Sampler: draw(5, rng) must have shape (5, 2), got (5, 3)"),
        (lambda n, rng: np.zeros(n), ValueError, "Sampler: draw(5, rng) must have shape (5, 2), got (5,)"),
        (lambda n, rng: np.zeros((1, 2)), ValueError, "Sampler: draw(5, rng) must have shape (5, 2), got (1, 2)"),
        (lambda n, rng: np.full((n, 2), np.nan), ValueError, "Sampler: draw(5, rng) must be finite, got nan"),
        (lambda n, rng: None, TypeError, "Sampler: draw must be real numbers, got NoneType None"),
    ],
)
def test_refuses_draws(
    draw: Callable[[int, np.random.Generator], Array],
    kind: type[Exception],
    message: str,
) -> None:
    belief = Sampler(draw, 2)
    with pytest.raises(kind, match=re.escape(message)) as caught:
        belief.sample(5, np.random.default_rng(0))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("draw", "dim", "kind", "message"),
    [
        (3, 1, TypeError, "Sampler: draw must be a function (n, rng) -> (n, c), got int 3"),
        (_gamma, 0, ValueError, "Sampler: dim must be >= 1, got 0"),
        (_gamma, 1.5, TypeError, "Sampler: dim must be a whole number, got float 1.5"),
        (_gamma, True, TypeError, "Sampler: dim must be a whole number, got bool True"),
    ],
)
def test_refuses(draw: object, dim: object, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=re.escape(message)) as caught:
        Sampler(draw, dim)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_quantiles_have_no_closed_form() -> None:
    for ask in (EXAMPLES[0].cdf, lambda values: EXAMPLES[0].quantile(values[0])):
        with pytest.raises(NoClosedForm, match=r"^Sampler: .* no closed form; ask Ensemble\(belief.sample") as caught:
            ask([0.5, 0.5])
        assert "\n" not in str(caught.value)
