"""The conformance check of a belief."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from overcast._check import Array
from overcast.beliefs import Belief, NoClosedForm, belief_from_json
from overcast.beliefs.base import STAND_IN_DRAWS
from overcast.testing._compare import (
    DRAWS,
    STANDARD_ERRORS,
    draws_of,
    require,
    require_average,
    require_equal,
    require_shape,
)

PLACES = 200
LEVELS = np.array([0.0, 0.1, 0.5, 0.9, 1.0])


def check_belief(belief: Belief) -> None:
    """Check shapes, draws by seed, moments, distribution function, quantiles, places, moving, JSON form and names.

    Examples
    --------
    >>> from overcast import Gaussian
    >>> check_belief(Gaussian([21.0, 0.4], [4.0, 0.1]))
    """
    name, c = type(belief).__name__, belief.dim
    for n in (0, 1, 3):
        require_shape(name, f"sample({n}, rng)", draws_of(belief, n), (n, c))
    draws = draws_of(belief, DRAWS)
    require_shape(name, f"sample({DRAWS}, rng)", draws, (DRAWS, c))
    require_equal(name, "draws with the same seed", draws_of(belief, DRAWS), draws)
    require(bool(repr(belief)), name, "repr must not be empty")
    try:
        belief.mean(), belief.cov()
    except NoClosedForm as error:
        require("samples=" in str(error), name, "where moments do not exist, the error must say to pass samples=")
    else:
        _moments(name, belief, draws)
        _moving(name, belief)
    points, weights = belief.stand_in()
    require_shape(name, "points of stand_in", points, (len(weights), c))
    require_equal(name, "sum of the weights of stand_in", weights.sum(), 1.0)
    others = belief.sample(DRAWS, np.random.default_rng(2))
    _distribution(name, belief, draws, np.quantile(others, [0.1, 0.5, 0.9], axis=0, method="nearest"))
    _places(name, belief, others[:PLACES])
    _json(name, belief)
    _naming(name, belief)


def _moments(name: str, belief: Belief, draws: Array) -> None:
    """Check mean, covariance, moments and support against draws."""
    mean, cov, c = belief.mean(), belief.cov(), belief.dim
    require_shape(name, "mean", mean, (c,))
    require_shape(name, "cov", cov, (c, c))
    require_equal(name, "cov and its transpose", cov.T, cov)
    require_equal(name, "variance and the diagonal of cov", belief.variance(), np.diagonal(cov))
    least = float(np.linalg.eigvalsh(cov)[0])
    require(least >= -1e-9 * (1 + np.abs(cov).max()), name, f"cov must have no negative eigenvalue, got {least}")
    times = 1.0 if belief.exact else 1.5  # estimated moments have an error
    require_average(name, "mean", draws, mean, times)
    centred = draws - mean
    require_average(name, "cov", centred[:, :, None] * centred[:, None, :], cov, times)
    rng = np.random.default_rng(2)
    few = np.array([belief.sample_moments(3, rng) for _ in range(DRAWS // 5)])  # (n, 2, c)
    require_average(name, "sample_moments", few, np.stack([mean, np.diagonal(cov) + mean**2]), times)
    require_average(name, "sample_moments, variance of the mean", (few[:, 0] - mean) ** 2, np.diagonal(cov) / 3, times)
    means = np.array([belief.sample_mean(3, rng) for _ in range(DRAWS // 5)])
    require_average(name, "sample_mean", means, mean, times)
    require_average(name, "sample_mean, its variance", (means - mean) ** 2, np.diagonal(cov) / 3, times)
    if (finite := belief.support()) is not None:
        points, weights = finite
        require_shape(name, "points of the support", points, (len(weights), c))
        require(bool((weights >= 0).all()), name, "weights of the support must be >= 0")
        require_equal(name, "sum of the support's weights", weights.sum(), 1.0)
        require_equal(name, "mean and that of the support", weights @ points, mean)
        require_equal(
            name, "cov and that of the support", (points - mean).T @ ((points - mean) * weights[:, None]), cov
        )
    if belief.exact:
        i, j = np.triu_indices(c)
        powers = np.eye(c, dtype=np.int64)
        require_equal(name, "moments of degree 1", belief.moments(powers), mean)
        require_equal(name, "moments of degree 2", belief.moments(powers[i] + powers[j]), cov[i, j] + mean[i] * mean[j])


def _moving(name: str, belief: Belief) -> None:
    """Check the moments of a moved belief, and `stated_error`."""
    c, mean, cov = belief.dim, belief.mean(), belief.cov()
    require(belief.moved(0.0, 1.0) is belief, name, "moved by nothing must be the belief itself")
    shift, scale = 1.0 + np.arange(c), 2.0 / (1.0 + np.arange(c))
    moved = belief.moved(shift, scale)
    require_equal(name, "mean of moved and the mean moved", moved.mean(), shift + scale * mean)
    require_equal(name, "cov of moved and the cov scaled", moved.cov(), cov * np.outer(scale, scale))
    stated = belief.stated_error()
    require_shape(name, "stated_error", stated, (2, c))
    require(bool((stated[1] >= 0).all()), name, "the spread of stated_error must be >= 0")
    sure = np.diagonal(cov) == 0.0
    blurred = belief.moved(blur=np.where(sure, 3.0, 0.0))
    if blurred.exact:
        require_equal(
            name, "variance of moved with a blur", blurred.variance(), np.diagonal(cov) + np.where(sure, 9.0, 0.0)
        )


def _distribution(name: str, belief: Belief, draws: Array, values: Array) -> None:
    """Check that cdf is the share of draws (n, c) below values (m, c), and that quantiles are its inverse."""
    if (below := _answer(name, "cdf", lambda: belief.cdf(values))) is None:
        return
    require_shape(name, "cdf", below, values.shape)
    require_equal(name, "cdf of one row and of several", belief.cdf(values[1]), below[1])
    share = (draws[:, None, :] <= values).mean(axis=0)
    error = STANDARD_ERRORS * np.sqrt(np.clip(below * (1.0 - below), 0.0, None) / DRAWS) + STANDARD_ERRORS / DRAWS
    off = float((np.abs(share - below) - error).max())
    require(off <= 0.0, name, f"cdf must be the share of draws, got one {off:.3g} farther off than draws allow")
    if (quantiles := _answer(name, "quantile", lambda: belief.quantile(LEVELS))) is None:
        return
    require(
        quantiles.shape == (len(LEVELS), belief.dim), name, f"quantile must have shape (m, c), got {quantiles.shape}"
    )
    require_equal(name, "quantile of one level and of several", belief.quantile(LEVELS[2]), quantiles[2])
    require(bool((quantiles[1:] >= quantiles[:-1]).all()), name, "quantile must not decrease with the level")
    short = float((LEVELS[1:-1, None] - belief.cdf(quantiles[1:-1])).max())
    require(short <= 1e-9, name, f"cdf of a quantile must reach its level, got {short:.3g} less")
    for i, column in enumerate(below.T):
        back = belief.quantile(np.clip(column - 1e-9, 0.0, 1.0))[:, i]
        room = 1e-9 * (1.0 + np.abs(values[:, i]))
        require(bool((back <= values[:, i] + room).all()), name, "quantile of cdf(value) must not exceed the value")


def _places(name: str, belief: Belief, outcomes: Array) -> None:
    """Check that the places of the belief's draws (n, c) are uniform, taking intervals by their middle."""
    places = np.array([belief.place(outcome) for outcome in outcomes])
    require_shape(name, "place", places, (len(outcomes), 2, belief.dim))
    ordered = (places[:, 0] >= 0.0) & (places[:, 0] <= places[:, 1]) & (places[:, 1] <= 1.0)
    require(bool(ordered.all()), name, "place must be lower and upper ends in [0, 1]")
    off = float(np.abs(places.mean(axis=(0, 1)) - 0.5).max())
    error = STANDARD_ERRORS * np.sqrt((1.0 / PLACES + 1.0 / STAND_IN_DRAWS) / 12.0)  # of outcomes, and of stand-ins
    require(off <= error, name, f"places of its own draws must average 0.5, got one {off:.3g} apart")
    reach, beyond = belief.reach(), belief.beyond(outcomes[0])
    require_shape(name, "reach", reach, (belief.dim,))
    require(bool(((reach >= 0.0) & (reach <= 1.0)).all()), name, f"reach must lie in [0, 1], got {reach}")
    fits = beyond.shape == (belief.dim,) and beyond.dtype == np.bool_
    require(fits, name, f"beyond must be (c,) booleans, got {beyond}")


