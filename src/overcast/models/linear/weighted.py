"""Least squares that weigh every round by its variance, and learn noise and ridge if they are not given."""

from __future__ import annotations

import copy
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from overcast._check import Array
from overcast._linalg import add_outer, apply, at_most, dot, triangle, upper
from overcast._threads import one_thread
from overcast.features.design import Row
from overcast.models.base import restored, too_large
from overcast.models.linear.fit import Fit
from overcast.models.linear.rows import Kept, Rows, inverse_and_log_det

# All rounds are weighed anew when their number has grown by the factor GROWTH, or by RENEW_EVERY. This takes SWEEPS
# fixed-point steps while there are fewer rounds than twice the parameters; later, one step from the last weights.
GROWTH = 1.1
RENEW_EVERY = 512
SWEEPS = 3
# The guess of noise and ridge before the first reward counts as this many rounds: enough to start from.
PRIOR = 1e-3
# The variance of the noise is at least this share of the rewards' mean square, so that the fit stays well conditioned.
SMALLEST_NOISE = 1e-8
# Rewards whose mean square is below this give no scale: its inverse would overflow.
SMALLEST_SIZE = 1e-200
# Variances above this raise ValueError.
MAX_VARIANCE = 1e300
# A rank-one update that shrinks a variance by more than this factor loses its digits; all is solved anew instead.
MAX_SHRINKAGE = 1e6
# Sums of squares lose twice the digits. If an entry of the inverse, with columns scaled to unit length, exceeds this,
# the rounds themselves are factorised.
MAX_CONDITION = 1e9
# A round that has less than this share of its weight left is not weighed anew.
FORGOTTEN = 1e-6
# Attributes of a fit that a file holds, besides the rounds that are kept.
STATE = ("_base", "_base_target", "_pause", "_counting", "_sized", "ridge", "noise2", "theta", "inverse", "log_det")


class Settings(NamedTuple):
    """What is given about the rewards.

    ridge, noise : the prior precision of theta and the standard deviation of the noise; None to learn them
    discount : factor by which every later round shrinks a round's weight; 1 to keep all weights
    window : number of the latest rounds that count; None for all
    """

    ridge: float | None = None
    noise: float | None = None
    discount: float = 1.0
    window: int | None = None

    @property
    def forgets(self) -> bool:
        return self.discount < 1.0 or self.window is not None


