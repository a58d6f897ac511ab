"""Simulation of policies in environments, and their regret."""

from overcast.simulation.batch import Setting
from overcast.simulation.record import Record
from overcast.simulation.runner import simulate
from overcast.simulation.runs import Runs

__all__ = ["Record", "Runs", "Setting", "simulate"]
