"""The contract of a kernel, and of its mean embeddings: k(mu, nu) = E[k(c, c')] for c ~ mu, c' ~ nu."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from overcast import _check
from overcast._check import Array
from overcast.beliefs._parts import parts
from overcast.beliefs.base import Belief, NoClosedForm
from overcast.beliefs.cloud import Cloud, kind_of

if TYPE_CHECKING:
    from overcast.kernels.composite import Scaled, Sum

Term = tuple["Kernel", "Kernel"]

# Numbers that one comparison of two beliefs may hold: an ensemble of 20,000 with itself would be 3 GB.
CHUNK = 2_000_000


class JointKernel(ABC):
    """A kernel k((x, c), (x', c')) of actions and contexts together, which is what `KernelModel` takes."""

    @abstractmethod
    def terms(self, a: int) -> tuple[Term, ...]:
        """Return pairs of an action kernel and a context kernel, whose products add up to k, for actions in R^a.

        Actions and contexts then stay apart: the context part of two rounds is computed once, for all actions.
        """

    def parameters(self) -> tuple[float, ...]:
        """Return the positive numbers that `fit_hyperparameters` may change; none by default."""
        return ()

    def with_parameters(self, values: Sequence[float]) -> Self:
        """Return the same kernel with other `parameters`."""
        if len(values):
            raise ValueError(f"{type(self).__name__}: has no parameters, got {len(values)}")
        return self

    def __add__(self, other: JointKernel) -> Sum:
        from overcast.kernels.composite import Sum

        return Sum((self, other))

    def __mul__(self, scale: float) -> Scaled:
        from overcast.kernels.composite import Scaled

        return Scaled(self, scale)

    __rmul__ = __mul__


class Kernel(JointKernel):
    """A positive semi-definite kernel k(u, v) of vectors.

    A new kernel gives `_evaluate`, which serves points and every belief with finite support; where expectations have
    a closed form for more, also `embed` and `compare`. To be fitted, it gives `parameters`, `with_parameters` and
    `gradient`. As a kernel of actions and contexts it sits in a `Product`. Make it a frozen dataclass, so that models
    with it can be compared; `overcast.testing.check_kernel` says what is wrong with it.

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
        """Return k(u, v) for every pair: (n, p) and (m, p) give (n, m)."""
        name = type(self).__name__
        left = _check.array(name, "left", left, ("n", "p"))
        right = _check.array(name, "right", right, ("m", left.shape[1]))
        return self._evaluate(left, right)

    def diagonal(self, points: Array) -> Array:
        """Return k(u, u) for each point (n, p), shape (n,)."""
        return np.array([float(self._evaluate(point[None], point[None])[0, 0]) for point in points])

    def embed(self, belief: Belief) -> Cloud:
        """Return what the mean embedding needs of a belief, exactly, in a form that no parameter enters.

        Raises
        ------
        NoClosedForm
            Where there is no exact form; the message says to pass `samples=`.
        """
        finite = belief.support()
        if finite is None:
            raise no_closed_form(self, belief)
        return self.embed_points(*finite)

    def embed_points(self, points: Array, weights: Array) -> Cloud:
        """Return the same for points (n, c) with weights (n,)."""
        return Cloud(weights, points)

    def compare(self, left: Cloud, right: Cloud) -> Array:
        """Return the expectation of k between any two components of two embedded beliefs, shape (n, m)."""
        return self._evaluate(left.centres, right.centres)

    def square(self, cloud: Cloud) -> float:
        """Return E[k(c, c')] for independent c and c' of one embedded belief: the squared norm of its embedding."""
        return inner(self, cloud, cloud)

    def gradient(self, left: Cloud, right: Cloud) -> Array:
        """Return the derivatives of `compare` by the logarithms of the `parameters`, shape (q, n, m)."""
        return np.empty((0, len(left.weights), len(right.weights)))

    def frequencies(self, n: int, dim: int, rng: np.random.Generator) -> Array:
        """Return n draws from the spectral density of a stationary kernel with k(u, u) = 1, shape (n, dim)."""
        raise TypeError(
            f"{type(self).__name__}: has no spectral density to draw frequencies from; take RBF or Matern, or Nystrom"
        )

    def series(self, reach: Array) -> list[tuple[float, Array]] | None:
        """Return a short cosine series for each dimension, whose product is k as long as |u_i - v_i| <= reach_i.

        A step h and weights w_j say that dimension i has the factor w_0 + 2 sum_j w_j cos(j h (u_i - v_i)), to ten
        digits. None where there is no such series, which is the default.
        """
        return None

    def expected(self, left: Sequence[Belief], right: Sequence[Belief]) -> Array:
        """Return E[k(c, c')] for independent c ~ mu and c' ~ nu, for every pair of beliefs, shape (n, m).

        Raises
        ------
        NoClosedForm
            Where it has no exact form; use `sampled`, or pass `samples=` to the bandit.
        """
        sides = self._beliefs(left, right)
        return sum_of_atoms(self, lambda atom: [[atom.embed(belief) for belief in side] for side in sides])

    def sampled(self, left: Sequence[Belief], right: Sequence[Belief], samples: int, rng: np.random.Generator) -> Array:
        """Return the same between the empirical distributions of `samples` draws of each belief, shape (n, m)."""
        samples = _check.integer(type(self).__name__, "samples", samples, at_least=1)
        weights = np.full(samples, 1.0 / samples)
        draws = [[belief.sample(samples, rng) for belief in side] for side in self._beliefs(left, right)]
        return sum_of_atoms(self, lambda atom: [[atom.embed_points(points, weights) for points in s] for s in draws])

    def _beliefs(self, *sides: Sequence[Belief]) -> list[list[Belief]]:
        """Return the beliefs, if they are such, and of one dimension."""
        owner = type(self).__name__
        out = [list(parts(owner, side)) for side in sides]
        dims = sorted({belief.dim for side in out for belief in side})
        if len(dims) > 1:
            raise ValueError(f"{owner}: beliefs must have equal dimension, got {dims[0]} and {dims[1]}")
        return out

    def atoms(self) -> tuple[tuple[float, Kernel], ...]:
        """Return kernels and factors whose sum this kernel is."""
        return ((1.0, self),)

    def terms(self, a: int) -> tuple[Term, ...]:
        """Split a kernel of the vector (x, c) into products; not every kernel can be."""
        raise TypeError(
            f"{type(self).__name__}: as a kernel of (x, c) it does not split into actions and contexts; "
            f"take Product(action_kernel, context_kernel)"
        )


