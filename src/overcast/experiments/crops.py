"""Figure 1c: crop varieties for seasons of which only a forecast is known."""

from __future__ import annotations

import numpy as np

from overcast.datasets.crops import CropData
from overcast.datasets.yield_model import YieldModel
from overcast.environments import CropTrials
from overcast.environments.crop_trials import BeliefKind
from overcast.experiments.experiment import Experiment
from overcast.models import LinearModel

#: seasons of a climatology
CLIMATE_YEARS = 30


def crops(data: CropData, model: YieldModel, belief: BeliefKind = "forecast") -> Experiment:
    """Return figure 1c at paper scale, with the appendix's beta = 1."""
    env = CropTrials(
        model.varieties,
        data.factors,
        model.loading,
        data.site_of_season,
        data.residuals if len(data.residuals) else [0.0],
        belief,
        data.climate(CLIMATE_YEARS) if belief == "climatology" else None,
    )
    rank = model.varieties.shape[1]
    deviation = float(np.std(env.noise_values))
    size = (
        f"{len(data.yields):,} yields of {len(data.varieties)} varieties at {len(data.sites)} sites, "
        f"{len(data.seasons)} seasons"
    )
    return Experiment(
        name="crops",
        title=("Generated crop trials" if data.generated else "Crop yields")
        + (f", {belief} belief" if belief != "forecast" else ""),
        data=f"generated ({size})" if data.generated else f"{data.source} ({size})",
        env=env,
        model=LinearModel(env.features, ridge=1.0),
        betas=dict.fromkeys(("exact", "observed", "hidden"), (1.0,)),
        figure="1c",
        found={
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
        ),
    )
