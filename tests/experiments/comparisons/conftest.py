"""Small comparisons on the synthetic problem, each run once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from overcast.datasets.forecasts import ForecastRecord, generated_forecasts
from overcast.environments import Synthetic
from overcast.experiments.comparisons.comparison import ComparisonResult, compare
from overcast.experiments.comparisons.policies import Policies
from overcast.experiments.comparisons.untuned import Untuned
from overcast.experiments.engine.experiment import Experiment
from overcast.experiments.engine.outcome import Outcome
from overcast.experiments.figures.problems import synthetic


@pytest.fixture(scope="session")
def untuned() -> Experiment:
    """One batch of trials, and one of the rounds that are watched."""
    return replace(Untuned().experiment(replace(synthetic(), env=Synthetic(k=20))), trials=27, steps=40)


@pytest.fixture(scope="session")
def untuned_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("untuned")


@pytest.fixture(scope="session")
def untuned_found(untuned: Experiment, untuned_folder: Path) -> ComparisonResult:
    return compare(Untuned(), [untuned], untuned_folder, None, lambda: None)


@pytest.fixture(scope="session")
def untuned_outcome(untuned_found: ComparisonResult) -> Outcome:
    return untuned_found.outcomes[0]


@pytest.fixture(scope="session")
def policies() -> Experiment:
    return replace(Policies().experiment(replace(synthetic(), env=Synthetic(k=12))), trials=8, steps=15)


@pytest.fixture(scope="session")
def policies_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("policies")


@pytest.fixture(scope="session")
def policies_outcome(policies: Experiment, policies_folder: Path) -> Outcome:
    return compare(Policies(), [policies], policies_folder, None, lambda: None).outcomes[0]


@pytest.fixture(scope="session")
def record() -> ForecastRecord:
    return generated_forecasts().first(120)
