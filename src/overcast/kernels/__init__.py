"""Kernels, and their mean embeddings under beliefs."""

from overcast.kernels.base import JointKernel, Kernel
from overcast.kernels.composite import Product, Scaled, Sum
from overcast.kernels.constant import Constant
from overcast.kernels.linear import Linear
from overcast.kernels.matern import Matern
from overcast.kernels.polynomial import Polynomial
from overcast.kernels.rbf import RBF

__all__ = [
    "RBF",
    "Constant",
    "JointKernel",
    "Kernel",
    "Linear",
    "Matern",
    "Polynomial",
    "Product",
    "Scaled",
    "Sum",
]
