"""Estimate the scales of a kernel model, ridge and noise, averaged by their evidence."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from overcast._check import Array
from overcast.models.prior import LOG_PRIOR, RATIOS, SMALLEST_NOISE

# Rewards, and differences between them, below this count as zero, so that their squares times the smallest share of
# noise do not underflow.
SMALLEST_SIZE = 1e-152


class Scales(NamedTuple):
    """Scales estimated from rewards.

    ridge : lambda, the variance of the noise over that of the prior, tau^2
    noise2 : variance of the noise
    gamma : the effective number of parameters determined by rewards, including the level
    log_evidence : log p of the rewards, up to a constant independent of kernel and ridge
    """

    ridge: float
    noise2: float
    gamma: float
    log_evidence: float


def estimate_scales(gram: Array, rewards: Array) -> Scales | None:
    """Estimate the scales from rewards (t,) and their kernel matrix K (t, t); return None if all rewards are equal.

    y ~ N(m 1, tau^2 (K + lambda I)), where the level m is flat and tau^2 has the prior 1 / tau^2; both are integrated
    out. With M = K + lambda I and Q = y^T M^-1 y - (1^T M^-1 y)^2 / 1^T M^-1 1,

        log p = -(log det M + log 1^T M^-1 1 + (t - 1) log Q) / 2,

    and the variances of prior and noise are tau^2 = Q / (t - 1) and lambda tau^2. The mean of k(x, x), over lambda, is
    the ratio of signal and noise, which has the prior of `models.prior`. Both variances are averaged over a grid of
    ratios, and their ratio is the ridge.
    """
    t, size = len(rewards), float(gram.trace()) / len(rewards)
    centred = rewards - rewards.mean()
    unit = float(np.abs(centred).max())
    if not unit > max(SMALLEST_SIZE, 1e-14 * float(np.abs(rewards).max())) or not size > 0.0:
        return None
    values, vectors = np.linalg.eigh(gram)
    ridges = size / RATIOS
    totals = np.maximum(values, 0.0) + ridges[:, None]
    y, one = (centred / unit) @ vectors, vectors.sum(axis=0)
    ones = (one * one / totals).sum(axis=1)
    squares = (y * y / totals).sum(axis=1) - (one * y / totals).sum(axis=1) ** 2 / ones
    squares = np.maximum(squares, SMALLEST_NOISE * float(y @ y) / ridges)
    log_p = -0.5 * (np.log(totals).sum(axis=1) + np.log(ones) + (t - 1) * np.log(squares)) + LOG_PRIOR
    share = np.exp(log_p - log_p.max())
    log_evidence = float(log_p.max() + math.log(share.sum())) - (t - 1) * math.log(unit)
    share /= share.sum()
    noise2, tau2 = float(share @ (ridges * squares)) / (t - 1), float(share @ squares) / (t - 1)
    ridge = noise2 / tau2
    left = np.maximum(values, 0.0) + ridge
    gamma = float(
        (np.maximum(values, 0.0) / left).sum() + ridge * (one * one / left**2).sum() / (one * one / left).sum()
    )
    return Scales(ridge, noise2 * unit * unit, gamma, log_evidence)
