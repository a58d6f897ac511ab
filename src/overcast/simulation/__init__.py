"""Simulation: a policy in an environment, and what it cost."""

from overcast.simulation.runner import simulate
from overcast.simulation.runs import Runs

__all__ = ["Runs", "simulate"]
