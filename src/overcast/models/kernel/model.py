"""The configuration of the kernelised model."""

from __future__ import annotations

from dataclasses import dataclass

from overcast import _check
from overcast._check import Array
from overcast.kernels.base import AnyKernel, check_joint
from overcast.models.base import Model
from overcast.models.kernel.learner import KernelLearner


@dataclass(frozen=True)
class KernelModel(Model):
    """f in the Hilbert space of a kernel, estimated by kernel ridge regression on mean embeddings (Algorithm 3).

    f-hat_t(x) = k_t(x)^T (K_t + lambda I)^-1 y_t and
    width_t(x)^2 = (s_t(x) - k_t(x)^T (K_t + lambda I)^-1 k_t(x)) / lambda,
    where K_t, k_t and s_t hold inner products of embeddings k_{x,mu} = E_mu[k_{x,c}] (hidden rounds, exact or from L
    samples) and kernel functions k_{x,c} (revealed rounds).

    A round costs t^2 operations for each action. For thousands of rounds, take `features.Fourier`,
    `QuadratureFourier` or `Nystrom` in a `LinearModel`: their cost is the same in every round.

    Parameters
    ----------
    kernel : of actions and contexts, e.g. `Product(RBF(0.5), RBF(1.0))`; one of vectors is applied to (x, c)
    ridge : lambda > 0. In terms of a Gaussian process: the variance of the noise over that of the prior

    Examples
    --------
    >>> from overcast.kernels import RBF, Product
    >>> KernelModel(Product(RBF(0.5), RBF(1.0)), ridge=0.1).ridge
    0.1
    """

    kernel: AnyKernel
    ridge: float = 1.0

    batch = 10  # each trial keeps a factor of t^2 / 2 numbers

    def __post_init__(self) -> None:
        check_joint("KernelModel", self.kernel)
        object.__setattr__(self, "ridge", _check.number("KernelModel", "ridge", self.ridge, above=0.0))

    @property
    def theory_ridge(self) -> float:
        return self.ridge

    def start(self, actions: Array, context_dim: int) -> KernelLearner:
        return KernelLearner(self, actions, context_dim)
