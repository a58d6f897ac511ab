"""Least squares weighted by the variance of every round, with all weights renewed from time to time."""

from __future__ import annotations

import copy
import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from overcast._check import Array
from overcast._linalg import Indices, add_outer, apply, at_most, dot, upper
from overcast._threads import one_thread
from overcast.features.design import Row
from overcast.features.standard import Frame, Moments
from overcast.models.base import restored, too_large
from overcast.models.linear.fit import Fit
from overcast.models.linear.rows import Kept, Rows

# Weights are renewed when the number of rounds has grown by the factor GROWTH, or by RENEW_EVERY.
GROWTH = 1.4
RENEW_EVERY = 512
# A mean square of rewards below this gives no scale, as its inverse would overflow.
SMALLEST_SIZE = 1e-200
# Variances above this raise ValueError.
MAX_VARIANCE = 1e300
# A rank-one update that shrinks a variance by more than this factor would lose its digits; the fit is renewed instead.
MAX_SHRINKAGE = 1e6
# Below this share of its weight a round is not renewed.
FORGOTTEN = 1e-6
# Attributes of a fit that a file holds, beside the stored rounds.
SCALES = ("ridge", "noise2", "theta", "inverse", "log_det", "weight", "_sized")
SUMS = ("_base", "_base_target")


class Settings(NamedTuple):
    """Hyperparameters set by the user.

    ridge, noise : the prior precision of theta and the standard deviation of the noise; None to learn them
    discount : factor by which every later round shrinks a round's weight; 1 to keep all weights
    window : number of the latest rounds in use; None for all
    """

    ridge: float | None = None
    noise: float | None = None
    discount: float = 1.0
    window: int | None = None

    @property
    def forgets(self) -> bool:
        return self.discount < 1.0 or self.window is not None


