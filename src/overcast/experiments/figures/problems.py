"""The experiments: the three panels of figure 1, and Algorithm 3 on rewards from the Hilbert space of a kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from overcast.confidence import Kernel
from overcast.datasets.crops import CropData
from overcast.datasets.movielens import MovieLensData
from overcast.datasets.yield_model import YieldModel
from overcast.environments import RKHS, CropTrials, MovieLens, Synthetic
from overcast.environments.crop_trials import BELIEF, BeliefKind
from overcast.environments.movielens import NOISE
from overcast.experiments.engine.experiment import CURVES, Curve, Experiment
from overcast.features import Fourier
from overcast.models import KernelModel, LinearModel, MeanContext
from overcast.policies import UCB

if TYPE_CHECKING:
    from overcast.datasets.embedding import Embedding

#: the number of past seasons in a climatology
CLIMATE_YEARS = 30

UNCALIBRATED = (
    "Seasons are not drawn from the beliefs here, so regret and expected regret differ and the theorems do not apply."
)


def synthetic() -> Experiment:
    """Return the experiment of figure 1a at paper scale, with the appendix's betas."""
    env = Synthetic()
    return Experiment(
        name="synthetic",
        title="Synthetic example",
        data="generated from the seed",
        env=env,
        model=LinearModel(env.features, ridge=1.0),
        figure="1a",
        betas={"exact": (2.0,), "observed": (2.0,), "hidden": (10.0,)},
    )


def movielens(data: MovieLensData, embedding: Embedding, noise_values: Sequence[float] = NOISE) -> Experiment:
    """Return the experiment of figure 1b at paper scale, with the appendix's beta = 1."""
    from overcast.datasets.embedding import FACTORS, LIBRARY  # loads scikit-surprise, which only this needs

    env = MovieLens(embedding.users, embedding.movies, data.groups, noise_values)
    size = f"{len(data.groups):,} users in {len(set(data.groups))} groups, {len(data.titles):,} movies"
    return Experiment(
        name="movielens",
        title="Generated population, not MovieLens" if data.generated else "MovieLens",
        data=f"generated, not MovieLens ({size})" if data.generated else f"{data.source} ({size})",
        env=env,
        model=LinearModel(env.features, ridge=1.0),
        betas=dict.fromkeys(("exact", "observed", "hidden"), (1.0,)),
        trials=200,
        figure="1b",
        facts={
            "generated": data.generated,
            "noise_values": list(noise_values),
            "embedding": {
                "library": LIBRARY,
                "factors": FACTORS,
                "ratings": len(data.stars),
                "rmse": float(embedding.rmse.mean()),
                "rmse_of_folds": embedding.rmse.tolist(),
            },
        },
        notes=(
            f"The embedding of {len(data.stars):,} ratings in {FACTORS} dimensions ({LIBRARY}) has an RMSE of "
            f"{embedding.rmse.mean():.3f} in {len(embedding.rmse)}-fold cross-validation.",
            f"Reward noise is one of {', '.join(f'{value:g}' for value in noise_values)}, dropped where it would leave "
            f"the scale from 0 to 5.",
        ),
    )


def crops(data: CropData, model: YieldModel, belief: BeliefKind = BELIEF) -> Experiment:
    """Return the experiment of figure 1c at paper scale, with the appendix's beta = 1."""
    noise_values = data.residuals if len(data.residuals) else [0.0]
    climate = data.climate(CLIMATE_YEARS) if belief == "climatology" else None
    env = CropTrials(model.varieties, data.factors, model.loading, data.site_of_season, noise_values, belief, climate)
    rank = model.varieties.shape[1]
    deviation = float(np.std(env.noise_values))
    title = "Generated crop trials" if data.generated else "Crop yields"
    where = f"{len(data.sites)} sites, {len(data.seasons)} seasons"
    size = f"{len(data.yields):,} yields of {len(data.varieties)} varieties at {where}"
    return Experiment(
        name="crops",
        title=title if belief == BELIEF else f"{title}, {belief} belief",
        data=f"generated ({size})" if data.generated else f"{data.source} ({size})",
        env=env,
        model=LinearModel(env.features, ridge=1.0),
        betas=dict.fromkeys(("exact", "observed", "hidden"), (1.0,)),
        figure="1c",
        facts={
            "generated": data.generated,
            "yield_model": {
                "rank": rank,
                "penalty": model.penalty,
                "r2": model.r2,
                "cross_validated_r2": model.cross_validated_r2,
                "noise_deviation": deviation,
                "left_out": data.left_out,
            },
            "belief": belief,
        },
        notes=(
            f"The bilinear model of rank {rank} explains {model.r2:.0%} of the variance of the yields (R²), and "
            f"{model.cross_validated_r2:.0%} in cross-validation over cells of variety and season.",
            f"The noise has a standard deviation of {deviation:.3f}, from {len(data.residuals):,} replicates; "
            f"yields are scaled from 0 to 1.",
            *((f"{data.left_out} plots without a yield are left out.",) if data.left_out else ()),
            *(() if env.calibrated else (UNCALIBRATED,)),
        ),
    )


def kernel() -> Experiment:
    """Return the experiment of the kernelised bandit: seven curves, Fourier features, the plugged-in mean, Theorem 3.

    The paper has no figure of this experiment. beta = 0.3 does well in all settings; a grid tunes it.
    """
    env = RKHS()
    model = KernelModel(env.kernel, ridge=1.0)
    return Experiment(
        name="kernel",
        title="Kernelised bandit",
        data="generated from the seed",
        env=env,
        model=model,
        betas=dict.fromkeys(("exact", "observed", "hidden"), (0.3,)),
        trials=50,
        steps=500,
        curves=(
            *CURVES,
            Curve("hidden", None, "Fourier", LinearModel(Fourier(env.kernel, 300), ridge=1.0)),
            Curve("hidden", None, "mean plugged in", MeanContext(model), panel="Why the distribution matters"),
            Curve("hidden", None, "theory", policy=UCB(Kernel(noise=env.noise)), panel="Theorem 3"),
        ),
    )