def inner(kernel: Kernel, left: Cloud, right: Cloud) -> float:
    """Return E[k(c, c')] for two embedded beliefs."""
    parts = in_pieces(left, right)
    return float(sum(part.weights @ kernel.compare(part, right) @ right.weights for part in parts))


def in_pieces(left: Cloud, right: Cloud) -> list[Cloud]:
    """Return the components of `left` in pieces, each of which can be compared with all of `right` at once."""
    full = max(kind_of(left.spread), kind_of(right.spread)) == 2  # a matrix for each pair
    n = max(1, CHUNK // (len(right.weights) * (right.centres.shape[1] ** 2 if full else 1)))
    return [left.rows(slice(i, i + n)) for i in range(0, len(left.weights), n)]


def sum_of_atoms(kernel: Kernel, embed: Callable[[Kernel], Sequence[Sequence[Cloud]]]) -> Array:
    """Return E[k] for every pair of a left and a right belief, which `embed` prepares for each atom of the kernel."""
    total = np.zeros(())
    for factor, atom in kernel.atoms():
        left, right = embed(atom)
        total = total + factor * np.array([[inner(atom, mu, nu) for nu in right] for mu in left])
    return np.asarray(total)


def no_closed_form(kernel: Kernel, belief: object) -> NoClosedForm:
    return NoClosedForm(
        f"{type(kernel).__name__}: the mean embedding of {type(belief).__name__} has no exact form; "
        "pass samples= to embed draws"
    )


def check_joint(owner: str, value: Any) -> JointKernel:
    """Return the value if it is a kernel of actions and contexts."""
    if not isinstance(value, JointKernel):
        raise TypeError(
            f"{owner}: kernel must be a kernel of actions and contexts such as Product(RBF(1.0), RBF(1.0)), "
            f"got {_check.short(value)}"
        )
    return value


def check_kernel(owner: str, name: str, value: Any) -> Kernel:
    """Return the value if it is a kernel of vectors."""
    if not isinstance(value, Kernel):
        raise TypeError(f"{owner}: {name} must be a kernel of vectors such as RBF(1.0), got {_check.short(value)}")
    value.atoms()  # refuses a sum of kernels that are not of vectors
    return value
