from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from overcast.datasets.movielens import MovieLensData, generated_movielens, read_movielens
from real_data import FOLDER, needs
from support import refused

# Users 3 and 8 and movies 7 and 30 have no ratings; numbers and their texts sort differently.
USERS = ["10::F::25::4::8001", "9::M::1::10::8001", "2::F::25::4::8002-12", "3::M::56::0::1", "8::F::18::20::1"]
MOVIES = [
    "30::Nothing (1999)::Drama",
    "4::Café: a Tale, (1995)::Comedy|Drama",
    "100::Zoë (2000)::Action",
    "7::No (1)::War",
]
RATINGS = ["9::100::3", "10::4::5", "2::100::1", "10::100::4", "9::4::2"]
NAMED = {"users.dat": USERS, "movies.dat": MOVIES, "ratings.dat": RATINGS}


def put(folder: Path, end: str = "\n", other: Mapping[str, list[str]] | None = None) -> Path:
    """Write the three files, some of them with other lines."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, usual in NAMED.items():
        rows = (other or {}).get(name, usual)
        (folder / name).write_bytes("".join(row + end for row in rows).encode("latin-1"))
    return folder


def ratings(data: MovieLensData) -> list[tuple[str, str, float]]:
    """Group of the user, title and stars of every rating, in the order of the file."""
    columns = zip(data.user.tolist(), data.movie.tolist(), data.stars.tolist(), strict=True)
    return [(data.groups[user], data.titles[movie], stars) for user, movie, stars in columns]


EXPECTED = [
    ("M/1/10", "Zoë (2000)", 3.0),
    ("F/25/4", "Café: a Tale, (1995)", 5.0),
    ("F/25/4", "Zoë (2000)", 1.0),
    ("F/25/4", "Zoë (2000)", 4.0),
    ("M/1/10", "Café: a Tale, (1995)", 2.0),
]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n"], ids=["unix", "windows", "blank lines"])
@pytest.mark.parametrize("time", ["", "::11"], ids=["three fields", "four fields"])
def test_ratings_are_read_with_and_without_their_time(tmp_path: Path, end: str, time: str) -> None:
    data = read_movielens(put(tmp_path, end, {"ratings.dat": [row + time for row in RATINGS]}))
    assert ratings(data) == EXPECTED


def test_a_file_may_mix_ratings_with_and_without_time(tmp_path: Path) -> None:
    mixed = [row + "::11" * (i % 2) for i, row in enumerate(RATINGS)]
    assert ratings(read_movielens(put(tmp_path, other={"ratings.dat": mixed}))) == EXPECTED


def test_only_users_and_movies_with_ratings_count_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    data = read_movielens(put(tmp_path))
    assert data.groups == ("F/25/4", "M/1/10", "F/25/4")  # users 2, 9, 10
    assert data.titles == ("Café: a Tale, (1995)", "Zoë (2000)")  # movies 4, 100
    assert data.user.tolist() == [1, 2, 0, 2, 1]
    assert data.movie.tolist() == [1, 0, 1, 1, 0]
    assert data.source == str(tmp_path)


def test_groups_are_named_by_gender_age_and_occupation(tmp_path: Path) -> None:
    kinds = [("F", "1", "10"), ("M", "1", "10"), ("F", "18", "10"), ("F", "1", "0"), ("F", " 1 ", "10")]
    users = [f"{i + 1}::{gender}::{age}::{work}::{i}" for i, (gender, age, work) in enumerate(kinds)]
    rated = [f"{i + 1}::4::3" for i in range(5)]
    data = read_movielens(put(tmp_path, other={"users.dat": users, "ratings.dat": rated}))
    assert data.groups == tuple("/".join(part.strip() for part in kind) for kind in kinds)
    assert len(set(data.groups)) == 4


def test_users_without_a_zip_code_are_read(tmp_path: Path) -> None:
    data = read_movielens(put(tmp_path, other={"users.dat": [row.rsplit("::", 1)[0] for row in USERS]}))
    assert ratings(data) == EXPECTED


def test_half_stars_are_read(tmp_path: Path) -> None:
    data = read_movielens(put(tmp_path, other={"ratings.dat": ["9::100::3.5", "10::4::1.0"]}))
    assert data.stars.tolist() == [3.5, 1.0]


def test_the_folder_above_does_as_well(tmp_path: Path) -> None:
    put(tmp_path / "ml-1m")
    data = read_movielens(tmp_path)
    assert ratings(data) == EXPECTED
    assert data.source == str(tmp_path / "ml-1m")


@pytest.mark.parametrize("name", NAMED)
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    (put(tmp_path) / name).unlink()
    with refused(FileNotFoundError, str(tmp_path), "expected users.dat, movies.dat, ratings.dat", f"{name} is missing"):
        read_movielens(tmp_path)


def test_a_folder_that_is_none_is_named(tmp_path: Path) -> None:
    with refused(FileNotFoundError, str(tmp_path / "no"), "expected a folder with users.dat", "found nothing"):
        read_movielens(tmp_path / "no")
    path = put(tmp_path) / "users.dat"
    with refused(FileNotFoundError, str(path), "expected a folder with users.dat", "found a file"):
        read_movielens(path)


@pytest.mark.parametrize(
    ("kind", "row", "words"),
    [
        ("ratings", "9::100", "expected user::movie::stars or user::movie::stars::time, got '9::100'"),
        (
            "ratings",
            "9::100::3::1::1",
            "expected user::movie::stars or user::movie::stars::time, got '9::100::3::1::1'",
        ),
        ("ratings", "9,100,3", "expected user::movie::stars or user::movie::stars::time, got '9,100,3'"),
        ("ratings", "nine::100::3", "user must be a whole number, got 'nine'"),
        ("ratings", "::100::3", "user must be a whole number, got ''"),
        ("ratings", "9::1e2::3", "movie must be a whole number, got '1e2'"),
        ("ratings", "9::100::many", "stars must be a number, got 'many'"),
        ("ratings", "9::100::", "stars must be a number, got ''"),
        ("ratings", "9::100::nan", "stars must be a number, got 'nan'"),
        ("ratings", "9::100::inf", "stars must be a number, got 'inf'"),
        ("ratings", "9::100::6", "stars must be from 1 to 5, got 6"),
        ("ratings", "9::100::0", "stars must be from 1 to 5, got 0"),
        ("ratings", "9::100::-3", "stars must be from 1 to 5, got -3"),
        ("ratings", "11::100::3", "user 11 has no demographics: it is not in users.dat"),
        ("ratings", "9::5::3", "movie 5 is not in movies.dat"),
        ("users", "11::F::25", "expected user::gender::age::occupation::zip, got '11::F::25'"),
        ("users", "11,F,25,4,1", "expected user::gender::age::occupation::zip, got '11,F,25,4,1'"),
        ("users", "x::F::25::4::1", "user must be a whole number, got 'x'"),
        ("users", "11::::25::4::1", "user 11 has no gender"),
        ("users", "11::F:: ::4::1", "user 11 has no age"),
        ("users", "11::F::25::::1", "user 11 has no occupation"),
        ("users", "10::M::25::4::1", "user 10 comes again"),
        ("movies", "5::Alone", "expected movie::title::genres, got '5::Alone'"),
        ("movies", "5::A::B::C", "expected movie::title::genres, got '5::A::B::C'"),
        ("movies", "V::Five::Drama", "movie must be a whole number, got 'V'"),
    ],
    ids=[
        "rating of two fields",
        "rating of five fields",
        "rating with commas",
        "rating by a word",
        "rating by nobody",
        "rating of a power",
        "stars in words",
        "no stars",
        "stars that are nan",
        "endless stars",
        "six stars",
        "zero stars",
        "negative stars",
        "rating by an unknown user",
        "rating of an unknown movie",
        "user of three fields",
        "user with commas",
        "user of a word",
        "user without gender",
        "user without age",
        "user without occupation",
        "user again",
        "movie of two fields",
        "movie of four fields",
        "movie of a word",
    ],
)
def test_a_bad_line_is_refused_with_its_number(tmp_path: Path, kind: str, row: str, words: str) -> None:
    usual = NAMED[f"{kind}.dat"]
    put(tmp_path, other={f"{kind}.dat": [*usual[:2], "", row, *usual[2:]]})
    with refused(ValueError, f"{tmp_path / kind}.dat line 4", words):
        read_movielens(tmp_path)


@pytest.mark.parametrize("rows", [[], ["", "  "]], ids=["empty", "blank"])
def test_ratings_without_any_are_refused(tmp_path: Path, rows: list[str]) -> None:
    with refused(ValueError, f"{tmp_path / 'ratings.dat'} line 1", "expected ratings, got none"):
        read_movielens(put(tmp_path, other={"ratings.dat": rows}))


@pytest.fixture(scope="module")
def generated() -> MovieLensData:
    return generated_movielens()


def test_a_generated_population_rates_within_the_scale(generated: MovieLensData) -> None:
    assert generated.source == "generated"
    assert len(generated.groups) == 1_500
    assert set(generated.stars.tolist()) == {1.0, 2.0, 3.0, 4.0, 5.0}
    assert len(generated.user) == len(generated.movie) == len(generated.stars)


@pytest.mark.parametrize(("users", "movies"), [(1_500, 800), (40, 30), (3, 20)], ids=["usual", "small", "tiny"])
def test_generated_users_rate_20_to_200_movies_none_of_them_twice(users: int, movies: int) -> None:
    data = generated_movielens(users, movies)
    rated: dict[int, list[int]] = {}
    for user, movie in zip(data.user.tolist(), data.movie.tolist(), strict=True):
        rated.setdefault(user, []).append(movie)
    assert sorted(rated) == list(range(users)) == list(range(len(data.groups)))
    for own in rated.values():
        assert 20 <= len(own) <= 200
        assert len(set(own)) == len(own)
    assert set().union(*rated.values()) == set(range(len(data.titles)))
    assert len(set(data.titles)) == len(data.titles) <= movies


def test_generated_groups_are_those_of_gender_age_and_occupation(generated: MovieLensData) -> None:
    kinds = [tuple(map(int, group.split("/"))) for group in generated.groups]
    assert [sorted(set(part)) for part in zip(*kinds, strict=True)] == [list(range(n)) for n in (2, 7, 21)]
    assert 50 < len(set(kinds)) < 2 * 7 * 21


def test_a_generated_population_is_told_by_the_seed() -> None:
    one, again, other = (generated_movielens(50, 60, seed) for seed in (3, 3, 4))
    assert (one.groups, one.titles) == (again.groups, again.titles)
    for name in ("user", "movie", "stars"):
        np.testing.assert_array_equal(getattr(one, name), getattr(again, name))
    assert one.stars.tolist() != other.stars.tolist()


@needs("ml-1m")
def test_movielens_1m_has_its_published_counts() -> None:
    """Read from the folder above, which is where a download puts it."""
    data = read_movielens(FOLDER)
    assert data.source == str(FOLDER / "ml-1m")
    assert len(data.stars) == 1_000_209
    assert (len(data.groups), len(data.titles), len(set(data.groups))) == (6_040, 3_706, 241)
    stars, counts = np.unique(data.stars, return_counts=True)
    assert stars.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert counts.tolist() == [56_174, 107_557, 261_197, 348_971, 226_310]
    assert np.bincount(data.user, minlength=6_040).min() >= 20
    assert np.bincount(data.movie, minlength=3_706).min() >= 1


def test_a_movie_that_a_user_rates_again_is_refused(tmp_path: Path) -> None:
    for name, text in (
        ("users", "1::F::35::3::1\n"),
        ("movies", "1::A::B\n2::C::D\n"),
        ("ratings", "1::1::5\n1::2::4\n1::1::3\n"),
    ):
        (tmp_path / f"{name}.dat").write_text(text)
    with refused(ValueError, f"{tmp_path / 'ratings.dat'} line 3", "user 1 rates movie 1 again"):
        read_movielens(tmp_path)
