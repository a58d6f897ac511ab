"""Models: an estimate of every action's reward, with its uncertainty."""

from overcast.models.base import Estimate, Learner, Model, Progress
from overcast.models.linear import LinearModel

__all__ = ["Estimate", "Learner", "LinearModel", "Model", "Progress"]
