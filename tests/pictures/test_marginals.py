"""The picture of a belief."""

from __future__ import annotations

from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.stats

import overcast as oc

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _closed() -> Any:
    yield
    plt.close("all")


def _steps(ax: Any) -> tuple[Any, Any]:
    """Return heights and edges of the density."""
    values, edges, _ = ax.patches[0].get_data()
    return values, edges


@pytest.mark.parametrize(
    ("belief", "density"),
    [
        (oc.Gaussian([3.0], 4.0), scipy.stats.norm(3.0, 2.0).pdf),
        (oc.as_belief(scipy.stats.gamma(2.0, scale=3.0)), scipy.stats.gamma(2.0, scale=3.0).pdf),
        (oc.Mixture([oc.Gaussian([0.0], 1.0), oc.Gaussian([5.0], 1.0)]), None),
    ],
)
def test_a_density_has_the_height_that_it_should(belief: oc.Belief, density: Any) -> None:
    heights, edges = _steps(belief.plot())
    assert heights @ np.diff(edges) == pytest.approx(1.0, abs=0.01)
    if density is not None:
        middle = (edges[1:] + edges[:-1]) / 2.0
        np.testing.assert_allclose(heights, density(middle), atol=0.02 * heights.max())


def test_a_jump_is_a_point_with_its_probability() -> None:
    rain = oc.Mixture([oc.PointMass([0.0]), oc.as_belief(scipy.stats.gamma(2.0, scale=3.0))], [0.6, 0.4])
    ax = rain.plot()
    heights, edges = _steps(ax)
    assert heights @ np.diff(edges) == pytest.approx(0.4, abs=0.01)
    assert [text.get_text() for text in ax.texts] == ["60%"]
    assert ax.texts[0].xy[0] == pytest.approx(0.0, abs=1e-6)


def test_quantiles_are_steps() -> None:
    belief = oc.Quantiles([0.0, 0.5, 1.0], [0.0, 1.0, 5.0])
    heights, edges = _steps(belief.plot())
    middle = (edges[1:] + edges[:-1]) / 2.0
    assert heights[np.searchsorted(middle, 0.5)] == pytest.approx(0.5, rel=1e-6)
    assert heights[np.searchsorted(middle, 3.0)] == pytest.approx(0.125, rel=1e-6)


def test_members_are_points_and_many_of_them_a_histogram() -> None:
    ax = oc.Ensemble([[1.0], [2.0], [2.0], [4.0]]).plot()
    np.testing.assert_allclose(ax.lines[0].get_xydata(), [[1.0, 0.25], [2.0, 0.5], [4.0, 0.25]])
    many = oc.Ensemble(np.random.default_rng(0).normal(size=(500, 1))).plot()
    heights, edges = _steps(many)
    assert heights @ np.diff(edges) == pytest.approx(1.0)


def test_a_belief_known_by_draws_alone_is_a_histogram_of_them() -> None:
    ax = oc.Sampler(lambda n, rng: rng.gamma(2.0, 3.0, size=(n, 1)), 1).plot()
    heights, edges = _steps(ax)
    assert heights @ np.diff(edges) == pytest.approx(1.0)
    assert ax.get_xlabel() == "c1 (2,000 draws)"


def test_several_dimensions_stand_side_by_side_under_their_names() -> None:
    both = oc.Gaussian([21.0, 0.4], sd=[2.0, 0.1]).named(["warm", "wet"])
    drawn = both.plot()
    assert [ax.get_xlabel() for ax in drawn] == ["warm", "wet"]
    assert [ax.get_title() for ax in drawn] == ["mean 21", "mean 0.4"]
    mine = plt.subplots(1, 2)[1]
    assert list(both.plot(mine)) == list(mine)
    with pytest.raises(ValueError, match="Gaussian: ax must hold 2 axes, one for each dimension, got 1"):
        both.plot(plt.subplots()[1])
    many = oc.Gaussian(np.zeros(15), 1.0).plot()
    assert len(many) == 12
    assert many[0].figure.get_suptitle() == "3 more dimensions are left out"


@pytest.mark.parametrize(
    "belief",
    [
        oc.PointMass([3.0, -1e6]),
        oc.Gaussian([1.0, 2.0], [1.0, 0.0]),
        oc.Independent([oc.Gaussian([1.0], 1.0), oc.PointMass([2.0]), oc.Ensemble([[1.0], [4.0]])]),
        oc.as_belief(scipy.stats.poisson(3.0)),
        oc.as_belief(scipy.stats.cauchy()),
        oc.Gaussian([1.0], 1e-20),
    ],
    ids=repr,
)
def test_what_is_certain_in_part_or_wild_can_be_drawn(belief: oc.Belief) -> None:
    for ax in np.atleast_1d(belief.plot()):
        ax.figure.canvas.draw()
        assert ax.get_title().startswith(("mean", "median"))


def test_far_tails_are_not_drawn() -> None:
    _, edges = _steps(oc.as_belief(scipy.stats.cauchy(loc=3.0)).plot())
    assert -17.0 < edges[0] < -13.0  # eight distances between the quartiles, 2 each, below the first, and some room
    assert edges[-1] - 3.0 == pytest.approx(3.0 - edges[0])
    _, edges = _steps(oc.Gaussian([0.0], 1.0).plot())
    assert edges[-1] > scipy.stats.norm.ppf(0.999)
