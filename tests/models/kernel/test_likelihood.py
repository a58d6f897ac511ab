"""The marginal likelihood against textbook formulas and finite differences."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from kernel_support import FITTED, SMOOTH, likelihood_of, log_of, matrix_of
from overcast._check import Array
from overcast.kernels import AnyKernel


def test_the_likelihood_is_that_of_a_normal_distribution() -> None:
    log, ridge = log_of("mixed", 25), 0.3
    y = np.array([reward for _, _, reward in log])
    covariance = matrix_of(SMOOTH, log) + ridge * np.eye(len(log))
    variance = float(y @ np.linalg.solve(covariance, y)) / len(log)
    found = likelihood_of(SMOOTH, log)(np.array(SMOOTH.parameters()), ridge)
    expected = multivariate_normal(cov=variance * covariance).logpdf(y)
    assert math.isclose(found.log_likelihood, expected, rel_tol=1e-9)
    assert math.isclose(found.noise, math.sqrt(variance * ridge), rel_tol=1e-9)
    for factor in (0.9, 1.1):
        assert multivariate_normal(cov=factor * variance * covariance).logpdf(y) < expected


@pytest.mark.parametrize(("kernel", "kind"), FITTED)
def test_slopes_against_central_differences(kernel: AnyKernel, kind: str) -> None:
    likelihood = likelihood_of(kernel, log_of(kind, 20))
    logs, step = np.log([*kernel.parameters(), 0.2]), 1e-5

    def value(at: Array) -> float:
        return likelihood(np.exp(at[:-1]), math.exp(at[-1])).log_likelihood

    expected = [(value(logs + step * e) - value(logs - step * e)) / (2.0 * step) for e in np.eye(len(logs))]
    found = likelihood(np.exp(logs[:-1]), 0.2).slopes
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)
