"""Decide under a forecast: bandits whose context is known only as a distribution."""

from overcast import calibration, confidence, environments, features, kernels, models
from overcast.bandit import Bandit
from overcast.beliefs import (
    Belief,
    Ensemble,
    Frozen,
    Gaussian,
    Independent,
    Mixture,
    NoClosedForm,
    PointMass,
    Quantiles,
    Sampler,
    as_belief,
    belief_from_json,
)
from overcast.calibration import Recalibrated
from overcast.decision import Decision, Option
from overcast.models import Estimate, KernelModel, LinearModel
from overcast.policies import UCB
from overcast.simulation import Runs, simulate

__version__ = "0.1.0"

__all__ = [
    "UCB",
    "Bandit",
    "Belief",
    "Decision",
    "Ensemble",
    "Estimate",
    "Frozen",
    "Gaussian",
    "Independent",
    "KernelModel",
    "LinearModel",
    "Mixture",
    "NoClosedForm",
    "Option",
    "PointMass",
    "Quantiles",
    "Recalibrated",
    "Runs",
    "Sampler",
    "as_belief",
    "belief_from_json",
    "calibration",
    "confidence",
    "environments",
    "features",
    "kernels",
    "models",
    "simulate",
]
