"""Run experiments in parts, keep finished parts, and put the results together."""
