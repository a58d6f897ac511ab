"""The contract of a fit: from rows and rewards to theta-hat and its uncertainty."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from overcast._check import Array
from overcast._linalg import Indices, apply
from overcast.features.design import Row
from overcast.features.standard import Frame, Moments

# Smallest share of a direction's precision by data that exceeds rounding.
MIN_SHARE = 1e-8


class Fit(ABC):
    """A linear regression that adds one row at a time. It knows nothing of beliefs, actions or feature maps.

    theta has the axes `leading`, () or (r,) for r trials that share only the number of rounds, and then the axes
    `shape`: (d,), or (blocks, d) if the features of a row are zero outside of one block. Matrices over theta have one
    more axis d.
    """

    #: theta-hat, (..., *shape)
    theta: Array
    #: the covariance of theta, V^-1 or P^-1, (..., *shape, d)
    inverse: Array
    #: log(det V_t / det V_0), (...)
    log_det: float | Array
    #: the prior precision of theta, lambda, (...)
    ridge: float | Array
    #: the variance of the noise of rewards, which sets the unit of `inverse`, (...)
    noise2: float | Array = 1.0
    #: whether rows come with the covariance of their features
    aware: bool = False

    def __init__(self, shape: tuple[int, ...], leading: tuple[int, ...] = ()) -> None:
        self.shape = shape
        self.leading = leading
        self._eye = np.eye(shape[-1])
        self._trials = tuple(np.arange(r) for r in leading)

    @abstractmethod
    def add(self, row: Row, reward: float | Array) -> None:
        """Add an observation; if numbers overflow, raise ValueError and change nothing."""

    def add_all(self, rows: Row, rewards: Array) -> None:
        """Add observations in order: rows with a leading axis n, rewards (n,); an error may leave some added."""
        for row, reward in zip(rows.split(), rewards.tolist(), strict=True):
            self.add(row, reward)

    @abstractmethod
    def with_blocks(self, of: Indices, frame: Callable[[Moments], Frame]) -> Self:
        """Return this fit with other blocks: block i continues block of[i], or is new if that is -1.

        frame : returns standard features with that many blocks
        """

    @abstractmethod
    def half(self) -> Array:
        """Return A with A A^T = `inverse`, which depends on the observations alone, not on past factorisations."""

    @abstractmethod
    def distance(self, theta: Array) -> Array:
        """Return the norm of theta - theta-hat under the precision, shape (...), for theta (..., d of all blocks)."""

    @abstractmethod
    def merge(self, other: Self) -> None:
        """Add the observations of another fit with the same settings."""

    @abstractmethod
    def state(self) -> dict[str, Array]:
        """Return the arrays that `restore` needs."""

    @abstractmethod
    def restore(self, state: dict[str, Array]) -> None:
        """Restore the state of a fit; raise ValueError for other arrays or shapes."""

    @property
    def scales(self) -> tuple[float | None, float | None]:
        """Noise and ridge of a single fit, each None if unknown; plain ridge regression knows no noise."""
        return None, float(self.ridge)

    @property
    def scaled(self) -> bool | np.ndarray[Any, np.dtype[np.bool_]]:
        """Whether `noise2` is given or was learnt from rewards, (...)."""
        return True

    #: converts features to standard ones; None without standard features
    frame: Frame | None = None
    #: the factor on the variance that beliefs state, (...)
    kappa: float | Array = 1.0

    @property
    def young(self) -> bool:
        """Whether estimates should use `seeing` with their belief."""
        return False

    def seeing(self, moments: Moments) -> Fit:
        """Return this fit with standard features that include a belief with these moments."""
        return self

    def awaiting(self, rows: Sequence[Row], share: float) -> Fit:
        """Return this fit as if a share of these rows had come with their expected rewards.

        Theta stays, and its covariance shrinks. Plain ridge regression knows no noise, and returns itself.
        """
        return self

    @property
    def even_variance(self) -> float | Array | None:
        """See `Learner.even_variance`, (...); None if unknown."""
        return None

    @property
    def residual_share(self) -> float | Array | None:
        """1 - gamma / t, see `Learner.residual_share`, (...); None if unknown."""
        return None

    @property
    def prior(self) -> Array:
        """The prior covariance of theta, (..., *shape, d)."""
        prior = self._eye / self._per_matrix(self.ridge)
        return np.broadcast_to(prior, (*self.leading, *self.shape, self.shape[-1]))

    @property
    def second_moment(self) -> Array:
        """E[theta theta^T] with theta ~ N(theta-hat, `inverse`), (..., *shape, d)."""
        return self.theta[..., :, None] * self.theta[..., None, :] + self.inverse

    def draw(self, z: Array) -> Array:
        """Return A z for z in the shape of theta: for standard normal z it has the covariance of theta."""
        return apply(self.half(), z)

    def perturb(self, z: Array) -> Array:
        """Return A (I - lambda A^T A)^1/2 z, which for standard normal z has the law of V^-1 sum_s psi_s z_s.

        Both have the covariance V^-1 (V - lambda I) V^-1. The symmetric root is unique, and its eigenvalues lie between
        zero, in directions that no observation has, and one, in directions where the ridge is negligible.
        """
        A = self.half()
        share, Q = np.linalg.eigh(self._eye - self._per_matrix(self.ridge) * (A.swapaxes(-1, -2) @ A))
        root = np.sqrt(np.where(share > MIN_SHARE, share, 0.0))
        return apply(A, apply(Q, root * apply(Q.swapaxes(-1, -2), z)))

    def _at(self, row: Row) -> tuple[Any, ...]:
        """Return the index of a row's part of theta: all of it, or one block per trial."""
        if row.block is None:
            return ()
        return (*self._trials, row.block) if self._trials else (int(row.block),)

    def _per_matrix(self, value: float | Array) -> Array:
        """Add axes to one number per trial, (...), so that it multiplies matrices over theta."""
        value = np.asarray(value)
        return value.reshape(value.shape + (1,) * (len(self.shape) + 1)) if value.ndim else value

    def _total(self, by_block: Array) -> Array:
        """Sum over blocks, from (..., blocks) to (...), if there are blocks."""
        return by_block.sum(axis=-1) if len(self.shape) > 1 else by_block
