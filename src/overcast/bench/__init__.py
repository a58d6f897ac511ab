"""Speed side by side: this package, the bare NumPy calls and other packages on the same rounds."""
