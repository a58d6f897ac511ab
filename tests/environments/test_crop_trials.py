from __future__ import annotations

import itertools
import math
import statistics
from typing import Any, get_args

import numpy as np
import pytest
from numpy.typing import ArrayLike
from scipy import stats

import overcast as oc
from overcast._check import Array
from overcast.environments import CropTrials, Environment, Rounds
from overcast.environments.crop_trials import BeliefKind
from support import refused

POINTS = np.random.default_rng(0).normal(size=(6, 2))
#: four seasons at one site and two at another; the last two factors tell the sites apart
SEASONS: dict[str, Any] = {
    "varieties": POINTS[:3],
    "weather": np.hstack([POINTS, np.repeat(np.eye(2), (4, 2), axis=0)]),
    "loading": np.random.default_rng(1).normal(size=(4, 2)),
    "sites": ["Reckenholz"] * 4 + ["Changins"] * 2,
    "noise_values": [-0.2, -0.1, 0.3],
}
#: all seasons of the site, this one included, so that the belief holds the season that comes
CLIMATE = np.stack([SEASONS["weather"][rows] for rows in [[0, 1, 2, 3]] * 4 + [[4, 5, 4, 5]] * 2])
EXAMPLES: list[Environment] = [
    CropTrials(**SEASONS),
    CropTrials(**SEASONS, belief="forecast"),
    CropTrials(**SEASONS, belief="climatology", climate=CLIMATE),
]

KINDS: tuple[BeliefKind, ...] = get_args(BeliefKind)
every_kind = pytest.mark.parametrize("kind", KINDS)


def rngs(n: int, seed: int = 0) -> list[np.random.Generator]:
    return [np.random.default_rng([seed, i]) for i in range(n)]


def rounds_of(env: CropTrials, steps: int, n: int, seed: int = 0) -> list[Rounds]:
    trials, past = env.start_all(rngs(n, seed)), np.zeros((n, steps), dtype=np.intp)
    return [trials.step(past[:, :t]) for t in range(steps)]


class Fields:
    """Three sites with five, four and one seasons; the last factors tell the sites apart."""

    def __init__(self, weather_factors: int = 3, rank: int = 2, one_hot: bool = True) -> None:
        rng = np.random.default_rng([weather_factors, rank])
        self.sites = ["north"] * 5 + ["south"] * 4 + ["alp"]
        names = sorted(set(self.sites))
        own = [[float(site == name) for name in names] for site in self.sites]
        measured = rng.normal(size=(10, weather_factors)) * [1.0 + j for j in range(weather_factors)]
        self.weather = np.hstack([measured, own]) if one_hot else measured
        self.loading = rng.normal(size=(self.weather.shape[1], rank))
        self.varieties = rng.normal(size=(6, rank))
        self.climate = rng.normal(size=(10, 7, self.weather.shape[1]))
        self.noise_values = [-0.3, -0.1, 0.1, 0.1, 0.2]
        self.recorded = np.array([self.context(factors) for factors in self.weather])

    def env(self, kind: BeliefKind, **arguments: Any) -> CropTrials:
        given: dict[str, Any] = {
            "varieties": self.varieties,
            "weather": self.weather,
            "loading": self.loading,
            "sites": self.sites,
            "noise_values": self.noise_values,
            "belief": kind,
            "climate": self.climate if kind == "climatology" else None,
        }
        return CropTrials(**{**given, **arguments})

    def context(self, factors: ArrayLike) -> list[float]:
        """w^T W, one product at a time."""
        w = np.asarray(factors).tolist()
        return [sum(w_i * float(W_ij) for w_i, W_ij in zip(w, column, strict=True)) for column in self.loading.T]

    def rewards(self, factors: ArrayLike) -> list[float]:
        """w^T W V_x for every x."""
        w, W = np.asarray(factors).tolist(), self.loading
        p, q = W.shape
        return [
            math.fsum(w[i] * float(W[i, j]) * float(V_x[j]) for i, j in itertools.product(range(p), range(q)))
            for V_x in self.varieties
        ]

    def season(self, context: Array) -> int:
        """Return the index of the recorded season that equals the context up to rounding; there must be exactly one."""
        (found,) = np.flatnonzero((np.abs(self.recorded - context) <= 1e-12).all(axis=1))
        return int(found)

    def cov(self, site: str) -> Array:
        """W^T S W, where S holds the population variances of the factors over the seasons of the site."""
        own = [factors.tolist() for factors, other in zip(self.weather, self.sites, strict=True) if other == site]
        S = [statistics.pvariance(factor) for factor in zip(*own, strict=True)]
        p, q = self.loading.shape
        out = np.zeros((q, q))
        for i, j, m in itertools.product(range(p), range(q), range(q)):
            out[j, m] += self.loading[i, j] * S[i] * self.loading[i, m]
        return out


