"""Policies: rules that turn estimates into a choice."""

from overcast.policies.base import Policy
from overcast.policies.proportional import Proportional
from overcast.policies.ucb import UCB

__all__ = ["UCB", "Policy", "Proportional"]
