"""Decisions: their records, the latest of them as a history, and what forecasts were like."""

from overcast.decisions.history import History
from overcast.decisions.record import Decision, Option

__all__ = ["Decision", "History", "Option"]
