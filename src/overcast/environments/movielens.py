"""Recommend movies to users when only their demographic group is known (section 5, figure 1b)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from overcast import _check
from overcast.beliefs import Ensemble
from overcast.beliefs.stacked import Catalogue
from overcast.environments.base import Rngs, Rounds, Stream, Trials, VectorEnvironment
from overcast.features import Bilinear

#: the scale of ratings, in steps of one half
LOWEST, HIGHEST = 0.0, 5.0

#: values of epsilon_t; the paper does not state them
NOISE = (-1.0, -0.5, 0.0, 0.5, 1.0)

# Number of users whose ratings of all movies are computed at once.
ROWS = 512


class MovieLens(VectorEnvironment):
    """Movies for users: c_t is a random user, mu_t the users of the same group, f(m, u) = v_u . w_m in half-integers.

    Ratings are clipped to [0, 5]. Rounding makes them slightly nonlinear in vec(w_m v_u^T), so a linear model is
    misspecified, as in the paper. The paper does not state the noise. Here epsilon_t is one of `noise_values`, and zero
    for movies whose rating would leave the scale.

    Parameters
    ----------
    users : (n, q) v_u
    movies : (k, q) w_m, the actions
    groups : (n,) the group of each user, a number or a name
    noise_values : (m,) values of epsilon_t, of mean zero and all equally likely

    Examples
    --------
    >>> env = MovieLens(users=[[1.0, 0.5], [1.0, -0.5], [0.5, 2.0]], movies=[[4.0, 1.0], [2.0, 2.0]], groups=[0, 0, 1])
    >>> env
    MovieLens(2 movies, 3 users in 2 groups, 2 factors, noise from [-1.0, -0.5, 0.0, 0.5, 1.0])
    """

    features = Bilinear()

    def __init__(self, users: ArrayLike, movies: ArrayLike, groups: ArrayLike, noise_values: ArrayLike = NOISE) -> None:
        self.users = _check.array("MovieLens", "users", users, ("n", "q"))
        self.movies = _check.array("MovieLens", "movies", movies, ("k", self.users.shape[1]))
        self.groups = _check.labels("MovieLens", "groups", groups, len(self.users))
        self.noise_values = _check.centred("MovieLens", "noise_values", noise_values)

    def start_all(self, rngs: Rngs) -> Trials:
        return _MovieLensTrials(self, rngs)

    def __repr__(self) -> str:
        (n, q), k, groups = self.users.shape, len(self.movies), int(self.groups.max()) + 1
        noise = self.noise_values.tolist()
        return f"MovieLens({k} movies, {n} users in {groups} groups, {q} factors, noise from {noise})"


class _MovieLensTrials(Trials):
    def __init__(self, env: MovieLens, rngs: Rngs) -> None:
        self._env = env
        self.actions = env.movies
        self._halves = _in_halves(env)
        members = [np.flatnonzero(env.groups == group) for group in range(int(env.groups.max()) + 1)]
        self._expected = np.stack([self._halves[users].mean(axis=0, dtype=np.float64) / 2.0 for users in members])
        self._catalogue = Catalogue([Ensemble(env.users[users]) for users in members])
        users, epsilon = zip(*(rng.spawn(2) for rng in rngs), strict=True)
        self._users = Stream(users, 1, normal=False)
        self._epsilon = Stream(epsilon, 1, normal=False)

    def step(self, past: NDArray[np.intp]) -> Rounds:
        env = self._env
        user = self._users.pick(len(env.users))
        group = env.groups[user]
        rewards = self._halves[user] / 2.0
        drawn = env.noise_values[self._epsilon.pick(len(env.noise_values))]
        # Adding the drawn value keeps ratings between these two on the scale.
        low, high = LOWEST - drawn, HIGHEST - drawn
        kept = (rewards >= low[:, None]) & (rewards <= high[:, None])
        epsilon = np.where(kept, drawn[:, None], 0.0)
        return Rounds(self._catalogue.pick(group), env.users[user], rewards, self._expected[group], epsilon)


def _in_halves(env: MovieLens) -> NDArray[np.int8]:
    """Return twice the rating of every movie by every user, (n, k), as int8, an eighth of the memory of floats."""
    out = np.empty((len(env.users), len(env.movies)), dtype=np.int8)
    table = np.ascontiguousarray(2.0 * env.movies.T)
    for at in range(0, len(out), ROWS):
        rows = env.users[at : at + ROWS] @ table
        out[at : at + ROWS] = np.clip(np.rint(rows, out=rows), 2.0 * LOWEST, 2.0 * HIGHEST, out=rows)
    return out
