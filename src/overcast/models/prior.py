"""Priors of models that learn their scales."""

from __future__ import annotations

import math

import numpy as np

# The grid of signal variance over noise variance, and the centre and standard deviation of its log-normal prior.
RATIOS = 6.0 ** np.arange(-4, 10)
CENTRE, SPREAD = math.log(10.0), 2.0
LOG_PRIOR = -0.5 * ((np.log(RATIOS) - CENTRE) / SPREAD) ** 2
# Smallest variance of the noise as a share of that of rewards, so that the fit stays well conditioned.
SMALLEST_NOISE = 1e-8
