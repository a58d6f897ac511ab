from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike
from scipy import stats

import overcast as oc
from overcast._check import Array
from overcast.environments import Environment, MovieLens, Rounds, Trials
from support import refused

USERS = 2.0 * np.random.default_rng(0).normal(size=(6, 2))
EXAMPLES: list[Environment] = [
    MovieLens(users=USERS, movies=[[1.0, 0.5], [0.2, -1.0], [2.0, 0.0]], groups=[0, 0, 1, 1, 1, 2]),
    MovieLens(users=USERS, movies=[[1.0, 0.5]], groups=list("aaabbb"), noise_values=[0.0]),
]

SCALE = [half / 2 for half in range(11)]  # 0, 0.5, ..., 5
NOISE = [-1.0, -0.5, 0.0, 0.5, 1.0]


def rngs(n: int, seed: int = 0) -> list[np.random.Generator]:
    return [np.random.default_rng([seed, i]) for i in range(n)]


def play(trials: Trials, steps: int, n: int) -> list[Rounds]:
    past = np.zeros((n, steps), dtype=np.intp)
    return [trials.step(past[:, :t]) for t in range(steps)]


def rounds_of(env: MovieLens, steps: int, n: int, seed: int = 0) -> list[Rounds]:
    return play(env.start_all(rngs(n, seed)), steps, n)


def predicted(user: Array, movie: Array) -> float:
    """v_u . w_m, one product at a time."""
    return sum(float(v) * float(w) for v, w in zip(user, movie, strict=True))


def naive_rating(user: Array, movie: Array) -> float:
    """The point of the scale nearest to v_u . w_m: rounding and clipping in one."""
    return min(SCALE, key=lambda rating: abs(rating - predicted(user, movie)))


def naive_epsilon(rewards: Array, drawn: float) -> list[float]:
    return [drawn if 0.0 <= float(reward) + drawn <= 5.0 else 0.0 for reward in rewards]


class World:
    """A small random case, with products below, on and above the scale, and a group that holds one user only."""

    def __init__(self, n: int = 40, k: int = 7, q: int = 3, groups: int = 5) -> None:
        rng = np.random.default_rng(n)
        self.users = rng.normal(0.5, 1.5, size=(n, q))
        self.movies = rng.normal(0.5, 1.5, size=(k, q))
        self.groups = np.append(rng.integers(groups - 1, size=n - 1), groups - 1)
        self.ratings = np.array([[naive_rating(user, movie) for movie in self.movies] for user in self.users])
        self._numbers = {tuple(vector): user for user, vector in enumerate(self.users.tolist())}
        assert len(self._numbers) == n

    def env(self, **arguments: Any) -> MovieLens:
        return MovieLens(self.users, self.movies, self.groups, **arguments)

    def user(self, context: Array) -> int:
        """Return the index of the user with this vector; no two users share one."""
        return self._numbers[tuple(context.tolist())]


SMALL = World()


def test_the_small_case_leaves_the_scale_at_both_ends() -> None:
    products = [predicted(user, movie) for user in SMALL.users for movie in SMALL.movies]
    assert min(products) < -1.0
    assert max(products) > 6.0
    assert {float(rating) for rating in SMALL.ratings.ravel()} == set(SCALE)


@pytest.mark.parametrize("world", [SMALL, World(n=1100, k=3)], ids=["40 users", "1100 users"])
def test_rewards_are_rounded_to_the_nearest_rating(world: World) -> None:
    """Ratings of 1100 users take more than one pass."""
    seen = set()
    for now in rounds_of(world.env(), 150, 20):
        for i in range(20):
            user = world.user(now.context[i])
            seen.add(user)
            assert now.rewards[i].tolist() == world.ratings[user].tolist()
    assert len(seen) > 0.9 * len(world.users)


def test_no_rating_is_further_than_a_quarter_from_its_product() -> None:
    """For products halfway between two ratings, either rating passes."""
    movies = [[0.25], [0.75], [1.0], [1.25], [2.75], [4.75], [0.1], [3.3]]
    (now,) = rounds_of(MovieLens([[1.0]], movies, [0]), 1, 1)
    for reward, (product,) in zip(now.rewards[0], movies, strict=True):
        assert float(reward) in SCALE
        assert abs(float(reward) - product) <= 0.25


