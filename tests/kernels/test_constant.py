"""The constant kernel."""

from __future__ import annotations

import numpy as np

from overcast.beliefs import Gaussian
from overcast.kernels import (
    Constant,
    Kernel,
)

EXAMPLES: list[Kernel] = [Constant()]


def test_every_embedding_is_the_same() -> None:
    points = Constant().embed_points(np.ones((3, 2)), np.full(3, 1 / 3))
    belief = Constant().embed(Gaussian([5.0, 6.0], 1.0))
    for cloud in (points, belief):
        assert Constant().square(cloud) == 1.0
        np.testing.assert_array_equal(cloud.centres, [[0.0]])


def test_frequencies_are_zero() -> None:
    np.testing.assert_array_equal(Constant().frequencies(np.ones((3, 2)), np.random.default_rng(0)), np.zeros((3, 2)))
