"""Beliefs from their JSON form."""

from __future__ import annotations

from overcast import _check
from overcast.beliefs.base import Belief
from overcast.beliefs.ensemble import Ensemble
from overcast.beliefs.gaussian import Gaussian
from overcast.beliefs.independent import Independent
from overcast.beliefs.mixture import Mixture
from overcast.beliefs.moved import Moved
from overcast.beliefs.point import PointMass
from overcast.beliefs.quantiles import Quantiles
from overcast.beliefs.sampler import Sampler
from overcast.beliefs.scipy_stats import Frozen

_BELIEFS: dict[str, type[Belief]] = {
    "PointMass": PointMass,
    "Gaussian": Gaussian,
    "Ensemble": Ensemble,
    "Mixture": Mixture,
    "Independent": Independent,
    "Quantiles": Quantiles,
    "Sampler": Sampler,
    "Frozen": Frozen,
    "Moved": Moved,
}


def belief_from_json(data: object) -> Belief:
    """Return the belief that `to_json` wrote.

    Parameters
    ----------
    data : object with the class name under "type" and that class's parameters

    Examples
    --------
    >>> belief_from_json({"type": "Gaussian", "mean": [21.0], "cov": [4.0]})
    Gaussian(mean=[21.0], cov=[4.0])
    """
    if not isinstance(data, dict):
        raise ValueError(f"belief_from_json: belief must be an object with a type, got {_check.short(data)}")
    if "type" not in data:
        raise ValueError('belief_from_json: belief must have a "type", such as "Gaussian", got none')
    kind = data["type"]
    if not isinstance(kind, str) or kind not in _BELIEFS:
        known = ", ".join(_BELIEFS)
        raise ValueError(f"belief_from_json: type must be one of {known}, got {_check.short(kind)}")
    return _BELIEFS[kind].from_json(data)
