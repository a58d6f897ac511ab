"""Weighted least squares in standard features, averaged over the scales by their evidence, without tuning."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from overcast._check import Array
from overcast._linalg import upper
from overcast.features.design import Row
from overcast.features.standard import Frame, Moments, expand_diagonal
from overcast.models.base import too_large
from overcast.models.linear.rows import Rows
from overcast.models.linear.weighted import SCALES, SMALLEST_SIZE, SUMS, Settings, Weighted
from overcast.models.prior import LOG_PRIOR, RATIOS, SMALLEST_NOISE

# Below this number of rounds, standard features also depend on the belief in question.
YOUNG = 8
# The grid of kappa over the noise, in units of the residuals; and the prior standard deviation of log kappa.
KAPPAS = 8.0 ** np.arange(-4, 5)
KAPPA_SPREAD = 1.5
# Weight of the prior that the variances of rounds are right, in rounds; and the limit of leverages.
TRUSTED = 100
MAX_LEVERAGE = 0.9


class Averaged(Weighted):
    """Least squares with the prior N(0, rho sigma^2 / d) on theta over standard features, flat along the constant.

    sigma^2 has the prior 1 / sigma^2 and is integrated out. The ratio rho of signal and noise is averaged over a grid
    by its evidence; theta-hat and `inverse` are mean and covariance of that mixture. kappa is the factor on the
    variance that beliefs state for hidden contexts. Standard features follow from the actions and the running moments
    of the contexts, so that neither units nor zero points matter.

    frame : returns standard features for moments of contexts; None for the features as they are
    """

    of_trials = (*SCALES, "kappa", "gamma")
    sums = (*SUMS, "_base_square")

    def __init__(
        self,
        shape: tuple[int, ...],
        settings: Settings,
        aware: bool,
        leading: tuple[int, ...] = (),
        frame: Callable[[Moments], Frame] | None = None,
        terms: int = 0,
    ) -> None:
        super().__init__(shape, settings, aware, leading)
        self._make_frame = frame
        self.frame: Frame | None = None
        self._products: tuple[Frame, Array] | None = None  # a frame, and the products of its diagonal's entries
        self._base_square = np.zeros(leading)  # sum of y^2 / v
        self.kappa = np.ones(leading)
        self.gamma = np.zeros(leading)
        # Number of beliefs, and mean and variance of the context terms over them.
        self._seen_rounds = 0.0
        self._unseen: list[Moments] = []  # of rounds that are not yet included
        self._mean, self._variance = np.zeros((*leading, terms)), np.zeros((*leading, terms))
        self._framed_mean, self._framed_variance = self._mean, self._variance  # at the last renewal
        self.theta, self.inverse = np.zeros((*leading, *shape)), np.zeros((*leading, *shape, shape[-1]))
        self.log_det = np.zeros(leading)
        self._refit()

    @property
    def young(self) -> bool:
        """Whether estimates should use `seeing` with their belief."""
        return self._make_frame is not None and self._seen_rounds + len(self._unseen) < YOUNG

    def seeing(self, moments: Moments) -> Averaged:
        """Return this fit with standard features that include a belief with these moments."""
        out = copy.copy(self)
        out._kept = copy.copy(self._kept)
        out._unseen = [*self._unseen, moments]
        out._refit()
        return out

    @property
    def scales(self) -> tuple[float | None, float | None]:
        known = bool(self._sized)
        return math.sqrt(self.noise2) if self.scaled else None, float(self.ridge) if known else None

    @property
    def used(self) -> float | Array:
        return self.gamma if self.leading else float(self.gamma)

    def _sizes(self, reward: float | Array) -> Any:
        return np.ones(self.leading, dtype=bool)  # any reward may, as the level is free

    def _see(self, moments: Moments, rounds: float) -> None:
        """Add the moments over some beliefs to the running moments."""
        n = self._seen_rounds + rounds
        share = rounds / n
        away = moments.mean - self._mean
        spread = (1.0 - share) * self._variance + share * moments.variance + share * (1.0 - share) * away * away
        self._mean, self._variance, self._seen_rounds = self._mean + share * away, spread, n

    def _see_all(self) -> None:
        """Bring the running moments up to date."""
        if self._unseen:
            means, variances = (np.stack(each) for each in zip(*self._unseen, strict=True))
            self._see(Moments(means.mean(axis=0), variances.mean(axis=0) + means.var(axis=0)), len(self._unseen))
            self._unseen = []

    def _append(self, row: Row, reward: float | Array, weight: float | Array) -> None:
        super()._append(row, reward, weight)
        if row.seen is not None:
            self._unseen = [*self._unseen, row.seen]  # a new list, so that a copy of this object keeps the old one

    def _renew(self) -> None:
        super()._renew()
        if self.young:
            self._pause = 1

    def _standardised(self, psi: Array) -> Array:
        return psi if self.frame is None else self.frame.turn_features(psi)

    def _of_rows(self, moment: Array) -> Array:
        if self.frame is None:
            return moment
        matrix, d = self.frame.matrix, len(self.leading) + 1
        if moment.ndim > d + 1:  # several blocks
            matrix = matrix[..., None, :] if matrix.ndim == d else matrix[..., None, :, :]
        if self.frame.matrix.ndim == d:
            return np.asarray(moment * (matrix[..., :, None] * matrix[..., None, :]))
        return np.asarray(matrix.swapaxes(-1, -2) @ (moment @ matrix))

    def _upper_of_rows(self, moment: Array) -> Array:
        if self.frame is None or self.frame.matrix.ndim > 1:
            return super()._upper_of_rows(moment)
        if self._products is None or self._products[0] is not self.frame:  # cached, as every round needs them
            self._products = self.frame, upper(np.multiply.outer(self.frame.matrix, self.frame.matrix))
        return upper(moment) * self._products[1]

    def _rows(self, n: int | None = None) -> Rows:
        return self._kept.rows(n, None if self.frame is None else self.frame.matrix)

    def _update(self, psi: Array, at: tuple[Any, ...], reward: Any, u: Array, v: Any, leverage: Any) -> None:
        super()._update(psi, at, reward, u, v, leverage)
        self.gamma = np.asarray(self.gamma + leverage / (v + leverage))

    def _reframe(self, frame: Callable[[Moments], Frame]) -> None:
        if self._make_frame is not None:
            self._make_frame = frame
        if self.frame is not None:
            self.frame = frame(Moments(self._framed_mean, self._framed_variance))

    def _set_frame(self) -> None:
        """Update standard features by the running moments, and convert the sums of earlier rounds."""
        self._see_all()
        if self._make_frame is None or not self._seen_rounds:
            return
        self._framed_mean, self._framed_variance = self._mean, self._variance
        new, old = self._make_frame(Moments(self._mean, self._variance)), self.frame
        if old is not None and np.any(self._base):
            self._move_sums(old, new)
        self.frame = new

    def _move_sums(self, old: Frame, new: Frame) -> None:
        """Convert sums over settled rounds from one frame's features to another's."""
        before, after = (expand_diagonal(frame.matrix, len(self.leading) + 2).swapaxes(-1, -2) for frame in (old, new))
        matrix = np.asarray(np.linalg.solve(before, after), dtype=np.float64).swapaxes(-1, -2)
        if len(self.shape) > 1:
            matrix = matrix[..., None, :, :]
        self._base = np.asarray(matrix @ self._base @ matrix.swapaxes(-1, -2))
        self._base_target = np.asarray((matrix @ self._base_target[..., None])[..., 0])

    def _refit(self) -> None:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            self._set_frame()
            rows, rewards, ages = self._rows(), self._kept.rewards, self._ages()
            if self._some_unsized and self._settings.noise is None:
                self._initialise_noise(rewards)
            spread = np.where(self._sized[..., None], self.of_context(rows), 0.0) if self.aware else 0.0
            v = np.asarray(self.kappa)[..., None] * spread + self.noise2[..., None]
            self._average(rows, rewards, ages / v)
            if self.aware and self._settings.noise is None:
                self._learn_kappa(rows, rewards, ages)
            v = np.broadcast_to(self.variance(rows), rewards.shape)
            if self.aware and self._settings.noise is None:
                self._inflate(rows, rewards, ages, v)
            weights = 1.0 / v
        values = (self.theta, self.inverse, self.log_det, self.ridge, self.noise2, weights)
        if not all(np.isfinite(value).all() for value in values):
            raise too_large("LinearModel")
        self._some_unsized = not self._sized.all()
        self._set_weights(weights)

    def _initialise_noise(self, rewards: Array) -> None:
        """Set the noise to the size of rewards (..., n) in trials whose rewards do not differ enough to estimate it."""
        size = (rewards**2).sum(axis=-1) / max(rewards.shape[-1], 1)
        self.noise2 = np.where(self._sized, self.noise2, np.where(size > SMALLEST_SIZE, size, 1.0))

    def _average(self, rows: Rows, rewards: Array, weights: Array) -> None:
        """Fit theta and the scales to n rounds with these rewards and weights (..., n), which include age."""
        g = len(self.leading)  # the axis of the grid, before those of theta
        one = np.zeros((*self.leading, *self.shape)) if self.frame is None else self.frame.one
        constant = np.asarray(one.any(axis=tuple(range(g, one.ndim))))
        level = _mean(rewards, weights).reshape(constant.shape + (1,) * len(self.shape)) * one
        A, b, yy = self._centred(rows, rewards, weights, level)
        o = (A @ one[..., None])[..., 0]  # sum of psi (psi^T one) / v
        n1, y1 = self._sum(one * o), self._sum(one * b)
        if not np.isfinite(A).all():
            raise too_large("LinearModel")
        lam, Q = np.linalg.eigh(A)
        lam = np.maximum(lam, 0.0)
        across = Q.swapaxes(-1, -2)
        bq, oq, one_q = (np.expand_dims((across @ x[..., None])[..., 0], g) for x in (b, o, one))
        lam = np.expand_dims(lam, g)
        unit = RATIOS / self._parameters * self.noise2[..., None]  # variance of theta, (..., grid)
        unit = unit.reshape(unit.shape + (1,) * len(self.shape))
        den = 1.0 / unit + lam
        bd, od = bq / den, oq / den
        total = self._sum
        ones = np.maximum(n1[..., None] - total(oq * od), 1e-12 * n1[..., None])  # 1^T K^-1 1, and so on
        ones = np.where(ones > 0.0, ones, np.inf)  # before the first round the constant is unknown
        across_y = y1[..., None] - total(oq * bd)
        left = yy[..., None] - total(bq * bd)
        flat = constant[..., None]
        mu = np.where(flat, across_y / ones, 0.0)
        left = left - np.where(flat, across_y * mu, 0.0)
        largest = np.asarray(yy) - np.where(constant, y1 * y1 / np.where(n1 > 0.0, n1, 1.0), 0.0)
        freedom = np.asarray(self._counting - constant)
        sized = np.asarray((freedom > 0.0) & (largest * self.noise2 > SMALLEST_SIZE))
        left = np.maximum(left, SMALLEST_NOISE * largest[..., None])
        gain = total(np.log1p(lam * unit))
        log_evidence = -0.5 * gain - np.where(flat, 0.5 * np.log(ones), 0.0)
        if self._settings.noise is None:
            log_evidence = log_evidence - 0.5 * freedom[..., None] * np.log(left)
            factor = np.where(sized[..., None], left / np.where(sized, freedom, 1.0)[..., None], 1.0)
        else:
            log_evidence = log_evidence - 0.5 * left
            factor = np.ones(left.shape)
        log_share = LOG_PRIOR + np.where(sized[..., None], log_evidence, 0.0)
        share = np.exp(log_share - log_share.max(axis=-1, keepdims=True))
        share /= share.sum(axis=-1, keepdims=True)
        wide = share.shape + (1,) * len(self.shape)
        theta = bd + mu.reshape(wide) * (one_q - od)
        mean = (share.reshape(wide) * theta).sum(axis=g, keepdims=True)
        variance = ((share * factor).reshape(wide) / den).sum(axis=g)
        # The mixture's covariance: within each component, of its constant, and between components.
        root = np.sqrt(share).reshape(wide)
        of_constant = np.where(flat, np.sqrt(share * factor / ones), 0.0).reshape(wide) * (one_q - od)
        away = np.moveaxis(np.concatenate([root * (theta - mean), of_constant], axis=g), g, -2)
        cov = away.swapaxes(-1, -2) @ away
        np.einsum("...ii->...i", cov)[...] += variance
        self.theta = (Q @ np.squeeze(mean, axis=g)[..., None])[..., 0] + level
        self.inverse = Q @ cov @ across
        self.log_det = (share * gain).sum(axis=-1)
        self.gamma = (share * (total(lam / den) + flat)).sum(axis=-1)
        self.ridge = 1.0 / (share * factor * unit.reshape(share.shape)).sum(axis=-1)
        if self._settings.noise is None:
            self.noise2 = self.noise2 * (share * factor).sum(axis=-1)
        self._sized = sized

    def _centred(self, rows: Rows, rewards: Array, weights: Array, level: Array) -> tuple[Array, Array, Array]:
        """Sum psi psi^T / v, psi y / v and y^2 / v over all rounds, with y the reward minus psi^T level.

        level : parameters, in the shape of theta; subtracted first, to lose no digits
        """
        design, target, square = self._summed(rows, rewards - rows.along(level), weights)
        if not np.any(self._base):
            return design, target, square
        of_level = (self._base @ level[..., None])[..., 0]
        before = self._base_square + self._sum(level * (of_level - 2.0 * self._base_target))
        return self._base + design, self._base_target - of_level + target, before + square

    def _summed(self, rows: Rows, rewards: Array, weights: Array) -> tuple[Array, Array, Array]:
        return *rows.sums(rewards, weights), (weights * rewards * rewards).sum(axis=-1)

    def _learn_kappa(self, rows: Rows, rewards: Array, ages: Array) -> None:
        """Average kappa, the factor on the variance that beliefs state, and the noise by the evidence in the residuals.

        With v_s = sigma^2 (1 + g q_s), residuals r_s and leverages h_s, sigma^2 has its best value for every g of a
        grid, and kappa is g sigma^2.
        """
        q = self.of_context(rows)
        known = self._sized & q.any(axis=-1)
        if not known.any():
            return
        squares = (rewards - rows.along(self.theta)) ** 2 * ages
        kappa_now = np.asarray(self.kappa)[..., None]
        free = np.clip(1.0 - rows.quadratic(self.inverse) / (kappa_now * q + self.noise2[..., None]), 0.0, 1.0)
        free = free * ages
        freedom = np.maximum(free.sum(axis=-1), 1.0)[..., None]
        size = np.maximum(squares.sum(axis=-1)[..., None] / freedom, SMALLEST_SIZE)
        ratio = 1.0 + (q / size)[..., None] * KAPPAS
        noise2 = np.maximum((squares[..., None] / ratio).sum(axis=-2) / freedom, SMALLEST_NOISE * size)
        kappa = KAPPAS * noise2 / size
        log_share = -0.5 * (np.log(kappa) / KAPPA_SPREAD) ** 2 - 0.5 * (
            (free[..., None] * np.log(ratio)).sum(axis=-2) + freedom * np.log(noise2 / size)
        )
        share = np.exp(log_share - log_share.max(axis=-1, keepdims=True))
        share /= share.sum(axis=-1, keepdims=True)
        self.kappa = np.where(known, (share * kappa).sum(axis=-1), self.kappa)
        self.noise2 = np.where(known, (share * noise2).sum(axis=-1), self.noise2)

    def _inflate(self, rows: Rows, rewards: Array, ages: Array, v: Array) -> None:
        """Inflate the covariance of theta if residuals exceed the variances v (..., n), weighted by leverage.

        With leverages h_s, r_s^2 / (v_s (1 - h_s)) is one on average. Weights 1 / v_s favour rounds with an
        underestimated variance, so its mean weighted by leverage may be larger.
        """
        leverage = np.clip(ages * rows.quadratic(self.inverse) / v, 0.0, MAX_LEVERAGE)
        errors = (rewards - rows.along(self.theta)) ** 2 * ages / v / (1.0 - leverage)
        weight = leverage.sum(axis=-1)
        ratio = (leverage * errors).sum(axis=-1) / np.where(weight > 0.0, weight, 1.0)
        rounds = rewards.shape[-1]
        factor = np.maximum((rounds * ratio + TRUSTED) / (rounds + TRUSTED), 1.0)
        self.inverse = self.inverse * self._per_matrix(np.where(self._sized, factor, 1.0))

    def _sum(self, values: Array) -> Array:
        """Return the sum over theta's axes."""
        return np.asarray(values.sum(axis=tuple(range(-len(self.shape), 0))))

    def merge(self, other: Weighted) -> None:
        assert isinstance(other, Averaged)
        if self._counting and other._counting and (other._seen_rounds or other._unseen):
            seen = copy.copy(other)
            seen._see_all()
            self._see_all()
            self._see(Moments(seen._mean, seen._variance), seen._seen_rounds)
        super().merge(other)

    def _add_sums(self, other: Averaged) -> None:
        if self.frame is not None and other.frame is not None and np.any(other._base):
            frame, other = other.frame, copy.copy(other)
            other._move_sums(frame, self.frame)
        super()._add_sums(other)

    @property
    def _lasting(self) -> tuple[str, ...]:
        return (*super()._lasting, "_seen_rounds", "_mean", "_variance", "_framed_mean", "_framed_variance")

    def state(self) -> dict[str, Array]:
        # Rounding depends on which moments are added together, so pending ones are stored separately.
        unseen = np.array(self._unseen) if self._unseen else np.empty((0, 2, *self._mean.shape))
        return super().state() | {"unseen": unseen}

    def _restored(self, state: dict[str, Array]) -> dict[str, Array]:
        arrays = super()._restored({name: array for name, array in state.items() if name != "unseen"})
        if "unseen" not in state or state["unseen"].shape[1:] != (2, *self._mean.shape):
            raise ValueError(f"Averaged: unseen must have shape (n, 2, {self._mean.shape[-1]}), got others")
        return arrays | {"unseen": state["unseen"]}

    def restore(self, state: dict[str, Array]) -> None:
        super().restore(state)
        self._unseen = [Moments(*pair) for pair in np.array(state["unseen"], dtype=np.float64)]
        self._seen_rounds = float(self._seen_rounds)
        if self._make_frame is not None and self._seen_rounds:
            self.frame = self._make_frame(Moments(self._framed_mean, self._framed_variance))


def _mean(values: Array, weights: Array) -> Array:
    """Return the weighted mean along the last axis, 0 if it is empty."""
    total = weights.sum(axis=-1)
    return np.asarray((values * weights).sum(axis=-1) / np.where(total > 0.0, total, 1.0))
