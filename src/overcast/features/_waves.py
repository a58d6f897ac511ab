"""What features that approximate a stationary kernel by waves share."""

from __future__ import annotations

from abc import abstractmethod
from typing import NamedTuple

import numpy as np

from overcast._check import Array
from overcast.beliefs.base import Belief, NoClosedForm
from overcast.beliefs.cloud import Cloud, Complex
from overcast.features.base import FeatureMap, FeaturesAt, no_closed_form
from overcast.kernels.base import JointKernel, Kernel
from overcast.kernels.composite import Scaled, Sum

# A factor and the kernels behind it: one of (x, c), or one of x and one of c.
Piece = tuple[float, tuple[Kernel, ...]]


class Spectrum(NamedTuple):
    """Waves amplitude_j exp(i (w_j^T x + v_j^T c)); one of frequency zero has no sine, and comes last.

    of_action : w (f, a)
    of_context : v (f, c)
    amplitudes : (f,)
    """

    of_action: Array
    of_context: Array
    amplitudes: Array


class Waves(FeatureMap):
    """phi(x, c) = (amplitude_j cos(w_j^T x + v_j^T c))_j, then the same with sines, d of them in all.

    With phi_mu the characteristic function of a belief, E_mu[exp(i v^T c)] = phi_mu(v): expectations are exact wherever
    it is known, and contexts meet the frequencies alone, never the actions.
    """

    @abstractmethod
    def spectrum(self, a: int, c: int) -> Spectrum:
        """Return the waves for actions of dimension `a` and contexts of dimension `c`."""

    def _at(self, actions: Array, c: int) -> WavesAt:
        return WavesAt(self, actions, c)

    def _evaluate(self, actions: Array, contexts: Array) -> Array:
        at = self._at(actions, contexts.shape[1])
        return at.times(np.exp(1j * (contexts @ at.frequencies.T)))

    def _expected(self, actions: Array, belief: Belief) -> Array:
        return self._at(actions, belief.dim).expected(belief)

    def _sampled(self, actions: Array, belief: Belief, samples: int, rng: np.random.Generator) -> Array:
        return self._at(actions, belief.dim).sampled(belief, samples, rng)


class WavesAt(FeaturesAt):
    """The waves of fixed actions, amplitude_j exp(i w_j^T x), (k, f)."""

    def __init__(self, features: Waves, actions: Array, c: int) -> None:
        w, self.frequencies, amplitudes = features.spectrum(actions.shape[1], c)
        self._features = features
        self._d = features.size(actions.shape[1], c)
        self._table = amplitudes * np.exp(1j * (actions @ w.T))

    def times(self, of_context: Complex) -> Array:
        """Return the features from exp(i v_j^T c) or its average: (f,) gives (k, d), (n, f) gives (k, n, d)."""
        f = self._table.shape[1]
        waves = (self._table if of_context.ndim == 1 else self._table[:, None]) * of_context
        out = np.empty((*waves.shape[:-1], self._d))
        out[..., :f] = waves.real
        out[..., f:] = waves.imag[..., : self._d - f]
        return out

    def expected(self, belief: Belief) -> Array:
        try:
            return self.times(belief.characteristic(self.frequencies))
        except NoClosedForm:
            raise no_closed_form(self._features, belief) from None

    def sampled(self, belief: Belief, samples: int, rng: np.random.Generator) -> Array:
        draws = Cloud(np.full(samples, 1.0 / samples), belief.sample(samples, rng))
        return self.times(draws.characteristic(self.frequencies))


def pieces(kernel: JointKernel, a: int) -> list[Piece]:
    """Return factors and kernels whose products add up to the kernel, for actions in R^a."""
    if isinstance(kernel, Scaled):
        return [(kernel.scale * factor, parts) for factor, parts in pieces(kernel.kernel, a)]
    if isinstance(kernel, Sum):
        return [piece for part in kernel.kernels for piece in pieces(part, a)]
    if isinstance(kernel, Kernel):
        return [(factor, (atom,)) for factor, atom in kernel.atoms()]
    return [
        (f * g, (of_action, of_context))
        for action, context in kernel.terms(a)
        for f, of_action in action.atoms()
        for g, of_context in context.atoms()
    ]
