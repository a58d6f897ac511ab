from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import ArrayLike

from overcast._check import Array
from overcast.datasets import yield_model
from overcast.datasets.crops import CropData, read_crops
from overcast.datasets.yield_model import PENALTY, Cells, YieldModel, fit_yields, loss, minimise
from real_data import FOLDER, needs


def trials(
    yields: Callable[[Array, int], float],
    weather: ArrayLike,
    sites: list[str],
    varieties: int,
    replicates: Callable[[int, int], int] = lambda season, variety: 1,
) -> CropData:
    """Trials with a measurement yields(w, variety) for each replicate of a variety in a season (n, p)."""
    rows = np.asarray(weather, dtype=np.float64)
    seasons = [(site, 2001 + i) for i, site in enumerate(sites)]
    grown = [
        (i, v) for i in range(len(seasons)) for v in range(varieties) for _ in range(replicates(i, v))
    ]  # season, variety
    return CropData(
        source="invented",
        sites=tuple(sorted(set(sites))),
        varieties=tuple(f"V{v}" for v in range(varieties)),
        factor_names=tuple(f"F{j}" for j in range(rows.shape[1])),
        seasons=tuple(seasons),
        season=np.array([i for i, _ in grown]),
        variety=np.array([v for _, v in grown]),
        yields=np.array([yields(rows[i], v) for i, v in grown]),
        weather=dict(zip(seasons, rows, strict=True)),
    )


def noisy_trials(seed: int = 0, seasons: int = 9, factors: int = 2, varieties: int = 6) -> CropData:
    """Up to three replicates, some varieties not grown in some seasons."""
    rng = np.random.default_rng(seed)
    likes = rng.normal(size=(varieties, factors))
    return trials(
        lambda w, v: 70.0 + 5.0 * float(w @ likes[v]) + 3.0 * float(rng.normal()),
        rng.normal(size=(seasons, factors)),
        ["alp", "north", "south"] * (seasons // 3),
        varieties,
        lambda season, variety: (season + 2 * variety) % 4,
    )


def measurements(data: CropData) -> Iterator[tuple[float, list[float], int]]:
    """Yield y_i, w_i and x_i of the single measurements."""
    values = data.yields.tolist()
    low, high = min(values), max(values)
    factors = data.factors.tolist()
    for y, season, variety in zip(values, data.season.tolist(), data.variety.tolist(), strict=True):
        yield (y - low) / (high - low), factors[season], variety


def naive_loss(data: CropData, V: ArrayLike, W: ArrayLike, penalty: float) -> float:
    """sum_i (y_i - w_i^T W V_{x_i})^2 + penalty (|V_{x_i}|^2 + |w_i^T W|^2), one measurement at a time."""
    rows, columns = np.asarray(V).tolist(), np.asarray(W).T.tolist()
    total = 0.0
    for y, w, x in measurements(data):
        u = [sum(a * b for a, b in zip(w, column, strict=True)) for column in columns]
        v = rows[x]
        total += (y - sum(a * b for a, b in zip(u, v, strict=True))) ** 2
        total += penalty * (sum(a * a for a in u) + sum(b * b for b in v))
    return total


def predictions(data: CropData, model: YieldModel) -> Array:
    """w^T W V_x for every season and variety, (n, k)."""
    return np.asarray(data.factors @ model.loading @ model.varieties.T)


def gains(data: CropData, V: Array, W: Array, penalty: float, h: float = 1e-3) -> Array:
    """Return by how much a Newton step along each single entry of V and W would lower the loss, relative to it.

    From finite differences: the loss is quadratic in each entry, so that they are exact but for rounding.
    """
    here = naive_loss(data, V, W, penalty)
    out = []
    for which, matrix in enumerate((V, W)):
        for at in np.ndindex(matrix.shape):
            around = []
            for step in (-h, h):
                moved = V.copy(), W.copy()
                moved[which][at] += step
                around.append(naive_loss(data, *moved, penalty))
            slope = (around[1] - around[0]) / (2.0 * h)
            curvature = (around[1] - 2.0 * here + around[0]) / h**2
            out.append(slope**2 / (2.0 * curvature) / here)
    return np.array(out)


@pytest.mark.parametrize(("rank", "penalty"), [(1, 0.01), (2, 0.01), (3, 0.1)])
def test_no_entry_of_the_fit_can_lower_the_loss(rank: int, penalty: float) -> None:
    """Sweeps end when one lowers the loss by less than a millionth."""
    data = noisy_trials()
    model = fit_yields(data, rank=rank, penalty=penalty)
    assert model.varieties.shape == (6, rank)
    assert model.loading.shape == (5, rank)
    assert gains(data, model.varieties, model.loading, penalty).max() < 1e-6


def test_sweeps_without_end_come_to_a_stationary_point(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yield_model, "MAX_SWEEPS", 5_000)
    monkeypatch.setattr(yield_model, "CONVERGED", 1e-15)
    data = noisy_trials(seed=1)
    start = np.random.default_rng(0).normal(size=(6, 2))
    V, W = minimise(Cells.of(data), data.factors, start, 0.01)
    assert gains(data, V, W, 0.01).max() < 1e-12


def test_every_sweep_lowers_the_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yield_model, "CONVERGED", 0.0)
    data = noisy_trials(seed=2)
    start = np.random.default_rng(0).normal(size=(6, 2))
    losses = []
    for sweeps in (1, 2, 3, 5, 10, 20, 40):
        monkeypatch.setattr(yield_model, "MAX_SWEEPS", sweeps)
        losses.append(naive_loss(data, *minimise(Cells.of(data), data.factors, start, 0.01), 0.01))
    assert sorted(losses, reverse=True) == losses
    assert losses[0] > losses[-1]


