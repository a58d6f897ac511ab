"""What tests of several modules share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike

from overcast._check import Array
from overcast.models import Estimate, Outlook


@contextmanager
def refused(kind: type[Exception] | tuple[type[Exception], ...], owner: str, *words: str) -> Iterator[None]:
    """Expect an error of one line that names its owner and holds the words."""
    with pytest.raises(kind) as caught:
        yield
    message = str(caught.value)
    assert message.startswith(f"{owner}: ")
    assert "\n" not in message
    for word in words:
        assert word in message


class _Told:
    """Stands in for a learner: what an outlook asks of it was told beforehand."""

    def __init__(self, mean: ArrayLike, width: ArrayLike, noise: ArrayLike, prior: ArrayLike) -> None:
        told = (np.array(part, dtype=float) for part in (mean, width))
        self._estimate = Estimate(*told)
        shape = self._estimate.mean.shape
        self._noise, self._prior = (np.broadcast_to(np.array(part, dtype=float), shape) for part in (noise, prior))

    def estimate(self, view: None) -> Estimate:
        return self._estimate

    def noise(self, view: None) -> Array:
        return self._noise

    def prior(self, view: None) -> Array:
        return self._prior


def outlook(mean: ArrayLike, width: ArrayLike, noise: ArrayLike = 1.0, prior: ArrayLike = np.inf) -> Outlook:
    """Return an outlook of these numbers, which cannot be drawn from."""
    learner: Any = _Told(mean, width, noise, prior)
    return Outlook(learner, None)


class Given:
    """Stands in for a generator: its normal numbers are given, of which the first are taken."""

    def __init__(self, z: ArrayLike) -> None:
        self._z = np.array(z, dtype=float)

    def standard_normal(self, n: int) -> Array:
        return self._z[:n]


def linear_map(draw: Any, n: int) -> Array:
    """Return M (n, ...) with draw(rng) = z M for the at most n normal numbers z that it takes."""
    return np.stack([draw(Given(row)) for row in np.eye(n)])
