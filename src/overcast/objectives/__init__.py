"""Objectives: the values that decisions maximise."""

from overcast.objectives.base import Mean, Objective

__all__ = ["Mean", "Objective"]
