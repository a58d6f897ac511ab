"""Features phi(x, c) and their expectations under a belief."""

from overcast.features.base import FeatureMap
from overcast.features.dense import Dense, Function
from overcast.features.design import Design, Row, View
from overcast.features.disjoint import Disjoint
from overcast.features.fourier import Fourier, QuadratureFourier
from overcast.features.linear import Bilinear, Linear
from overcast.features.nystrom import Nystrom
from overcast.features.polynomial import Polynomial, Quadratic
from overcast.features.separable import Separable

__all__ = [
    "Bilinear",
    "Dense",
    "Design",
    "Disjoint",
    "FeatureMap",
    "Fourier",
    "Function",
    "Linear",
    "Nystrom",
    "Polynomial",
    "Quadratic",
    "QuadratureFourier",
    "Row",
    "Separable",
    "View",
]
