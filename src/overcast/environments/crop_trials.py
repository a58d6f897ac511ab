"""Choose a crop variety before the season's weather is known (section 5, figure 1c)."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from overcast import _check
from overcast._check import Array
from overcast.beliefs import Ensemble
from overcast.beliefs.gaussian import root
from overcast.beliefs.stacked import BeliefStack, Catalogue, CorrelatedStack
from overcast.environments.base import Rngs, Rounds, Stream, Trials, VectorEnvironment
from overcast.features import Bilinear

BeliefKind = Literal["centred", "forecast", "climatology"]

#: the belief that the paper prints
BELIEF: BeliefKind = "centred"


class CropTrials(VectorEnvironment):
    """Crop varieties: f(x, w) = w^T W V_x is the yield of variety x in the season w of a random site and year.

    The context is w^T W, of dimension q. `belief` selects the belief about it before the season:

    - `"centred"`: mu_t = N(w, S) is centred on the recorded season w, as in the paper, and c_t is a draw from mu_t. S
      holds the variances of the factors at this site over the years.
    - `"forecast"`: c_t is the recorded season w, and mu_t = N(w + e_t, S) is centred on a forecast with the error
      e_t ~ N(0, S). c_t ~ mu_t then holds under a flat prior.
    - `"climatology"`: c_t is the recorded season, and mu_t is uniform on earlier seasons of the site, and may exclude
      the coming one.

    Parameters
    ----------
    varieties : (k, q) V, the actions
    weather : (n, p) factors w of the site-years, including site indicators
    loading : (p, q) W
    sites : (n,) the site of each site-year, a number or a name
    noise_values : (m,) values of epsilon_t, of mean zero and all equally likely
    belief : the kind of belief before the season
    climate : (n, s, p) factors of s earlier seasons for each site-year; only for the climatology

    Examples
    --------
    >>> env = CropTrials(
    ...     varieties=[[1.0, 0.2], [0.8, -0.4]],
    ...     weather=[[0.5, 1.0], [-0.5, 1.0], [0.1, 1.0]],
    ...     loading=[[0.1, 1.0], [1.0, 0.0]],
    ...     sites=["Reckenholz"] * 3,
    ...     noise_values=[-0.1, 0.1],
    ... )
    >>> env
    CropTrials(2 varieties, 3 seasons, 1 site, 2 factors, rank 2, belief='centred')
    """

    features = Bilinear()

    def __init__(
        self,
        varieties: ArrayLike,
        weather: ArrayLike,
        loading: ArrayLike,
        sites: ArrayLike,
        noise_values: ArrayLike,
        belief: BeliefKind = BELIEF,
        climate: ArrayLike | None = None,
    ) -> None:
        self.varieties = _check.array("CropTrials", "varieties", varieties, ("k", "q"))
        self.weather = _check.array("CropTrials", "weather", weather, ("n", "p"))
        n, p = self.weather.shape
        self.loading = _check.array("CropTrials", "loading", loading, (p, self.varieties.shape[1]))
        self.sites = _check.labels("CropTrials", "sites", sites, n)
        self.noise_values = _check.centred("CropTrials", "noise_values", noise_values)
        if belief not in get_args(BeliefKind):
            got = _check.short(belief)
            raise ValueError(f"CropTrials: belief must be 'centred', 'forecast' or 'climatology', got {got}")
        if climate is None and belief == "climatology":
            raise ValueError("CropTrials: climate must be given for a climatology, got None")
        if climate is not None and belief != "climatology":
            raise ValueError(f"CropTrials: climate is for a climatology only, got one with belief={belief!r}")
        self.belief = belief
        self.calibrated = belief == "centred"
        self.climate = None if climate is None else _check.array("CropTrials", "climate", climate, (n, "s", p))

    @property
    def noise(self) -> float:
        """Half the range of `noise_values`, which bounds the sub-Gaussian scale of epsilon_t (Hoeffding's lemma)."""
        return float(np.ptp(self.noise_values)) / 2.0

    def start_all(self, rngs: Rngs) -> Trials:
        return _CropTrials(self, rngs)

    def __repr__(self) -> str:
        (k, q), (n, p), sites = self.varieties.shape, self.weather.shape, int(self.sites.max()) + 1
        size = f"{k} varieties, {n} seasons, {sites} site{'s' * (sites > 1)}, {p} factors, rank {q}"
        return f"CropTrials({size}, belief={self.belief!r})"


class _CropTrials(Trials):
    def __init__(self, env: CropTrials, rngs: Rngs) -> None:
        self._env = env
        self.actions = env.varieties
        self.theta = np.eye(env.varieties.shape[1]).ravel()
        self._recorded = env.weather @ env.loading  # (n, q)
        self._by_context = np.ascontiguousarray(env.varieties.T)
        groups = [env.weather[env.sites == site] for site in range(int(env.sites.max()) + 1)]
        scaled = [group.std(axis=0)[:, None] * env.loading for group in groups]
        self._roots = np.stack([root(group.T @ group) for group in scaled])  # (sites, q, q) A with A A^T = W^T S W
        self._climate = None
        if env.climate is not None:
            self._climate = Catalogue([Ensemble(seasons @ env.loading) for seasons in env.climate])
        seasons, errors, epsilon = zip(*(rng.spawn(3) for rng in rngs), strict=True)
        self._seasons = Stream(seasons, 1, normal=False)
        self._errors = Stream(errors, self._roots.shape[-1])
        self._epsilon = Stream(epsilon, 1, normal=False)

    def step(self, past: NDArray[np.intp]) -> Rounds:
        env = self._env
        season = self._seasons.pick(len(env.weather))
        epsilon = env.noise_values[self._epsilon.pick(len(env.noise_values))]
        context, belief = self._draw(season)
        rewards, expected = context @ self._by_context, belief.mean() @ self._by_context
        return Rounds(belief, context, rewards, expected, epsilon)

    def _draw(self, season: NDArray[np.intp]) -> tuple[Array, BeliefStack]:
        """Return the realised contexts and the beliefs about them."""
        recorded = self._recorded[season]
        if self._climate is not None:
            return recorded, self._climate.pick(season)
        roots = self._roots[self._env.sites[season]]
        perturbed = recorded + (roots @ self._errors.next()[..., None])[..., 0]
        if self._env.belief == "centred":
            return perturbed, CorrelatedStack(recorded, roots)
        return recorded, CorrelatedStack(perturbed, roots)
