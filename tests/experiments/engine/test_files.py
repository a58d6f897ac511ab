"""The pictures that a run writes."""

from __future__ import annotations

from pathlib import Path

import matplotlib.image
import numpy as np


def test_files_are_pictures(folder: Path) -> None:
    pixels = matplotlib.image.imread(folder / "figure.png")
    assert pixels.shape[0] > 400
    assert pixels.shape[1] > 800
    colours = (255 * pixels).astype(np.uint8).view(np.uint32)
    assert len(np.unique(colours)) > 50
    assert (folder / "figure.pdf").read_bytes().startswith(b"%PDF")
