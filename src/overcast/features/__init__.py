"""Features phi(x, c) and their expectations under a belief."""

from overcast.features.base import FeatureMap, Separable
from overcast.features.bilinear import Bilinear
from overcast.features.disjoint import Disjoint
from overcast.features.function import Function
from overcast.features.linear import Linear
from overcast.features.polynomial import Polynomial
from overcast.features.quadratic import Quadratic

__all__ = ["Bilinear", "Disjoint", "FeatureMap", "Function", "Linear", "Polynomial", "Quadratic", "Separable"]
