"""The files that a run writes."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest

from experiment_support import FILES
from overcast.experiments.engine.experiment import Experiment
from overcast.experiments.figures.reproduce import reproduce


def test_files_are_pictures(folder: Path) -> None:
    pixels = matplotlib.image.imread(folder / "figure.png")
    assert pixels.shape[0] > 400
    assert pixels.shape[1] > 800
    colours = (255 * pixels).astype(np.uint8).view(np.uint32)
    assert len(np.unique(colours)) > 50
    assert (folder / "figure.pdf").read_bytes().startswith(b"%PDF")


def test_a_run_that_cannot_write_leaves_the_files_of_the_last_one(
    small: Experiment, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full at the first, second, ... file that is to be replaced; parts are kept already."""
    shutil.copytree(folder, tmp_path / "out")
    other = replace(small, title="Another title")

    def whole() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir() if path.is_file()}

    before = whole()
    reproduce(other, tmp_path / "new", None, lambda: None)
    names = {path.name for path in (tmp_path / "new").iterdir() if path.is_file()}
    assert set(before) == names == FILES - {"parts"}
    real = os.fsync
    for room in range(len(names)):
        left = iter([True] * room)

        def fsync(descriptor: int, left: Iterator[bool] = left) -> None:
            if not next(left, False):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            real(descriptor)

        monkeypatch.setattr(os, "fsync", fsync)
        with pytest.raises(OSError, match="No space left"):
            reproduce(other, tmp_path / "out", None, lambda: None)
        after = whole()
        assert set(after) == names
        assert sum(after[name] != before[name] for name in names) <= room
        assert b"</html>" in after["report.html"]
        json.loads(after["summary.json"])