def test_expected_is_the_average_over_all_users_of_the_group() -> None:
    for now in rounds_of(SMALL.env(), 30, 10):
        for i in range(10):
            group = SMALL.groups[SMALL.user(now.context[i])]
            own = [
                ratings.tolist() for ratings, other in zip(SMALL.ratings, SMALL.groups, strict=True) if other == group
            ]
            average = [sum(column) / len(own) for column in zip(*own, strict=True)]
            np.testing.assert_allclose(now.expected[i], average, rtol=0, atol=1e-12)


def test_the_belief_is_uniform_on_exactly_the_users_of_the_group() -> None:
    seen = set()
    for now in rounds_of(SMALL.env(), 30, 10):
        for i in range(10):
            group = int(SMALL.groups[SMALL.user(now.context[i])])
            own = [user.tolist() for user, other in zip(SMALL.users, SMALL.groups, strict=True) if other == group]
            belief = now.belief[i]
            assert isinstance(belief, oc.Ensemble)
            points, weights = belief.support()
            assert sorted(points.tolist()) == sorted(own)
            np.testing.assert_allclose(weights, 1.0 / len(own), rtol=1e-15)
            assert now.context[i].tolist() in points.tolist()
            seen.add(group)
    assert seen == set(range(5))


def test_a_user_alone_in_the_group_is_known() -> None:
    found = 0
    for now in rounds_of(SMALL.env(), 60, 10):
        for i in range(10):
            if SMALL.user(now.context[i]) == len(SMALL.users) - 1:
                found += 1
                np.testing.assert_array_equal(now.expected[i], now.rewards[i])
                np.testing.assert_array_equal(now.belief[i].mean(), now.context[i])
                assert not now.belief[i].cov().any()
    assert found


def test_users_are_drawn_uniformly_and_apart_from_the_noise() -> None:
    """Three chi-square tests at 1e-6, with at least 80 expected in every cell: false alarm about 3e-6.

    The products lie in mid-scale, so that no noise is dropped; the rounds of a trial are paired with the ones after.
    """
    n, steps = 20, 600
    users = 2.0 + np.arange(12.0)[:, None] / 12
    env = MovieLens(users, [[1.0]], [0] * 5 + [1] * 7)
    drawn, epsilon = np.empty((steps, n), dtype=np.intp), np.empty((steps, n), dtype=np.intp)
    for t, now in enumerate(rounds_of(env, steps, n)):
        drawn[t] = [users[:, 0].tolist().index(context) for context in now.context[:, 0].tolist()]
        epsilon[t] = [NOISE.index(value) for value in now.epsilon[:, 0].tolist()]
    assert stats.chisquare(np.bincount(drawn.ravel(), minlength=12)).pvalue > 1e-6
    table = np.zeros((12, 5))
    np.add.at(table, (drawn, epsilon), 1)
    assert stats.chisquare(table.ravel()).pvalue > 1e-6
    following = np.zeros((12, 12))
    np.add.at(following, (drawn[0::2], drawn[1::2]), 1)
    assert following.sum() == n * steps / 2
    assert stats.chisquare(following.ravel()).pvalue > 1e-6


@pytest.mark.parametrize("values", [NOISE, [0.3, -0.3, 7.0, 0.0, -9.2, 2.2]], ids=["default", "of one's own"])
def test_one_value_is_drawn_and_dropped_exactly_where_it_would_leave_the_scale(values: list[float]) -> None:
    env = SMALL.env(noise_values=values)
    explained = set()
    for now in rounds_of(env, 40, 10):
        assert now.epsilon.shape == now.rewards.shape
        for rewards, epsilon in zip(now.rewards, now.epsilon, strict=True):
            fitting = [drawn for drawn in values if naive_epsilon(rewards, drawn) == epsilon.tolist()]
            assert fitting, f"no single value explains {epsilon.tolist()} for the rewards {rewards.tolist()}"
            explained.update(fitting)
            observed = rewards + epsilon
            assert 0.0 <= observed.min() <= observed.max() <= 5.0
    assert explained == set(values)


