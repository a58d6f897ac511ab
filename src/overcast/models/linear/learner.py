"""The learner of the linear model: a design for beliefs and features, and a fit of rewards."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.linalg.blas import ddot

from overcast._check import Array
from overcast._linalg import Indices, root
from overcast._units import Vectors
from overcast.beliefs.base import Beliefs, Generators
from overcast.features.design import Design, DesignPoints, Index, Row, View
from overcast.features.disjoint import DisjointDesign
from overcast.models.base import Estimate, LastingLearner, Parameters, normals, too_large
from overcast.models.linear.fit import Fit

# BLAS uses several threads from about so many multiplications on in products of matrices, and from about so many
# numbers on in products of a matrix and a vector.
MATRICES, VECTORS = 100_000, 2_500
# Variances of larger context terms would overflow.
MAX_SQUARE = 1e300
# Most numbers in stacked evidence.
STACKED = 1_000_000


class LinearLearner(LastingLearner):
    """Least squares on expected or realised features (Algorithms 1 and 2), for one bandit or r trials in lock-step."""

    evidence_type = Row

    def __init__(self, design: Design, fit: Fit) -> None:
        self.design, self.fit, self.leading = design, fit, fit.leading
        d = design.shape[-1]
        self._last: tuple[View, Fit] | None = None  # the latest view and its fit
        self._awaited: tuple[Sequence[Row], float] | None = None
        self._seen = False  # whether the fit has seen the belief that decisions are about
        if design.stacks:
            self.stack = max(1, STACKED // (d * d if fit.aware else d))

    def at(self, vectors: Vectors) -> DesignPoints:
        return self.design.at(vectors)

    def heavy(self, points: DesignPoints) -> bool:
        k, d = len(points), self.design.shape[-1]
        return k * d * d > MATRICES or max(k, d) * d > VECTORS

    def view(self, beliefs: Beliefs, samples: int | None = None, rng: Any = None) -> View:
        return self.design.view(beliefs, samples, rng)

    def estimate(self, points: DesignPoints, view: View) -> Estimate:
        if self._needs_separate_fits(view):
            each = [self.estimate(points, single) for single in view.each()]
            means, widths = zip(*each, strict=True)
            return Estimate(np.stack(means), np.stack(widths))
        fit, view = self._fit_and_view(view)
        return Estimate(points.along(view, fit.theta), root(points.quadratic(view, fit.inverse)))

    def _needs_separate_fits(self, view: View) -> bool:
        """Return whether several beliefs need separate fits, and so separate questions."""
        return self.fit.young and not self._seen and len(view.beliefs.leading) > len(self.leading)

    def _fit_and_view(self, view: View) -> tuple[Fit, View]:
        """Return the fit for questions about a belief, and the view in the fit's features."""
        fit = self.fit
        if (fit.young and not self._seen) or self._awaited is not None:
            if self._last is None or self._last[0] is not view:
                self._last = view, self._fit_for(view)
            fit = self._last[1]
        return fit, view if fit.frame is None else self.design.through(view, fit.frame)

    def _fit_for(self, view: View) -> Fit:
        fit = self.fit
        if fit.young and not self._seen:
            moments = self.design.moments(view)
            assert moments is not None
            fit = fit.seeing(moments)
        return fit if self._awaited is None else fit.awaiting(*self._awaited)

    def awaiting(self, evidence: Sequence[Row], share: float = 1.0) -> LinearLearner:
        out = object.__new__(type(self))
        vars(out).update(vars(self), _last=None, _awaited=(evidence, share))
        return out

    def seeing(self, view: View) -> LinearLearner:
        out = object.__new__(type(self))
        vars(out).update(vars(self), fit=self._fit_and_view(view)[0], _last=None, _awaited=None, _seen=True)
        return out

    def evidence(self, points: DesignPoints, view: View, index: Index) -> Row:
        row = points.row(view, index, self.fit.aware)
        # A decision that could not be learnt must not be made.
        sound = row.psi.ndim > 1 or (_finite(row.psi) and (row.cov is None or _finite(row.cov)))
        if sound and row.seen is not None and row.psi.ndim == 1:
            mean, variance = row.seen
            sound = ddot(mean, mean) <= MAX_SQUARE and bool(variance.max() <= MAX_SQUARE)
        if not sound:
            raise too_large("LinearModel")
        return row

    def learn(self, evidence: Row, reward: float | Array) -> None:
        self._last = None
        self.fit.add(evidence, reward)

    def learn_all(self, evidence: Row, rewards: Array) -> None:
        self._last = None
        self.fit.add_all(evidence, rewards)

    def relabel(self, of: Indices) -> None:
        design = self.design
        if not isinstance(design, DisjointDesign):
            super().relabel(of)
            return
        if len(of) > design.shape[0]:
            design = design.widened(len(of))
        if len(of) > self.fit.shape[0] or (of != np.arange(len(of))).any():
            self.fit = self.fit.with_blocks(of, design.frame)
        self.design, self._last = design, None

    @property
    def log_det(self) -> float | Array:
        return self.fit.log_det

    @property
    def residual_share(self) -> float | Array | None:
        return self.fit.residual_share

    @property
    def even_variance(self) -> float | Array | None:
        return self.fit.even_variance

    @property
    def diversity(self) -> float | Array | None:
        frame = self.fit.frame
        if frame is None:
            return None
        return frame.diversity if self.fit.leading else float(frame.diversity)

    @property
    def theta(self) -> Array:
        """The estimated parameter of each feature of the map, shape (..., d), block after block; a copy."""
        theta, to_standard = self.fit.theta, self.design.coefficients(self.fit.frame)
        if to_standard is not None:
            theta = theta @ to_standard if self.fit.theta.ndim == 1 else self._from_standard(theta, to_standard)
        return theta.reshape(*self.fit.leading, -1).copy()

    def _from_standard(self, theta: Array, to_standard: Array) -> Array:
        """Convert theta (..., *shape) over standard features to the map's features."""
        if len(self.fit.shape) > 1:
            to_standard = to_standard[..., None, :, :]
        return (theta[..., None, :] @ to_standard)[..., 0, :]

    @property
    def parameters(self) -> Parameters:
        return Parameters(*self.fit.scales, dict(zip(self.design.names, self.theta.tolist(), strict=True)))

    def prior(self, points: DesignPoints, view: View) -> Array:
        if self._needs_separate_fits(view):
            return np.stack([self.prior(points, single) for single in view.each()])
        fit, view = self._fit_and_view(view)
        return root(points.quadratic(view, fit.prior))

    def noise(self, points: DesignPoints, view: View) -> Array:
        """Return the standard deviations; before any reward, the noise counts as strong as the signal."""
        if self._needs_separate_fits(view):
            return np.stack([self.noise(points, single) for single in view.each()])
        fit, _ = self._fit_and_view(view)
        variance = np.asarray(fit.noise2)[..., None]
        if not np.all(fit.scaled):
            signal = (self.prior(points, view) ** 2).mean(axis=-1, keepdims=True)
            variance = np.where(np.asarray(fit.scaled)[..., None], variance, signal)
        of_context = np.zeros((*view.beliefs.leading, len(points)))
        if fit.aware:
            of_context = np.maximum(points.context_variance(view, fit.second_moment), 0.0)
            of_context *= np.asarray(fit.kappa)[..., None]
        return np.asarray(np.sqrt(of_context + variance))

    def draw(self, points: DesignPoints, view: View, rng: Generators) -> Array:
        z = self._normals(rng)
        return self._along(points, view, lambda fit: fit.draw(z))

    def perturb(self, points: DesignPoints, view: View, rng: Generators) -> Array:
        z = self._normals(rng)
        return self._along(points, view, lambda fit: fit.perturb(z))

    def _along(self, points: DesignPoints, view: View, theta: Callable[[Fit], Array]) -> Array:
        """Return psi^T theta of all points, where theta is a function of the fit."""
        if self._needs_separate_fits(view):
            return np.stack([self._along(points, single, theta) for single in view.each()])
        fit, view = self._fit_and_view(view)
        return points.along(view, theta(fit))

    def _normals(self, rng: Generators) -> Array:
        """Draw standard normal numbers in the shape of theta."""
        return normals(rng, math.prod(self.fit.shape)).reshape(self.fit.theta.shape)

    def norm(self, evidence: Row) -> Array:
        return np.asarray(np.sqrt(np.vecdot(evidence.psi, evidence.psi)))

    def distance(self, theta: Array) -> Array:
        to_standard = self.design.coefficients(self.fit.frame)
        if to_standard is not None:
            *blocks, d = self.fit.shape
            error_side = np.broadcast_to(theta, (*self.fit.leading, theta.shape[-1])).reshape(
                *self.fit.leading, *blocks, d, 1
            )
            matrix = to_standard.swapaxes(-1, -2)
            solved = np.linalg.solve(matrix[..., None, :, :] if blocks else matrix, error_side)
            theta = np.asarray(solved, dtype=np.float64).reshape(*self.fit.leading, -1)
        return self.fit.distance(theta)

    def state(self) -> dict[str, Array]:
        return self.fit.state()

    def restore(self, state: dict[str, Array]) -> None:
        self.fit.restore(state)

    def merge(self, other: LinearLearner) -> None:
        if not self.design.alike(other.design):
            raise ValueError(
                "LinearModel: merge needs bandits that had the same actions at their first decision, got others: their "
                "standard features differ"
            )
        self.fit.merge(other.fit)

    def check(self, evidence: Row) -> None:
        *blocks, d = self.fit.shape
        want = [(d,), (d * (d + 1) // 2,) if self.fit.aware else None, () if blocks else None]
        if [None if part is None else np.shape(part) for part in evidence[:3]] != want:
            raise ValueError("its rounds were seen with other features")
        if evidence.block is not None and not 0 <= int(evidence.block) < blocks[0]:
            raise ValueError("its rounds were seen with other blocks of features")


def _finite(values: Array) -> bool:
    """Return whether all numbers are finite; one BLAS product decides it for most arrays in a tenth of the time."""
    return math.isfinite(ddot(values, values)) or bool(np.isfinite(values).all())
