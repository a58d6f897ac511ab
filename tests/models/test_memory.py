"""Inner products with past embeddings: pair by pair, all at once, and through characteristic functions on a grid."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from overcast._check import Array
from overcast.beliefs import Belief, Ensemble, Gaussian, Mixture, PointMass
from overcast.beliefs.cloud import Cloud, kind_of
from overcast.kernels import RBF, Constant, Kernel, Linear, Matern, Polynomial, base
from overcast.models import memory as module
from overcast.models.memory import MAX_GRID, Grid, Memory, cut, room

COV = np.array([[0.5, -0.3], [-0.3, 0.4]])
Maker = Callable[[np.random.Generator], Belief]


def _ensemble(n: int, c: int, rng: np.random.Generator) -> Ensemble:
    return Ensemble(rng.normal(size=c) + 0.5 * rng.normal(size=(n, c)), rng.dirichlet(np.ones(n)))


def _mixture(rng: np.random.Generator) -> Mixture:
    parts = [Gaussian(rng.normal(size=2), 0.2), PointMass(rng.normal(size=2)), Gaussian(rng.normal(size=2), COV)]
    return Mixture(parts, rng.dirichlet(np.ones(3)))


MAKERS: dict[str, Maker] = {
    "points": lambda rng: PointMass(rng.normal(size=2)),
    "diagonal": lambda rng: Gaussian(rng.normal(size=2), rng.random(2)),
    "full": lambda rng: Gaussian(rng.normal(size=2), COV * rng.uniform(0.1, 2.0)),
    "ensembles": lambda rng: _ensemble(int(rng.integers(1, 6)), 2, rng),
    "mixtures": _mixture,
}
MAKERS["all of them"] = lambda rng: list(MAKERS.values())[int(rng.integers(5))](rng)
ON_A_LINE: dict[str, Maker] = {
    "points": lambda rng: PointMass(rng.normal()),
    "normal": lambda rng: Gaussian(rng.normal(), rng.random()),
    "matrix": lambda rng: Gaussian([rng.normal()], [[rng.random()]]),
    "ensembles": lambda rng: _ensemble(20, 1, rng),
    "mixtures": lambda rng: Mixture([Gaussian(rng.normal(), rng.random()) for _ in range(5)]),
}


def _filled(kernel: Kernel, clouds: Sequence[Cloud]) -> Memory:
    memory = Memory(kernel)
    for cloud in clouds:
        memory.append(cloud)
    return memory


def _clouds(kernel: Kernel, make: Maker, t: int, seed: int = 0) -> list[Cloud]:
    rng = np.random.default_rng(seed)
    return [kernel.embed(make(rng)) for _ in range(t)]


def _components(cloud: Cloud) -> list[tuple[float, Cloud]]:
    return [(float(w), cloud.rows(slice(i, i + 1))) for i, w in enumerate(cloud.weights)]


def _plain(kernel: Kernel, past: Sequence[Cloud], cloud: Cloud) -> Array:
    """A sum over pairs of components, one pair at a time."""
    return np.array(
        [
            sum(p * q * kernel.compare(u, v)[0, 0] for p, u in _components(one) for q, v in _components(cloud))
            for one in past
        ]
    )


@pytest.fixture
def always_a_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_DIRECT", -1)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
@pytest.mark.parametrize("kernel", [RBF(0.8), RBF((0.5, 2.0)), Linear(), Polynomial(2), Constant()], ids=repr)
def test_inner_products_are_plain_sums(kernel: Kernel, make: Maker) -> None:
    clouds = _clouds(kernel, make, 12)
    memory = Memory(kernel)
    for t, cloud in enumerate(clouds):
        expected = _plain(kernel, clouds[:t], cloud)
        np.testing.assert_allclose(memory.inner(cloud), expected, rtol=1e-11, atol=1e-14)
        np.testing.assert_allclose(memory.direct(cloud), expected, rtol=1e-11, atol=1e-14)
        assert memory.square(cloud) == pytest.approx(_plain(kernel, [cloud], cloud)[0], rel=1e-11)
        memory.append(cloud)


def test_kernels_with_finite_supports_alone() -> None:
    kernel = Matern(1.5, 0.7)
    clouds = _clouds(kernel, MAKERS["ensembles"], 8)
    np.testing.assert_allclose(
        _filled(kernel, clouds[:7]).inner(clouds[7]), _plain(kernel, clouds[:7], clouds[7]), rtol=1e-12
    )


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
def test_pieces_of_a_long_memory(make: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = RBF(0.8)
    clouds = _clouds(kernel, make, 9)
    whole = _filled(kernel, clouds[:8]).direct(clouds[8])
    monkeypatch.setattr(base, "CHUNK", 3 * len(clouds[8].weights))
    np.testing.assert_allclose(_filled(kernel, clouds[:8]).direct(clouds[8]), whole, rtol=1e-13)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
def test_beliefs_come_back_as_they_were(make: Maker) -> None:
    """Up to the kind of spread, which is the widest of those that came."""
    clouds = _clouds(RBF(1.0), make, 20)
    memory = _filled(RBF(1.0), clouds)
    assert kind_of(memory.cloud.spread) == max(kind_of(cloud.spread) for cloud in clouds)
    w = np.random.default_rng(1).normal(size=(5, 2))
    for got, expected in zip(memory.clouds(), clouds, strict=True):
        np.testing.assert_array_equal(got.weights, expected.weights)
        np.testing.assert_array_equal(got.centres, expected.centres)
        np.testing.assert_allclose(got.characteristic(w), expected.characteristic(w), rtol=1e-14)


def test_nothing_yet() -> None:
    memory = Memory(RBF(1.0))
    assert memory.clouds() == []
    assert memory.direct(Gaussian(0.0, 1.0).cloud()).shape == (0,)
    assert cut(memory.cloud, memory.starts) == []


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
    clouds = _clouds(kernel, make, 40)
    memory = Memory(kernel)
    for cloud in clouds:
        np.testing.assert_allclose(memory.inner(cloud), memory.direct(cloud), rtol=0, atol=1e-9)
        assert memory._grid is not None
        memory.append(cloud)


@pytest.mark.usefixtures("always_a_grid")
@pytest.mark.parametrize("distance", [1.0, 10.0, 60.0])
@pytest.mark.parametrize("spread", [0.0, 0.5])
def test_outliers_widen_the_grid(distance: float, spread: float) -> None:
    kernel = RBF(0.7)
    clouds = _clouds(kernel, ON_A_LINE["ensembles"], 12)
    memory = _filled(kernel, clouds[:6])
    memory.inner(clouds[6])
    first = memory._grid
    assert first is not None
    outlier = kernel.embed(Gaussian(distance, spread) if spread else PointMass(distance))
    np.testing.assert_allclose(memory.inner(outlier), memory.direct(outlier), rtol=0, atol=1e-9)
    memory.append(outlier)
    for cloud in clouds[6:]:
        np.testing.assert_allclose(memory.inner(cloud), memory.direct(cloud), rtol=0, atol=1e-9)
        memory.append(cloud)
    assert memory._grid is not None
    assert (memory._grid is not first) == (distance > 5.0 or spread > 0.0)


@pytest.mark.usefixtures("always_a_grid")
def test_an_outlier_that_is_appended_unseen_is_not_lost() -> None:
    """Feedback may bring a belief that was never asked about."""
    kernel = RBF(0.7)
    clouds = _clouds(kernel, ON_A_LINE["ensembles"], 5)
    memory = _filled(kernel, clouds[:4])
    memory.inner(clouds[4])
    memory.append(kernel.embed(PointMass(30.0)))
    probe = kernel.embed(PointMass(29.5))
    np.testing.assert_allclose(memory.inner(probe), memory.direct(probe), rtol=0, atol=1e-9)
    assert memory.inner(probe)[-1] > 0.7


@pytest.mark.usefixtures("always_a_grid")
def test_too_wide_a_range_falls_back_for_good() -> None:
    kernel = RBF(0.01)
    clouds = _clouds(kernel, MAKERS["points"], 6)
    memory = _filled(kernel, clouds[:5])
    np.testing.assert_array_equal(memory.inner(clouds[5]), memory.direct(clouds[5]))
    assert memory._grid is None
    assert not memory._coarse


@pytest.mark.usefixtures("always_a_grid")
@pytest.mark.parametrize(("kernel", "c"), [(RBF(1.0), 6), (Matern(2.5, 1.0), 1), (Linear(), 1), (Polynomial(2), 2)])
def test_many_dimensions_and_other_kernels_take_the_plain_way(kernel: Kernel, c: int) -> None:
    clouds = _clouds(kernel, lambda rng: _ensemble(4, c, rng), 5)
    memory = _filled(kernel, clouds[:4])
    np.testing.assert_array_equal(memory.inner(clouds[4]), memory.direct(clouds[4]))
    assert memory._grid is None


def test_small_memories_take_the_plain_way_and_large_ones_the_grid() -> None:
    kernel = RBF(0.5)
    clouds = _clouds(kernel, lambda rng: _ensemble(100, 1, rng), 8)
    memory = Memory(kernel)
    seen = []
    for cloud in clouds:
        np.testing.assert_allclose(memory.inner(cloud), memory.direct(cloud), rtol=0, atol=1e-9)
        seen.append(memory._grid is not None)
        memory.append(cloud)
    assert seen == [False] * 6 + [True] * 2  # above 50,000 pairs of components


def test_the_grid_is_made_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time, the range has grown by half: as often as its logarithm."""
    monkeypatch.setattr(module, "MAX_DIRECT", -1)
    made = []
    around = Grid.around

    def counted(kernel: Kernel, clouds: Sequence[Cloud]) -> Grid | None:
        made.append(len(clouds))
        return around(kernel, clouds)

    monkeypatch.setattr(Grid, "around", counted)
    kernel = RBF(1.0)
    memory = Memory(kernel)
    for t in range(300):
        cloud = kernel.embed(PointMass(0.1 * t))  # a trend
        memory.inner(cloud)
        memory.append(cloud)
    assert len(made) <= 20


@pytest.mark.usefixtures("always_a_grid")
def test_a_coordinate_that_never_changes() -> None:
    kernel = RBF(0.8)
    clouds = _clouds(kernel, lambda rng: PointMass([1.0, rng.normal()]), 30)
    memory = Memory(kernel)
    for cloud in clouds:
        np.testing.assert_allclose(memory.inner(cloud), memory.direct(cloud), rtol=0, atol=1e-9)
        memory.append(cloud)
    assert memory._grid is not None
    assert memory._grid._roots.size <= MAX_GRID


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


def test_memories_grow_by_doubling() -> None:
    memory = Memory(RBF(1.0))
    buffers = set()
    for t in range(500):
        memory.append(Gaussian([float(t), 0.0], 1.0).cloud())
        buffers.add(len(memory._centres))
    assert len(buffers) <= 7
    assert len(memory.clouds()) == 500
