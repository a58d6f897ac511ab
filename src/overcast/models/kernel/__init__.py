"""The kernelised model of Algorithm 3, and the fit of its parameters."""
