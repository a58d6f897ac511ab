"""Inner products with past embeddings, pair by pair and all at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from kernel_support import MAKERS, Maker, clouds_of, filled
from overcast._check import Array
from overcast.beliefs import Ensemble, Gaussian
from overcast.beliefs.cloud import Cloud, kind_of
from overcast.kernels import RBF, Constant, Kernel, Linear, Matern, Polynomial, embeddings
from overcast.models.kernel.past import Past, cut


def _ensemble(n: int, c: int, rng: np.random.Generator) -> Ensemble:
    return Ensemble(rng.normal(size=c) + 0.5 * rng.normal(size=(n, c)), rng.dirichlet(np.ones(n)))


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


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
@pytest.mark.parametrize("kernel", [RBF(0.8), RBF((0.5, 2.0)), Linear(), Polynomial(2), Constant()], ids=repr)
def test_inner_products_are_plain_sums(kernel: Kernel, make: Maker) -> None:
    clouds = clouds_of(kernel, make, 12)
    past = Past(kernel)
    for t, cloud in enumerate(clouds):
        expected = _plain(kernel, clouds[:t], cloud)
        np.testing.assert_allclose(past.inner(cloud), expected, rtol=1e-11, atol=1e-14)
        np.testing.assert_allclose(past.direct(cloud), expected, rtol=1e-11, atol=1e-14)
        assert past.square(cloud) == pytest.approx(_plain(kernel, [cloud], cloud)[0], rel=1e-11)
        past.append(cloud)


def test_kernels_with_finite_supports_alone() -> None:
    kernel = Matern(1.5, 0.7)
    clouds = clouds_of(kernel, MAKERS["ensembles"], 8)
    np.testing.assert_allclose(
        filled(kernel, clouds[:7]).inner(clouds[7]), _plain(kernel, clouds[:7], clouds[7]), rtol=1e-12
    )


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
def test_chunks_of_a_long_past(make: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = RBF(0.8)
    clouds = clouds_of(kernel, make, 9)
    whole = filled(kernel, clouds[:8]).direct(clouds[8])
    monkeypatch.setattr(embeddings, "CHUNK", 3 * len(clouds[8].weights))
    np.testing.assert_allclose(filled(kernel, clouds[:8]).direct(clouds[8]), whole, rtol=1e-13)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
def test_beliefs_come_back_as_they_were(make: Maker) -> None:
    """The kind of `cov` is the most general of all beliefs so far."""
    clouds = clouds_of(RBF(1.0), make, 20)
    past = filled(RBF(1.0), clouds)
    assert kind_of(past.cloud.cov) == max(kind_of(cloud.cov) for cloud in clouds)
    w = np.random.default_rng(1).normal(size=(5, 2))
    for got, expected in zip(past.clouds(), clouds, strict=True):
        np.testing.assert_array_equal(got.weights, expected.weights)
        np.testing.assert_array_equal(got.centres, expected.centres)
        np.testing.assert_allclose(got.characteristic(w), expected.characteristic(w), rtol=1e-14)


def test_nothing_yet() -> None:
    past = Past(RBF(1.0))
    assert past.clouds() == []
    assert past.direct(Gaussian(0.0, 1.0).cloud()).shape == (0,)
    assert cut(past.cloud, past.starts) == []


def test_a_short_past_takes_the_plain_way_and_a_long_one_the_grid() -> None:
    kernel = RBF(0.5)
    clouds = clouds_of(kernel, lambda rng: _ensemble(100, 1, rng), 8)
    past = Past(kernel)
    seen = []
    for cloud in clouds:
        np.testing.assert_allclose(past.inner(cloud), past.direct(cloud), rtol=0, atol=1e-9)
        seen.append(past._grid is not None)
        past.append(cloud)
    assert seen == [False] * 6 + [True] * 2  # above 50,000 pairs of components


def test_the_past_grows_by_doubling() -> None:
    past = Past(RBF(1.0))
    buffers = set()
    for t in range(500):
        past.append(Gaussian([float(t), 0.0], 1.0).cloud())
        buffers.add(len(past._centres))
    assert len(buffers) <= 7
    assert len(past.clouds()) == 500


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
def test_some_rounds_and_another_kernel(make: Maker) -> None:
    clouds, other = clouds_of(RBF(0.8), make, 9), RBF((0.3, 2.0))
    past = filled(RBF(0.8), clouds[:8])
    some = past.take(np.array([1, 4, 6]))
    np.testing.assert_allclose(some.inner(clouds[8]), past.inner(clouds[8])[[1, 4, 6]], rtol=1e-12)
    np.testing.assert_allclose(
        past.under(other).inner(clouds[8]), filled(other, clouds[:8]).inner(clouds[8]), rtol=1e-12
    )
    assert past.kernel == RBF(0.8)
