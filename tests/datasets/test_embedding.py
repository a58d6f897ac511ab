from __future__ import annotations

import io
import math
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import surprise  # type: ignore[import-untyped]

from overcast.datasets.embedding import FACTORS, FITS, FOLDS, Embedding, embed
from overcast.datasets.movielens import MovieLensData, generated_movielens
from overcast.experiments.engine.executors import process_executor

DATA = generated_movielens(users=30, movies=40, seed=1)


def nothing() -> None:
    """Ignore that a fit is done."""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def embedding(cache: Path) -> Embedding:
    return embed(DATA, cache, None, nothing)


def assert_same(one: Embedding, other: Embedding) -> None:
    np.testing.assert_array_equal(one.users, other.users)
    np.testing.assert_array_equal(one.movies, other.movies)
    np.testing.assert_array_equal(one.rmse, other.rmse)


def no_fit(*args: object, **options: object) -> None:
    raise AssertionError("a fit where the cache has one")


def fitted(rows: list[int]) -> tuple[surprise.SVD, surprise.Trainset]:
    """Return the factorisation of these ratings, from a table with named columns as in Surprise's manual."""
    table = pd.DataFrame({"user": DATA.user, "movie": DATA.movie, "stars": DATA.stars}).iloc[rows]
    table["user"], table["movie"] = "u" + table["user"].astype(str), "m" + table["movie"].astype(str)
    trainset = surprise.Dataset.load_from_df(table, surprise.Reader(rating_scale=(1, 5))).build_full_trainset()
    model = surprise.SVD(n_factors=6, biased=False, random_state=0)
    return model.fit(trainset), trainset


def test_vectors_have_six_dimensions(embedding: Embedding) -> None:
    assert FACTORS == 6
    assert embedding.users.shape == (30, 6)
    assert embedding.movies.shape == (len(DATA.titles), 6)
    assert embedding.rmse.shape == (FOLDS,) == (5,)


def test_vectors_are_those_of_the_factorisation_of_all_ratings(embedding: Embedding) -> None:
    model, trainset = fitted(list(range(len(DATA.stars))))
    for user, vector in enumerate(embedding.users):
        np.testing.assert_array_equal(vector, model.pu[trainset.to_inner_uid(f"u{user}")])
    for movie, vector in enumerate(embedding.movies):
        np.testing.assert_array_equal(vector, model.qi[trainset.to_inner_iid(f"m{movie}")])


def test_the_error_is_that_of_ratings_left_out(embedding: Embedding) -> None:
    """The test predicts one rating at a time, within the scale, and leaves out each fifth of a permutation once."""
    order = np.random.default_rng(0).permutation(len(DATA.stars)).tolist()
    folds = [part.tolist() for part in np.array_split(order, 5)]
    expected = []
    for fold in folds:
        model, _ = fitted([i for other in folds if other is not fold for i in other])
        off = [model.predict(f"u{DATA.user[i]}", f"m{DATA.movie[i]}").est - DATA.stars[i] for i in fold]
        expected.append(math.sqrt(sum(error**2 for error in off) / len(off)))
    np.testing.assert_allclose(embedding.rmse, expected, rtol=1e-12)


def test_more_ratings_are_foreseen_better_than_by_their_mean(tmp_path: Path) -> None:
    """The error is below 0.95 times the error of the mean, which is the standard deviation; seeds are fixed."""
    data = generated_movielens(users=200, movies=100)
    embedding = embed(data, tmp_path, None, nothing)
    assert embedding.rmse.mean() < 0.95 * data.stars.std()
    within = np.vecdot(embedding.users[data.user], embedding.movies[data.movie]) - data.stars
    assert math.sqrt(np.mean(within**2)) < embedding.rmse.mean()


