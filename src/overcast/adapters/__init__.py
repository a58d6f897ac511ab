"""Forecasts of other tools as beliefs, by duck typing: nothing that is adapted is imported."""

from overcast.adapters.convert import as_belief, as_beliefs, known_to

__all__ = ["as_belief", "as_beliefs", "known_to"]
