"""Sound kernels of one's own pass `check_kernel`, and faulty ones do not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import overcast as oc
from overcast import beliefs, kernels, testing
from overcast._check import Array
from overcast.beliefs import Belief
from overcast.kernels import Kernel

POINTS = np.random.default_rng(0).normal(size=(6, 2))


class _Kernel(Kernel):
    """A squared exponential with one part of it replaced."""

    def __init__(self, lengthscale: float = 0.8, **parts: Any) -> None:
        self.rbf, self.parts = kernels.RBF(lengthscale), parts
        for name, part in parts.items():
            setattr(self, name, part)

    def _evaluate(self, left: Array, right: Array) -> Array:
        return self.rbf._evaluate(left, right)

    def embed(self, belief: Belief) -> Any:
        return self.rbf.embed(belief)

    def compare(self, left: Any, right: Any) -> Array:
        return self.rbf.compare(left, right)

    def parameters(self) -> tuple[float, ...]:
        return self.rbf.parameters()

    def with_parameters(self, values: Sequence[float]) -> _Kernel:
        return _Kernel(values[0], **self.parts)

    def gradient(self, left: Any, right: Any) -> Array:
        return self.rbf.gradient(left, right)

    def series(self, reach: Array) -> Any:
        return self.rbf.series(reach)


class _Plain(Kernel):
    """The least that a kernel has to give."""

    def _evaluate(self, left: Array, right: Array) -> Array:
        return np.asarray(1.0 / (1.0 + ((left[:, None] - right[None]) ** 2).sum(axis=-1)))


def test_kernels_of_ones_own() -> None:
    """Six standard errors, about 1e-8 a number."""
    for kernel in (_Kernel(), _Plain(), kernels.Product(_Plain(), 2.0 * _Kernel())):
        testing.check_kernel(kernel, POINTS)


def _no_help(belief: Belief) -> Any:
    if belief.support() is None:
        raise beliefs.NoClosedForm("_Kernel: too hard")
    return belief.cloud()


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"_evaluate": lambda u, v: np.ones(len(u))}, "kernel.points, points. must have shape"),
        ({"_evaluate": lambda u, v: np.full((len(u), len(v)), np.nan)}, "must be finite"),
        ({"_evaluate": lambda u, v: u[:, :1] - v.T[:1]}, r"k.u, v. and k.v, u. must agree"),
        ({"_evaluate": lambda u, v: np.tanh(u @ v.T - 1.0)}, "no negative eigenvalue, got -"),
        ({"_evaluate": lambda u, v: (u - u.mean(axis=0)) @ (v - v.mean(axis=0)).T}, "on their own must agree"),
        ({"diagonal": lambda u: np.zeros(len(u))}, "diagonal and k"),
        ({"compare": lambda left, right: np.ones((len(left.weights), len(right.weights)))}, "PointMass"),
        ({"embed": lambda belief: oc.PointMass(belief.mean()).cloud()}, "Ensemble"),
        (
            {"embed": lambda b: b.cloud() if b.support() else oc.Gaussian(b.mean(), 0.1).cloud()},
            "expected under Gaussian",
        ),
        ({"embed": _no_help}, "must say to pass samples="),
        ({"embed_points": lambda points, weights: kernels.RBF().embed(oc.PointMass(points[0]))}, "sampled"),
        ({"parameters": lambda: (-1.0,), "with_parameters": lambda values: _Kernel(parameters=lambda: (-1.0,))}, "> 0"),
        ({"with_parameters": lambda values: _Kernel(2.0)}, "parameters after with_parameters"),
        ({"gradient": lambda left, right: np.zeros((0, 1, 1))}, "gradient must have shape"),
        ({"gradient": lambda left, right: kernels.RBF(0.9).gradient(left, right)}, "slope of compare"),
        ({"series": lambda reach: kernels.RBF(0.9).series(reach)}, "series and k"),
    ],
)
def test_faulty_kernels(parts: dict[str, Any], words: str) -> None:
    with pytest.raises(AssertionError, match=rf"^_Kernel: .*{words}"):
        testing.check_kernel(_Kernel(**parts), POINTS)


def test_faulty_parts_of_a_product() -> None:
    with pytest.raises(AssertionError, match=r"^_Kernel: diagonal"):
        testing.check_kernel(kernels.Product(kernels.RBF(), _Kernel(diagonal=lambda u: np.zeros(len(u)))), POINTS)
