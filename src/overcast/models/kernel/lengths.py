"""Length scales from the distances between actions and between contexts, and from the rewards."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from overcast._check import Array
from overcast.beliefs.cloud import kind_of
from overcast.kernels import RBF, Product
from overcast.models.base import restored
from overcast.models.kernel.learner import KernelLearner
from overcast.models.kernel.likelihood import Rounds
from overcast.models.kernel.past import Past
from overcast.models.kernel.scales import estimate_scales

# Only MOST actions or rounds are compared, evenly spaced; fewer rounds, down to FEW, if their beliefs have more than
# COMPONENTS components in all.
MOST, FEW, COMPONENTS = 200, 50, 1000
# A coordinate with a variance below this share of its squared mean is a constant.
CONSTANT = 1e-20
# The length scale of constant coordinates, and the range of all others.
IGNORED = 1e90
RANGE = 1e-80, 1e80
# Lengths are the typical ones times powers of STEP, up to REACH. The prior of log multiples is normal with standard
# deviation SPREAD.
STEP, REACH = 1.6, 4
SPREAD = 1.0
# The steps to try, in this order. Long ones can escape from a fit that takes everything for noise.
STEPS = 1, -1, 4, -4
# A step must raise the log evidence by CLEAR; there are none before FEWEST rounds.
CLEAR, FEWEST = 0.5, 10

Powers = NDArray[np.intp]


class Lengths:
    """Length scales of the coordinates of action and context: typical distances times factors fitted to rewards.

    One pass of `fit` tries steps for all coordinates of the action together, for all of the context, and for each
    coordinate alone. Neither units nor zero points of coordinates matter.
    """

    def __init__(self, actions: Array, context_dim: int) -> None:
        self._a = actions.shape[1]
        self._typical = np.concatenate([typical(actions, np.zeros(actions.shape)), np.full(context_dim, IGNORED)])
        self._powers: Powers = np.zeros(len(self._typical), dtype=np.intp)

    def seeing(self, actions: Array) -> Lengths:
        """Return lengths that include coordinates which vary only over these actions (k, a)."""
        out, new_lengths = copy.copy(self), typical(actions, np.zeros(actions.shape))
        out._typical, out._powers = self._typical.copy(), self._powers.copy()
        unknown = out._typical[: self._a] >= IGNORED
        out._typical[: self._a][unknown] = new_lengths[unknown]
        return out

    @property
    def kernel(self) -> Product:
        """The product of RBF kernels of actions and of contexts with these lengths."""
        return self._kernel(self._powers)

    def _kernel(self, powers: Powers) -> Product:
        lengths = np.where(self._typical < IGNORED, self._typical * STEP ** powers.astype(float), IGNORED).tolist()
        return Product(RBF(tuple(lengths[: self._a])), RBF(tuple(lengths[self._a :])))

    def fit(self, learner: KernelLearner, rewards: Array) -> None:
        """Update the typical distances between contexts, and take steps that raise the evidence clearly."""
        self._typical[self._a :] = typical(*moments(learner.past[0]))
        if len(rewards) < FEWEST:
            return
        each = len(learner.past[0].cloud.weights) / len(rewards)
        at = evenly_spaced(len(rewards), min(MOST, max(FEW, int(COMPONENTS / each))))
        rounds, y = Rounds(learner, at), rewards[at]
        best = self._log_p(rounds, y, self._powers)
        for move in self._moves():
            for tried in (self._powers + step * move for step in STEPS):
                if np.abs(tried).max() <= REACH and (value := self._log_p(rounds, y, tried)) > best + CLEAR:
                    best, self._powers = value, tried
                    break

    def _log_p(self, rounds: Rounds, rewards: Array, powers: Powers) -> float:
        """Return log evidence plus log prior, up to a constant."""
        scales = estimate_scales(rounds.gram(self._kernel(powers), slopes=False)[0], rewards)
        if scales is None:
            return 0.0
        logs = [math.log(STEP) * powers[group] for group in self._groups()]
        squares = sum(float(log.mean() ** 2 + ((log - log.mean()) ** 2).sum()) for log in logs)
        return scales.log_evidence - 0.5 * squares / SPREAD**2

    def _groups(self) -> list[Powers]:
        """Return the indices of varying coordinates of the action and of the context, without empty groups."""
        places = np.flatnonzero(self._typical < IGNORED)
        return [group for group in (places[places < self._a], places[places >= self._a]) if len(group)]

    def _moves(self) -> Iterator[Powers]:
        """Yield the directions of steps: each group, then each coordinate of a larger group."""
        groups = self._groups()
        singles = [place for group in groups if len(group) > 1 for place in group]
        for places in [*groups, *singles]:
            move = np.zeros_like(self._powers)
            move[places] = 1
            yield move

    def state(self) -> dict[str, Array]:
        """Return the arrays that `restore` needs."""
        return {"typical": self._typical.copy(), "powers": self._powers.astype(float)}

    def restore(self, state: dict[str, Array]) -> None:
        """Restore what `state` returned, and remove it from the argument."""
        expected = self.state()
        arrays = restored("KernelModel", expected, {name: state.pop(name) for name in expected})
        self._typical, self._powers = arrays["typical"], arrays["powers"].astype(np.intp)


def typical(means: Array, variances: Array) -> Array:
    """Return the typical length scale of each coordinate, (p,), from means and variances (n, p) of n points.

    The length of coordinate i is s_i m. s_i^2 is the variance of coordinate i over the points, including their
    variances. m is the median over pairs of different points of sqrt(sum_i E[(u_i - v_i)^2] / s_i^2), where u and v
    are independent. Constant coordinates are ignored; their length is `IGNORED`.
    """
    spread = means.var(axis=0) + variances.mean(axis=0)
    varies = spread > CONSTANT * means.mean(axis=0) ** 2
    out = np.full(means.shape[1], IGNORED)
    if varies.any():
        at, root = evenly_spaced(len(means), MOST), np.sqrt(spread[varies])
        x, v = means[at][:, varies] / root, variances[at][:, varies] / spread[varies]
        one, other = np.triu_indices(len(x), 1) if len(x) > 1 else ([0], [0])
        squares = ((x[one] - x[other]) ** 2 + v[one] + v[other]).sum(axis=1)
        distances = np.sqrt(squares[squares > 0.0])
        out[varies] = np.clip(root * (np.median(distances) if len(distances) else 1.0), *RANGE)
    return out


def moments(past: Past) -> tuple[Array, Array]:
    """Return mean and variance of each coordinate under the belief of each round, (t, c) each."""
    cloud, starts = past.cloud, past.starts
    weights = cloud.weights[:, None]
    means = np.add.reduceat(weights * cloud.centres, starts)
    squares = (cloud.centres - np.repeat(means, np.diff(starts, append=len(weights)), axis=0)) ** 2
    if cloud.cov is not None:
        squares += cloud.cov if kind_of(cloud.cov) == 1 else np.diagonal(cloud.cov, axis1=1, axis2=2)
    return means, np.add.reduceat(weights * squares, starts)


def evenly_spaced(n: int, most: int) -> NDArray[np.intp]:
    """Return at most `most` of n indices, evenly spaced."""
    return np.arange(n) if n <= most else np.linspace(0, n - 1, most).astype(np.intp)