def test_noise_at_every_rating() -> None:
    """One user rates eleven movies 0, 0.5, ..., 5; each value is kept on its own part of the scale."""
    env = MovieLens([[1.0]], [[rating] for rating in SCALE], ["all"])
    kept = {
        -1.0: [0.0] * 2 + [-1.0] * 9,
        -0.5: [0.0] + [-0.5] * 10,
        0.0: [0.0] * 11,
        0.5: [0.5] * 10 + [0.0],
        1.0: [1.0] * 9 + [0.0] * 2,
    }
    seen = set()
    for now in rounds_of(env, 50, 4):
        np.testing.assert_array_equal(now.rewards, [SCALE] * 4)
        for epsilon in now.epsilon.tolist():
            drawn = epsilon[5]  # in the middle of the scale nothing is dropped
            assert epsilon == kept[drawn]
            seen.add(drawn)
    assert seen == set(kept)


def test_the_observed_reward_is_a_rating() -> None:
    rng = np.random.default_rng(0)
    for now in rounds_of(SMALL.env(), 40, 10):
        choice = rng.integers(len(SMALL.movies), size=10)
        assert set(now.reward(choice).tolist()) <= set(SCALE)
        for i, j in enumerate(choice.tolist()):
            assert now.of(i).reward(j) == now.rewards[i, j] + now.epsilon[i, j]


def test_noise_values_are_equally_likely() -> None:
    """Two chi-square tests at 1e-6, with thousands expected in every cell: false alarm about 2e-6.

    A value that is listed twice counts twice.
    """
    for values in (NOISE, [0.5, -2.0, 0.5, 1.0]):
        env = MovieLens([[1.0]], [[2.5]], [0], noise_values=values)
        drawn = np.concatenate([now.epsilon[:, 0] for now in rounds_of(env, 1000, 30)]).tolist()
        distinct = sorted(set(values))
        assert set(drawn) == set(distinct)
        counts = [drawn.count(value) for value in distinct]
        expected = [len(drawn) * values.count(value) / len(values) for value in distinct]
        assert stats.chisquare(counts, expected).pvalue > 1e-6


def test_no_noise() -> None:
    plain, noisy = SMALL.env(noise_values=[0.0]), SMALL.env()
    for now, other in zip(rounds_of(plain, 20, 5), rounds_of(noisy, 20, 5), strict=True):
        assert now.epsilon.shape == (5, len(SMALL.movies))
        assert not now.epsilon.any()
        np.testing.assert_array_equal(now.context, other.context)  # the draws of users do not depend on the noise
        np.testing.assert_array_equal(now.rewards, other.rewards)


@pytest.mark.parametrize(
    "groups",
    [
        [f"F, {group}" for group in SMALL.groups],
        [1000 - 7 * int(group) for group in SMALL.groups],
        np.array(SMALL.groups, dtype="u1"),
    ],
    ids=["names", "other numbers", "unsigned"],
)
def test_what_the_groups_are_called_does_not_matter(groups: ArrayLike) -> None:
    named = MovieLens(SMALL.users, SMALL.movies, groups)
    for now, other in zip(rounds_of(named, 30, 4), rounds_of(SMALL.env(), 30, 4), strict=True):
        for one, two in zip(now[1:], other[1:], strict=True):
            np.testing.assert_array_equal(one, two)
        for i in range(4):
            mine, theirs = now.belief[i], other.belief[i]
            assert isinstance(mine, oc.Ensemble)
            assert isinstance(theirs, oc.Ensemble)
            np.testing.assert_array_equal(mine.support()[0], theirs.support()[0])


def test_one_group_makes_one_belief() -> None:
    env = MovieLens(SMALL.users, SMALL.movies, ["everyone"] * len(SMALL.users))
    for now in rounds_of(env, 10, 3):
        np.testing.assert_allclose(now.expected, [SMALL.ratings.mean(axis=0)] * 3, rtol=0, atol=1e-12)
        assert now.belief[0] is now.belief[1]


