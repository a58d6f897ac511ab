"""Features phi(x, c) and their expectations under a belief."""

from overcast.features.base import FeatureMap, FeaturesAt, Separable
from overcast.features.bilinear import Bilinear
from overcast.features.disjoint import Disjoint
from overcast.features.fourier import Fourier
from overcast.features.function import Function
from overcast.features.linear import Linear
from overcast.features.nystrom import Nystrom
from overcast.features.polynomial import Polynomial
from overcast.features.quadratic import Quadratic
from overcast.features.quadrature import QuadratureFourier

__all__ = [
    "Bilinear",
    "Disjoint",
    "FeatureMap",
    "FeaturesAt",
    "Fourier",
    "Function",
    "Linear",
    "Nystrom",
    "Polynomial",
    "Quadratic",
    "QuadratureFourier",
    "Separable",
]