def test_the_fit_has_less_loss_than_others() -> None:
    data, rng = noisy_trials(), np.random.default_rng(3)
    model = fit_yields(data, rank=2)
    best = naive_loss(data, model.varieties, model.loading, PENALTY)
    assert best < naive_loss(data, np.zeros((6, 2)), np.zeros((5, 2)), PENALTY)
    for size in (1e-3, 1e-2, 1e-1, 1.0):
        V = model.varieties + size * rng.normal(size=(6, 2))
        W = model.loading + size * rng.normal(size=(5, 2))
        assert best < naive_loss(data, V, W, PENALTY)


@pytest.mark.parametrize("penalty", [0.0, 0.01, 1.0])
def test_the_loss_of_cells_is_that_of_measurements_without_the_scatter_of_replicates(penalty: float) -> None:
    data, rng = noisy_trials(), np.random.default_rng(4)
    V, W = rng.normal(size=(6, 2)), rng.normal(size=(5, 2))
    cells: dict[tuple[float, ...], list[float]] = {}
    for y, w, x in measurements(data):
        cells.setdefault((*w, x), []).append(y)
    scatter = sum((y - sum(own) / len(own)) ** 2 for own in cells.values() for y in own)
    found = loss(Cells.of(data), V, data.factors @ W, penalty)
    assert found == pytest.approx(naive_loss(data, V, W, penalty) - scatter, rel=1e-12)


def test_the_penalty_as_printed_leaves_nothing_of_the_model() -> None:
    """For 0 <= y <= 1, (y - u.v)^2 + |u|^2 + |v|^2 >= y^2, with equality for u = v = 0 alone."""
    data = noisy_trials()
    model = fit_yields(data, penalty=1.0)
    np.testing.assert_allclose(predictions(data, model), 0.0, rtol=0, atol=1e-3)
    y = [value for value, _, _ in measurements(data)]
    mean = sum(y) / len(y)
    without = 1.0 - sum(value**2 for value in y) / sum((value - mean) ** 2 for value in y)
    assert model.r2 == pytest.approx(without, abs=0.01)


def low_rank_trials() -> CropData:
    """Two factors decide, and the lowest yield is not zero, so yields on the scale from 0 to 1 have rank three."""
    rng = np.random.default_rng(5)
    likes = rng.normal(size=(12, 2))
    return trials(lambda w, v: 70.0 + float(w @ likes[v]), rng.normal(size=(30, 2)), ["alp", "north", "south"] * 10, 12)


def test_yields_without_noise_are_recovered() -> None:
    data = low_rank_trials()
    model = fit_yields(data, rank=3, penalty=1e-8)
    assert model.r2 > 1.0 - 1e-4
    assert model.cross_validated_r2 > 0.999
    table = data.normalised.reshape(30, 12)  # season by season
    np.testing.assert_allclose(predictions(data, model), table, rtol=0, atol=0.02)


def test_a_rank_too_low_does_not_recover_them() -> None:
    """The yields have rank three, so a model of rank one leaves much unexplained."""
    assert fit_yields(low_rank_trials(), rank=1, penalty=1e-8).r2 < 0.9


