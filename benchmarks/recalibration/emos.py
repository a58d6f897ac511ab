"""The opponent: EMOS (Gneiting et al. 2005) on a sliding window of calendar days, fitted by the CRPS.

Temperature: normal with mean a + b m and variance c^2 + d^2 s^2, where m and s^2 are mean and variance of the members.
Rain: the same normal censored at zero, or a shifted gamma distribution censored at zero (Baran & Nemoda 2016) with
that mean and variance and a shift of its own. Each day's fit starts from the former one, and from the default.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.optimize import minimize
from scipy.special import betaln, gammainc, ndtr

from overcast._check import Array
from recalibration.records import Record

ROOT_PI = float(np.sqrt(np.pi))
#: outcomes that a window needs; with fewer it reaches further back
LEAST = 10


def scores(record: Record, window: int, form: str, start: int) -> Array:
    """Return the CRPS of each day from index `start` on, fitted to the outcomes of the `window` days before it."""
    m, s = record.members.mean(axis=1), record.members.std(axis=1, ddof=1)
    y, day = record.outcomes, record.days
    default = DEFAULTS[form]
    last, out = default, np.empty(len(record) - start)
    for i in range(start, len(record)):
        first = min(int(np.searchsorted(day, day[i] - window)), max(0, i - LEAST))
        inside = slice(first, i)
        last = _fitted(form, last, default, m[inside], s[inside], y[inside])
        out[i - start] = float(FORMS[form](last, m[i : i + 1], s[i : i + 1], y[i : i + 1])[0])
    return out


def _fitted(form: str, last: Array, default: Array, m: Array, s: Array, y: Array) -> Array:
    """Return the parameters with the least mean CRPS; forecasts and errors are brought to one unit first."""

    def loss(p: Array) -> float:
        value = float(np.mean(FORMS[form](p, m, s, y)))
        return value if np.isfinite(value) else 1e6

    if form in LOSSES:
        found = minimize(LOSSES[form], last, args=(m, s, y), jac=True, method="BFGS", options={"maxiter": 40})
        return np.asarray(found.x) if np.isfinite(found.x).all() else default
    found = minimize(loss, last, method="Nelder-Mead", options={"maxiter": 150, "xatol": 1e-3, "fatol": 1e-4})
    return np.asarray(found.x) if found.fun < loss(default) else default


def _moments(p: Array, m: Array, s: Array) -> tuple[Array, Array]:
    return p[0] + p[1] * m, np.sqrt(p[2] ** 2 + p[3] ** 2 * s**2 + 1e-6)


def normal(p: Array, m: Array, s: Array, y: Array) -> Array:
    """Return the CRPS of the normal form, (n,)."""
    mu, sigma = _moments(p, m, s)
    z = (y - mu) / sigma
    return np.asarray(sigma * (z * (2.0 * ndtr(z) - 1.0) + 2.0 * _density(z) - 1.0 / ROOT_PI))


def censored(p: Array, m: Array, s: Array, y: Array) -> Array:
    """Return the CRPS of the normal form censored at zero, (n,): that of the normal form without the part below."""
    mu, sigma = _moments(p, m, s)
    low = -mu / sigma
    below = ndtr(low)
    part = low * below**2 + 2.0 * _density(low) * below - ndtr(np.sqrt(2.0) * low) / ROOT_PI
    return np.asarray(normal(p, m, s, y) - sigma * part)


def gamma(p: Array, m: Array, s: Array, y: Array) -> Array:
    """Return the CRPS of the shifted gamma form censored at zero, (n,); the shift is -p[4]^2.

    With G_k the distribution function of a gamma variable of the shape k and the unit scale, c = p[4]^2 / scale and
    z = y / scale + c, it is scale times z (2 G_k(z) - 1) - c G_k(c)^2 + k (1 + 2 G_k(c) G_{k+1}(c) - G_k(c)^2 -
    2 G_{k+1}(z)) - k / pi B(1/2, k + 1/2) (1 - G_2k(2c)) (Scheuerer & Hamill 2015).
    """
    mu, sigma = p[0] ** 2 + p[1] ** 2 * m + 1e-3, np.sqrt(p[2] ** 2 + p[3] ** 2 * m + 1e-3)
    k, scale = (mu / sigma) ** 2, sigma**2 / mu
    c = p[4] ** 2 / scale
    z = y / scale + c
    gz, gz1 = gammainc(k, z), gammainc(k + 1.0, z)
    gc, gc1 = gammainc(k, c), gammainc(k + 1.0, c)
    beta = np.exp(betaln(0.5, k + 0.5))
    last = k / np.pi * beta * (1.0 - gammainc(2.0 * k, 2.0 * c))
    inside = z * (2.0 * gz - 1.0) - c * gc**2 + k * (1.0 + 2.0 * gc * gc1 - gc**2 - 2.0 * gz1) - last
    return np.asarray(scale * inside)


FORMS: dict[str, Callable[[Array, Array, Array, Array], Array]] = {
    "normal": normal,
    "censored normal": censored,
    "censored gamma": gamma,
}
DEFAULTS = {
    "normal": np.array([0.0, 1.0, 1.0, 1.0]),
    "censored normal": np.array([0.0, 1.0, 1.0, 1.0]),
    "censored gamma": np.array([0.5, 0.8, 1.0, 1.5, 0.5]),
}


def _density(z: Array) -> Array:
    return np.asarray(np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi))


def _loss(p: Array, m: Array, s: Array, y: Array, cut: bool) -> tuple[float, Array]:
    """Return the mean CRPS of the normal form, censored at zero or not, and its gradient."""
    mu, sigma = _moments(p, m, s)
    z = (y - mu) / sigma
    by_mu, by_sigma = 1.0 - 2.0 * ndtr(z), 2.0 * _density(z) - 1.0 / ROOT_PI
    if cut:
        low = -mu / sigma
        below = ndtr(low)
        by_mu += below**2
        by_sigma -= 2.0 * _density(low) * below - ndtr(np.sqrt(2.0) * low) / ROOT_PI
    share = by_sigma / sigma
    gradient = [by_mu.mean(), (by_mu * m).mean(), p[2] * share.mean(), p[3] * (share * s * s).mean()]
    return float((censored if cut else normal)(p, m, s, y).mean()), np.array(gradient)


LOSSES = {"normal": partial(_loss, cut=False), "censored normal": partial(_loss, cut=True)}
