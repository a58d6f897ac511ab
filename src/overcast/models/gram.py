"""The kernel between all rounds that were learnt, and its derivatives by the kernel's parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from overcast._check import Array
from overcast.beliefs.cloud import Cloud
from overcast.kernels.base import JointKernel, Kernel
from overcast.kernels.rbf import RBF
from overcast.kernels.stationary import by_scale, scales_for
from overcast.models.kernel import KernelLearner
from overcast.models.memory import Grid, cut

# Components on either side of one comparison: few enough that all its arrays stay in the processor's cache.
BLOCK = 100

# Components of a belief, on average, from which a grid of frequencies costs less than all pairs of components.
MIN_FOR_GRID = 10

Gram = tuple[Array, list[Array]]


@dataclass(frozen=True)
class Rounds:
    """What a learner has seen: no parameter of the kernel enters.

    actions : (u, a), those that were taken
    place : (t,), the row of each round's action among them
    contexts : the beliefs of all rounds, as each term of the kernel sees them
    rewards : (t,)
    """

    actions: Array
    place: NDArray[np.intp]
    contexts: tuple[Embedded, ...]
    rewards: Array

    @classmethod
    def of(cls, learner: KernelLearner) -> Rounds:
        contexts = tuple(Embedded.of(memory.cloud, memory.starts) for memory in learner.memories)
        return cls(learner.taken, learner.place, contexts, learner.rewards)

    def gram(self, kernel: JointKernel, slopes: bool) -> Gram:
        """Return K (t, t), and with `slopes` its derivatives by each log parameter of the kernels in `terms`, in order.

        K is the sum over terms of A * C entry by entry, A between the actions and C between the embeddings.
        """
        points, spread_out = Cloud(np.ones(len(self.actions)), self.actions), np.ix_(self.place, self.place)
        total, derivatives = np.zeros((len(self.place),) * 2), []
        for (of_action, of_context), contexts in zip(kernel.terms(self.actions.shape[1]), self.contexts, strict=True):
            a = of_action._evaluate(self.actions, self.actions)[spread_out]
            c, by_context = contexts.gram(of_context, slopes)
            total += a * c
            if slopes:
                derivatives += [c * da[spread_out] for da in _gradient(of_action, points, points)]
                derivatives += [a * dc for dc in by_context]
        return total, derivatives


class Group(NamedTuple):
    """Consecutive rounds: the components of all their beliefs, and a row of weights over these for each round.

    The weights are None where each round has one component.
    """

    rounds: slice
    cloud: Cloud
    weights: Array | None


@dataclass(frozen=True)
class Embedded:
    """The embeddings of all rounds under one context kernel, one by one and in groups."""

    clouds: list[Cloud]
    groups: list[Group]

    @classmethod
    def of(cls, cloud: Cloud, starts: NDArray[np.intp]) -> Embedded:
        clouds = cut(cloud, starts)
        firsts, filled = [0], 0
        for s, one in enumerate(clouds):
            if filled and filled + len(one.weights) > BLOCK:
                firsts, filled = [*firsts, s], 0
            filled += len(one.weights)
        rounds = [slice(i, j) for i, j in zip(firsts, [*firsts[1:], len(clouds)], strict=True)]
        parts = cut(cloud, starts[firsts])
        return cls(clouds, [Group(r, part, _weights(clouds[r])) for r, part in zip(rounds, parts, strict=True)])

    def gram(self, kernel: Kernel, slopes: bool) -> Gram:
        """Return the inner products of all embeddings, (t, t), and their derivatives by the kernel's log parameters."""
        t = len(self.clouds)
        if isinstance(kernel, RBF) and sum(len(cloud.weights) for cloud in self.clouds) >= MIN_FOR_GRID * t:
            grid = Grid.around(kernel, [*self.clouds, self.clouds[-1]])
            if grid is not None:
                return _on_grid(kernel, grid, slopes)
        slopes = slopes and len(kernel.parameters()) > 0
        out = np.empty((1 + (len(kernel.parameters()) if slopes else 0), t, t))
        for i, left in enumerate(self.groups):
            for right in self.groups[i:]:
                out[0, left.rounds, right.rounds] = _averages(kernel.compare(left.cloud, right.cloud), left, right)
                if slopes:
                    derivatives = _gradient(kernel, left.cloud, right.cloud)
                    out[1:, left.rounds, right.rounds] = _averages(derivatives, left, right)
                out[:, right.rounds, left.rounds] = out[:, left.rounds, right.rounds].swapaxes(1, 2)
        return out[0], list(out[1:])


def _weights(clouds: Sequence[Cloud]) -> Array | None:
    sizes = [len(cloud.weights) for cloud in clouds]
    if max(sizes) == 1:
        return None
    out = np.zeros((len(clouds), sum(sizes)))
    out[np.repeat(np.arange(len(clouds)), sizes), np.arange(sum(sizes))] = np.concatenate([c.weights for c in clouds])
    return out


def _averages(block: Array, left: Group, right: Group) -> Array:
    """Return expectations over components (..., n, m), for each pair of rounds."""
    block = block if left.weights is None else left.weights @ block
    return block if right.weights is None else block @ right.weights.T


def _on_grid(kernel: RBF, grid: Grid, slopes: bool) -> Gram:
    """The spectral density at w is a product of l_i exp(-l_i^2 w_i^2 / 2), so d log / d log l_i = 1 - l_i^2 w_i^2."""
    waves = grid.coordinates
    derivatives = []
    if slopes:
        frequencies = grid.frequencies()
        scaled = frequencies * scales_for("RBF", kernel.lengthscale, frequencies.shape[1])
        rates = by_scale(kernel.lengthscale, 1.0 - scaled.T**2)
        derivatives = [(waves * np.tile(rate, 2)) @ waves.T for rate in rates]
    return waves @ waves.T, derivatives


def _gradient(kernel: Kernel, left: Cloud, right: Cloud) -> Array:
    out, need = kernel.gradient(left, right), (len(kernel.parameters()), len(left.weights), len(right.weights))
    if out.shape != need:
        raise ValueError(
            f"{type(kernel).__name__}: gradient must have shape {need}, a row for each of its parameters, "
            f"got {out.shape}; define it, or no parameters"
        )
    return out
