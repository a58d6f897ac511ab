"""Spaces: the sets of actions that a bandit chooses from."""

from overcast.spaces.actions import Actions
from overcast.spaces.base import Space

__all__ = ["Actions", "Space"]
