"""Kernels, and their mean embeddings under beliefs."""

from overcast.kernels.base import AnyKernel, JointKernel, Kernel
from overcast.kernels.composite import JointScaled, JointSum, Product, Scaled, Sum
from overcast.kernels.constant import Constant
from overcast.kernels.polynomial import Linear, Polynomial
from overcast.kernels.rbf import RBF
from overcast.kernels.stationary import Matern

__all__ = [
    "RBF",
    "AnyKernel",
    "Constant",
    "JointKernel",
    "JointScaled",
    "JointSum",
    "Kernel",
    "Linear",
    "Matern",
    "Polynomial",
    "Product",
    "Scaled",
    "Sum",
]
