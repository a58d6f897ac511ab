"""Sums, products and multiples of kernels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from overcast import _check
from overcast._check import Array
from overcast.beliefs.cloud import Cloud
from overcast.kernels.base import AnyKernel, JointKernel, Kernel, Term, check_kernel


@dataclass(frozen=True)
class _Multiple(AnyKernel):
    """The base of `Scaled` and `JointScaled`."""

    kernel: AnyKernel
    scale: float

    def __post_init__(self) -> None:
        owner = type(self).__name__
        check_kernel(owner, "kernel", self.kernel, isinstance(self, Kernel))
        object.__setattr__(self, "scale", _check.number(owner, "scale", self.scale, above=0.0))

    def terms(self, a: int) -> tuple[Term, ...]:
        return tuple((Scaled(action, self.scale), context) for action, context in self.kernel.terms(a))

    def parameters(self) -> tuple[float, ...]:
        return self.scale, *self.kernel.parameters()

    def with_parameters(self, values: Sequence[float]) -> Self:
        return replace(self, kernel=self.kernel.with_parameters(values[1:]), scale=values[0])


@dataclass(frozen=True)
class Scaled(_Multiple, Kernel):
    """The multiple scale * k(u, v) of a kernel of vectors, written `scale * kernel`.

    Examples
    --------
    >>> from overcast.kernels import RBF
    >>> (4.0 * RBF(1.0))([[0.0]], [[0.0]])
    array([[4.]])
    """

    kernel: Kernel

    def _evaluate(self, left: Array, right: Array) -> Array:
        return np.asarray(self.scale * self.kernel._evaluate(left, right))

    def diagonal(self, points: Array) -> Array:
        return np.asarray(self.scale * self.kernel.diagonal(points))

    def atoms(self) -> tuple[tuple[float, Kernel], ...]:
        return tuple((self.scale * factor, atom) for factor, atom in self.kernel.atoms())

    def gradient(self, left: Cloud, right: Cloud) -> Array:
        return np.concatenate([self.compare(left, right)[None], self.scale * self.kernel.gradient(left, right)])


@dataclass(frozen=True)
class JointScaled(_Multiple, JointKernel):
    """The multiple scale * k((x, c), (x', c')) of a kernel of actions and contexts, written `scale * kernel`.

    Examples
    --------
    >>> from overcast.kernels import RBF, Product
    >>> 2.0 * Product(RBF(0.5), RBF(1.0))
    JointScaled(kernel=Product(action_kernel=RBF(lengthscale=0.5), context_kernel=RBF(lengthscale=1.0)), scale=2.0)
    """


@dataclass(frozen=True)
class _Total(AnyKernel):
    """The base of `Sum` and `JointSum`."""

    kernels: tuple[AnyKernel, ...]

    def __post_init__(self) -> None:
        owner = type(self).__name__
        if not isinstance(self.kernels, Iterable):
            raise TypeError(f"{owner}: kernels must be a sequence of kernels, got {_check.short(self.kernels)}")
        object.__setattr__(self, "kernels", tuple(self.kernels))
        if not self.kernels:
            raise ValueError(f"{owner}: kernels must hold at least one kernel, got none")
        for kernel in self.kernels:
            check_kernel(owner, "kernel", kernel, isinstance(self, Kernel))

    def terms(self, a: int) -> tuple[Term, ...]:
        return tuple(term for kernel in self.kernels for term in kernel.terms(a))

    def parameters(self) -> tuple[float, ...]:
        return tuple(value for kernel in self.kernels for value in kernel.parameters())

    def with_parameters(self, values: Sequence[float]) -> Self:
        return replace(self, kernels=_distribute(self.kernels, values))


@dataclass(frozen=True)
class Sum(_Total, Kernel):
    """The sum of kernels of vectors, written `kernel + kernel`.

    Examples
    --------
    >>> from overcast.kernels import RBF, Constant
    >>> (RBF(1.0) + Constant())([[0.0]], [[0.0]])
    array([[2.]])
    """

    kernels: tuple[Kernel, ...]

    def _evaluate(self, left: Array, right: Array) -> Array:
        return np.asarray(sum(kernel._evaluate(left, right) for kernel in self.kernels))

    def diagonal(self, points: Array) -> Array:
        return np.asarray(sum(kernel.diagonal(points) for kernel in self.kernels))

    def atoms(self) -> tuple[tuple[float, Kernel], ...]:
        return tuple(atom for kernel in self.kernels for atom in kernel.atoms())

    def gradient(self, left: Cloud, right: Cloud) -> Array:
        return np.concatenate([kernel.gradient(left, right) for kernel in self.kernels])


@dataclass(frozen=True)
class JointSum(_Total, JointKernel):
    """The sum of kernels of actions and contexts, written `kernel + kernel`.

    A kernel of vectors among them is a kernel of the vector (x, c), such as an intercept `Constant()`.

    Examples
    --------
    >>> from overcast.kernels import RBF, Constant, Product
    >>> Product(RBF(0.5), RBF(1.0)) + Constant()
    JointSum(kernels=(Product(action_kernel=RBF(lengthscale=0.5), context_kernel=RBF(lengthscale=1.0)), Constant()))
    """


@dataclass(frozen=True)
class Product(JointKernel):
    """The product k((x, c), (x', c')) = action_kernel(x, x') context_kernel(c, c').

    Under beliefs, <k_{x,mu}, k_{x',nu}> = action_kernel(x, x') E[context_kernel(c, c')]: the cost of the contexts does
    not grow with the number of actions.

    Parameters
    ----------
    action_kernel, context_kernel : kernels of vectors

    Examples
    --------
    >>> from overcast.kernels import RBF, Matern
    >>> Product(Matern(2.5, 0.5), RBF(1.0)) + Product(RBF(2.0), RBF((0.3, 0.4)))  # doctest: +ELLIPSIS
    JointSum(kernels=(Product(action_kernel=Matern(nu=2.5, lengthscale=0.5), ...
    """

    action_kernel: Kernel
    context_kernel: Kernel

    def __post_init__(self) -> None:
        check_kernel("Product", "action_kernel", self.action_kernel, vectors=True)
        check_kernel("Product", "context_kernel", self.context_kernel, vectors=True)

    def terms(self, a: int) -> tuple[Term, ...]:
        atoms = self.context_kernel.atoms()
        if atoms == ((1.0, self.context_kernel),):
            return ((self.action_kernel, self.context_kernel),)
        return tuple((Scaled(self.action_kernel, factor), atom) for factor, atom in atoms)

    def parameters(self) -> tuple[float, ...]:
        return *self.action_kernel.parameters(), *self.context_kernel.parameters()

    def with_parameters(self, values: Sequence[float]) -> Product:
        return Product(*_distribute((self.action_kernel, self.context_kernel), values))


def _distribute(kernels: Sequence[Any], values: Sequence[float]) -> tuple[Any, ...]:
    """Divide the values among the kernels, in order, and return the kernels with them."""
    ends = np.cumsum([len(kernel.parameters()) for kernel in kernels])
    starts = [0, *ends[:-1]]
    return tuple(k.with_parameters(values[i:j]) for k, i, j in zip(kernels, starts, ends, strict=True))