FIELDS = Fields()
CASES = {
    "plain": FIELDS,
    "fewer factors than the rank": Fields(weather_factors=2, rank=4, one_hot=False),
    "one factor": Fields(weather_factors=1, rank=3, one_hot=False),
    "rank one": Fields(rank=1),
}
every_case = pytest.mark.parametrize("fields", CASES.values(), ids=CASES.keys())


def centre_and_other(kind: BeliefKind, now: Rounds, i: int) -> tuple[Array, Array]:
    """Return the recorded season and what lies off it: the forecast, or the realised context."""
    mean, context = now.belief[i].mean(), now.context[i]
    return (mean, context) if kind == "centred" else (context, mean)


@every_case
@every_kind
def test_the_season_is_a_recorded_one_and_its_variance_that_of_the_site(fields: Fields, kind: BeliefKind) -> None:
    seen = set()
    for now in rounds_of(fields.env(kind), 20, 5):
        for i in range(5):
            season = fields.season(centre_and_other(kind, now, i)[0])
            seen.add(season)
            if kind != "climatology":
                belief = now.belief[i]
                assert isinstance(belief, oc.Gaussian)
                np.testing.assert_allclose(belief.cov(), fields.cov(fields.sites[season]), rtol=1e-12, atol=1e-14)
                np.testing.assert_allclose(now.belief.variance()[i], np.diagonal(belief.cov()), rtol=1e-12, atol=1e-14)
    assert seen == set(range(10))


@every_case
@pytest.mark.parametrize("kind", ["forecast", "climatology"])
def test_rewards_of_a_recorded_season_by_formula(fields: Fields, kind: BeliefKind) -> None:
    for now in rounds_of(fields.env(kind), 20, 5):
        for i in range(5):
            factors = fields.weather[fields.season(now.context[i])]
            np.testing.assert_allclose(now.rewards[i], fields.rewards(factors), rtol=0, atol=1e-11)


@every_case
@every_kind
def test_rewards_are_products_with_the_context_and_expected_with_its_mean(fields: Fields, kind: BeliefKind) -> None:
    for now in rounds_of(fields.env(kind), 20, 5):
        for i, (x, V_x) in itertools.product(range(5), enumerate(fields.varieties.tolist())):
            for values, at in ((now.rewards, now.context[i]), (now.expected, now.belief[i].mean())):
                product = math.fsum(c * v for c, v in zip(at.tolist(), V_x, strict=True))
                assert values[i, x] == pytest.approx(product, abs=1e-11)


@every_case
@every_kind
def test_the_identity_reproduces_rewards_and_their_expectation(fields: Fields, kind: BeliefKind) -> None:
    """Under x c^T, the parameter is vec(I)."""
    env = fields.env(kind)
    trials = env.start_all(rngs(4))
    np.testing.assert_array_equal(trials.actions, fields.varieties)
    assert trials.theta is not None
    rank = fields.varieties.shape[1]
    assert trials.theta.tolist() == [float(i == j) for i, j in itertools.product(range(rank), repeat=2)]
    for t in range(10):
        now = trials.step(np.zeros((4, t), dtype=np.intp))
        for i in range(4):
            phi = env.features(trials.actions, now.context[i : i + 1])[:, 0]
            np.testing.assert_allclose(phi @ trials.theta, now.rewards[i], rtol=0, atol=1e-11)
            psi = env.features.expected(trials.actions, now.belief[i])
            np.testing.assert_allclose(psi @ trials.theta, now.expected[i], rtol=0, atol=1e-11)


