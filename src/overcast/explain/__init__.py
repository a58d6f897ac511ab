"""Explanations: why a decision came out as it did, and what would have changed it."""

from overcast.explain.compute import Ask, explain
from overcast.explain.result import Change, Explanation

__all__ = ["Ask", "Change", "Explanation", "explain"]
