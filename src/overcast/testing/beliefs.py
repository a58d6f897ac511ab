"""The check of a belief of your own."""

from __future__ import annotations

import json

import numpy as np

from overcast.beliefs import Belief, NoClosedForm
from overcast.testing._compare import DRAWS, draws_of, has_shape, is_average, require, same


def check_belief(belief: Belief) -> None:
    """Check shapes, draws by seed, moments against draws and support, and the JSON form where there is one.

    Examples
    --------
    >>> from overcast import Gaussian
    >>> check_belief(Gaussian([21.0, 0.4], [4.0, 0.1]))
    """
    name, c = type(belief).__name__, belief.dim
    for n in (0, 1, 3):
        has_shape(name, f"sample({n}, rng)", draws_of(belief, n), (n, c))
    draws = draws_of(belief, DRAWS)
    has_shape(name, f"sample({DRAWS}, rng)", draws, (DRAWS, c))
    same(name, "draws with the same seed", draws_of(belief, DRAWS), draws)
    try:
        mean, cov = belief.mean(), belief.cov()
    except NoClosedForm as error:
        require("samples=" in str(error), name, "where moments do not exist, the error must say to pass samples=")
        return
    has_shape(name, "mean", mean, (c,))
    has_shape(name, "cov", cov, (c, c))
    same(name, "cov and its transpose", cov.T, cov)
    same(name, "variance and the diagonal of cov", belief.variance(), np.diagonal(cov))
    spread = float(np.linalg.eigvalsh(cov)[0])
    require(spread >= -1e-9 * (1 + np.abs(cov).max()), name, f"cov must have no negative eigenvalue, got {spread}")
    slack = 1.0 if belief.exact else 1.5  # moments that are estimates have an error of their own
    is_average(name, "mean", draws, mean, slack)
    centred = draws - mean
    is_average(name, "cov", centred[:, :, None] * centred[:, None, :], cov, slack)
    rng = np.random.default_rng(2)
    few = np.array([belief.sample_moments(3, rng) for _ in range(DRAWS // 5)])  # (n, 2, c)
    is_average(name, "sample_moments", few, np.stack([mean, np.diagonal(cov) + mean**2]), slack)
    is_average(name, "sample_moments, the spread of the mean", (few[:, 0] - mean) ** 2, np.diagonal(cov) / 3, slack)
    means = np.array([belief.sample_mean(3, rng) for _ in range(DRAWS // 5)])
    is_average(name, "sample_mean", means, mean, slack)
    is_average(name, "sample_mean, its spread", (means - mean) ** 2, np.diagonal(cov) / 3, slack)
    finite = belief.support()
    if finite is not None:
        points, weights = finite
        has_shape(name, "points of the support", points, (len(weights), c))
        require(bool((weights >= 0).all()), name, "weights of the support must be >= 0")
        same(name, "sum of the support's weights", weights.sum(), 1.0)
        same(name, "mean and that of the support", weights @ points, mean)
        same(name, "cov and that of the support", (points - mean).T @ ((points - mean) * weights[:, None]), cov)
    if belief.exact:
        i, j = np.triu_indices(c)
        powers = np.eye(c, dtype=np.int64)
        same(name, "moments of degree 1", belief.moments(powers), mean)
        same(name, "moments of degree 2", belief.moments(powers[i] + powers[j]), cov[i, j] + mean[i] * mean[j])
    try:
        data = belief.to_json()
    except TypeError:
        return  # a distribution given as code
    require(data.get("type") == name, name, f'to_json must hold "type": "{name}", got {data.get("type")!r}')
    twin = type(belief).from_json(json.loads(json.dumps(data, allow_nan=False)))
    same(name, "draws after to_json and from_json", draws_of(twin, 5), draws_of(belief, 5))
