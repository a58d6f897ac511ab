"""Least squares that weigh every round by how noisy it was; noise and ridge are learnt where they are not given."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from overcast._check import Array
from overcast.models.ridge import add_outer, apply, at_most, dot, perturbed
from overcast.models.rows import Rows, inverse_and_log_det
from overcast.models.symmetric import upper

# All rounds are weighed anew when their number has grown by this factor, or by so many, in so many fixed-point steps
# while they are fewer than twice the parameters; later, a single step goes on from the last ones.
GROWTH = 1.1
RENEW_EVERY = 512
SWEEPS = 3

# What noise and ridge are taken for before the first reward counts as so many rounds: enough to start from.
PRIOR = 1e-3

# The noise has at least this share of the rewards' mean square, so that the fit stays well conditioned.
SMALLEST_NOISE = 1e-8

# Rewards whose mean square is below this give no scale: numbers could not hold its inverse.
SMALLEST_SIZE = 1e-200

# A variance beyond this is too large to go on with.
MAX_VARIANCE = 1e300

# A rank-one update that shrinks a variance by more than this loses its digits; all is solved anew instead.
MAX_SHRINKAGE = 1e6

# Sums of squares lose twice the digits; where an entry of the inverse, at one length of all columns, is beyond this,
# the rounds themselves are factorised.
MAX_CONDITION = 1e9

# What is left of the weight of a round that need not be weighed anew.
FORGOTTEN = 1e-6

# Numbers kept to weigh rounds anew; the oldest keep the weight they have, so that a bandit may run for ever.
# A few are kept whatever their size.
MAX_KEPT = 2**22
MAX_ROUNDS = 10_000
MIN_ROUNDS = 32


class Settings(NamedTuple):
    """What is known of the rewards beforehand.

    ridge, sigma : the prior precision of theta and the standard deviation of the noise; None to learn them
    discount : what a round's weight is multiplied by with every later one; 1 to keep all
    window : rounds that count; None for all
    """

    ridge: float | None = None
    sigma: float | None = None
    discount: float = 1.0
    window: int | None = None

    @property
    def forgets(self) -> bool:
        return self.discount < 1.0 or self.window is not None


class Weighted:
    """theta-hat = P^-1 sum_s psi_s y_s / v_s with P = ridge I + sum_s psi_s psi_s^T / v_s, for any leading axes.

    v_s = E[theta^T Cov_s theta] + sigma^2 is the variance of the reward of round s given its features: of the context,
    as far as it stayed hidden, under what is believed of theta, N(theta-hat, P^-1), and of the noise. What is not
    given maximises the evidence, by MacKay's fixed point:

        ridge <- gamma / |theta-hat|^2           with gamma = d - ridge tr P^-1, the parameters that rewards determine
        sigma^2 <- sigma^2 sum_s (r_s / v_s)^2 / sum_s (1 - h_s) / v_s    with residuals r_s and leverages h_s

    so that all scales follow the rewards and the features. Old rounds are weighed anew with every new estimate, at
    rounds that lie ever further apart; in between, updates are of rank one.

    Parameters
    ----------
    d : number of features
    noisy : whether rounds come with the covariance of their features; else v_s = sigma^2
    leading : axes of fits that share nothing but the number of rounds
    blocks : axes of theta, base and P within a fit, for `WeightedBlocks`

    Examples
    --------
    >>> fit = Weighted(2, Settings(ridge=1.0, sigma=1.0), noisy=False)
    >>> fit.add(np.array([1.0, 0.0]), 3.0)
    >>> fit.theta
    array([1.5, 0. ])
    """

    def __init__(
        self, d: int, settings: Settings, noisy: bool, leading: tuple[int, ...] = (), blocks: tuple[int, ...] = ()
    ) -> None:
        self._d = d
        self._settings = settings
        self.noisy = noisy
        self._parameters = d * math.prod(blocks)
        self._eye = np.eye(d)
        self._capacity = max(min(MAX_ROUNDS, MAX_KEPT // self.width), MIN_ROUNDS, 1 + (settings.window or 0))
        self._rounds = np.empty((*leading, 0, self.width))  # room for evidence, of which rows first to last are in use
        self._rewards = np.empty((*leading, 0))
        self._weights = np.empty((*leading, 0))  # 1 / v_s of the last renewal
        self._first = self._last = 0
        self._total = 0.0  # rounds that count, each as far as it is not forgotten
        self._renew_at = 1  # when last is there
        self._base = np.zeros((*leading, *blocks, d, d))  # sums over rounds that keep their weight
        self._base_target = np.zeros((*leading, *blocks, d))
        self.ridge = np.full(leading, 1.0 if settings.ridge is None else settings.ridge)
        self.sigma2 = np.full(leading, 1.0 if settings.sigma is None else settings.sigma**2)
        self.theta: Array
        self.inverse: Array
        self.log_det: Array
        self._sized = np.zeros(leading, dtype=bool)  # whether a reward other than zero gave them a scale
        self._some_unsized = True
        self._solve(self._rows(self._rounds), self._rewards, self._weights)

    @property
    def width(self) -> int:
        """Numbers of a round: psi, and the folded covariance of the features."""
        return self._d + (self._d * (self._d + 1) // 2 if self.noisy else 0)

    @property
    def scaled(self) -> NDArray[np.bool_]:
        """Whether the noise is given or rewards have said something of it, shape (...)."""
        return self._sized | (self._settings.sigma is not None)

    @property
    def slack(self) -> Array:
        """1 - gamma / t with t the number of rounds that count, shape (...); one before the first."""
        return np.asarray(np.maximum(1.0 - self.used / max(self._total, 1.0), 0.0))

    @property
    def used(self) -> Array:
        """gamma, the number of parameters that rewards rather than the prior determine, shape (...)."""
        used = self._total_of(self._d - self.ridge * self.inverse.trace(axis1=-2, axis2=-1))
        return np.asarray(np.maximum(used, 0.0))

    def variance(self, evidence: Array) -> Array:
        """Return v of rounds (..., n, width), shape (..., n)."""
        return self._variance(self._rows(evidence))

    def _variance(self, rows: Rows) -> Array:
        sigma2 = self.sigma2[..., None]
        if not self.noisy:
            return np.broadcast_to(sigma2, rows.psi.shape[:-1])
        # Rounding may have left a covariance just below zero.
        return np.asarray(np.maximum(rows.of_context(self.second_moment), 0.0) + sigma2)

    @property
    def second_moment(self) -> Array:
        """E[theta theta^T] under what is believed of theta, shape (..., d, d)."""
        return _second_moment(self.theta, self.inverse)

    def _rows(self, rounds: Array) -> Rows:
        return Rows(rounds[..., : self._d], rounds[..., self._d :])

    def _at(self, evidence: Array) -> tuple[Array, Array, Array, Array]:
        """Return psi and the folded covariance of a round, and the theta-hat and P^-1 that it is about, to update."""
        return evidence[..., : self._d], evidence[..., self._d :], self.theta, self.inverse

    def _move(self, evidence: Array, step: Array, growth: float | Array) -> None:
        """Add to theta-hat and to the log-determinant what a round changes."""
        self.theta = self.theta + step
        self.log_det = self.log_det + growth

    def _total_of(self, parts: Array) -> Array:
        """Return the sum over what theta is made of, which is one part here."""
        return parts

    def add(self, evidence: Array, reward: float | Array) -> None:
        """Add a round: psi and the covariance of its features, folded, (..., width), and its reward.

        Raises ValueError, and changes nothing, where the numbers overflow.
        """
        single = evidence.ndim == 1  # plain numbers then, which cost a fraction of arrays without axes
        reward = float(reward) if single else np.asarray(reward, dtype=np.float64)
        psi, covariance, theta, inverse = self._at(evidence)
        with np.errstate(over="ignore", invalid="ignore"):
            u = apply(inverse, psi)
            spread = dot(psi, u)
            of_context = dot(covariance, upper(_second_moment(theta, inverse))) if self.noisy else 0.0
            v = max(of_context, 0.0) + float(self.sigma2) if single else np.maximum(of_context, 0.0) + self.sigma2
            total = v + spread
        if not at_most(total, MAX_VARIANCE):
            raise _too_large()
        anew: Any = self._some_unsized and ~self._sized & (reward != 0.0)
        if not at_most(spread / v, MAX_SHRINKAGE):
            anew = anew | ~np.asarray(spread <= MAX_SHRINKAGE * v)
        due = self._last + 1 >= self._renew_at
        if not (due or self._settings.forgets or np.any(anew)):
            self._append(evidence, reward, 1.0 / v)
            self._update(evidence, reward, u, v, spread)
            return
        before = vars(self).copy()  # arrays in use are replaced until all went well
        self._append(evidence, reward, 1.0 / v)
        try:
            if due:
                self._renew()
            elif np.all(anew):
                self._refit()
            else:
                refitted = self._refitted() if np.any(anew) else {}
                if self._settings.forgets:
                    rounds, rewards = self.rounds()
                    kept = self._weights[..., self._first : self._last]
                    self._solve(self._rows(rounds), rewards, self._ages() * kept)
                else:
                    self._update(evidence, reward, u, v, spread)
                for name, new in refitted.items():  # what one trial needs is no reason to change another
                    which = anew.reshape(anew.shape + (1,) * (new.ndim - anew.ndim))
                    setattr(self, name, np.where(which, new, getattr(self, name)))
        except ValueError:
            self.__dict__ = before
            raise

    def _update(self, evidence: Array, reward: Any, u: Array, v: Any, spread: Any) -> None:
        """Add a round by the Sherman-Morrison formula, with u = P^-1 psi, its variance v and psi^T P^-1 psi."""
        psi, _, theta, inverse = self._at(evidence)
        total = v + spread
        surprise = (reward - dot(psi, theta)) / total
        step = u * (surprise if evidence.ndim == 1 else surprise[..., None])
        self._move(evidence, step, math.log1p(spread / v) if evidence.ndim == 1 else np.log1p(spread / v))
        add_outer(inverse, u, -1.0 / total)

    def _append(self, evidence: Array, reward: float | Array, weight: float | Array) -> None:
        if self._last == self._rewards.shape[-1]:
            self._make_room()
        self._rounds[..., self._last, :] = evidence
        self._rewards[..., self._last] = reward
        self._weights[..., self._last] = weight
        self._last += 1
        self._total = self._settings.discount * self._total + 1.0
        if self._settings.window is not None:
            self._first = max(self._first, self._last - self._settings.window)
            self._total = min(self._total, self._ages().sum())
        if self._settings.discount < 1.0:
            self._base = self._settings.discount * self._base
            self._base_target = self._settings.discount * self._base_target

    def _make_room(self) -> None:
        """Move the rounds that count to the front of arrays with room for as many again."""
        kept, n = slice(self._first, self._last), self._last - self._first
        room = (*self._rewards.shape[:-1], n + max(16, n))
        rounds, rewards, weights = np.empty((*room, self.width)), np.empty(room), np.empty(room)
        rounds[..., :n, :] = self._rounds[..., kept, :]
        rewards[..., :n] = self._rewards[..., kept]
        weights[..., :n] = self._weights[..., kept]
        self._rounds, self._rewards, self._weights = rounds, rewards, weights
        self._renew_at -= self._first
        self._first, self._last = 0, n

    def rounds(self) -> tuple[Array, Array]:
        """Return the evidence (..., n, width) and the rewards (..., n) of the rounds that can be weighed anew."""
        kept = slice(self._first, self._last)
        return self._rounds[..., kept, :], self._rewards[..., kept]

    def _ages(self) -> Array:
        """Return what is left of the weight of each round because of its age, shape (n,)."""
        return np.asarray(self._settings.discount ** np.arange(self._last - self._first - 1.0, -1.0, -1.0))

    def _renew(self) -> None:
        """Weigh all rounds anew, and settle when to do so again."""
        self._refit()
        ages = self._ages()
        self._renew_at = self._last + min(RENEW_EVERY, max(1, math.ceil((GROWTH - 1.0) * float(ages.sum()))))
        if self._settings.window is None:  # which never keeps more than fit
            full = len(ages) >= self._capacity
            self._settle(max(int((ages < FORGOTTEN).sum()), len(ages) // 2 if full else 0))

    def _refitted(self) -> dict[str, Array]:
        """Return what weighing all rounds anew would make of the fit."""
        names = ("theta", "inverse", "log_det", "ridge", "sigma2", "_weights")
        before = {name: getattr(self, name) for name in names}
        self._weights = self._weights.copy()  # the only one that changes in place
        self._refit()
        after = {name: getattr(self, name) for name in names}
        for name, value in before.items():
            setattr(self, name, value)
        return after

    def _refit(self) -> None:
        """Weigh all rounds anew, and learn noise and ridge where they are not given."""
        rounds, rewards = self.rounds()
        rows, ages = self._rows(rounds), self._ages()
        rows.psi = np.ascontiguousarray(rows.psi)  # for many products
        learn_ridge, learn_sigma = self._settings.ridge is None, self._settings.sigma is None
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            size = (rewards**2).mean(axis=-1)
            sized = size > SMALLEST_SIZE
            size = np.where(sized, size, 1.0)
            squares = np.vecdot(rows.psi, rows.psi).mean(axis=-1)
            guess = size / np.where(squares > 0.0, squares, 1.0)  # of the variance of theta
            if self._some_unsized:
                self._start(guess, size)
            weights = 1.0 / self._variance(rows)
            self._solve(rows, rewards, ages * weights)
            sweeps = SWEEPS if len(ages) < 2 * self._parameters else 1
            for _ in range(sweeps if self.noisy or learn_ridge or learn_sigma else 0):
                if learn_ridge:
                    length2 = self._total_of(np.vecdot(self.theta, self.theta))
                    self.ridge = (self.used + PRIOR) / (length2 + PRIOR * guess)
                if learn_sigma:
                    share = weights * self.sigma2[..., None]  # of the noise in the variance of a round
                    residuals = share * (rewards - rows.along(self.theta))
                    free = share * (1.0 - ages * weights * rows.quadratic(self.inverse))
                    noise = ((residuals**2) @ ages + PRIOR * size) / (free @ ages + PRIOR)
                    self.sigma2 = np.maximum(noise, SMALLEST_NOISE * size)
                weights = 1.0 / self._variance(rows)
                self._solve(rows, rewards, ages * weights)
        if not all(np.isfinite(value).all() for value in (self.theta, self.log_det, self.ridge, self.sigma2)):
            raise _too_large()
        self._sized = self._sized | sized
        self._some_unsized = not self._sized.all()
        self._weights[..., self._first : self._last] = weights

    def _start(self, guess: Array, size: Array) -> None:
        """Begin, where no reward has given a scale yet, with these variances of theta and of the noise."""
        fresh = ~self._sized
        if self._settings.ridge is None:
            self.ridge = np.where(fresh, 1.0 / guess, self.ridge)
        if self._settings.sigma is None:
            self.sigma2 = np.where(fresh, size, self.sigma2)
        self.theta = np.where(fresh[..., None], 0.0, self.theta)
        prior = self._eye / self.ridge[..., None, None]
        self.inverse = np.where(fresh[..., None, None], prior, self.inverse)

    def _solve(self, rows: Rows, rewards: Array, weights: Array) -> None:
        """Fit theta to n rounds with these rewards and weights (..., n), age included."""
        design, target = rows.sums(rewards, weights)
        target = self._base_target + target
        precision = self._base + design + self.ridge[..., None, None] * self._eye
        # With columns brought to one length, features of very different size do no harm.
        length = np.sqrt(precision.diagonal(axis1=-2, axis2=-1))
        lengths = length[..., :, None] * length[..., None, :]
        inverse, log_det = inverse_and_log_det(precision / lengths)
        if at_most(inverse.diagonal(axis1=-2, axis2=-1), MAX_CONDITION):
            self.inverse = inverse / lengths
            self.theta = apply(self.inverse, target)
            self.log_det = log_det + 2.0 * np.log(length).sum(axis=-1) - self._d * np.log(self.ridge)
        else:
            self.inverse, self.theta, self.log_det = rows.factorised(self._base, target, weights, self.ridge)

    def _settle(self, n: int) -> None:
        """Let the n oldest rounds keep the weights they have."""
        if not n:
            return
        rounds, rewards = self.rounds()
        weights = self._ages()[:n] * self._weights[..., self._first : self._first + n]
        design, target = self._rows(rounds[..., :n, :]).sums(rewards[..., :n], weights)
        self._base = self._base + design
        self._base_target = self._base_target + target
        self._first += n

    def distance(self, theta: Array) -> Array:
        """Return the norm of theta - theta-hat under P, shape (...)."""
        error = theta - self.theta
        return np.asarray(np.sqrt(np.vecdot(error, np.linalg.solve(self.inverse, error[..., None])[..., 0])))

    def draw(self, z: Array) -> Array:
        """Return A z with A A^T = P^-1 for z (..., d)."""
        return apply(self._half(), z)

    def perturb(self, z: Array) -> Array:
        """Return for z (..., d) what is in law P^-1 sum_s psi_s z_s / sqrt(v_s) with standard normal z and z_s."""
        return perturbed(self._half(), self.ridge, z)

    def _half(self) -> Array:
        try:
            return np.asarray(np.linalg.cholesky(self.inverse), dtype=np.float64)
        except np.linalg.LinAlgError:  # a variance is lost in rounding, beside others that are not
            values, Q = np.linalg.eigh(self.inverse)
            return np.asarray(Q * np.sqrt(np.maximum(values, 0.0))[..., None, :])

    def merge(self, other: Weighted) -> None:
        """Add the rounds of another fit of the same settings, as if they had come after these."""
        if not (self._total and other._total):
            if other._total:
                self.restore(other.state())
            return
        rounds, rewards = other.rounds()
        weights = other._weights[..., other._first : other._last]
        for i in range(rewards.shape[-1]):
            self._append(rounds[..., i, :], rewards[..., i], weights[..., i])
        self._base = self._base + other._base
        self._base_target = self._base_target + other._base_target
        self._total += other._total - float(other._ages().sum())  # of those among the base
        self._renew()

    def state(self) -> dict[str, Array]:
        rounds, rewards = self.rounds()
        return {
            "rounds": np.array(rounds),
            "rewards": np.array(rewards),
            "weights": np.array(self._weights[..., self._first : self._last]),
            "pause": np.array(self._renew_at - self._last),
            "total": np.array(self._total),
            "base": self._base.copy(),
            "base_target": self._base_target.copy(),
            "ridge": np.array(self.ridge),
            "sigma2": np.array(self.sigma2),
            "sized": np.array(self._sized),
            "theta": self.theta.copy(),
            "inverse": self.inverse.copy(),
            "log_det": np.array(self.log_det),
        }

    def restore(self, state: dict[str, Array]) -> None:
        *leading, n = state["rewards"].shape
        for name, fresh in self.state().items():
            known = {"rounds": (*leading, n, self.width), "rewards": (*leading, n), "weights": (*leading, n)}
            want = known.get(name, fresh.shape)
            if state[name].shape != want or tuple(leading) != self._rewards.shape[:-1]:
                raise ValueError(f"Weighted: {name} must have shape {want}, got {state[name].shape}")
        rounds, rewards, weights = (np.array(state[name]) for name in ("rounds", "rewards", "weights"))
        self._rounds, self._rewards, self._weights = rounds, rewards, weights
        self._first, self._last = 0, n
        self._renew_at = n + int(state["pause"])
        self._total = float(state["total"])
        self._base, self._base_target = np.array(state["base"]), np.array(state["base_target"])
        self.ridge, self.sigma2 = np.array(state["ridge"]), np.array(state["sigma2"])
        self._sized = np.array(state["sized"], dtype=bool)
        self._some_unsized = not self._sized.all()
        self.theta, self.inverse = np.array(state["theta"]), np.array(state["inverse"])
        self.log_det = np.array(state["log_det"])


def _second_moment(theta: Array, inverse: Array) -> Array:
    return np.asarray(theta[..., :, None] * theta[..., None, :] + inverse)


def _too_large() -> ValueError:
    return ValueError(
        "LinearModel: features must be of a size that numbers can hold, got larger; scale contexts and rewards"
    )