class Weighted(Fit):
    """Weighted least squares: theta-hat = P^-1 sum_s psi_s y_s / v_s with P = P_0 + sum_s psi_s psi_s^T / v_s.

    v_s = kappa E[theta^T Cov_s theta] + sigma^2 is the variance of the reward of round s given its features. The first
    term comes from a hidden context, with theta ~ N(theta-hat, P^-1); the second from the noise. All weights are
    renewed at intervals that grow with the number of rounds; in between, updates are of rank one. Blocks share all
    scales; P is then one matrix per block. Unless the fit is `aware`, rows come without the covariance of their
    features, and v_s = sigma^2. `_refit` defines P_0 and the learnt scales.
    """

    ridge: Array
    noise2: Array
    log_det: Array
    #: the mean of 1 / v over rounds at the last renewal, (...)
    weight: Array
    #: names of attributes with one value per trial, and of the sums over rounds with final weights
    of_trials: tuple[str, ...] = SCALES
    sums: tuple[str, ...] = SUMS

    def __init__(self, shape: tuple[int, ...], settings: Settings, aware: bool, leading: tuple[int, ...] = ()) -> None:
        super().__init__(shape, leading)
        self._settings = settings
        self.aware = aware
        self._parameters = math.prod(shape)
        self._kept = Kept(shape, aware, leading)
        self._capacity = max(self._kept.capacity, 1 + (settings.window or 0))
        self._counting = 0.0  # discounted number of rounds
        self._pause = 1  # rounds until the next renewal
        self._base = np.zeros((*leading, *shape, shape[-1]))  # sums over rounds with final weights
        self._base_target = np.zeros((*leading, *shape))
        self.ridge = np.full(leading, 1.0 if settings.ridge is None else settings.ridge)
        self.noise2 = np.full(leading, 1.0 if settings.noise is None else settings.noise**2)
        self.weight = 1.0 / self.noise2
        self._sized = np.zeros(leading, dtype=bool)  # whether rewards give the trial a scale
        self._some_unsized = True

    def _set_weights(self, weights: Array) -> None:
        """Replace the weights 1 / v (..., n) of the stored rounds, without age."""
        self._kept.set_weights(weights)
        self.weight = np.asarray(weights.mean(axis=-1) if weights.shape[-1] else 1.0 / self.noise2)

    @abstractmethod
    def _refit(self) -> None:
        """Renew the weights of all rounds and the learnt scales; raise ValueError if numbers overflow."""

    @property
    def scaled(self) -> NDArray[np.bool_]:
        """Whether the noise is given or was learnt from rewards, shape (...)."""
        return self._sized | (self._settings.noise is not None)

    @property
    def residual_share(self) -> float | Array:
        """1 - gamma / t with t the number of rounds in use, shape (...); 1 before the first."""
        share = 1.0 - self.used / max(self._counting, 1.0)
        return max(share, 0.0) if isinstance(share, float) else np.maximum(share, 0.0)

    @property
    def even_variance(self) -> float | Array:
        used, rounds = self.used, max(self._counting, 1.0)
        if isinstance(used, float):  # used in every round, where floats cost a fraction of 0-d arrays
            return max(used, 1.0) / (rounds * float(self.weight))
        return np.asarray(np.maximum(used, 1.0) / (rounds * self.weight))

    @property
    @abstractmethod
    def used(self) -> float | Array:
        """gamma, the effective number of parameters determined by rewards, shape (...)."""

    def variance(self, rows: Rows) -> Array:
        """Return v of rounds, shape (..., n)."""
        noise2 = self.noise2[..., None]
        if not self.aware:
            return np.broadcast_to(noise2, rows.shape)
        return np.asarray(self.of_context(rows) * np.asarray(self.kappa)[..., None] + noise2)

    def of_context(self, rows: Rows) -> Array:
        """Return E[theta^T Cov theta] of rounds, shape (..., n)."""
        # Rounding may make a variance slightly negative.
        return np.asarray(np.maximum(rows.context_variance(self.second_moment), 0.0))

    def add(self, row: Row, reward: float | Array) -> None:
        # Overflow is detected below; NumPy must not raise half-way by the caller's error settings.
        with np.errstate(all="ignore"):
            self._add(row, reward)

    def _add(self, row: Row, reward: float | Array) -> None:
        single = row.psi.ndim == 1  # floats cost a fraction of 0-d arrays
        reward = float(reward) if single else np.asarray(reward, dtype=np.float64)
        at = self._at(row)
        theta, inverse = (self.theta[at], self.inverse[at]) if at else (self.theta, self.inverse)
        psi = self._standardised(row.psi)
        u = apply(inverse, psi)
        leverage = dot(psi, u)
        of_context: Any = 0.0
        if row.cov is not None:
            of_context = dot(row.cov, self._upper_of_rows(self._moment(theta, inverse)))
        if single:
            v: Any = max(of_context, 0.0) * float(self.kappa) + float(self.noise2)
        else:
            v = np.maximum(of_context, 0.0) * self.kappa + self.noise2
        total = v + leverage
        if not at_most(total, MAX_VARIANCE):
            raise too_large("LinearModel")
        anew: Any = self._some_unsized and ~self._sized & self._sizes(reward)  # trials that need a renewal now
        if not at_most(leverage / v, MAX_SHRINKAGE):
            anew = anew | ~np.asarray(leverage <= MAX_SHRINKAGE * v)
        if self._pause > 1 and not self._settings.forgets and (anew is False or not np.any(anew)):
            self._append(row, reward, 1.0 / v)
            self._update(psi, at, reward, u, v, leverage)
            return
        # Arrays in use change in the last step only, which cannot fail.
        before = vars(self) | {"_kept": copy.copy(self._kept)}
        try:
            self._append(row, reward, 1.0 / v)
            if self._pause <= 0 or self._settings.forgets:
                self._renew()
            elif np.all(anew):
                self._refit()
            else:
                refitted = copy.copy(self)
                refitted._kept = copy.copy(self._kept)
                refitted._refit()
                self._update(psi, at, reward, u, v, leverage)
                self._take_over(refitted, anew)
        except BaseException:
            self.__dict__ = before
            raise

    def with_blocks(self, of: Indices, frame: Callable[[Moments], Frame]) -> Self:
        out = copy.copy(self)
        out.shape, out._parameters = (len(of), self.shape[-1]), len(of) * self.shape[-1]
        known = of >= 0
        for name in ("theta", "inverse", *self.sums):
            old = getattr(self, name)
            if old.shape[:1] == self.shape[:1] and old.ndim > 1:
                new = np.zeros((len(of), *old.shape[1:]))
                new[known] = old[of[known]]
                setattr(out, name, new)
        out.inverse[~known] = np.eye(self.shape[-1]) / self.ridge  # the prior, from which `_refit` starts
        out._kept = self._kept.with_blocks(of)
        out._reframe(frame)
        out._refit()
        return out

    def _reframe(self, frame: Callable[[Moments], Frame]) -> None:
        """Replace standard features after a change of blocks."""

    def _sizes(self, reward: float | Array) -> Any:
        """Return whether a reward may give a scale to trials without one."""
        return reward != 0.0

    def _standardised(self, psi: Array) -> Array:
        """Convert the features of a row to those of theta."""
        return psi

    def _of_rows(self, moment: Array) -> Array:
        """Convert a matrix over theta, (..., d, d), to the features of rows."""
        return moment

    def _upper_of_rows(self, moment: Array) -> Array:
        """Return the upper triangle of `_of_rows`."""
        return upper(self._of_rows(moment))

    @property
    def second_moment(self) -> Array:
        return self._of_rows(self._moment(self.theta, self.inverse))

    def _update(self, psi: Array, at: tuple[Any, ...], reward: Any, u: Array, v: Any, leverage: Any) -> None:
        """Add a round by the Sherman-Morrison formula, from u = P^-1 psi, its variance v and leverage psi^T u."""
        total = v + leverage
        theta = self.theta[at] if at else self.theta
        surprise = (reward - dot(psi, theta)) / total
        if psi.ndim == 1:
            theta = theta + u * surprise
            self.log_det = self.log_det + math.log1p(leverage / v)
            add_outer(self.inverse[at] if at else self.inverse, u, -1.0 / total)
        else:
            theta = theta + u * surprise[..., None]
            self.log_det = self.log_det + np.log1p(leverage / v)
            inverse = self.inverse[at] if at else self.inverse  # a copy where there are blocks
            add_outer(inverse, u, -1.0 / total)
            if at:
                self.inverse[at] = inverse
        if at:
            self.theta[at] = theta
        else:
            self.theta = theta

    def _append(self, row: Row, reward: float | Array, weight: float | Array) -> None:
        self._kept.append(row, reward, weight)
        self._pause -= 1
        self._counting = self._settings.discount * self._counting + 1.0
        if self._settings.window is not None:
            self._kept.drop(max(0, len(self._kept) - self._settings.window))
            self._counting = min(self._counting, self._ages().sum())
        if self._settings.discount < 1.0:
            for name in self.sums:
                setattr(self, name, self._settings.discount * getattr(self, name))

    def _ages(self) -> Array:
        """Return the discount of each round's weight at its age, shape (n,)."""
        return np.asarray(self._settings.discount ** np.arange(len(self._kept) - 1.0, -1.0, -1.0))

    def _renew(self) -> None:
        """Refit with new weights, and schedule the next renewal."""
        with one_thread():
            self._refit()
        ages = self._ages()
        rounds = float(ages.sum())
        self._pause = min(RENEW_EVERY, max(1, math.ceil((GROWTH - 1.0) * rounds)))
        if self._settings.window is None:  # a window always fits the buffer
            full = len(ages) >= self._capacity
            self._settle(max(int((ages < FORGOTTEN).sum()), len(ages) // 2 if full else 0))

    def _take_over(self, other: Weighted, which: NDArray[np.bool_]) -> None:
        """Copy some trials from another fit to the same rounds."""
        for name in self.of_trials:
            setattr(self, name, where_trials(which, getattr(other, name), getattr(self, name)))
        self._some_unsized = not self._sized.all()
        self._kept.set_weights(where_trials(which, other._kept.weights, self._kept.weights))

    def _settle(self, n: int) -> None:
        """Make the weights of the n oldest rounds final: add them to the sums and drop them."""
        if not n:
            return
        weights = self._ages()[:n] * self._kept.weights[..., :n]
        for name, more in zip(
            self.sums, self._summed(self._rows(n), self._kept.rewards[..., :n], weights), strict=True
        ):
            setattr(self, name, getattr(self, name) + more)
        self._kept.drop(n)

    def _rows(self, n: int | None = None) -> Rows:
        """Return all stored rounds, or the n oldest, with the features of theta."""
        return self._kept.rows(n)

    def _summed(self, rows: Rows, rewards: Array, weights: Array) -> tuple[Array, ...]:
        """Return sums over rounds, in the order of `sums`."""
        return rows.sums(rewards, weights)

    def awaiting(self, rows: Sequence[Row], share: float) -> Weighted:
        awaited = self._kept.others(rows, None if self.frame is None else self.frame.matrix)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            # Their weights depend on unknown contexts, so they get the mean weight. A row that shrinks a variance by
            # more than MAX_SHRINKAGE, such as a missing value of 1e20, would destroy the digits of all others.
            leverage = awaited.quadratic(self.inverse)
            weights = np.minimum(share * np.asarray(self.weight)[..., None], MAX_SHRINKAGE / np.abs(leverage))
            weights = np.where(np.isfinite(leverage), weights, 0.0)
            design, _ = awaited.sums(np.zeros(awaited.shape), weights)
            half = self.half()
            across = half.swapaxes(-1, -2)
            inverse = half @ np.linalg.solve(self._eye + across @ design @ half, across)
        out = copy.copy(self)
        out.inverse = np.asarray(inverse, dtype=np.float64)
        return out

    def distance(self, theta: Array) -> Array:
        error = theta.reshape(*theta.shape[:-1], *self.shape) - self.theta
        return np.sqrt(self._total(np.vecdot(error, np.linalg.solve(self.inverse, error[..., None])[..., 0])))

    def half(self) -> Array:
        try:
            return np.asarray(np.linalg.cholesky(self.inverse), dtype=np.float64)
        except np.linalg.LinAlgError:  # rounding destroyed a tiny variance
            values, Q = np.linalg.eigh(self.inverse)
            return np.asarray(Q * np.sqrt(np.maximum(values, 0.0))[..., None, :])

    def merge(self, other: Weighted) -> None:
        """Add the rounds of another fit with the same settings after these."""
        if not (self._counting and other._counting):
            if other._counting:
                self.restore(other.state())
            return
        for row, reward, weight in other._kept:
            self._append(row, reward, weight)
        self._add_sums(other)
        self._counting += other._counting - float(other._ages().sum())  # of rounds with final weights
        self._renew()

    def _add_sums(self, other: Any) -> None:
        for name in self.sums:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    @property
    def _lasting(self) -> tuple[str, ...]:
        """Names of the attributes that a file holds, beside the stored rounds."""
        return (*self.sums, "_pause", "_counting", *self.of_trials)

    def state(self) -> dict[str, Array]:
        return self._kept.state() | {name.lstrip("_"): np.array(getattr(self, name)) for name in self._lasting}

    def restore(self, state: dict[str, Array]) -> None:
        arrays = self._restored(state)
        if not (arrays["ridge"].min() > 0.0 and arrays["noise2"].min() > 0.0):
            raise ValueError("LinearModel: ridge and noise must be > 0, got others")
        self._kept.restore(arrays)
        for name in self._lasting:
            setattr(self, name, arrays[name.lstrip("_")])
        self._pause, self._counting = int(self._pause), float(self._counting)
        self._some_unsized = not self._sized.all()

    def _restored(self, state: dict[str, Array]) -> dict[str, Array]:
        """Return copies of a file's arrays after checking their names and shapes."""
        return restored(type(self).__name__, Weighted.state(self), state, self._kept.axes)

    @staticmethod
    def _moment(theta: Array, inverse: Array) -> Array:
        """Return E[theta theta^T] with theta ~ N(theta-hat, inverse)."""
        return np.asarray(theta[..., :, None] * theta[..., None, :] + inverse)


def where_trials(which: NDArray[np.bool_], new: Array, old: Array) -> Array:
    """Return new values for some trials (...), and old values for the others."""
    return np.where(which.reshape(which.shape + (1,) * (np.ndim(new) - which.ndim)), new, old)
