"""The data of the paper's experiments: read from the user's folders, or generated; none comes with the package."""