class Weighted(Fit):
    """theta-hat = P^-1 sum_s psi_s y_s / v_s with P = ridge I + sum_s psi_s psi_s^T / v_s.

    v_s = E[theta^T Cov_s theta] + sigma^2 is the variance of the reward of round s given its features. The first term
    comes from the context, if it stayed hidden, with theta ~ N(theta-hat, P^-1); the second from the noise. Noise and
    ridge, if not given, maximise the evidence, by MacKay's fixed point:

        ridge <- gamma / |theta-hat|^2           with gamma = d - ridge tr P^-1, the parameters that rewards determine
        sigma^2 <- sigma^2 sum_s (r_s / v_s)^2 / sum_s (1 - h_s) / v_s    with residuals r_s and leverages h_s

    so that all scales follow the rewards and the features. All rounds are weighed anew at intervals that grow with
    their number; in between, updates are of rank one. Blocks share noise and ridge; P is then one matrix per block.
    Unless the fit is `aware`, rows come without the covariance of their features, and v_s = sigma^2.
    """

    ridge: Array
    noise2: Array
    log_det: Array

    def __init__(self, shape: tuple[int, ...], settings: Settings, aware: bool, leading: tuple[int, ...] = ()) -> None:
        super().__init__(shape, leading)
        self._settings = settings
        self.aware = aware
        self._parameters = math.prod(shape)
        self._kept = Kept(shape, aware, leading)
        self._capacity = max(self._kept.capacity, 1 + (settings.window or 0))
        self._counting = 0.0  # number of rounds, each with the share of its weight that is not forgotten
        self._pause = 1  # rounds until all are weighed anew
        self._base = np.zeros((*leading, *shape, shape[-1]))  # sums over rounds whose weight is final
        self._base_target = np.zeros((*leading, *shape))
        self.ridge = np.full(leading, 1.0 if settings.ridge is None else settings.ridge)
        self.noise2 = np.full(leading, 1.0 if settings.noise is None else settings.noise**2)
        self._sized = np.zeros(leading, dtype=bool)  # whether a reward other than zero has given the trial a scale
        self._some_unsized = True
        self._solve(self._kept.rows(), self._kept.rewards, self._kept.weights)

    @property
    def scales(self) -> tuple[float | None, float | None]:
        known = self._settings.ridge is not None or bool(self._sized)
        return math.sqrt(self.noise2) if self.scaled else None, float(self.ridge) if known else None

    @property
    def scaled(self) -> NDArray[np.bool_]:
        """Whether the noise is given or was learnt from rewards, shape (...)."""
        return self._sized | (self._settings.noise is not None)

    @property
    def residual_share(self) -> float | Array:
        """1 - gamma / t with t the number of rounds that count, shape (...); 1 before the first."""
        share = 1.0 - self.used / max(self._counting, 1.0)
        return max(share, 0.0) if isinstance(share, float) else np.maximum(share, 0.0)

    @property
    def used(self) -> float | Array:
        """gamma, the number of parameters that rewards rather than the prior determine, shape (...)."""
        if self.inverse.ndim == 2:  # every round asks for it, and plain numbers cost a fraction of arrays without axes
            return max(self._parameters - float(self.ridge) * float(self.inverse.trace()), 0.0)
        trace = self._total(self.inverse.trace(axis1=-2, axis2=-1))
        return np.maximum(self._parameters - self.ridge * trace, 0.0)

    def variance(self, rows: Rows) -> Array:
        """Return v of rounds, shape (..., n)."""
        noise2 = self.noise2[..., None]
        if not self.aware:
            return np.broadcast_to(noise2, self._kept.rewards.shape)
        # Rounding may have left a covariance just below zero.
        return np.maximum(rows.context_variance(self.second_moment), 0.0) + noise2

    def add(self, row: Row, reward: float | Array) -> None:
        single = row.psi.ndim == 1  # plain numbers cost a fraction of arrays without axes
        reward = float(reward) if single else np.asarray(reward, dtype=np.float64)
        at = self._at(row)
        theta, inverse = (self.theta[at], self.inverse[at]) if at else (self.theta, self.inverse)
        with np.errstate(over="ignore", invalid="ignore"):
            u = apply(inverse, row.psi)
            leverage = dot(row.psi, u)
            of_context: Any = 0.0
            if row.cov is not None:
                if single:
                    i, j, _ = triangle(len(theta))
                    moment = upper(inverse) + theta[i] * theta[j]
                else:
                    moment = upper(theta[..., :, None] * theta[..., None, :] + inverse)
                of_context = dot(row.cov, moment)
            v = max(of_context, 0.0) + float(self.noise2) if single else np.maximum(of_context, 0.0) + self.noise2
            total = v + leverage
        if not at_most(total, MAX_VARIANCE):
            raise too_large("LinearModel")
        anew: Any = self._some_unsized and ~self._sized & (reward != 0.0)  # trials to be weighed anew at once
        if not at_most(leverage / v, MAX_SHRINKAGE):
            anew = anew | ~np.asarray(leverage <= MAX_SHRINKAGE * v)
        if self._pause > 1 and not self._settings.forgets and (anew is False or not np.any(anew)):
            self._append(row, reward, 1.0 / v)
            self._update(row, reward, u, v, leverage)
            return
        # Arrays in use change only in the last step, which cannot fail.
        before = vars(self) | {"_kept": copy.copy(self._kept)}
        self._append(row, reward, 1.0 / v)
        try:
            if self._pause <= 0:
                self._renew()
            elif np.all(anew):
                self._refit()
            else:
                refitted = None
                if np.any(anew):
                    refitted = copy.copy(self)
                    refitted._kept = copy.copy(self._kept)
                    refitted._refit()
                if self._settings.forgets:
                    self._solve(self._kept.rows(), self._kept.rewards, self._ages() * self._kept.weights)
                else:
                    self._update(row, reward, u, v, leverage)
                if refitted is not None:
                    self._take_over(refitted, anew)
        except ValueError:
            self.__dict__ = before
            raise

    def _update(self, row: Row, reward: Any, u: Array, v: Any, leverage: Any) -> None:
        """Add a round by the Sherman-Morrison formula, with u = P^-1 psi, its variance v and psi^T P^-1 psi."""
        at, total = self._at(row), v + leverage
        theta = self.theta[at] if at else self.theta
        surprise = (reward - dot(row.psi, theta)) / total
        if row.psi.ndim == 1:
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
            self._base = self._settings.discount * self._base
            self._base_target = self._settings.discount * self._base_target

    def _ages(self) -> Array:
        """Return the share of its weight that each round still has at its age, shape (n,)."""
        return np.asarray(self._settings.discount ** np.arange(len(self._kept) - 1.0, -1.0, -1.0))

    def _renew(self) -> None:
        """Weigh all rounds anew, and decide when to do so again."""
        with one_thread():
            self._refit()
        ages = self._ages()
        self._pause = min(RENEW_EVERY, max(1, math.ceil((GROWTH - 1.0) * float(ages.sum()))))
        if self._settings.window is None:  # a window never holds more than there is room for
            full = len(ages) >= self._capacity
            self._settle(max(int((ages < FORGOTTEN).sum()), len(ages) // 2 if full else 0))

    def _take_over(self, other: Weighted, which: NDArray[np.bool_]) -> None:
        """Take over some trials of another fit to the same rounds, and leave the other trials as they are."""
        for name in ("theta", "inverse", "log_det", "ridge", "noise2", "_sized"):
            setattr(self, name, _picked(which, getattr(other, name), getattr(self, name)))
        self._some_unsized = not self._sized.all()
        self._kept.weigh(_picked(which, other._kept.weights, self._kept.weights))

    def _refit(self) -> None:
        """Weigh all rounds anew, and learn noise and ridge if they are not given."""
        rows, rewards, ages = self._kept.rows(), self._kept.rewards, self._ages()
        learn_ridge, learn_noise = self._settings.ridge is None, self._settings.noise is None
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            size = (rewards**2).mean(axis=-1)
            sized = size > SMALLEST_SIZE
            size = np.where(sized, size, 1.0)
            squares = rows.squares().mean(axis=-1)
            guess = size / np.where(squares > 0.0, squares, 1.0)  # of the variance of theta
            if self._some_unsized:
                self._begin(guess, size)
            weights = 1.0 / self.variance(rows)
            self._solve(rows, rewards, ages * weights)
            sweeps = SWEEPS if len(ages) < 2 * self._parameters else 1
            for _ in range(sweeps if self.aware or learn_ridge or learn_noise else 0):
                if learn_ridge:
                    length2 = self._total(np.vecdot(self.theta, self.theta))
                    self.ridge = (self.used + PRIOR) / (length2 + PRIOR * guess)
                if learn_noise:
                    share = weights * self.noise2[..., None]  # of the noise in the variance of a round
                    residuals = share * (rewards - rows.along(self.theta))
                    free = share * (1.0 - ages * weights * rows.quadratic(self.inverse))
                    noise2 = ((residuals**2) @ ages + PRIOR * size) / (free @ ages + PRIOR)
                    self.noise2 = np.maximum(noise2, SMALLEST_NOISE * size)
                weights = 1.0 / self.variance(rows)
                self._solve(rows, rewards, ages * weights)
        if not all(np.isfinite(value).all() for value in (self.theta, self.log_det, self.ridge, self.noise2)):
            raise too_large("LinearModel")
        self._sized = self._sized | sized
        self._some_unsized = not self._sized.all()
        self._kept.weigh(weights)

    def _begin(self, guess: Array, size: Array) -> None:
        """Start from these variances of theta and of the noise in trials that no reward has given a scale yet."""
        fresh = ~self._sized
        if self._settings.ridge is None:
            self.ridge = np.where(fresh, 1.0 / guess, self.ridge)
        if self._settings.noise is None:
            self.noise2 = np.where(fresh, size, self.noise2)
        self.theta = _picked(fresh, np.zeros_like(self.theta), self.theta)
        self.inverse = _picked(fresh, self.prior, self.inverse)

    def _solve(self, rows: Rows, rewards: Array, weights: Array) -> None:
        """Fit theta to n rounds with these rewards and weights (..., n), which include the age."""
        design, target = rows.sums(rewards, weights)
        target = self._base_target + target
        precision = self._base + design + self._per_matrix(self.ridge) * self._eye
        # With columns scaled to unit length, features of very different size do no harm.
        length = np.sqrt(precision.diagonal(axis1=-2, axis2=-1))
        lengths = length[..., :, None] * length[..., None, :]
        inverse, log_det = inverse_and_log_det(precision / lengths)
        if at_most(inverse.diagonal(axis1=-2, axis2=-1), MAX_CONDITION):
            self.inverse = inverse / lengths
            self.theta = apply(self.inverse, target)
            log_det = self._total(log_det + 2.0 * np.log(length).sum(axis=-1))
            self.log_det = log_det - self._parameters * np.log(self.ridge)
        else:
            self.inverse, self.theta, log_det = rows.factorised(self._base, target, weights, self.ridge)
            self.log_det = self._total(log_det)

    def _settle(self, n: int) -> None:
        """Make the weights of the n oldest rounds final, and forget the rounds themselves."""
        if not n:
            return
        weights = self._ages()[:n] * self._kept.weights[..., :n]
        design, target = self._kept.rows(n).sums(self._kept.rewards[..., :n], weights)
        self._base = self._base + design
        self._base_target = self._base_target + target
        self._kept.drop(n)

    def distance(self, theta: Array) -> Array:
        error = theta.reshape(*theta.shape[:-1], *self.shape) - self.theta
        return np.sqrt(self._total(np.vecdot(error, np.linalg.solve(self.inverse, error[..., None])[..., 0])))

    def half(self) -> Array:
        try:
            return np.asarray(np.linalg.cholesky(self.inverse), dtype=np.float64)
        except np.linalg.LinAlgError:  # rounding lost a variance that is tiny beside the others
            values, Q = np.linalg.eigh(self.inverse)
            return np.asarray(Q * np.sqrt(np.maximum(values, 0.0))[..., None, :])

    def merge(self, other: Weighted) -> None:
        """Add the rounds of another fit with the same settings, as if they had come after these."""
        if not (self._counting and other._counting):
            if other._counting:
                self.restore(other.state())
            return
        for row, reward, weight in other._kept:
            self._append(row, reward, weight)
        self._base = self._base + other._base
        self._base_target = self._base_target + other._base_target
        self._counting += other._counting - float(other._ages().sum())  # of rounds whose weight is final
        self._renew()

    def state(self) -> dict[str, Array]:
        return self._kept.state() | {name.lstrip("_"): np.array(getattr(self, name)) for name in STATE}

    def restore(self, state: dict[str, Array]) -> None:
        found = restored("Weighted", self.state(), state, self._kept.axes)
        self._kept.restore(found)
        for name in STATE:
            setattr(self, name, found[name.lstrip("_")])
        self._pause, self._counting = int(self._pause), float(self._counting)
        self._some_unsized = not self._sized.all()


def _picked(which: NDArray[np.bool_], new: Array, old: Array) -> Array:
    """Return new numbers for some trials (...), and the old ones for the others."""
    return np.where(which.reshape(which.shape + (1,) * (new.ndim - which.ndim)), new, old)
