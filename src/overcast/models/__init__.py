"""Models: estimates with their uncertainty."""

from overcast.models.base import Estimate, LastingLearner, Learner, Model, Outlook, Progress
from overcast.models.hyperparameters import Fit, fit_hyperparameters
from overcast.models.kernel import KernelModel
from overcast.models.linear import LinearModel
from overcast.models.mean_context import MeanContext

__all__ = [
    "Estimate",
    "Fit",
    "KernelModel",
    "LastingLearner",
    "Learner",
    "LinearModel",
    "MeanContext",
    "Model",
    "Outlook",
    "Progress",
    "fit_hyperparameters",
]
