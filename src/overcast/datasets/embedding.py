"""Vectors of users and movies whose product is the rating, by matrix factorisation (appendix, "Movielens")."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import surprise  # type: ignore[import-untyped]
from numpy.typing import NDArray

from overcast import _jobs, _storage
from overcast._check import Array
from overcast.datasets.movielens import FEWEST_STARS, MOST_STARS, MovieLensData

LIBRARY = f"scikit-surprise {surprise.__version__}"

FACTORS = 6
FOLDS = 5
#: a fit for each fold, and one on all ratings
FITS = FOLDS + 1


@dataclass(frozen=True, eq=False)
class Embedding:
    """Ratings are about users (n, q) times movies (k, q) transposed; rmse (folds,) is the error in cross-validation."""

    users: Array
    movies: Array
    rmse: Array


def embed(
    data: MovieLensData, cache: Path, executor: Executor | None, done: Callable[[], object], seed: int = 0
) -> Embedding:
    """Return the embedding of the ratings, from the folder `cache` where a run left it or some of its fits.

    `done` is called after each of the `FITS` fits.
    """
    if len(data.stars) < FOLDS:
        raise ValueError(f"{data.source}: expected {FOLDS} ratings or more, got {len(data.stars)}")
    name = f"embedding-{_fingerprint(data, seed)}"
    kept = _storage.read_arrays(cache / f"{name}.npz", ("users", "movies", "rmse"))
    if kept is not None:
        for _ in range(FITS):
            done()
        return Embedding(kept["users"], kept["movies"], kept["rmse"])
    unfinished = cache / f"{name}-fits"
    unfinished.mkdir(parents=True, exist_ok=True)
    users, movies, rmse = _fit_all(data, unfinished, executor, done, seed)
    _storage.write_arrays(cache / f"{name}.npz", {"users": users, "movies": movies, "rmse": rmse})
    shutil.rmtree(unfinished)
    return Embedding(users, movies, rmse)


def _fit_all(
    data: MovieLensData, folder: Path, executor: Executor | None, done: Callable[[], object], seed: int
) -> tuple[Array, Array, Array]:
    """Return the vectors of the fit to all ratings, and the errors of the fits without one of the folds."""
    everything = np.arange(len(data.stars))
    folds = np.array_split(np.random.default_rng(seed).permutation(everything), FOLDS)
    fits = [_Fit(data, everything, None, seed)]
    for i, fold in enumerate(folds):
        fits.append(_Fit(data, np.concatenate(folds[:i] + folds[i + 1 :]), fold, seed))
    paths = {fit: folder / f"{i}.npz" for i, fit in enumerate(fits)}
    results = {}
    for fit, path in paths.items():
        kept = _storage.read_arrays(path, ("users", "movies", "rmse"))
        if kept is not None:
            results[fit] = kept
            done()
    missing = [fit for fit in fits if fit not in results]
    jobs = _jobs.run(missing, _Fit.run, lambda fit, arrays: _storage.write_arrays(paths[fit], arrays), executor)
    with closing(jobs):
        for fit, arrays in jobs:
            results[fit] = arrays
            done()
    whole = results[fits[0]]
    return whole["users"], whole["movies"], np.array([float(results[fit]["rmse"]) for fit in fits[1:]])


@dataclass(frozen=True, eq=False)
class _Fit:
    """One factorisation of some ratings, in this order, and the ratings to test it on."""

    data: MovieLensData
    train: NDArray[np.intp]
    test: NDArray[np.intp] | None
    seed: int

    def run(self) -> dict[str, Array]:
        """Return the vectors of users and movies, and the error on the test ratings, NaN where there are none."""
        data = self.data
        reader = surprise.Reader(rating_scale=(FEWEST_STARS, MOST_STARS))
        trainset = surprise.Dataset(reader).construct_trainset([(*row, None) for row in self._rows(self.train)])
        # Without biases, so that ratings are the product of the vectors alone.
        model = surprise.SVD(n_factors=FACTORS, biased=False, random_state=self.seed).fit(trainset)
        users = np.zeros((len(data.groups), FACTORS))
        movies = np.zeros((len(data.titles), FACTORS))
        users[[trainset.to_raw_uid(i) for i in trainset.all_users()]] = model.pu
        movies[[trainset.to_raw_iid(i) for i in trainset.all_items()]] = model.qi
        rmse = np.nan
        if self.test is not None:
            rmse = surprise.accuracy.rmse(model.test(self._rows(self.test)), verbose=False)
        return {"users": users, "movies": movies, "rmse": np.array(rmse)}

    def _rows(self, at: NDArray[np.intp]) -> list[tuple[int, int, float]]:
        columns = (self.data.user, self.data.movie, self.data.stars)
        return list(zip(*(column[at].tolist() for column in columns), strict=True))


def _fingerprint(data: MovieLensData, seed: int) -> str:
    """Return a name for what the embedding depends on."""
    digest = hashlib.sha256(repr((FACTORS, FOLDS, seed, LIBRARY, np.__version__)).encode())
    for column in (data.user, data.movie, data.stars):
        digest.update(np.ascontiguousarray(column).tobytes())
    return digest.hexdigest()[:12]
