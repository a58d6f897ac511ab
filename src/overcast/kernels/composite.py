"""Kernels made of other kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from overcast import _check
from overcast._check import Array
from overcast.beliefs.cloud import Cloud
from overcast.kernels.base import JointKernel, Kernel, Term, check_kernel


@dataclass(frozen=True)
class Scaled(Kernel):
    """scale * kernel, which `scale * kernel` writes.

    Examples
    --------
    >>> from overcast.kernels import RBF
    >>> (4.0 * RBF(1.0))([[0.0]], [[0.0]])
    array([[4.]])
    """

    kernel: JointKernel
    scale: float

    def __post_init__(self) -> None:
        _check_part("Scaled", self.kernel)
        object.__setattr__(self, "scale", _check.number("Scaled", "scale", self.scale, above=0.0))

    def _evaluate(self, left: Array, right: Array) -> Array:
        return np.asarray(self.scale * _of_vectors("Scaled", self.kernel)._evaluate(left, right))

    def diagonal(self, points: Array) -> Array:
        return np.asarray(self.scale * _of_vectors("Scaled", self.kernel).diagonal(points))

    def atoms(self) -> tuple[tuple[float, Kernel], ...]:
        return tuple((self.scale * factor, atom) for factor, atom in _of_vectors("Scaled", self.kernel).atoms())

    def terms(self, a: int) -> tuple[Term, ...]:
        return tuple((Scaled(action, self.scale), context) for action, context in self.kernel.terms(a))

    def parameters(self) -> tuple[float, ...]:
        return self.scale, *self.kernel.parameters()

    def with_parameters(self, values: Sequence[float]) -> Scaled:
        return Scaled(self.kernel.with_parameters(values[1:]), values[0])

    def gradient(self, left: Cloud, right: Cloud) -> Array:
        inner = self.scale * _of_vectors("Scaled", self.kernel).gradient(left, right)
        return np.concatenate([self.compare(left, right)[None], inner])


@dataclass(frozen=True)
class Sum(Kernel):
    """The sum of kernels, which `kernel + kernel` writes.

    Examples
    --------
    >>> from overcast.kernels import RBF, Constant
    >>> (RBF(1.0) + Constant())([[0.0]], [[0.0]])
    array([[2.]])
    """

    kernels: tuple[JointKernel, ...]

    def __post_init__(self) -> None:
        try:
            kernels = tuple(self.kernels)
        except TypeError:
            raise TypeError(f"Sum: kernels must be a sequence of kernels, got {_check.short(self.kernels)}") from None
        if not kernels:
            raise ValueError("Sum: kernels must hold one kernel at least, got none")
        for kernel in kernels:
            _check_part("Sum", kernel)
        object.__setattr__(self, "kernels", kernels)

    def _evaluate(self, left: Array, right: Array) -> Array:
        return np.asarray(sum(_of_vectors("Sum", kernel)._evaluate(left, right) for kernel in self.kernels))

    def diagonal(self, points: Array) -> Array:
        return np.asarray(sum(_of_vectors("Sum", kernel).diagonal(points) for kernel in self.kernels))

    def atoms(self) -> tuple[tuple[float, Kernel], ...]:
        return tuple(atom for kernel in self.kernels for atom in _of_vectors("Sum", kernel).atoms())

    def terms(self, a: int) -> tuple[Term, ...]:
        return tuple(term for kernel in self.kernels for term in kernel.terms(a))

    def parameters(self) -> tuple[float, ...]:
        return tuple(value for kernel in self.kernels for value in kernel.parameters())

    def with_parameters(self, values: Sequence[float]) -> Sum:
        return Sum(_share(self.kernels, values))

    def gradient(self, left: Cloud, right: Cloud) -> Array:
        return np.concatenate([_of_vectors("Sum", kernel).gradient(left, right) for kernel in self.kernels])


@dataclass(frozen=True)
class Product(JointKernel):
    """k((x, c), (x', c')) = action_kernel(x, x') context_kernel(c, c').

    Under beliefs, <k_{x,mu}, k_{x',nu}> = action_kernel(x, x') E[context_kernel(c, c')]: what the contexts cost does
    not grow with the number of actions.

    Parameters
    ----------
    action_kernel, context_kernel : kernels of vectors

    Examples
    --------
    >>> from overcast.kernels import RBF, Matern
    >>> Product(Matern(2.5, 0.5), RBF(1.0)) + Product(RBF(2.0), RBF((0.3, 0.4)))  # doctest: +ELLIPSIS
    Sum(kernels=(Product(action_kernel=Matern(nu=2.5, lengthscale=0.5), ...
    """

    action_kernel: Kernel
    context_kernel: Kernel

    def __post_init__(self) -> None:
        check_kernel("Product", "action_kernel", self.action_kernel)
        check_kernel("Product", "context_kernel", self.context_kernel)

    def terms(self, a: int) -> tuple[Term, ...]:
        atoms = self.context_kernel.atoms()
        if atoms == ((1.0, self.context_kernel),):
            return ((self.action_kernel, self.context_kernel),)
        return tuple((Scaled(self.action_kernel, factor), atom) for factor, atom in atoms)

    def parameters(self) -> tuple[float, ...]:
        return *self.action_kernel.parameters(), *self.context_kernel.parameters()

    def with_parameters(self, values: Sequence[float]) -> Product:
        return Product(*_share((self.action_kernel, self.context_kernel), values))


def _share(kernels: Sequence[Any], values: Sequence[float]) -> tuple[Any, ...]:
    """Return the kernels with their shares of the values, in order."""
    out, first = [], 0
    for kernel in kernels:
        last = first + len(kernel.parameters())
        out.append(kernel.with_parameters(values[first:last]))
        first = last
    return tuple(out)


def _check_part(owner: str, kernel: Any) -> None:
    if not isinstance(kernel, JointKernel):
        raise TypeError(f"{owner}: kernel must be a kernel such as RBF(1.0), got {_check.short(kernel)}")


def _of_vectors(owner: str, kernel: JointKernel) -> Kernel:
    if not isinstance(kernel, Kernel):
        raise TypeError(
            f"{owner}: kernel must be a kernel of vectors here, got {type(kernel).__name__}, "
            "which takes actions and contexts apart"
        )
    return kernel