def test_a_second_run_takes_what_the_first_has_left(
    embedding: Embedding, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(surprise, "SVD", no_fit)
    files = sorted(cache.iterdir())
    assert_same(embed(DATA, cache, None, nothing), embedding)
    assert sorted(cache.iterdir()) == files
    assert len(files) == 1


def with_other_stars(data: MovieLensData) -> MovieLensData:
    stars = data.stars.copy()
    stars[7] = 6.0 - stars[7] if stars[7] != 3.0 else 4.0
    return replace(data, stars=stars)


def with_other_movie(data: MovieLensData) -> MovieLensData:
    movie = data.movie.copy()
    movie[7] = (movie[7] + 1) % len(data.titles)
    return replace(data, movie=movie)


@pytest.mark.parametrize("other", [with_other_stars, with_other_movie], ids=["stars", "movie"])
def test_other_ratings_are_embedded_anew(
    embedding: Embedding, tmp_path: Path, other: Callable[[MovieLensData], MovieLensData]
) -> None:
    assert_same(embed(DATA, tmp_path, None, nothing), embedding)
    changed = embed(other(DATA), tmp_path, None, nothing)
    assert changed.users.tolist() != embedding.users.tolist()
    assert len(list(tmp_path.iterdir())) == 2


def test_another_seed_is_embedded_anew(embedding: Embedding, tmp_path: Path) -> None:
    embed(DATA, tmp_path, None, nothing)
    changed = embed(DATA, tmp_path, None, nothing, seed=1)
    assert changed.users.tolist() != embedding.users.tolist()
    assert changed.rmse.tolist() != embedding.rmse.tolist()
    assert len(list(tmp_path.iterdir())) == 2


def array_alone(content: bytes) -> bytes:
    file = io.BytesIO()
    np.save(file, np.zeros(3))
    return file.getvalue()


def fewer_arrays(content: bytes) -> bytes:
    file = io.BytesIO()
    with np.load(io.BytesIO(content)) as kept:
        np.savez(file, users=kept["users"], rmse=kept["rmse"])
    return file.getvalue()


def flipped(at: bytes, offset: int, bits: int) -> Callable[[bytes], bytes]:
    def flip(content: bytes) -> bytes:
        out = bytearray(content)
        out[content.index(at) + offset] ^= bits
        return bytes(out)

    return flip


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "text": lambda content: b"no archive",
    "cut short": lambda content: content[:-100],
    "first half": lambda content: content[: len(content) // 2],
    "an array alone": array_alone,
    "fewer arrays": fewer_arrays,
    "other numbers": flipped(b"\x93NUMPY", 200, 0xFF),
    "a password": flipped(b"PK\x01\x02", 8, 0x01),
    "another compression": flipped(b"PK\x01\x02", 10, 0x5A),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_a_damaged_file_is_made_anew(
    embedding: Embedding, cache: Path, tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    (file,) = cache.iterdir()
    damaged = tmp_path / file.name
    damaged.write_bytes(damage(file.read_bytes()))
    assert_same(embed(DATA, tmp_path, None, nothing), embedding)
    with np.load(damaged) as kept:
        np.testing.assert_array_equal(kept["movies"], embedding.movies)
    assert list(tmp_path.iterdir()) == [damaged]


@pytest.mark.parametrize(
    "pool", [lambda: ThreadPoolExecutor(2), lambda: process_executor(2)], ids=["threads", "processes"]
)
def test_numbers_do_not_depend_on_where_they_are_computed(
    embedding: Embedding, tmp_path: Path, pool: Callable[[], AbstractContextManager[Executor | None]]
) -> None:
    calls: list[None] = []
    with pool() as executor:
        found = embed(DATA, tmp_path, executor, lambda: calls.append(None))
    assert_same(found, embedding)
    assert len(calls) == FITS


def test_every_fit_is_told_whether_made_or_kept(tmp_path: Path) -> None:
    calls: list[None] = []
    for runs in (1, 2):
        embed(DATA, tmp_path, None, lambda: calls.append(None))
        assert len(calls) == runs * FITS == runs * 6


def test_fits_that_were_done_before_an_interrupt_are_kept(
    embedding: Embedding, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 0

    def interrupt() -> None:
        nonlocal count
        count += 1
        if count == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        embed(DATA, tmp_path, None, interrupt)
    assert len(list(tmp_path.rglob("*.npz"))) == 4
    fits = []
    real = surprise.SVD.fit

    def counted(model: surprise.SVD, trainset: surprise.Trainset) -> surprise.SVD:
        fits.append(model)
        return real(model, trainset)

    monkeypatch.setattr(surprise.SVD, "fit", counted)
    assert_same(embed(DATA, tmp_path, None, nothing), embedding)
    assert len(fits) == 2
    assert [path.suffix for path in tmp_path.iterdir()] == [".npz"]  # the files of single fits are removed


def test_fewer_ratings_than_folds_are_refused(tmp_path: Path) -> None:
    few = replace(DATA, user=DATA.user[:4], movie=DATA.movie[:4], stars=DATA.stars[:4])
    with pytest.raises(ValueError, match=r"^generated: expected 5 ratings or more, got 4$"):
        embed(few, tmp_path, None, nothing)
