"""The linear model: one learner, made of a design and a fit."""

from overcast.models.linear.learner import LinearLearner
from overcast.models.linear.model import LinearModel

__all__ = ["LinearLearner", "LinearModel"]
