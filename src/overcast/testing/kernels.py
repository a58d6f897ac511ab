"""The conformance check of a kernel."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from numpy.typing import ArrayLike

from overcast._check import Array
from overcast.beliefs import Belief, Ensemble, NoClosedForm, PointMass
from overcast.beliefs.cloud import Cloud
from overcast.kernels import AnyKernel, Kernel
from overcast.testing._compare import (
    DRAWS,
    draws_of,
    gaussian_around,
    require,
    require_average,
    require_equal,
    require_shape,
)


def check_kernel(kernel: AnyKernel, points: ArrayLike) -> None:
    """Check the Gram matrices, mean embeddings, parameters and derivatives of a kernel at distinct points (n, p).

    A kernel of actions and contexts, such as `Product`, is checked part by part, with the points as both.

    Examples
    --------
    >>> from overcast.kernels import RBF
    >>> check_kernel(RBF(0.5), points=[[0.0, 1.0], [0.5, -1.0], [2.0, 0.3]])
    """
    name, u = type(kernel).__name__, np.array(points, dtype=float)
    twin = kernel.with_parameters(kernel.parameters())
    require_equal(name, "parameters after with_parameters(parameters())", twin.parameters(), kernel.parameters())
    require(all(value > 0 for value in kernel.parameters()), name, "parameters must be > 0")
    if not isinstance(kernel, Kernel):
        for part in (part for term in kernel.terms(u.shape[1]) for part in term):
            check_kernel(part, u)
        return
    n = len(u)
    gram = kernel(u, u)
    require_shape(name, "kernel(points, points)", gram, (n, n))
    require_equal(name, "k(u, v) and k(v, u)", gram.T, gram)
    for i, j in np.ndindex(n, n):
        require_equal(
            name, f"k of points {i} and {j} on their own", kernel(u[i : i + 1], u[j : j + 1])[0, 0], gram[i, j]
        )
    smallest = float(np.linalg.eigvalsh(gram)[0])
    positive = smallest >= -1e-9 * float(np.trace(gram))
    require(positive, name, f"the matrix of k(u, v) must have no negative eigenvalue, got {smallest:.3g}")
    require_equal(name, "diagonal and k(u, u)", kernel.diagonal(u), np.diagonal(gram))
    require_equal(
        name, "k after with_parameters(parameters())", kernel.with_parameters(kernel.parameters())(u, u), gram
    )
    _embeddings(name, kernel, u, gram)
    _derivatives(name, kernel, [Cloud(np.full(n, 1.0 / n), u)])
    for _, atom in kernel.atoms():
        known: list[Belief] = [PointMass(u[0]), Ensemble(u)]
        with suppress(NoClosedForm):
            atom.embed(gaussian_around(u))
            known.append(gaussian_around(u))
        _derivatives(name, atom, [atom.embed(belief) for belief in known])
        _series(name, atom, u)


def _embeddings(name: str, kernel: Kernel, u: Array, gram: Array) -> None:
    """Compare `expected` and `sampled` with averages of the kernel over points and draws."""
    weights = np.arange(1.0, len(u) + 1) / (len(u) * (len(u) + 1) / 2)
    at, members, gaussian = [PointMass(point) for point in u], Ensemble(u, weights), gaussian_around(u)
    require_equal(name, "expected between PointMass beliefs and k", kernel.expected(at, at), gram)
    require_equal(name, "expected under Ensemble and the average", kernel.expected([members], at)[0], weights @ gram)
    double = weights @ gram @ weights
    require_equal(
        name, "expected between Ensembles and the average", kernel.expected([members], [members])[0, 0], double
    )
    rng = np.random.default_rng(1)
    left, right = gaussian.sample(20, rng), gaussian.sample(20, rng)
    sampled = kernel.sampled([gaussian], [gaussian], 20, np.random.default_rng(1))[0, 0]
    require_equal(name, "sampled and the average over the same draws", sampled, kernel(left, right).mean())
    try:
        mean, double = kernel.expected([gaussian], at)[0], kernel.expected([gaussian], [gaussian])[0, 0]
    except NoClosedForm as error:
        require("samples=" in str(error), name, f"NoClosedForm must say to pass samples=, got {error}")
        return
    draws, others = draws_of(gaussian, DRAWS), gaussian.sample(DRAWS, np.random.default_rng(2))
    require_average(name, "expected under Gaussian", kernel(draws, u), mean)
    parts = zip(np.split(draws, DRAWS // 100), np.split(others, DRAWS // 100), strict=True)
    pairs = np.concatenate([np.diagonal(kernel(left, right)) for left, right in parts])
    require_average(name, "expected between Gaussians", pairs, np.asarray(double))


def _derivatives(name: str, kernel: Kernel, clouds: list[Cloud]) -> None:
    """Compare `gradient` with central differences of `compare`."""
    values, step = np.array(kernel.parameters()), 1e-5
    for left in clouds if len(values) else ():
        for right in clouds:
            n, m = len(left.weights), len(right.weights)
            got = kernel.gradient(left, right)
            require_shape(name, "gradient", got, (len(values), n, m))
            for i, row in enumerate(got):
                factors = np.exp(step * np.eye(len(values))[i])
                high, low = (kernel.with_parameters((values * f).tolist()) for f in (factors, 1.0 / factors))
                slope = (high.compare(left, right) - low.compare(left, right)) / (2.0 * step)
                off = float(np.abs(row - slope).max())
                close = off <= 1e-6 * (1.0 + float(np.abs(slope).max()))
                require(close, name, f"gradient by parameter {i} must be the slope of compare, got {off:.3g} off it")


def _series(name: str, kernel: Kernel, u: Array) -> None:
    """Compare the cosine series of a smooth kernel with the kernel."""
    if (series := kernel.series(np.ptp(u, axis=0))) is None:
        return
    product = np.ones((len(u), len(u)))
    for column, (step, weights) in zip(u.T, series, strict=True):
        waves = np.cos(np.multiply.outer(np.subtract.outer(column, column), step * np.arange(len(weights))))
        product *= 2.0 * (waves @ weights) - weights[0]
    require_equal(name, "series and k", product, kernel(u, u))
