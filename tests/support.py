"""What tests of several modules share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from numpy.typing import ArrayLike

import overcast as oc
from overcast._check import Array
from overcast.models import Estimate
from overcast.policies import Outlook


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

    def __init__(self, mean: ArrayLike, width: ArrayLike, *others: ArrayLike) -> None:
        self._estimate = Estimate(np.array(mean, dtype=float), np.array(width, dtype=float))
        parts = (np.broadcast_to(np.array(other, dtype=float), np.shape(mean)) for other in others)
        self._noise, self._prior, self._deviation = parts

    def estimate(self, points: None, view: None) -> Estimate:
        return self._estimate

    def noise(self, points: None, view: None) -> Array:
        return self._noise

    def prior(self, points: None, view: None) -> Array:
        return self._prior

    def draw(self, points: None, view: None, rng: object) -> Array:
        return self._deviation

    perturb = draw


def outlook(
    mean: ArrayLike,
    width: ArrayLike,
    noise: ArrayLike = 1.0,
    prior: ArrayLike = np.inf,
    deviation: ArrayLike = 0.0,
    available: list[int] | None = None,
) -> Outlook:
    """Return an outlook of these numbers, whose draws and perturbations are always the same."""
    learner: Any = _Told(mean, width, noise, prior, deviation)
    mask = None if available is None else np.isin(np.arange(np.shape(mean)[-1]), available)
    return Outlook(learner, None, None, mask)


class Given:
    """Stands in for a generator: its normal numbers are given, of which the first are taken."""

    def __init__(self, z: ArrayLike) -> None:
        self._z = np.array(z, dtype=float)

    def standard_normal(self, n: int) -> Array:
        return self._z[:n]


def linear_map(draw: Any, n: int) -> Array:
    """Return M (n, ...) with draw(rng) = z M for the at most n normal numbers z that it takes."""
    return np.stack([draw(Given(row)) for row in np.eye(n)])


def follow(read: Callable[..., Any], obj: Any, write: str, **names: Any) -> Any:
    """Expect that `read` refuses an object with this advice, and return what the advice gives when it is followed."""
    with refused(ValueError, "as_belief", write):
        read(obj)
    known = {"oc": oc, "np": np, "pd": pd, "scipy": scipy, "obj": obj, "frame": obj, "row": obj}
    return eval(write, known | names)
