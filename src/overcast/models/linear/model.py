"""The linear model of Algorithms 1 and 2, with noise and ridge given or learnt."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Literal

from overcast import _check
from overcast._linalg import Indices
from overcast._units import Vectors
from overcast.features import Disjoint
from overcast.features.base import FeatureMap, check_map
from overcast.models.base import Model
from overcast.models.linear.averaged import Averaged
from overcast.models.linear.given import Given
from overcast.models.linear.learner import LinearLearner
from overcast.models.linear.ridge import Ridge
from overcast.models.linear.weighted import Settings

# Most features per block with the default weights="variance", which stores a covariance for every round.
MAX_AWARE = 256


@dataclass(frozen=True)
class LinearModel(Model):
    """Linear rewards f(x, c) = phi(x, c)^T theta, estimated by least squares.

    With psi_s the expected (or sampled) feature of a hidden round (Algorithm 1) and phi(x_s, c_s) of a revealed one
    (Algorithm 2), theta-hat = P^-1 sum_s psi_s y_s / v_s where P = ridge I + sum_s psi_s psi_s^T / v_s. If only
    the ridge is given, this is the paper's estimate: v_s = 1, and P is its V_t. Without a ridge, the model learns
    everything from the rewards, in standard features: the variance v_s = kappa theta^T Cov_mu(phi) theta + noise^2 of
    every round, and the strength of the signal, averaged by its evidence. Then units and zero points of actions,
    contexts and rewards do not matter, and widths are standard deviations (`docs/notation.md`).

    Parameters
    ----------
    features : phi
    ridge : lambda > 0, or None to learn it
    weights : "equal" to weigh all rounds equally, "variance" to weigh each round by the variance of its reward under
        the belief, which takes d^2 / 2 numbers per round; None is "equal" if the ridge is given or d is above 256,
        else "variance"
    noise : standard deviation of the noise of rewards; None to learn it. If the ridge is given and the weights are
        equal, None means 1: noise then only sets the unit of the widths
    discount : factor on the weight of all earlier rounds in every round, for a nonstationary world
    window : number of the latest rounds in use, for a nonstationary world; None for all

    Examples
    --------
    >>> from overcast.features import Bilinear
    >>> LinearModel(Bilinear(), ridge=0.5)
    LinearModel(features=Bilinear(), ridge=0.5)
    >>> LinearModel(Bilinear(), weights="variance", noise=0.1)
    LinearModel(features=Bilinear(), weights='variance', noise=0.1)
    """

    features: FeatureMap
    ridge: float | None = None
    weights: Literal["equal", "variance"] | None = None
    noise: float | None = None
    discount: float | None = None
    window: int | None = None

    def __post_init__(self) -> None:
        check_map("LinearModel", self.features)
        for name, most in (("ridge", None), ("noise", None), ("discount", 1.0)):
            if (value := getattr(self, name)) is not None:
                value = _check.number("LinearModel", name, value, above=0.0, at_most=most)
                object.__setattr__(self, name, value)
        if self.window is not None:
            object.__setattr__(self, "window", _check.integer("LinearModel", "window", self.window, at_least=1))
        if self.weights is None and self.ridge is not None:
            object.__setattr__(self, "weights", "equal")
        if self.weights is not None and str(self.weights) not in ("equal", "variance"):
            raise ValueError(f"LinearModel: weights must be 'equal' or 'variance', got {_check.short(self.weights)}")
        if not self.plain:
            object.__setattr__(self, "batch", 50)  # fewer, because all rounds are stored for reweighting

    @cached_property
    def plain(self) -> bool:
        """Whether this is the paper's least squares, which learns theta alone."""
        given = self.ridge is not None and self.weights != "variance"
        return given and self.noise is None and self.discount is None and self.window is None

    @property
    def theory_ridge(self) -> float | None:
        return self.ridge if self.plain else None

    @property
    def labels(self) -> bool:  # type: ignore[override]
        return isinstance(self.features, Disjoint)

    def widened(self, a: int) -> LinearModel:
        return replace(self, features=self.features.widened(a))

    def size(self, a: int, c: int) -> int:
        return self.features.size(a, c)

    def silent(self, actions: Vectors) -> Indices:
        return self.features.silent(actions)

    def start(self, reference: Vectors, context_dim: int) -> LinearLearner:
        return self._start(reference, context_dim, ())

    def start_all(self, reference: Vectors, context_dim: int, trials: int) -> LinearLearner:
        return self._start(reference, context_dim, (trials,))

    def _start(self, reference: Vectors, context_dim: int, leading: tuple[int, ...]) -> LinearLearner:
        design = self.features.design(reference.shape[-1], context_dim)
        if self.plain and self.ridge is not None:
            return LinearLearner(design, Ridge(design.shape, self.ridge, leading))
        aware = self.weights == "variance" or (self.weights is None and design.shape[-1] <= MAX_AWARE)
        noise = 1.0 if self.noise is None and self.weights == "equal" and self.ridge is not None else self.noise
        settings = Settings(self.ridge, noise, 1.0 if self.discount is None else self.discount, self.window)
        if self.ridge is not None:
            return LinearLearner(design, Given(design.shape, settings, aware, leading))
        design = design.standard(reference)
        frame = design.frame if design.terms else None
        return LinearLearner(design, Averaged(design.shape, settings, aware, leading, frame, design.terms))

    def __repr__(self) -> str:
        given = [f.name for f in fields(self) if getattr(self, f.name) is not None]
        if self.ridge is not None and self.weights == "equal":
            given.remove("weights")  # the default if the ridge is given
        return f"LinearModel({', '.join(f'{name}={getattr(self, name)!r}' for name in given)})"
