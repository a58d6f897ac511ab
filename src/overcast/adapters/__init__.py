"""Forecasts of other tools as beliefs, by duck typing: nothing that is adapted is imported."""

from overcast.adapters.convert import as_belief, as_beliefs

__all__ = ["as_belief", "as_beliefs"]
