"""A small synthetic experiment, run once, and the command at sizes that take a moment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import experiment_support as support
from experiment_support import Command
from overcast.datasets import crops, movielens
from overcast.datasets.crops import CropData, generated_crops
from overcast.datasets.movielens import MovieLensData, generated_movielens
from overcast.experiments.engine.experiment import Experiment
from overcast.experiments.engine.outcome import Outcome
from overcast.experiments.figures.problems import synthetic
from overcast.experiments.figures.reproduce import reproduce
from overcast.models import LinearModel


@pytest.fixture(scope="session")
def small() -> Experiment:
    """Two batches of trials, few steps, two betas."""
    return replace(synthetic(), trials=LinearModel.batch + 5, steps=12).tuned_over((1.0, 4.0))


@pytest.fixture(scope="session")
def folder(small: Experiment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("synthetic")
    reproduce(small, path, None, lambda: None)
    return path


@pytest.fixture(scope="session")
def outcome(small: Experiment, folder: Path) -> Outcome:
    return reproduce(small, folder, None, lambda: None).outcome


@pytest.fixture(scope="session")
def command() -> Command:
    return support.command


@pytest.fixture(scope="session")
def few_ratings() -> MovieLensData:
    """The generated population, smaller: its embedding takes a fraction of a second."""
    return generated_movielens(users=120, movies=60)


@pytest.fixture(scope="session")
def few_yields() -> CropData:
    """The generated trials of three sites, every fourth variety: their model takes a fraction of a second."""
    data = generated_crops()
    kept = (data.site_of_season[data.season] < 3) & (data.variety % 4 == 0)
    seasons, season = np.unique(data.season[kept], return_inverse=True)
    varieties, variety = np.unique(data.variety[kept], return_inverse=True)
    return replace(
        data,
        sites=data.sites[:3],
        varieties=tuple(data.varieties[i] for i in varieties),
        seasons=tuple(data.seasons[i] for i in seasons),
        season=season,
        variety=variety,
        yields=data.yields[kept],
    )


@pytest.fixture(scope="module")
def less_data(few_ratings: MovieLensData, few_yields: CropData) -> Iterator[None]:
    """Have the command generate less."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(movielens, "generated_movielens", lambda: few_ratings)
        patch.setattr(crops, "generated_crops", lambda: few_yields)
        yield