def test_the_actions_are_the_movies_in_every_trial() -> None:
    trials = SMALL.env().start_all(rngs(3))
    np.testing.assert_array_equal(trials.actions, SMALL.movies)
    assert trials.theta is None  # rounded rewards are not linear


def test_arrays_are_copied_and_read_only() -> None:
    users, movies, groups = SMALL.users.copy(), SMALL.movies.copy(), SMALL.groups.copy()
    env = MovieLens(users, movies, groups)
    before = rounds_of(env, 5, 2)
    users *= 0.0
    movies *= 0.0
    groups *= 0
    for now, then in zip(rounds_of(env, 5, 2), before, strict=True):
        np.testing.assert_array_equal(now.expected, then.expected)
        np.testing.assert_array_equal(now.context, then.context)
    for array in (env.users, env.movies, env.groups, env.noise_values):
        assert not array.flags.writeable


def test_a_linear_model_learns_to_recommend_where_ratings_stay_on_the_scale() -> None:
    """The policy loses less than a quarter of what a random movie loses by the tables; seeds are fixed."""
    rng = np.random.default_rng(0)
    users, movies = 0.5 + rng.random((30, 2)), 0.2 + 1.4 * rng.random((8, 2))
    groups = (users[:, 0] > users[:, 1]).astype(int)
    ratings = np.array([[naive_rating(user, movie) for movie in movies] for user in users])
    averages = np.array([ratings[groups == group].mean(axis=0) for group in groups])
    at_random = float((averages.max(axis=1) - averages.mean(axis=1)).mean())
    env = MovieLens(users, movies, groups)
    runs = oc.simulate(env, oc.LinearModel(env.features, ridge=1.0), oc.UCB(1.0), steps=300, trials=10)
    assert runs.expected_regret[:, -1].mean() < 0.25 * 300 * at_random
    assert runs.covered is None


GOOD: dict[str, Any] = {
    "users": [[1.0, 0.5], [1.0, -0.5], [0.5, 2.0]],
    "movies": [[4.0, 1.0], [2.0, 2.0]],
    "groups": [0, 0, 1],
}


@pytest.mark.parametrize(
    ("name", "value", "kind", "words"),
    [
        ("users", [1.0, 2.0, 3.0], ValueError, "must have shape (n, q), got (3,)"),
        ("users", np.zeros((0, 2)), ValueError, "must have shape (n, q), got (0, 2)"),
        ("users", [[1.0, 2.0], [3.0]], ValueError, "must be a rectangular array"),
        ("users", [[1.0, 0.5], [1.0, np.nan], [0.5, 2.0]], ValueError, "must be finite, got nan at index (1, 1)"),
        ("users", [["a", "b"]], TypeError, "must be real numbers"),
        ("movies", [[4.0, 1.0, 0.0]], ValueError, "must have shape (k, 2), got (1, 3)"),
        ("movies", [4.0, 1.0], ValueError, "must have shape (k, 2), got (2,)"),
        ("movies", np.zeros((0, 2)), ValueError, "must have shape (k, 2), got (0, 2)"),
        ("movies", [[4.0, -np.inf]], ValueError, "must be finite, got -inf at index (0, 1)"),
        ("groups", [0, 1], ValueError, "must have shape (3,), got (2,)"),
        ("groups", ["a", "b", "c", "d"], ValueError, "must have shape (3,), got (4,)"),
        ("groups", [[0, 0, 1]], ValueError, "must have shape (3,), got (1, 3)"),
        ("groups", [0.0, 0.0, 1.0], TypeError, "must be whole numbers or names, got list [0.0, 0.0, 1.0]"),
        ("groups", [0, None, 1], TypeError, "must be whole numbers or names"),
        ("noise_values", [], ValueError, "must have shape (m,), got (0,)"),
        ("noise_values", 0.5, ValueError, "must have shape (m,), got ()"),
        ("noise_values", [0.0, np.nan], ValueError, "must be finite, got nan at index 1"),
    ],
)
def test_bad_arguments(name: str, value: Any, kind: type[Exception], words: str) -> None:
    with refused(kind, "MovieLens", f"{name} {words}"):
        MovieLens(**{**GOOD, name: value})
