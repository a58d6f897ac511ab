"""Figure 1b, from the command to its files: on a generated population, and on MovieLens itself where it is there."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import surprise  # type: ignore[import-untyped]

import experiment_support as support
import overcast as oc
from experiment_support import BRIEF, FILES, SMALL, STEPS, TRIALS, Command, final_regrets, read_summary, reproduce_small
from overcast.datasets import movielens as dataset
from overcast.datasets.embedding import Embedding
from overcast.datasets.movielens import MovieLensData
from overcast.experiments.engine import run as run_module
from overcast.experiments.figures.problems import movielens
from real_data import FOLDER, needs


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("figure-1b")


@pytest.fixture(scope="module")
def printed(less_data: None, command: Command, out: Path) -> str:
    """What the command printed; its files are in `out`."""
    return reproduce_small(command, "movielens", out)


@pytest.fixture
def summary(printed: str, out: Path) -> dict[str, Any]:
    return read_summary(out / "movielens")


@pytest.fixture
def embedding(printed: str, out: Path) -> Embedding:
    (path,) = (out / "movielens").glob("embedding-*.npz")
    with np.load(path) as kept:
        return Embedding(kept["users"], kept["movies"], kept["rmse"])


def hand_over_embedding(out: Path, other: Path) -> None:
    (kept,) = (out / "movielens").glob("embedding-*.npz")
    (other / "movielens").mkdir()
    (other / "movielens" / kept.name).write_bytes(kept.read_bytes())


def forbid_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail on any fit and any simulation."""

    def refuse(*args: object) -> None:
        raise AssertionError("work that was done before is done again")

    monkeypatch.setattr(surprise.SVD, "fit", refuse)
    monkeypatch.setattr(run_module, "compute", refuse)


def test_all_files_are_written(printed: str, out: Path) -> None:
    names = {path.name for path in (out / "movielens").iterdir()}
    (embedded,) = names - FILES
    assert re.fullmatch(r"embedding-[0-9a-f]{12}\.npz", embedded)
    assert names > FILES
    assert str(out / "movielens" / "report.html") in printed


def test_summary_has_the_agreed_fields(summary: dict[str, Any], few_ratings: MovieLensData) -> None:
    support.check_agreed_fields(summary, "movielens")
    groups, movies = len(set(few_ratings.groups)), len(few_ratings.titles)
    assert summary["data"] == f"generated, not MovieLens (120 users in {groups} groups, {movies} movies)"


def test_the_seven_variants_have_the_beta_of_the_appendix(summary: dict[str, Any], out: Path) -> None:
    support.check_variants(summary, final_regrets(out / "movielens"))


def test_the_paper_scale_is_200_trials_of_1000_steps(embedding: Embedding, few_ratings: MovieLensData) -> None:
    experiment = movielens(few_ratings, embedding)
    assert (experiment.trials, experiment.steps) == (200, 1000)
    assert experiment.figure == "1b"
    assert experiment.model.theory_ridge == 1.0


def test_summary_tells_how_good_the_embedding_is(
    summary: dict[str, Any], printed: str, embedding: Embedding, few_ratings: MovieLensData
) -> None:
    found = summary["embedding"]
    assert found["factors"] == embedding.users.shape[1] == embedding.movies.shape[1] == 6
    assert found["ratings"] == len(few_ratings.stars)
    assert len(found["rmse_of_folds"]) == 5
    assert found["rmse"] == pytest.approx(sum(found["rmse_of_folds"]) / 5)
    guessing = float(np.std(few_ratings.stars))
    assert 0.5 < found["rmse"] < 1.2 * guessing
    assert f"RMSE of {found['rmse']:.3f} in 5-fold cross-validation" in printed


def test_a_generated_population_is_called_so_everywhere(summary: dict[str, Any], printed: str, out: Path) -> None:
    assert summary["generated"] is True
    assert summary["data"].startswith("generated, not MovieLens")
    heading = printed.splitlines()[0]
    assert heading.startswith(f"Generated population, not MovieLens: {TRIALS} trials of {STEPS} steps, data generated")
    support.check_called("Generated population, not MovieLens", out / "movielens", summary["data"])


def test_curves_equal_a_plain_simulation(
    printed: str, out: Path, embedding: Embedding, few_ratings: MovieLensData
) -> None:
    env = oc.environments.MovieLens(embedding.users, embedding.movies, few_ratings.groups)
    support.check_plain_simulation(env, final_regrets(out / "movielens"))


