"""Records of decisions, the history of the latest ones, and the climatology of forecasts."""

from overcast.decisions.history import History
from overcast.decisions.record import Decision, Option

__all__ = ["Decision", "History", "Option"]
