"""MovieLens-1M: a million ratings of movies by users with known gender, age and occupation.

The folder holds users.dat, movies.dat and ratings.dat as GroupLens publishes them: fields separated by `::`, Latin-1,
no header. A rating has three fields, user, movie and stars, and possibly its time, which is ignored. Users and
movies without ratings are left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from overcast._check import Array
from overcast.datasets import files

NAMES = ("users.dat", "movies.dat", "ratings.dat")
FEWEST_STARS, MOST_STARS = 1.0, 5.0


@dataclass(frozen=True, eq=False)
class MovieLensData:
    """Ratings (m,) of movies (k,) by users (n,).

    source : the folder that the data was read from, or "generated"
    groups : (n,) gender, age and occupation of each user, as one name
    titles : (k,) titles of the movies
    user, movie, stars : (m,) index of the user, index of the movie, and stars of each rating
    """

    source: str
    groups: tuple[str, ...]
    titles: tuple[str, ...]
    user: NDArray[np.intp]
    movie: NDArray[np.intp]
    stars: Array
    generated: bool = False


def read_movielens(folder: Path) -> MovieLensData:
    """Read the data in a folder, or in its sub-folder ml-1m."""
    if not (folder / NAMES[0]).exists() and (folder / "ml-1m").is_dir():
        folder = folder / "ml-1m"
    users_path, movies_path, ratings_path = files.find(folder, NAMES, ", ".join(NAMES))
    groups = _read_users(users_path)
    titles: dict[int, str] = {}
    for line, movie, fields in _rows(movies_path, "movie::title::genres", 3, 3):
        if movie in titles:
            raise files.bad(movies_path, line, f"movie {movie} comes again")
        titles[movie] = fields[1]
    rated: dict[tuple[int, int], float] = {}
    for line, user, fields in _rows(ratings_path, "user::movie::stars or user::movie::stars::time", 3, 4):
        movie = files.whole(ratings_path, line, "movie", fields[1])
        value = files.real(ratings_path, line, "stars", fields[2])
        if user not in groups:
            raise files.bad(ratings_path, line, f"user {user} has no demographics: it is not in {users_path.name}")
        if movie not in titles:
            raise files.bad(ratings_path, line, f"movie {movie} is not in {movies_path.name}")
        if not FEWEST_STARS <= value <= MOST_STARS:
            raise files.bad(ratings_path, line, f"stars must be from 1 to 5, got {fields[2]}")
        if (user, movie) in rated:
            raise files.bad(ratings_path, line, f"user {user} rates movie {movie} again")
        rated[user, movie] = value
    if not rated:
        raise files.bad(ratings_path, 1, "expected ratings, got none")
    users, movies = np.array(list(rated)).T
    user_ids, user_at = np.unique(users, return_inverse=True)
    movie_ids, movie_at = np.unique(movies, return_inverse=True)
    return MovieLensData(
        source=str(folder),
        groups=tuple(groups[user] for user in user_ids.tolist()),
        titles=tuple(titles[movie] for movie in movie_ids.tolist()),
        user=user_at,
        movie=movie_at,
        stars=np.array(list(rated.values())),
    )


def _rows(path: Path, layout: str, least: int, most: float = math.inf) -> Iterator[tuple[int, int, list[str]]]:
    """Yield line number, id of the user or movie, and all fields of each row; rows have `least` to `most` fields."""
    first = layout.split("::")[0]
    for line, text in files.lines(path, "latin-1"):
        fields = text.split("::")
        if not least <= len(fields) <= most:
            raise files.bad(path, line, f"expected {layout}, got {text!r}")
        yield line, files.whole(path, line, first, fields[0]), fields


def _read_users(path: Path) -> dict[int, str]:
    """Read the group of each user."""
    groups: dict[int, str] = {}
    for line, user, fields in _rows(path, "user::gender::age::occupation::zip", 4):
        for name, value in zip(("gender", "age", "occupation"), fields[1:4], strict=True):
            if not value.strip():
                raise files.bad(path, line, f"user {user} has no {name}")
        if user in groups:
            raise files.bad(path, line, f"user {user} comes again")
        groups[user] = "/".join(value.strip() for value in fields[1:4])
    return groups


def generated_movielens(users: int = 1500, movies: int = 800, seed: int = 0) -> MovieLensData:
    """Generate ratings by users in groups of gender, age and occupation, like those of MovieLens.

    Users of a group share part of their taste. Every user rates between 20 and 200 movies, popular ones more often.
    """
    rng = np.random.default_rng(seed)
    sizes = (2, 7, 21)  # numbers of genders, ages and occupations, of which some are more common than others
    shares = [1.0 / np.arange(1, size + 1) for size in sizes]
    kinds = np.stack([rng.choice(len(share), users, p=share / share.sum()) for share in shares])
    shared = sum(rng.standard_normal((size, 4))[kind] for size, kind in zip(sizes, kinds, strict=True))
    tastes = 0.5 * np.asarray(shared) + rng.standard_normal((users, 4))
    features = 0.35 * rng.standard_normal((movies, 4))
    quality = 3.5 + 0.5 * rng.standard_normal(movies)
    popularity = np.exp(0.5 * quality + rng.standard_normal(movies))
    popularity /= popularity.sum()
    counts = np.clip(rng.lognormal(4.0, 0.6, users), 20, min(200, movies)).astype(np.intp)
    user = np.repeat(np.arange(users), counts)
    movie = np.concatenate([rng.choice(movies, count, replace=False, p=popularity) for count in counts])
    liking = quality[movie] + np.vecdot(tastes[user], features[movie]) + 0.7 * rng.standard_normal(len(user))
    rated, movie = np.unique(movie, return_inverse=True)
    return MovieLensData(
        source="generated",
        generated=True,
        groups=tuple("/".join(map(str, kind)) for kind in kinds.T.tolist()),
        titles=tuple(f"Generated movie {i + 1}" for i in rated.tolist()),
        user=user,
        movie=movie,
        stars=np.clip(np.rint(liking), FEWEST_STARS, MOST_STARS),
    )