def naive_r2(measured: list[float], predicted: list[float]) -> float:
    mean = sum(measured) / len(measured)
    left = sum((y - p) ** 2 for y, p in zip(measured, predicted, strict=True))
    return 1.0 - left / sum((y - mean) ** 2 for y in measured)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_r2_is_the_share_of_the_variance_of_single_measurements(seed: int) -> None:
    data = noisy_trials(seed)
    model = fit_yields(data)
    measured, predicted = [], []
    for y, w, x in measurements(data):
        measured.append(y)
        predicted.append(float(np.array(w) @ model.loading @ model.varieties[x]))
    assert model.r2 == pytest.approx(naive_r2(measured, predicted), abs=1e-12)


def test_the_mean_has_an_r2_of_zero_and_the_cell_means_that_of_their_scatter() -> None:
    data = noisy_trials()
    cells = Cells.of(data)
    mean = np.full(len(cells.count), data.normalised.mean())
    assert cells.r2(mean, data.normalised) == pytest.approx(0.0, abs=1e-12)
    scatter = float(data.residuals @ data.residuals) / float(((data.normalised - data.normalised.mean()) ** 2).sum())
    assert cells.r2(cells.mean, data.normalised) == pytest.approx(1.0 - scatter, abs=1e-12)


def test_cross_validation_sees_every_cell_once_and_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of five fits leaves out cells with all their replicates; R^2 is that of its predictions for those cells."""
    data = noisy_trials(seasons=12)
    everything: dict[tuple[int, int], list[float]] = {}
    for y, season, variety in zip(data.normalised.tolist(), data.season.tolist(), data.variety.tolist(), strict=True):
        everything.setdefault((season, variety), []).append(y)
    fits: list[tuple[Cells, Array, Array]] = []

    def spy(cells: Cells, factors: Array, start: Array, penalty: float) -> tuple[Array, Array]:
        V, W = minimise(cells, factors, start, penalty)
        fits.append((cells, V, W))
        return V, W

    monkeypatch.setattr(yield_model, "minimise", spy)
    model = fit_yields(data)
    assert len(fits) == 1 + 5
    held_out: list[tuple[int, int]] = []
    left_out, measured, predicted = [], [], []
    for cells, V, W in fits:
        seen = {}
        for season, variety, count in zip(cells.season.tolist(), cells.variety.tolist(), cells.count, strict=True):
            seen[season, variety] = count
            assert count == len(everything[season, variety])
        left_out.append(len(everything) - len(seen))
        for season, variety in everything.keys() - seen.keys():
            held_out.append((season, variety))
            measured += everything[season, variety]
            predicted += [float(data.factors[season] @ W @ V[variety])] * len(everything[season, variety])
    assert sorted(held_out) == sorted(everything)
    assert left_out[0] == 0
    assert max(left_out[1:]) - min(left_out[1:]) <= 1
    assert model.cross_validated_r2 == pytest.approx(naive_r2(measured, predicted), abs=1e-12)


def test_measurements_that_all_come_three_times_change_nothing() -> None:
    """The whole loss is tripled. If copies of a cell lay in several folds, cross-validation would look better."""
    data = noisy_trials()
    tripled = replace(
        data, season=np.repeat(data.season, 3), variety=np.repeat(data.variety, 3), yields=np.repeat(data.yields, 3)
    )
    once, thrice = fit_yields(data), fit_yields(tripled)
    np.testing.assert_allclose(predictions(tripled, thrice), predictions(data, once), rtol=0, atol=1e-9)
    assert thrice.r2 == pytest.approx(once.r2, abs=1e-9)
    assert thrice.cross_validated_r2 == pytest.approx(once.cross_validated_r2, abs=1e-9)


def rescaled(data: CropData, scale: ArrayLike, shift: ArrayLike) -> CropData:
    weather = {season: np.asarray(scale) * w + np.asarray(shift) for season, w in data.weather.items()}
    return replace(data, weather=weather)


@pytest.mark.parametrize(
    ("scale", "shift"),
    [((1.8, 1.0), (32.0, 0.0)), ((-1.0, 1e6), (0.0, -1e6)), ((1e-6, 0.1), (5.0, 1e3))],
    ids=["fahrenheit", "turned round", "far from zero"],
)
def test_the_units_of_the_weather_do_not_matter(scale: tuple[float, float], shift: tuple[float, float]) -> None:
    data = noisy_trials()
    other = rescaled(data, scale, shift)
    here, there = fit_yields(data), fit_yields(other)
    np.testing.assert_allclose(predictions(other, there), predictions(data, here), rtol=0, atol=1e-6)
    assert there.r2 == pytest.approx(here.r2, abs=1e-6)
    assert there.cross_validated_r2 == pytest.approx(here.cross_validated_r2, abs=1e-6)


def with_more_factors(data: CropData, more: Callable[[Array], list[float]]) -> CropData:
    weather = {season: np.append(w, more(w)) for season, w in data.weather.items()}
    names = (*data.factor_names, *(f"more {i}" for i in range(len(more(np.ones(2))))))
    return replace(data, weather=weather, factor_names=names)


@pytest.mark.parametrize(
    "more",
    [lambda w: [w[0]], lambda w: [2.0 * w[0] - w[1] + 5.0], lambda w: [w[1], -w[1], w[0] + w[1]]],
    ids=["twin", "combination", "several"],
)
def test_factors_that_others_tell_change_nothing(more: Callable[[Array], list[float]]) -> None:
    """The loss depends on w^T W alone, and the added factors allow no new values of it."""
    data = noisy_trials()
    other = with_more_factors(data, more)
    assert other.factors.shape[1] > data.factors.shape[1]
    here, there = fit_yields(data), fit_yields(other)
    np.testing.assert_allclose(predictions(other, there), predictions(data, here), rtol=0, atol=1e-5)
    assert there.cross_validated_r2 == pytest.approx(here.cross_validated_r2, abs=1e-4)


def test_more_factors_than_seasons_do_not_break_the_fit() -> None:
    rng = np.random.default_rng(7)
    data = trials(lambda w, v: float(w[v]), rng.normal(size=(6, 20)), ["alp", "north"] * 3, 5)
    model = fit_yields(data)
    assert model.loading.shape == (22, 5)
    assert np.isfinite(predictions(data, model)).all()
    assert model.r2 > 0.8
    assert np.isfinite(model.cross_validated_r2)


def test_a_variety_grown_once_is_expected_to_yield_nothing_where_it_has_not_been_seen() -> None:
    """The fit that leaves out the fold with its only cell has no row of it, so V_x = 0 has the least loss."""
    data = noisy_trials()
    cells = Cells.of(data)
    V, W = minimise(cells.take(cells.variety != 3), data.factors, np.ones((6, 2)) + np.eye(6, 2), PENALTY)
    assert not V[3].any()
    assert np.isfinite(V).all()
    assert np.isfinite(W).all()


def test_varieties_and_sites_seen_once_do_not_break_cross_validation() -> None:
    data = noisy_trials()
    rows = np.append(np.flatnonzero(data.season != 0), np.flatnonzero(data.season == 0)[:1])
    rows = np.append(rows[data.variety[rows] != 5], np.flatnonzero(data.variety == 5)[-1:])
    seasons = (("far away", 2001), *data.seasons[1:])
    once = replace(
        data,
        sites=("alp", "far away", "north", "south"),
        seasons=seasons,
        weather={**data.weather, seasons[0]: data.weather[data.seasons[0]]},
        season=data.season[rows],
        variety=data.variety[rows],
        yields=data.yields[rows],
    )
    assert sum(once.season == 0) == sum(once.variety == 5) == 1
    model = fit_yields(once)
    assert model.r2 > model.cross_validated_r2
    assert np.isfinite(model.cross_validated_r2)


@pytest.mark.parametrize("varieties", [1, 2, 3, 4, 5])
def test_trials_with_fewer_cells_than_folds_are_fitted(varieties: int) -> None:
    rng = np.random.default_rng(8)
    data = trials(lambda w, v: float(rng.random()), [[1.0, 2.0]], ["alp"], varieties, lambda season, variety: 2)
    model = fit_yields(data)
    assert np.isfinite(predictions(data, model)).all()
    assert np.isfinite([model.r2, model.cross_validated_r2]).all()


def test_the_seed_gives_the_numbers() -> None:
    data = noisy_trials()
    one, again, other = fit_yields(data, seed=3), fit_yields(data, seed=3), fit_yields(data, seed=4)
    np.testing.assert_array_equal(one.varieties, again.varieties)
    np.testing.assert_array_equal(one.loading, again.loading)
    assert (one.r2, one.cross_validated_r2) == (again.r2, again.cross_validated_r2)
    assert one.varieties.tolist() != other.varieties.tolist()


@needs("agroscope")
def test_the_fit_of_the_swiss_trials() -> None:
    data = read_crops(FOLDER / "agroscope")
    model = fit_yields(data)
    assert model.varieties.shape == (198, 5)
    assert model.loading.shape == (30, 5)
    assert 0.65 < model.r2 < 0.8
    assert 0.45 < model.cross_validated_r2 < 0.6