def test_a_climatology_is_uniform_on_the_earlier_seasons() -> None:
    for now in rounds_of(FIELDS.env("climatology"), 20, 5):
        for i in range(5):
            earlier = FIELDS.climate[FIELDS.season(now.context[i])]
            belief = now.belief[i]
            assert isinstance(belief, oc.Ensemble)
            points, weights = belief.support()
            np.testing.assert_allclose(points, [FIELDS.context(w) for w in earlier], rtol=0, atol=1e-12)
            np.testing.assert_allclose(weights, 1.0 / 7.0, rtol=1e-15)
            yields = [FIELDS.rewards(w) for w in earlier]
            average = [math.fsum(column) / 7.0 for column in zip(*yields, strict=True)]
            np.testing.assert_allclose(now.expected[i], average, rtol=0, atol=1e-11)


def test_one_earlier_season_is_a_forecast_without_variance() -> None:
    env = FIELDS.env("climatology", climate=FIELDS.weather[:, None])
    for now in rounds_of(env, 10, 3):
        np.testing.assert_allclose(now.expected, now.rewards, rtol=0, atol=1e-12)
        np.testing.assert_allclose(now.belief.mean(), now.context, rtol=0, atol=1e-12)


def assert_independent_standard_normals(columns: Array) -> None:
    """Mean, variance and Kolmogorov-Smirnov over all entries (n, m), and every pair of columns, at 1e-6 each.

    sum z_i z'_i has variance n; for the sizes used here its tails are normal at this level up to a factor of two.
    """
    z, n = columns.ravel(), columns.size
    assert 2 * stats.norm.sf(abs(z.sum()) / math.sqrt(n)) > 1e-6
    square = float(z @ z)
    assert 2 * min(stats.chi2.cdf(square, n), stats.chi2.sf(square, n)) > 1e-6
    assert stats.kstest(z, "norm").pvalue > 1e-6
    pairs = np.triu_indices(columns.shape[1], 1)
    gram = np.abs((columns.T @ columns)[pairs]) / math.sqrt(len(columns))
    assert 2 * stats.norm.sf(gram.max(initial=0.0)) > 1e-6


