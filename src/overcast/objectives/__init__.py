"""Objectives: functions of the possible rewards that decisions maximise."""

from overcast.objectives.base import Mean, Objective

__all__ = ["Mean", "Objective"]
