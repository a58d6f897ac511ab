"""The actions that a bandit may take."""

from overcast.spaces.actions import Actions
from overcast.spaces.base import Space

__all__ = ["Actions", "Space"]
