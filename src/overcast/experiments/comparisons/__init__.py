"""Comparisons that the paper does not make: without tuning, of policies, and of forecasts."""
