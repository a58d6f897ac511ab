"""The linear model of Algorithms 1 and 2, and what it learns by itself."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Literal

from overcast import _check
from overcast._check import Array
from overcast.features import Bilinear, Disjoint, FeatureMap, Separable
from overcast.features.base import check_map
from overcast.models.aware import AwareDenseLearner, AwareSeparableLearner, SharedDisjointLearner
from overcast.models.base import Learner, Model
from overcast.models.blocks import WeightedBlocks
from overcast.models.learners import DenseLearner, DisjointLearner, LinearLearner, SeparableLearner
from overcast.models.ridge import Ridge
from overcast.models.weighted import Settings, Weighted

# Features of which a covariance is kept for every round; beyond, one noise is learnt for all of them.
MAX_AWARE = 256

# Features of disjoint blocks up to which trials in lock-step are better served by one fit without blocks.
MAX_JOINT = 64


@dataclass(frozen=True)
class LinearModel(Model):
    """f(x, c) = phi(x, c)^T theta, estimated by least squares.

    With psi_s the expected (or sampled) feature of a hidden round (Algorithm 1) and phi(x_s, c_s) of a revealed one
    (Algorithm 2), theta-hat = P^-1 sum_s psi_s y_s / v_s where P = ridge I + sum_s psi_s psi_s^T / v_s. With a ridge
    and nothing else this is the paper's: v_s = 1, and P is its V_t. Without, all is learnt from the rewards: the
    variance v_s = theta^T Cov_mu(phi) theta + sigma^2 of every round, sigma and the ridge by evidence maximisation.
    Nothing then depends on the units of rewards and features, and widths are standard deviations.

    Parameters
    ----------
    features : phi
    ridge : lambda > 0, or None to learn it
    noise : "constant" for equal weights, "aware" to weigh each round by how uncertain its context was, which takes
        d^2 / 2 numbers a round; None for "constant" where the ridge is given or d is above 256, else "aware"
    sigma : standard deviation of the noise of rewards; None to learn it, or for 1 where the ridge is given and the
        noise is constant, since then it only sets the unit of the widths
    discount : for a world that changes: with every round the weight of all earlier ones shrinks by this factor
    window : likewise: only the latest so many rounds count

    Examples
    --------
    >>> from overcast.features import Bilinear
    >>> LinearModel(Bilinear(), ridge=0.5)
    LinearModel(features=Bilinear(), ridge=0.5)
    >>> LinearModel(Bilinear(), noise="aware", sigma=0.1)
    LinearModel(features=Bilinear(), noise='aware', sigma=0.1)
    """

    features: FeatureMap
    ridge: float | None = None
    noise: Literal["constant", "aware"] | None = None
    sigma: float | None = None
    discount: float | None = None
    window: int | None = None

    def __post_init__(self) -> None:
        check_map("LinearModel", self.features)
        for name, most in (("ridge", None), ("sigma", None), ("discount", 1.0)):
            value = getattr(self, name)
            if value is not None:
                number = _check.number("LinearModel", name, value, above=0.0, at_most=most)
                object.__setattr__(self, name, number)
        if self.window is not None:
            object.__setattr__(self, "window", _check.integer("LinearModel", "window", self.window, at_least=1))
        if self.noise is None and self.ridge is not None:
            object.__setattr__(self, "noise", "constant")
        if self.noise is not None and str(self.noise) not in ("constant", "aware"):
            raise ValueError(f"LinearModel: noise must be 'constant' or 'aware', got {_check.short(self.noise)}")
        if not self.plain:
            object.__setattr__(self, "block", 50)  # rounds that are weighed anew have to be kept

    @property
    def plain(self) -> bool:
        """Whether this is the paper's least squares, with nothing to learn besides theta."""
        given = self.ridge is not None and self.noise != "aware"
        return given and self.sigma is None and self.discount is None and self.window is None

    @property
    def theory_ridge(self) -> float | None:
        return self.ridge if self.plain else None

    def start(self, actions: Array, context_dim: int) -> LinearLearner:
        return self._start(actions, context_dim, ())

    def start_all(self, actions: Array, context_dim: int, trials: int) -> Learner:
        d = self.features.size(actions.shape[-1], context_dim)
        if isinstance(self.features, Disjoint) and not self.plain:
            if d > MAX_JOINT:
                return super().start_all(actions, context_dim, trials)
            self.features.blocks(actions)
            return replace(self, features=Bilinear()).start_all(actions, context_dim, trials)  # the same, all at once
        if self._aware(d) and not isinstance(self.features, Separable):
            return super().start_all(actions, context_dim, trials)
        return self._start(actions, context_dim, (trials,))

    def _start(self, actions: Array, context_dim: int, leading: tuple[int, ...]) -> LinearLearner:
        features = self.features
        d = features.size(actions.shape[-1], context_dim)
        aware = self._aware(d)
        if isinstance(features, Disjoint):
            if not self.plain:
                shared = WeightedBlocks(features.k, context_dim, self._settings(), self._aware(context_dim))
                return SharedDisjointLearner(features, actions, context_dim, shared)
            assert self.ridge is not None
            blocks = Ridge(context_dim, self.ridge, (*leading, features.k))
            return DisjointLearner(features, actions, context_dim, blocks)
        if not self.plain:
            fit: Ridge | Weighted = Weighted(d, self._settings(), aware, leading)
        else:
            assert self.ridge is not None
            fit = Ridge(d, self.ridge, leading)
        if isinstance(features, Separable):
            return (AwareSeparableLearner if aware else SeparableLearner)(features, actions, context_dim, fit)
        return (AwareDenseLearner if aware else DenseLearner)(features, actions, context_dim, fit)

    def _aware(self, d: int) -> bool:
        """Whether rounds with d features are weighed by what their contexts left open."""
        return self.noise == "aware" or (self.noise is None and self.ridge is None and d <= MAX_AWARE)

    def _settings(self) -> Settings:
        sigma = 1.0 if self.sigma is None and self.ridge is not None and self.noise != "aware" else self.sigma
        return Settings(self.ridge, sigma, 1.0 if self.discount is None else self.discount, self.window)

    def __repr__(self) -> str:
        given = [f.name for f in fields(self) if getattr(self, f.name) is not None]
        if self.ridge is not None and self.noise == "constant":
            given.remove("noise")  # it goes without saying
        shown = (f"{name}={getattr(self, name)!r}" for name in given)
        return f"LinearModel({', '.join(shown)})"
