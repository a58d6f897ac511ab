"""Experiments: an engine that runs them, the figures of the paper, and comparisons beyond it."""