def _json(name: str, belief: Belief) -> None:
    """Check that JSON restores the class and the draws."""
    try:
        data = belief.to_json()
    except TypeError:
        return  # a distribution given as code
    require(data.get("type") == name, name, f'to_json must hold "type": "{name}", got {data.get("type")!r}')
    twin = belief_from_json(json.loads(json.dumps(data, allow_nan=False)))
    require(type(twin) is type(belief), name, f"belief_from_json must give its class, got {type(twin).__name__}")
    require_equal(name, "draws after to_json and belief_from_json", draws_of(twin, 5), draws_of(belief, 5))


def _naming(name: str, belief: Belief) -> None:
    """Check that names survive JSON and selection, and that a selection has the moments of its columns."""
    names = tuple(f"c{i}" for i in range(belief.dim))
    renamed = belief.named(names)
    require(renamed.names == names, name, f"names must be those it was given, got {renamed.names}")
    back = renamed.select(names[::-1])
    require(back.names == names[::-1], name, f"a selection must keep the names, got {back.names}")
    try:
        mean = belief.mean()
    except NoClosedForm:
        pass
    else:
        require_equal(name, "mean of a selection", back.mean(), mean[::-1])
        require_equal(name, "cov of a selection", back.cov(), belief.cov()[::-1, ::-1])
    try:
        data = renamed.to_json()
    except TypeError:
        return  # a distribution given as code
    twin = belief_from_json(json.loads(json.dumps(data)))
    require(twin.names == names, name, "to_json must hold the names: return self._json(...) of the parameters")


def _answer(name: str, label: str, ask: Any) -> Array | None:
    """Return `ask()`, None if there is no closed form."""
    try:
        return np.asarray(ask())
    except NoClosedForm as error:
        require("Ensemble(" in str(error), name, f"{label} without a closed form must point to Ensemble, got {error}")
        return None
