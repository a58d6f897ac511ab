"""Beliefs: distributions over the context, held before acting."""

from overcast.beliefs.base import Belief, NoClosedForm
from overcast.beliefs.ensemble import Ensemble
from overcast.beliefs.gaussian import Gaussian
from overcast.beliefs.independent import Independent
from overcast.beliefs.mixture import Mixture
from overcast.beliefs.moved import Moved
from overcast.beliefs.point import PointMass
from overcast.beliefs.quantiles import Quantiles
from overcast.beliefs.sampler import Sampler
from overcast.beliefs.scipy_stats import Frozen
from overcast.beliefs.selected import Selected
from overcast.beliefs.serialise import belief_from_json

__all__ = [
    "Belief",
    "Ensemble",
    "Frozen",
    "Gaussian",
    "Independent",
    "Mixture",
    "Moved",
    "NoClosedForm",
    "PointMass",
    "Quantiles",
    "Sampler",
    "Selected",
    "belief_from_json",
]
