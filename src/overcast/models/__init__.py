"""Models: estimates with their uncertainty."""

from overcast.models.base import Estimate, LastingLearner, Learner, Model, Parameters, Progress
from overcast.models.baselines import Exp4, FixedProfile, MeanContext, NoisyContext
from overcast.models.kernel.hyperparameters import Fitted, fit_hyperparameters
from overcast.models.kernel.model import KernelModel
from overcast.models.linear import LinearModel

__all__ = [
    "Estimate",
    "Exp4",
    "Fitted",
    "FixedProfile",
    "KernelModel",
    "LastingLearner",
    "Learner",
    "LinearModel",
    "MeanContext",
    "Model",
    "NoisyContext",
    "Parameters",
    "Progress",
    "fit_hyperparameters",
]
