"""The figures of the paper and that of its kernelised algorithm."""