def test_a_second_run_takes_embedding_and_parts_from_the_folder(
    summary: dict[str, Any], command: Command, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forbid_work(monkeypatch)
    reproduce_small(command, "movielens", out)
    again = read_summary(out / "movielens")
    for field in ("variants", "embedding", "claims", "data"):
        assert again[field] == summary[field]


@pytest.mark.usefixtures("printed")
def test_another_number_of_trials_takes_the_embedding_over(
    command: Command, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hand_over_embedding(out, tmp_path)
    monkeypatch.setattr(surprise.SVD, "fit", lambda *args: pytest.fail("fitted again"))
    assert command("reproduce", "movielens", *SMALL, "--trials", "2", "--out", tmp_path)[0] == 0
    assert read_summary(tmp_path / "movielens")["trials"] == 2


def test_other_numbers_of_the_same_sizes_never_take_over_old_parts(
    embedding: Embedding, few_ratings: MovieLensData, tmp_path: Path
) -> None:
    experiment = movielens(few_ratings, embedding)
    nudged = embedding.users.copy()
    nudged[-1, -1] += 1e-9
    swapped = (*few_ratings.groups[1:], few_ratings.groups[0])
    others = [
        movielens(few_ratings, replace(embedding, users=nudged)),
        movielens(few_ratings, replace(embedding, movies=embedding.movies[::-1])),
        movielens(replace(few_ratings, groups=swapped), embedding),
        movielens(few_ratings, embedding, (-2.0, -0.5, 0.0, 0.5, 2.0)),
    ]
    support.check_old_parts(tmp_path, experiment, movielens(few_ratings, embedding), others)


@pytest.mark.usefixtures("printed")
def test_a_changed_rating_makes_a_new_embedding_and_new_parts(
    command: Command, few_ratings: MovieLensData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    brief = [*BRIEF, "--out", str(tmp_path)]
    assert command("reproduce", "movielens", *brief)[0] == 0
    stars = few_ratings.stars.copy()
    stars[0] = 1.0 if stars[0] == 5.0 else 5.0
    monkeypatch.setattr(dataset, "generated_movielens", lambda: replace(few_ratings, stars=stars))
    assert command("reproduce", "movielens", *brief)[0] == 0
    assert len(list((tmp_path / "movielens").glob("embedding-*.npz"))) == 2
    assert len(list((tmp_path / "movielens" / "parts").iterdir())) == 2


@pytest.mark.usefixtures("printed")
def test_a_grid_of_betas_is_tuned_over(command: Command, out: Path, tmp_path: Path) -> None:
    hand_over_embedding(out, tmp_path)
    code, text, _ = command("reproduce", "movielens", *SMALL, "--betas", "0.5,1,5", "--out", tmp_path)
    assert code == 0
    tuned = read_summary(tmp_path / "movielens")
    support.check_tuned(tuned, read_summary(out / "movielens"))
    for variant in tuned["variants"]:
        assert f"{variant['regret']['mean']:,.1f} ± " in text


@pytest.mark.usefixtures("printed")
def test_noise_can_be_left_out(
    command: Command, out: Path, embedding: Embedding, few_ratings: MovieLensData, tmp_path: Path
) -> None:
    hand_over_embedding(out, tmp_path)
    assert command("reproduce", "movielens", *SMALL, "--noise", "0", "--out", tmp_path)[0] == 0
    assert "noise from [0.0]" in (tmp_path / "movielens" / "report.html").read_text()
    env = oc.environments.MovieLens(embedding.users, embedding.movies, few_ratings.groups, noise_values=[0.0])
    runs = oc.simulate(
        env, oc.LinearModel(oc.features.Bilinear(), ridge=1.0), oc.UCB(1.0), None, STEPS, TRIALS, "hidden"
    )
    found = final_regrets(tmp_path / "movielens")
    np.testing.assert_array_equal(found["hidden", None], runs.regret[:, -1])
    assert found != final_regrets(out / "movielens")


@needs("ml-1m")
def test_movielens_itself(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One run, because embedding a million ratings takes most of a minute; the second takes it from the folder."""
    args = ["reproduce", "movielens", "--data", str(FOLDER / "ml-1m"), "--trials", "4", "--steps", "50"]
    code, text, error = command(*args, "--workers", "2", "--out", tmp_path)
    assert (code, error) == (0, "")

    summary = read_summary(tmp_path / "movielens")
    assert summary["generated"] is False
    assert summary["data"] == f"{FOLDER / 'ml-1m'} (6,040 users in 241 groups, 3,706 movies)"
    assert text.startswith("MovieLens: 4 trials of 50 steps")
    page = (tmp_path / "movielens" / "report.html").read_text()
    assert "enerated" not in text + page

    # The appendix: "RMSE ≈ 0.88 over a 5-fold cross-validation", and 36-dimensional features.
    assert summary["embedding"]["ratings"] == 1_000_209
    assert 0.87 < summary["embedding"]["rmse"] < 0.89
    assert all(0.86 < rmse < 0.9 for rmse in summary["embedding"]["rmse_of_folds"])
    (path,) = (tmp_path / "movielens").glob("embedding-*.npz")
    with np.load(path) as kept:
        users, movies = kept["users"], kept["movies"]
    assert (users.shape, movies.shape) == ((6040, 6), (3706, 6))
    assert oc.features.Bilinear()(movies[:1], users[:1]).shape[-1] == 36
    assert "MovieLens(3706 movies, 6040 users in 241 groups, 6 factors" in page

    assert [variant["beta"] for variant in summary["variants"]] == [1.0] * 7
    assert {path.name for path in (tmp_path / "movielens").iterdir()} == FILES | {path.name}

    forbid_work(monkeypatch)
    assert command(*args, "--workers", "1", "--out", tmp_path)[0] == 0
    assert read_summary(tmp_path / "movielens")["variants"] == summary["variants"]
