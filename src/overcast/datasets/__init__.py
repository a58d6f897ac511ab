"""The data of the paper's experiments, read from the user's folders or generated. The package contains no data."""
