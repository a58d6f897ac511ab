"""Inner products through characteristic functions on a grid of frequencies, against every pair of components."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from kernel_support import MAKERS, Maker, clouds_of, filled
from overcast.beliefs import Ensemble, Gaussian, Mixture, PointMass
from overcast.beliefs.cloud import Cloud
from overcast.kernels import RBF, Kernel, Linear, Matern, Polynomial
from overcast.models.kernel import past as module
from overcast.models.kernel.past import MAX_SIZE, Grid, Past, room


def _ensemble(n: int, c: int, rng: np.random.Generator) -> Ensemble:
    return Ensemble(rng.normal(size=c) + 0.5 * rng.normal(size=(n, c)), rng.dirichlet(np.ones(n)))


ON_A_LINE: dict[str, Maker] = {
    "points": lambda rng: PointMass(rng.normal()),
    "normal": lambda rng: Gaussian(rng.normal(), rng.random()),
    "matrix": lambda rng: Gaussian([rng.normal()], [[rng.random()]]),
    "ensembles": lambda rng: _ensemble(20, 1, rng),
    "mixtures": lambda rng: Mixture([Gaussian(rng.normal(), rng.random()) for _ in range(5)]),
}


@pytest.fixture
def always_a_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_DIRECT", -1)


@pytest.mark.usefixtures("always_a_grid")
@pytest.mark.parametrize(
    ("kernel", "make"),
    [
        *((RBF(1.1), make) for make in MAKERS.values()),
        (RBF((0.9, 3.0)), MAKERS["all of them"]),
        *((RBF(0.3), make) for make in ON_A_LINE.values()),
    ],
)
def test_the_grid_is_the_plain_way_to_nine_digits(kernel: Kernel, make: Maker) -> None:
    """From the first belief on, while the range grows."""
    clouds = clouds_of(kernel, make, 40)
    past = Past(kernel)
    for cloud in clouds:
        np.testing.assert_allclose(past.inner(cloud), past.direct(cloud), rtol=0, atol=1e-9)
        past.append(cloud)
        assert past._grid is not None


@pytest.mark.usefixtures("always_a_grid")
@pytest.mark.parametrize("distance", [1.0, 10.0, 60.0])
@pytest.mark.parametrize("variance", [0.0, 0.5])
def test_outliers_widen_the_grid(distance: float, variance: float) -> None:
    kernel = RBF(0.7)
    clouds = clouds_of(kernel, ON_A_LINE["ensembles"], 12)
    past = filled(kernel, clouds[:6])
    first = past._grid
    assert first is not None
    outlier = kernel.embed(Gaussian(distance, variance) if variance else PointMass(distance))
    np.testing.assert_allclose(past.inner(outlier), past.direct(outlier), rtol=0, atol=1e-9)
    covered = first.covers(outlier)
    past.append(outlier)
    assert (past._grid is first) == covered
    for cloud in clouds[6:]:
        np.testing.assert_allclose(past.inner(cloud), past.direct(cloud), rtol=0, atol=1e-9)
        past.append(cloud)
    assert past._grid is not None
    assert past._grid.covers(outlier)
    assert covered == (distance == 1.0 and not variance)


@pytest.mark.usefixtures("always_a_grid")
def test_an_outlier_that_is_appended_unseen_is_not_lost() -> None:
    """Feedback may contain a belief that nobody asked an estimate for."""
    kernel = RBF(0.7)
    clouds = clouds_of(kernel, ON_A_LINE["ensembles"], 5)
    past = filled(kernel, clouds[:4])
    past.append(kernel.embed(PointMass(30.0)))
    probe = kernel.embed(PointMass(29.5))
    np.testing.assert_allclose(past.inner(probe), past.direct(probe), rtol=0, atol=1e-9)
    assert past.inner(probe)[-1] > 0.7


@pytest.mark.usefixtures("always_a_grid")
def test_questions_leave_the_grid_of_the_rounds_as_it_is() -> None:
    kernel = RBF(0.7)
    clouds = clouds_of(kernel, ON_A_LINE["ensembles"], 12)
    quiet, asked = (filled(kernel, clouds[:6]) for _ in range(2))
    for cloud in clouds[6:]:
        wide = kernel.embed(PointMass(float(len(asked.clouds()))))
        np.testing.assert_allclose(asked.inner(wide), asked.direct(wide), rtol=0, atol=1e-9)
        np.testing.assert_array_equal(asked.inner(cloud), quiet.inner(cloud))
        assert asked.square(wide) == quiet.square(wide)
        quiet.append(cloud)
        asked.append(cloud)


@pytest.mark.usefixtures("always_a_grid")
def test_too_wide_a_range_falls_back_for_good() -> None:
    kernel = RBF(0.01)
    clouds = clouds_of(kernel, MAKERS["points"], 6)
    past = filled(kernel, clouds[:5])
    np.testing.assert_array_equal(past.inner(clouds[5]), past.direct(clouds[5]))
    assert past._grid is None
    assert not past._smooth


@pytest.mark.usefixtures("always_a_grid")
@pytest.mark.parametrize(("kernel", "c"), [(RBF(1.0), 6), (Matern(2.5, 1.0), 1), (Linear(), 1), (Polynomial(2), 2)])
def test_many_dimensions_and_other_kernels_take_the_plain_way(kernel: Kernel, c: int) -> None:
    clouds = clouds_of(kernel, lambda rng: _ensemble(4, c, rng), 5)
    past = filled(kernel, clouds[:4])
    np.testing.assert_array_equal(past.inner(clouds[4]), past.direct(clouds[4]))
    assert past._grid is None


def test_the_grid_is_made_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each new grid is wider by half, so their number grows like the logarithm of the range."""
    monkeypatch.setattr(module, "MAX_DIRECT", -1)
    made = []
    around = Grid.around

    def counted(kernel: Kernel, clouds: Sequence[Cloud]) -> Grid | None:
        made.append(len(clouds))
        return around(kernel, clouds)

    monkeypatch.setattr(Grid, "around", counted)
    kernel = RBF(1.0)
    past = Past(kernel)
    for t in range(300):
        cloud = kernel.embed(PointMass(0.1 * t))  # a trend
        past.inner(cloud)
        past.append(cloud)
    assert len(made) <= 20


@pytest.mark.usefixtures("always_a_grid")
def test_a_coordinate_that_never_changes() -> None:
    kernel = RBF(0.8)
    clouds = clouds_of(kernel, lambda rng: PointMass([1.0, rng.normal()]), 30)
    past = Past(kernel)
    for cloud in clouds:
        np.testing.assert_allclose(past.inner(cloud), past.direct(cloud), rtol=0, atol=1e-9)
        past.append(cloud)
    assert past._grid is not None
    assert past._grid._roots.size <= MAX_SIZE


def test_room_at_least_doubles() -> None:
    array, grown = np.empty((0, 3)), []
    for t in range(1, 1001):
        larger = room(array, t)
        assert len(larger) >= t
        if larger is not array:
            np.testing.assert_array_equal(larger[: len(array)], array)
            grown.append(t)
        array = larger
        array[t - 1] = t
    assert len(grown) <= 8
    assert room(np.empty(0, dtype=np.intp), 100).dtype == np.intp
    assert len(room(np.empty(5), 100)) == 100
