"""The kernelised model (Algorithm 3)."""

from __future__ import annotations

from dataclasses import dataclass, fields

from overcast import _check
from overcast._units import Vectors
from overcast.kernels.base import AnyKernel, check_joint
from overcast.models.base import Model
from overcast.models.kernel.learner import KeepsRounds, KernelLearner
from overcast.models.kernel.untuned import UntunedLearner


@dataclass(frozen=True)
class KernelModel(Model):
    """Rewards in the Hilbert space of a kernel, by kernel ridge regression on mean embeddings (Algorithm 3).

    f-hat_t(x) = k_t(x)^T (K_t + lambda I)^-1 y_t and
    width_t(x)^2 = (s_t(x) - k_t(x)^T (K_t + lambda I)^-1 k_t(x)) / lambda,
    where K_t, k_t and s_t hold inner products of embeddings k_{x,mu} = E_mu[k_{x,c}] (hidden rounds, exact or from L
    samples) and kernel functions k_{x,c} (revealed rounds).

    Without a ridge, the model learns the level of rewards, the ridge and the noise: it subtracts the level from y_t and
    multiplies the widths by the noise. Then the unit and the zero point of rewards do not matter, and widths are
    standard deviations. Without a kernel, it uses RBF kernels of action and context, and learns one length scale per
    coordinate; then units and zero points of actions and contexts do not matter either.

    A round costs t^2 operations for each action. For thousands of rounds, take `features.Fourier`,
    `QuadratureFourier` or `Nystrom` in a `LinearModel`: their cost is the same in every round.

    Parameters
    ----------
    kernel : kernel of actions and contexts, e.g. `Product(RBF(0.5), RBF(1.0))`; a kernel of vectors takes (x, c). None
        for `Product(RBF(...), RBF(...))` with typical distances as length scales, times factors fitted to rewards
    ridge : lambda > 0, in terms of a Gaussian process the variance of the noise over that of the prior. None to learn
        it and the noise

    Examples
    --------
    >>> from overcast.kernels import RBF, Product
    >>> KernelModel(Product(RBF(0.5), RBF(1.0)), ridge=0.1).ridge
    0.1
    >>> KernelModel()
    KernelModel()
    """

    kernel: AnyKernel | None = None
    ridge: float | None = None

    batch = 10  # each trial stores a factor of t^2 / 2 numbers

    def __post_init__(self) -> None:
        if self.kernel is not None:
            check_joint("KernelModel", self.kernel)
        if self.ridge is not None:
            object.__setattr__(self, "ridge", _check.number("KernelModel", "ridge", self.ridge, above=0.0))
        if self.kernel is None and self.ridge is not None:
            got = f"got ridge={self.ridge:g} alone; give a kernel too, or leave both to be learnt"
            raise ValueError(f"KernelModel: kernel must be given with a ridge, {got}")

    @property
    def theory_ridge(self) -> float | None:
        return self.ridge

    def start(self, reference: Vectors, context_dim: int) -> KeepsRounds:
        learner = UntunedLearner if self.ridge is None else KernelLearner
        return learner(self, reference, context_dim)

    def __repr__(self) -> str:
        given = (field.name for field in fields(self) if getattr(self, field.name) is not None)
        return f"KernelModel({', '.join(f'{name}={getattr(self, name)!r}' for name in given)})"
