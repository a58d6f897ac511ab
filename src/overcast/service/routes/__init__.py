"""One module per group of routes, each with its list of operations."""
