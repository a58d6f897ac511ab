"""Conformance checks for custom beliefs, feature maps, kernels, models, policies and environments.

Each check is a plain function that raises AssertionError with the class, what it must do and what it did. Draws come
from fixed seeds, so a check that passes once passes always. Comparisons of draws with stated moments allow six standard
errors: a correct class fails with probability of about 1e-8 per number, as long as averages are close to normal (a
belief should not hide much of its variance in outcomes rarer than one in a thousand).
"""

from overcast.testing.beliefs import check_belief
from overcast.testing.environments import check_environment
from overcast.testing.features import check_features
from overcast.testing.kernels import check_kernel
from overcast.testing.models import check_model
from overcast.testing.policies import check_policy

__all__ = ["check_belief", "check_environment", "check_features", "check_kernel", "check_model", "check_policy"]
