"""Vectors of users and movies whose product is the rating, by matrix factorisation (appendix, "Movielens")."""

from __future__ import annotations

import hashlib
import shutil
from concurrent.futures import Executor
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
#: one fit for each fold, and one on all ratings
FITS = FOLDS + 1
ARRAYS = ("users", "movies", "rmse")


@dataclass(frozen=True, eq=False)
class Embedding:
    """Vectors of users (n, q) and movies (k, q), whose products are about the ratings.

    rmse : (folds,) error in cross-validation
    """

    users: Array
    movies: Array
    rmse: Array


def embed(data: MovieLensData, cache: Path, executor: Executor | None, done: _jobs.Done, seed: int = 0) -> Embedding:
    """Fit the embedding of the ratings; fits of earlier runs are read from the folder `cache`.

    `done` is called after each of the `FITS` fits, computed or read.
    """
    if len(data.stars) < FOLDS:
        raise ValueError(f"{data.source}: expected {FOLDS} ratings or more, got {len(data.stars)}")
    path = cache / f"embedding-{_fingerprint(data, seed)}.npz"
    kept = _storage.read_arrays(path, ARRAYS)
    if kept is not None:
        for _ in range(FITS):
            done()
        return Embedding(**kept)
    unfinished = path.with_name(f"{path.stem}-fits")
    unfinished.mkdir(parents=True, exist_ok=True)
    everything = np.arange(len(data.stars))
    folds = np.array_split(np.random.default_rng(seed).permutation(everything), FOLDS)
    fits = [_Fit(data, everything, None, seed)]
    fits += [_Fit(data, np.concatenate(folds[:i] + folds[i + 1 :]), fold, seed) for i, fold in enumerate(folds)]
    jobs = {unfinished / f"{i}.npz": fit for i, fit in enumerate(fits)}
    whole, *held_out = _jobs.resume(jobs, _Fit.run, ARRAYS, executor, done)
    arrays = {**whole, "rmse": np.array([float(fit["rmse"]) for fit in held_out])}
    _storage.write_arrays(path, arrays)
    shutil.rmtree(unfinished)
    return Embedding(**arrays)


@dataclass(frozen=True, eq=False)
class _Fit:
    """One factorisation of the ratings `train`, in this order, and the ratings to test it on."""

    data: MovieLensData
    train: NDArray[np.intp]
    test: NDArray[np.intp] | None
    seed: int

    def run(self) -> dict[str, Array]:
        """Fit, and return the vectors of users and movies and the error on the test ratings, NaN without any."""
        reader = surprise.Reader(rating_scale=(FEWEST_STARS, MOST_STARS))
        trainset = surprise.Dataset(reader).construct_trainset([(*row, None) for row in self._rows(self.train)])
        # There are no biases, so ratings are the product of the vectors alone.
        model = surprise.SVD(n_factors=FACTORS, biased=False, random_state=self.seed).fit(trainset)
        users = np.zeros((len(self.data.groups), FACTORS))
        movies = np.zeros((len(self.data.titles), FACTORS))
        users[[trainset.to_raw_uid(i) for i in trainset.all_users()]] = model.pu
        movies[[trainset.to_raw_iid(i) for i in trainset.all_items()]] = model.qi
        test = None if self.test is None else model.test(self._rows(self.test))
        rmse = np.nan if test is None else surprise.accuracy.rmse(test, verbose=False)
        return {"users": users, "movies": movies, "rmse": np.array(rmse)}

    def _rows(self, at: NDArray[np.intp]) -> list[tuple[int, int, float]]:
        columns = (self.data.user, self.data.movie, self.data.stars)
        return list(zip(*(column[at].tolist() for column in columns), strict=True))


def _fingerprint(data: MovieLensData, seed: int) -> str:
    """Return a hash of everything that the embedding depends on."""
    digest = hashlib.sha256(repr((FACTORS, FOLDS, seed, LIBRARY, np.__version__)).encode())
    for column in (data.user, data.movie, data.stars):
        digest.update(np.ascontiguousarray(column).tobytes())
    return digest.hexdigest()[:12]
