"""Sums, multiples and products of kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kernel_support import SCALES, check_gradient, random_cloud
from overcast._check import Array
from overcast.kernels import (
    RBF,
    AnyKernel,
    Constant,
    JointKernel,
    JointScaled,
    JointSum,
    Kernel,
    Linear,
    Matern,
    Polynomial,
    Product,
    Scaled,
    Sum,
)
from overcast.kernels.base import Term
from support import refused

EXAMPLES: list[AnyKernel] = [
    2.5 * RBF(0.8),
    0.5 * Polynomial(2) + 2.0 * Matern(1.5) + RBF((0.5, 2.0)),
    Product(2.0 * Matern(2.5), RBF(0.8) + Linear()),
    3.0 * Product(RBF(0.8), RBF(0.5)),
    Product(Matern(1.5), RBF(0.8)) + 2.0 * Product(Linear(), Linear()) + Constant(),
]


A, C = 2, 3
X = np.random.default_rng(2).normal(size=(6, A))
CONTEXTS = np.random.default_rng(3).normal(size=(6, C))


def test_operators() -> None:
    kernel = 2.0 * RBF(0.5) + Linear()
    assert kernel == Sum((Scaled(RBF(0.5), 2.0), Linear()))
    assert RBF(0.5) * 2 == Scaled(RBF(0.5), 2.0) == np.float64(2.0) * RBF(0.5)
    both = Product(RBF(0.5), Linear()) + 3.0 * Product(Linear(), RBF(1.0))
    assert both == JointSum((Product(RBF(0.5), Linear()), JointScaled(Product(Linear(), RBF(1.0)), 3.0)))
    assert hash(both) == hash(Product(RBF(0.5), Linear()) + 3.0 * Product(Linear(), RBF(1.0)))


def test_the_type_of_a_sum_and_of_a_multiple() -> None:
    """Kernels of vectors stay kernels of vectors; with one of actions and contexts, all are such kernels."""
    vectors, joint = RBF(0.5) + Linear(), Product(RBF(0.5), Linear())
    assert isinstance(vectors, Sum)
    assert isinstance(2.0 * vectors, Scaled)
    assert isinstance(joint * 2.0, JointScaled)
    for kernel in (vectors + joint, joint + vectors, joint + joint, 2.0 * joint + vectors):
        assert isinstance(kernel, JointSum)
        assert isinstance(kernel, JointKernel)
        assert not isinstance(kernel, Kernel)
    assert (vectors + joint).kernels == (vectors, joint)
    assert (joint + vectors).kernels == (joint, vectors)


def _joined(terms: tuple[Term, ...]) -> Array:
    return np.asarray(sum(action(X, X) * context(CONTEXTS, CONTEXTS) for action, context in terms))


def test_terms_of_products() -> None:
    first, second = RBF(0.5)(X, X), Linear()(X, X)
    rbf, linear = RBF(1.0)(CONTEXTS, CONTEXTS), Linear()(CONTEXTS, CONTEXTS)
    cases: list[tuple[JointKernel, Array, int]] = [
        (Product(RBF(0.5), Linear()), first * linear, 1),
        (2.0 * Product(RBF(0.5), RBF(1.0)), 2 * first * rbf, 1),
        (Product(RBF(0.5), RBF(1.0)) + Product(Linear(), Linear()), first * rbf + second * linear, 2),
        (Product(RBF(0.5), RBF(1.0) + 0.3 * Linear()), first * (rbf + 0.3 * linear), 2),
        (Product(RBF(0.5) + Linear(), 4.0 * RBF(1.0)), (first + second) * 4 * rbf, 1),
        (3.0 * (Product(RBF(0.5), 2.0 * RBF(1.0)) + Linear()), 3 * (2 * first * rbf + second + linear), 3),
    ]
    for kernel, expected, count in cases:
        assert len(kernel.terms(A)) == count
        np.testing.assert_allclose(_joined(kernel.terms(A)), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    "kernel",
    [
        3.0 * RBF(0.7),
        2.0 * (3.0 * Matern(2.5, SCALES)),
        RBF(SCALES) + Matern(1.5, 0.5),
        0.5 * (RBF(0.7) + 2.0 * Constant() + Linear()) + Polynomial(2),
    ],
    ids=["multiple", "multiple of a multiple", "sum", "sum with fixed parts"],
)
def test_multiples_and_sums(kernel: Kernel) -> None:
    assert isinstance(kernel, (Scaled, Sum))
    check_gradient(kernel, random_cloud(4, 3, 0, 0), random_cloud(5, 3, 0, 1))


def test_parameters_of_kernels_made_of_others() -> None:
    kernel = 2.0 * Product(RBF(0.5), 3.0 * Matern(1.5, (1.0, 4.0))) + Product(Linear(), RBF(6.0))
    assert kernel.parameters() == (2.0, 0.5, 3.0, 1.0, 4.0, 6.0)
    assert kernel.with_parameters(kernel.parameters()) == kernel
    changed = kernel.with_parameters([20.0, 5.0, 30.0, 10.0, 40.0, 60.0])
    assert changed == 20.0 * Product(RBF(5.0), 30.0 * Matern(1.5, (10.0, 40.0))) + Product(Linear(), RBF(60.0))
    assert Linear().with_parameters([]) == Linear()
    with refused(ValueError, "Linear", "has no parameters, got 1"):
        Linear().with_parameters([1.0])


def test_parameters_are_shared_out_in_order() -> None:
    kernel = 2.0 * Product(RBF((0.1, 0.2)), 3.0 * Matern(0.5, 0.3)) + Product(Linear(), RBF(0.4))
    assert kernel.parameters() == (2.0, 0.1, 0.2, 3.0, 0.3, 0.4)
    other = kernel.with_parameters((1.0, 2.0, 3.0, 4.0, 5.0, 6.0))
    assert other == 1.0 * Product(RBF((2.0, 3.0)), 4.0 * Matern(0.5, 5.0)) + Product(Linear(), RBF(6.0))
    assert kernel.with_parameters(kernel.parameters()) == kernel


PAIR = Product(RBF(1.0), RBF(1.0))


@pytest.mark.parametrize(
    ("make", "kind", "owner", "words"),
    [
        (lambda: -1.0 * RBF(1.0), ValueError, "Scaled", "scale must be > 0, got -1"),
        (lambda: RBF(1.0) * 0, ValueError, "Scaled", "scale must be > 0"),
        (lambda: PAIR * 0, ValueError, "JointScaled", "scale must be > 0"),
        (lambda: RBF(1.0) * RBF(2.0), TypeError, "Scaled", "scale must be a number, got RBF"),  # type: ignore[operator]
        (lambda: Scaled(3.0, 2.0), TypeError, "Scaled", "kernel must be a kernel of vectors"),  # type: ignore[arg-type]
        (lambda: Scaled(PAIR, 2.0), TypeError, "Scaled", "kernel must be a kernel of vectors"),  # type: ignore[arg-type]
        (lambda: JointScaled(3.0, 2.0), TypeError, "JointScaled", "kernel must be a kernel of actions"),  # type: ignore[arg-type]
        (lambda: RBF(1.0) + 1.0, TypeError, "Sum", "kernel must be a kernel of vectors"),  # type: ignore[operator]
        (lambda: PAIR + 1.0, TypeError, "JointSum", "kernel must be a kernel of actions"),  # type: ignore[operator]
        (lambda: Sum(()), ValueError, "Sum", "at least one kernel, got none"),
        (lambda: JointSum(()), ValueError, "JointSum", "at least one kernel, got none"),
        (lambda: Sum((RBF(1.0), PAIR)), TypeError, "Sum", "kernel of vectors such as RBF(1.0), got Product"),  # type: ignore[arg-type]
        (lambda: Sum(RBF(1.0)), TypeError, "Sum", "sequence of kernels, got RBF"),  # type: ignore[arg-type]
        (lambda: Product(RBF(1.0), 1.0), TypeError, "Product", "context_kernel must be"),  # type: ignore[arg-type]
        (lambda: Product(PAIR, RBF()), TypeError, "Product", "action_kernel must be a kernel of vectors"),  # type: ignore[arg-type]
    ],
)
def test_bad_arguments(make: Callable[[], Any], kind: type[Exception], owner: str, words: str) -> None:
    with refused(kind, owner, words):
        make()


@pytest.mark.parametrize("part", [PAIR, PAIR + PAIR, 2.0 * PAIR, RBF(1.0) + PAIR], ids=repr)
def test_a_part_of_a_product_that_is_not_of_vectors_is_refused(part: Any) -> None:
    with refused(
        TypeError, "Product", f"context_kernel must be a kernel of vectors such as RBF(1.0), got {type(part).__name__}"
    ):
        Product(RBF(1.0), part)
