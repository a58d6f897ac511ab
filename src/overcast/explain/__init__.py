"""Explanations of decisions: why an action was chosen, and what would change the choice."""

from overcast.explain.compute import Ask, explain
from overcast.explain.result import Change, Explanation

__all__ = ["Ask", "Change", "Explanation", "explain"]
