"""A small synthetic experiment, run once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from overcast.experiments.experiment import Experiment
from overcast.experiments.outcome import Outcome
from overcast.experiments.reproduce import reproduce
from overcast.experiments.synthetic import synthetic
from overcast.models import LinearModel


@pytest.fixture(scope="session")
def small() -> Experiment:
    """Two blocks of trials, few steps, two betas."""
    return replace(synthetic(), trials=LinearModel.block + 5, steps=12).tuned_over((1.0, 4.0))


@pytest.fixture(scope="session")
def folder(small: Experiment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("synthetic")
    reproduce(small, path, None, lambda: None)
    return path


@pytest.fixture(scope="session")
def outcome(small: Experiment, folder: Path) -> Outcome:
    return reproduce(small, folder, None, lambda: None)
