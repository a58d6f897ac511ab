"""Models: estimates with their uncertainty."""

from overcast.models.base import Estimate, LastingLearner, Learner, Model, Outlook, Progress
from overcast.models.exp4 import Exp4
from overcast.models.fixed_profile import FixedProfile
from overcast.models.hyperparameters import Fit, fit_hyperparameters
from overcast.models.kernel import KernelModel
from overcast.models.linear import LinearModel
from overcast.models.mean_context import MeanContext
from overcast.models.noisy_context import NoisyContext

__all__ = [
    "Estimate",
    "Exp4",
    "Fit",
    "FixedProfile",
    "KernelModel",
    "LastingLearner",
    "Learner",
    "LinearModel",
    "MeanContext",
    "Model",
    "NoisyContext",
    "Outlook",
    "Progress",
    "fit_hyperparameters",
]
