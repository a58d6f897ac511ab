"""Priors of models that learn their scales."""

from __future__ import annotations

import math

import numpy as np

# Variance of the signal over that of the noise: the values that are averaged over, and the centre and the standard
# deviation of their prior, which is normal in the logarithm.
RATIOS = 6.0 ** np.arange(-4, 10)
CENTRE, SPREAD = math.log(10.0), 2.0
LOG_PRIOR = -0.5 * ((np.log(RATIOS) - CENTRE) / SPREAD) ** 2
# The variance of the noise is at least this share of that of the rewards, so that the fit stays well conditioned.
SMALLEST_NOISE = 1e-8