@pytest.mark.parametrize("kind", ["forecast", "centred"])
@pytest.mark.parametrize("sites", [["north"], ["south"]], ids=["north", "south"])
def test_what_lies_off_the_season_is_normal_with_the_variance_of_the_site(kind: BeliefKind, sites: list[str]) -> None:
    """L^-1 (off - recorded) with L L^T = W^T S W is standard normal and independent between rounds.

    Three tests and six pairs at 1e-6, four times over (the pairs up to twice that): false alarm below 6e-5.
    """
    n, steps = 25, 400
    L = np.linalg.cholesky(FIELDS.cov(sites[0]))
    alone = [i for i, site in enumerate(FIELDS.sites) if site in sites]
    env = FIELDS.env(kind, weather=FIELDS.weather[alone], sites=[FIELDS.sites[i] for i in alone])
    off = np.empty((n, steps, 2))
    for t, now in enumerate(rounds_of(env, steps, n)):
        mean = now.belief.mean()
        off[:, t] = now.context - mean if kind == "centred" else mean - now.context
    z = np.linalg.solve(L, off.reshape(-1, 2).T).T.reshape(n, steps // 2, 4)  # two rounds in a row side by side
    assert_independent_standard_normals(z.reshape(-1, 4))


@pytest.mark.parametrize("kind", ["forecast", "centred"])
def test_every_site_has_its_own_variance(kind: BeliefKind) -> None:
    """The squared length (off - recorded)^T (W^T S W)^-1 (off - recorded) summed by site is chi-square; 4e-6 in all."""
    lengths: dict[str, list[float]] = {site: [] for site in FIELDS.sites}
    precision = {site: np.linalg.inv(FIELDS.cov(site)) for site in ("north", "south")}
    for now in rounds_of(FIELDS.env(kind), 200, 10):
        for i in range(10):
            recorded, other = centre_and_other(kind, now, i)
            site = FIELDS.sites[FIELDS.season(recorded)]
            if site == "alp":  # one season, no variance
                np.testing.assert_array_equal(other, recorded)
                assert not now.belief[i].cov().any()
                np.testing.assert_allclose(now.rewards[i], now.expected[i], rtol=0, atol=1e-12)
            else:
                lengths[site].append(float((other - recorded) @ precision[site] @ (other - recorded)))
    for site in ("north", "south"):
        total, freedom = math.fsum(lengths[site]), 2 * len(lengths[site])
        assert 2 * min(stats.chi2.cdf(total, freedom), stats.chi2.sf(total, freedom)) > 1e-6


@pytest.mark.parametrize("kind", ["forecast", "centred"])
def test_fewer_factors_than_the_rank_leave_directions_that_are_certain(kind: BeliefKind) -> None:
    """Two factors in a context of dimension four: off - recorded = A z with A = W^T S^(1/2), and z standard normal.

    Solved for z by least squares, with no residual. Three tests and one pair at 1e-6, twice: false alarm about 1e-5.
    """
    fields = CASES["fewer factors than the rank"]
    roots = {}
    for site in set(fields.sites):
        own = fields.weather[[other == site for other in fields.sites]].T.tolist()
        roots[site] = fields.loading.T * [statistics.pstdev(factor) for factor in own]
    inverses = {site: np.linalg.pinv(root) for site, root in roots.items()}
    z = []
    for now in rounds_of(fields.env(kind), 100, 10):
        for i in range(10):
            recorded, other = centre_and_other(kind, now, i)
            site = fields.sites[fields.season(recorded)]
            z.append(inverses[site] @ (other - recorded))
            np.testing.assert_allclose(roots[site] @ z[-1], other - recorded, rtol=0, atol=1e-12)
            if site == "alp":
                assert not z.pop().any()
        belief = now.belief[9]
        onto = roots[site] @ inverses[site]
        draws = belief.sample(3, np.random.default_rng(0)) - belief.mean()
        np.testing.assert_allclose(draws @ onto.T, draws, rtol=0, atol=1e-6)  # a singular factor, to half the digits
    assert_independent_standard_normals(np.array(z))


@pytest.mark.parametrize("kind", ["forecast", "centred"])
def test_factors_that_only_tell_sites_apart_shift_the_mean_and_add_no_variance(kind: BeliefKind) -> None:
    bare = FIELDS.env(kind, weather=FIELDS.weather[:, :3], loading=FIELDS.loading[:3])
    for now, other in zip(rounds_of(FIELDS.env(kind), 15, 4), rounds_of(bare, 15, 4), strict=True):
        for i in range(4):
            season = FIELDS.season(centre_and_other(kind, now, i)[0])
            np.testing.assert_allclose(now.belief[i].cov(), other.belief[i].cov(), rtol=1e-12, atol=1e-15)
            w = np.append(np.zeros(3), FIELDS.weather[season, 3:])
            recorded = centre_and_other(kind, now, i)[0] - centre_and_other(kind, other, i)[0]
            np.testing.assert_allclose(recorded, FIELDS.context(w), rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", ["forecast", "centred"])
def test_weather_that_never_changes_is_known(kind: BeliefKind) -> None:
    env = FIELDS.env(kind, weather=[[0.1, 0.7, -0.3, 0.0, 1.0, 0.0]] * 10, sites=[4] * 10)
    for now in rounds_of(env, 10, 3):
        np.testing.assert_allclose(now.belief.mean(), now.context, rtol=0, atol=1e-14)
        np.testing.assert_allclose(now.belief.variance(), 0.0, rtol=0, atol=1e-28)
        assert np.isfinite(now.belief[0].sample(4, np.random.default_rng(0))).all()


@every_kind
def test_seasons_and_noise_are_drawn_uniformly_and_apart(kind: BeliefKind) -> None:
    """Two chi-square tests at 1e-6, at least 150 expected in every cell: false alarm about 2e-6 for each kind.

    A noise value that is listed twice counts twice; the rounds of a trial are paired with the ones after.
    """
    n, steps = 30, 1000
    values = sorted(set(FIELDS.noise_values))
    weather = np.arange(1.0, 11.0)[:, None]  # each season has its own site, so forecasts have no error
    given: dict[str, Any] = {"weather": weather, "loading": [[1.0, 0.0]], "sites": range(10)}
    climate = weather[:, None] if kind == "climatology" else None
    seasons, epsilon = np.empty((steps, n), dtype=np.intp), np.empty((steps, n), dtype=np.intp)
    for t, now in enumerate(rounds_of(FIELDS.env(kind, **given, climate=climate), steps, n)):
        seasons[t] = now.context[:, 0].astype(np.intp) - 1
        epsilon[t] = np.searchsorted(values, now.epsilon)
    table = np.zeros((10, len(values)))
    np.add.at(table, (seasons, epsilon), 1)
    share = np.array([FIELDS.noise_values.count(value) / len(FIELDS.noise_values) for value in values])
    assert stats.chisquare(table.ravel(), np.tile(steps * n / 10 * share, 10)).pvalue > 1e-6
    following = np.zeros((10, 10))
    np.add.at(following, (seasons[0::2], seasons[1::2]), 1)
    assert stats.chisquare(following.ravel()).pvalue > 1e-6


@every_kind
def test_noise_is_one_number_a_round_from_the_values(kind: BeliefKind) -> None:
    drawn = [now.epsilon for now in rounds_of(FIELDS.env(kind), 30, 4)]
    assert all(epsilon.shape == (4,) for epsilon in drawn)
    assert set(np.concatenate(drawn).tolist()) == set(FIELDS.noise_values)


def test_seasons_and_noise_do_not_depend_on_what_is_known_of_them() -> None:
    centred, forecast, climatology = (rounds_of(FIELDS.env(kind), 20, 4) for kind in KINDS)
    for one, two, three in zip(centred, forecast, climatology, strict=True):
        np.testing.assert_array_equal(one.epsilon, two.epsilon)
        np.testing.assert_array_equal(one.epsilon, three.epsilon)
        np.testing.assert_array_equal(one.belief.mean(), two.context)
        np.testing.assert_array_equal(one.belief.mean(), three.context)


@pytest.mark.parametrize("sites", [[7] * 5 + [2] * 4 + [-1], ["a"] * 5 + ["b"] * 4 + ["c"]], ids=["numbers", "names"])
def test_what_the_sites_are_called_does_not_matter(sites: list[Any]) -> None:
    for now, other in zip(
        rounds_of(FIELDS.env("forecast", sites=sites), 20, 4), rounds_of(FIELDS.env("forecast"), 20, 4), strict=True
    ):
        np.testing.assert_array_equal(now.context, other.context)
        np.testing.assert_array_equal(now.belief.mean(), other.belief.mean())
        np.testing.assert_array_equal(now.belief.variance(), other.belief.variance())


@pytest.mark.parametrize("values", [[-0.3, 0.1, 0.2], [-1.0, 1.0], [0.0], [-3.0, 1.0, 1.0, 1.0]], ids=repr)
def test_the_stated_noise_is_a_sub_gaussian_scale(values: list[float]) -> None:
    """E exp(s e) <= exp(s^2 noise^2 / 2) for every s; for a fair coin no smaller scale does."""
    noise = FIELDS.env("forecast", noise_values=values).noise
    assert noise == pytest.approx((max(values) - min(values)) / 2, rel=1e-15)
    assert statistics.fmean(values) == pytest.approx(0.0, abs=1e-15)
    for s in np.linspace(-8.0, 8.0, 321).tolist():
        moment = statistics.fmean(math.exp(s * value) for value in values)
        assert moment <= math.exp(s * s * noise * noise / 2) * (1 + 1e-12)
    if values == [-1.0, 1.0]:
        assert math.cosh(0.01) > math.exp(0.01**2 * (0.999 * noise) ** 2 / 2)


@every_kind
def test_simulations_know_the_noise_and_the_parameter(kind: BeliefKind) -> None:
    env = FIELDS.env(kind)
    policy = oc.UCB(oc.confidence.Expected(noise=env.noise, norm=1.5))
    runs = oc.simulate(env, oc.LinearModel(env.features, ridge=1.0), policy, steps=20, trials=3)
    assert runs.noise == 0.25
    assert runs.theta_norm is not None
    assert runs.theta_norm.tolist() == pytest.approx([math.sqrt(2.0)] * 3)
    assert runs.covered is not None


def test_arrays_are_copied_and_read_only() -> None:
    weather, climate = FIELDS.weather.copy(), FIELDS.climate.copy()
    env = FIELDS.env("climatology", weather=weather, climate=climate)
    before = rounds_of(env, 5, 2)
    weather *= 0.0
    climate *= 0.0
    for now, then in zip(rounds_of(env, 5, 2), before, strict=True):
        np.testing.assert_array_equal(now.context, then.context)
        np.testing.assert_array_equal(now.expected, then.expected)
    assert env.climate is not None
    for array in (env.varieties, env.weather, env.loading, env.sites, env.noise_values, env.climate):
        assert not array.flags.writeable


def test_centred_on_the_season_unless_told_otherwise() -> None:
    env = CropTrials(FIELDS.varieties, FIELDS.weather, FIELDS.loading, FIELDS.sites, FIELDS.noise_values)
    for now, other in zip(rounds_of(env, 5, 2), rounds_of(FIELDS.env("centred"), 5, 2), strict=True):
        np.testing.assert_array_equal(now.context, other.context)
        np.testing.assert_array_equal(now.belief.mean(), other.belief.mean())


@every_kind
def test_only_contexts_that_are_drawn_from_the_belief_are_calibrated(kind: BeliefKind) -> None:
    assert FIELDS.env(kind).calibrated == (kind == "centred")


GOOD: dict[str, Any] = {
    "varieties": [[1.0, 0.2], [0.8, -0.4]],
    "weather": [[0.5, 1.0, 0.0], [-0.5, 1.0, 0.0], [0.1, 1.0, 0.0]],
    "loading": [[0.1, 1.0], [1.0, 0.0], [0.0, 0.0]],
    "sites": ["Reckenholz"] * 3,
    "noise_values": [-0.1, 0.1],
}


@pytest.mark.parametrize(
    ("name", "value", "kind", "words"),
    [
        ("varieties", [1.0, 0.2], ValueError, "must have shape (k, q), got (2,)"),
        ("varieties", [[1.0, np.nan]], ValueError, "must be finite, got nan at index (0, 1)"),
        ("weather", [0.5, 1.0], ValueError, "must have shape (n, p), got (2,)"),
        ("weather", np.zeros((0, 3)), ValueError, "must have shape (n, p), got (0, 3)"),
        ("weather", [[0.5, 1.0, np.inf]], ValueError, "must be finite, got inf at index (0, 2)"),
        ("weather", [["sun", "rain", "hail"]], TypeError, "must be real numbers"),
        ("loading", [[0.1, 1.0], [1.0, 0.0]], ValueError, "must have shape (3, 2), got (2, 2)"),
        ("loading", np.ones((3, 3)), ValueError, "must have shape (3, 2), got (3, 3)"),
        ("loading", np.full((3, 2), np.nan), ValueError, "must be finite, got nan at index (0, 0)"),
        ("sites", ["a", "b"], ValueError, "must have shape (3,), got (2,)"),
        ("sites", [1.0, 1.0, 2.0], TypeError, "must be whole numbers or names, got list [1.0, 1.0, 2.0]"),
        ("noise_values", [], ValueError, "must have shape (m,), got (0,)"),
        ("noise_values", 0.1, ValueError, "must have shape (m,), got ()"),
        ("noise_values", [np.nan], ValueError, "must be finite, got nan at index 0"),
        ("belief", "weather", ValueError, "must be 'centred', 'forecast' or 'climatology', got str 'weather'"),
        ("belief", None, ValueError, "must be 'centred', 'forecast' or 'climatology', got NoneType None"),
        ("belief", oc.PointMass(1.0), ValueError, "must be 'centred', 'forecast' or 'climatology', got PointMass"),
    ],
)
def test_bad_arguments(name: str, value: Any, kind: type[Exception], words: str) -> None:
    with refused(kind, "CropTrials", f"{name} {words}"):
        CropTrials(**{**GOOD, name: value})


@pytest.mark.parametrize(
    ("belief", "climate", "words"),
    [
        ("climatology", None, "got None"),
        ("forecast", np.zeros((3, 2, 3)), "for a climatology only"),
        ("centred", np.zeros((3, 2, 3)), "for a climatology only"),
        ("climatology", np.zeros((3, 3)), "must have shape (3, s, 3), got (3, 3)"),
        ("climatology", np.zeros((2, 4, 3)), "must have shape (3, s, 3), got (2, 4, 3)"),
        ("climatology", np.zeros((3, 4, 2)), "must have shape (3, s, 3), got (3, 4, 2)"),
        ("climatology", np.zeros((3, 0, 3)), "must have shape (3, s, 3), got (3, 0, 3)"),
        ("climatology", np.full((3, 1, 3), np.nan), "must be finite, got nan at index (0, 0, 0)"),
    ],
)
def test_bad_climates(belief: BeliefKind, climate: ArrayLike | None, words: str) -> None:
    with refused(ValueError, "CropTrials", "climate ", words):
        CropTrials(**GOOD, belief=belief, climate=climate)
