"""The contracts of kernels: `Kernel` of vectors, `JointKernel` of actions and contexts, `AnyKernel` for both."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self, overload

import numpy as np
from numpy.typing import ArrayLike

from overcast import _check
from overcast._check import Array
from overcast.beliefs.base import Belief, NoClosedForm
from overcast.beliefs.cloud import Cloud
from overcast.beliefs.serialise import parts
from overcast.kernels.embeddings import inner

if TYPE_CHECKING:
    from overcast.kernels.composite import JointScaled, JointSum, Scaled, Sum

Term = tuple["Kernel", "Kernel"]


class AnyKernel(ABC):
    """The base of both kinds of kernel. Used as a joint kernel, a `Kernel` takes the concatenated vector (x, c).

    Examples
    --------
    >>> from overcast import kernels
    >>> both = kernels.RBF(0.5), kernels.Product(kernels.RBF(0.5), kernels.RBF(1.0))
    >>> [isinstance(kernel, AnyKernel) for kernel in both]
    [True, True]
    """

    @abstractmethod
    def terms(self, a: int) -> tuple[Term, ...]:
        """Split k into pairs of an action kernel, for R^a, and a context kernel; their products add up to k."""

    def parameters(self) -> tuple[float, ...]:
        """Return the positive numbers that `fit_hyperparameters` may change; none by default."""
        return ()

    def with_parameters(self, values: Sequence[float]) -> Self:
        """Return this kernel with other values for its `parameters`."""
        if len(values):
            raise ValueError(f"{type(self).__name__}: has no parameters, got {len(values)}")
        return self


class JointKernel(AnyKernel):
    """A kernel k((x, c), (x', c')) that takes action and context as two arguments.

    Examples
    --------
    >>> from overcast import kernels
    >>> both = kernels.RBF(0.5), kernels.Product(kernels.RBF(0.5), kernels.RBF(1.0))
    >>> [isinstance(kernel, JointKernel) for kernel in both]
    [False, True]
    """

    def __add__(self, other: AnyKernel) -> JointSum:
        from overcast.kernels.composite import JointSum

        return JointSum((self, other))

    def __mul__(self, scale: float) -> JointScaled:
        from overcast.kernels.composite import JointScaled

        return JointScaled(self, scale)

    __rmul__ = __mul__


class Kernel(AnyKernel):
    """A positive semi-definite kernel k(u, v) of vectors.

    A kernel of your own defines `_evaluate`, which serves points and all beliefs with finite support. It defines
    `embed` and `compare` too if expectations have a closed form for more beliefs, and `parameters`, `with_parameters`
    and `gradient` if it has parameters to fit. In a `Product` it becomes a kernel of actions and contexts. Make it a
    frozen dataclass, so that models with it can be compared; `overcast.testing.check_kernel` reports its faults.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from overcast.beliefs import Ensemble, PointMass
    >>> @dataclass(frozen=True)
    ... class Cosine(Kernel):
    ...     def _evaluate(self, left, right):
    ...         return np.cos(left[:, None] - right[None]).sum(axis=-1)
    >>> Cosine().expected([Ensemble([[0.0], [np.pi]])], [PointMass([0.0])]).round(12)
    array([[0.]])
    """

    @abstractmethod
    def _evaluate(self, left: Array, right: Array) -> Array:
        """Return k(u, v) for checked arrays (n, p) and (m, p), shape (n, m)."""

    def __call__(self, left: ArrayLike, right: ArrayLike) -> Array:
        """Return k(u, v) for every pair of rows of `left` (n, p) and `right` (m, p), shape (n, m)."""
        name = type(self).__name__
        left = _check.array(name, "left", left, ("n", "p"))
        right = _check.array(name, "right", right, ("m", left.shape[1]))
        return self._evaluate(left, right)

    @overload
    def __add__(self, other: Kernel) -> Sum: ...
    @overload
    def __add__(self, other: JointKernel) -> JointSum: ...
    def __add__(self, other: Any) -> Sum | JointSum:
        from overcast.kernels.composite import JointSum, Sum

        return JointSum((self, other)) if isinstance(other, JointKernel) else Sum((self, other))

    def __mul__(self, scale: float) -> Scaled:
        from overcast.kernels.composite import Scaled

        return Scaled(self, scale)

    __rmul__ = __mul__

    def diagonal(self, points: Array) -> Array:
        """Return k(u, u) for each point (n, p), shape (n,)."""
        return np.array([float(self._evaluate(point[None], point[None])[0, 0]) for point in points])

    def embed(self, belief: Belief) -> Cloud:
        """Return a belief in the form that `compare` takes, for all parameters, or raise NoClosedForm."""
        finite = belief.support()
        if finite is None:
            raise no_closed_form(self, belief)
        return self.embed_points(*finite)

    def embed_points(self, points: Array, weights: Array) -> Cloud:
        """Return points (n, c) with weights (n,) in the form that `compare` takes."""
        return Cloud(weights, points)

    def compare(self, left: Cloud, right: Cloud) -> Array:
        """Return E[k] between each component of one embedded belief and each of another, shape (n, m)."""
        return self._evaluate(left.centres, right.centres)

    def square(self, cloud: Cloud) -> float:
        """Return E[k(c, c')] for independent c and c' of one embedded belief: the squared norm of its embedding."""
        return inner(self, cloud, cloud)

    def gradient(self, left: Cloud, right: Cloud) -> Array:
        """Return the derivatives of `compare` by the logarithms of the `parameters`, shape (q, n, m)."""
        return np.empty((0, len(left.weights), len(right.weights)))

    def frequencies(self, normal: Array, rng: np.random.Generator) -> Array:
        """Return n draws from the spectral density of a stationary kernel with k(u, u) = 1, shape (n, p).

        They transform the standard normal draws `normal` (n, p), which may be quasi-random, or are drawn with `rng`.
        """
        raise TypeError(f"{type(self).__name__}: has no spectral density; take RBF or Matern, or features.Nystrom")

    def series(self, reach: Array) -> list[tuple[float, Array]] | None:
        """Return a short cosine series per dimension; their product is k wherever |u_i - v_i| <= reach_i.

        A step h and weights w_j give the factor w_0 + 2 sum_j w_j cos(j h (u_i - v_i)) of dimension i to ten digits.
        None, the default, without such a series.
        """
        return None

    def density_slopes(self, frequencies: Array) -> Array:
        """Return the derivatives of the log spectral density at each w (m, p) by the log `parameters`, shape (q, m).

        They make fits faster for a kernel with `series` and beliefs of many components.
        """
        return np.empty((0, len(frequencies)))

    def expected(self, left: Sequence[Belief], right: Sequence[Belief]) -> Array:
        """Return E[k(c, c')] for independent c ~ mu and c' ~ nu, for every pair of beliefs, shape (n, m).

        Raise NoClosedForm if there is no exact form; use `sampled` then, or pass `samples=` to the bandit.
        """
        sides = self._beliefs(left, right)
        return self._sum_over_terms(lambda atom: [[atom.embed(belief) for belief in side] for side in sides])

    def sampled(self, left: Sequence[Belief], right: Sequence[Belief], samples: int, rng: np.random.Generator) -> Array:
        """Return E[k(c, c')] between the empirical distributions of `samples` draws of each belief, shape (n, m)."""
        samples = _check.samples(type(self).__name__, samples)
        weights = np.full(samples, 1.0 / samples)
        draws = [[belief.sample(samples, rng) for belief in side] for side in self._beliefs(left, right)]
        return self._sum_over_terms(lambda atom: [[atom.embed_points(points, weights) for points in s] for s in draws])

    def _beliefs(self, *sides: Sequence[Belief]) -> list[list[Belief]]:
        """Return the beliefs as lists; raise unless all are beliefs of one dimension."""
        owner = type(self).__name__
        out = [list(parts(owner, side)) for side in sides]
        dims = sorted({belief.dim for side in out for belief in side})
        if len(dims) > 1:
            raise ValueError(f"{owner}: beliefs must have equal dimension, got {dims[0]} and {dims[1]}")
        return out

    def _sum_over_terms(self, embed: Callable[[Kernel], Sequence[Sequence[Cloud]]]) -> Array:
        """Sum E[k] over atoms, (n, m); `embed` returns the left and right beliefs embedded for an atom."""
        total = np.zeros(())
        for factor, atom in self.atoms():
            left, right = embed(atom)
            total = total + factor * np.array([[inner(atom, mu, nu) for nu in right] for mu in left])
        return np.asarray(total)

    def atoms(self) -> tuple[tuple[float, Kernel], ...]:
        """Expand the kernel into a sum of factors times kernels that are no sums."""
        return ((1.0, self),)

    def terms(self, a: int) -> tuple[Term, ...]:
        """Split the kernel of the vector (x, c) into products; raise TypeError, the default, if it does not split."""
        name = type(self).__name__
        raise TypeError(f"{name}: does not split into action and context; take Product(action_kernel, context_kernel)")


def no_closed_form(kernel: Kernel, belief: object) -> NoClosedForm:
    """Return the error for a mean embedding without a closed form; it suggests `samples=`."""
    subject = f"{type(kernel).__name__}: the mean embedding of {type(belief).__name__}"
    return NoClosedForm(f"{subject} has no exact form; pass samples= to embed draws")


def check_kernel(owner: str, name: str, value: Any, vectors: bool) -> None:
    """Raise TypeError unless the value is a kernel, and with `vectors` a kernel of vectors."""
    if not isinstance(value, Kernel if vectors else AnyKernel):
        such = "vectors such as RBF(1.0)" if vectors else "actions and contexts such as Product(RBF(1.0), RBF(1.0))"
        raise TypeError(f"{owner}: {name} must be a kernel of {such}, got {_check.short(value)}")


def check_joint(owner: str, value: Any) -> None:
    """Raise TypeError unless this is a kernel of either kind, which can take actions and contexts."""
    check_kernel(owner, "kernel", value, vectors=False)
