"""Models: estimates with their uncertainty."""

from overcast.models.base import Estimate, LastingLearner, Learner, Model, Progress
from overcast.models.kernel import KernelModel
from overcast.models.linear import LinearModel

__all__ = ["Estimate", "KernelModel", "LastingLearner", "Learner", "LinearModel", "Model", "Progress"]
