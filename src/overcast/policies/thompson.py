"""Posterior sampling."""

from __future__ import annotations

from dataclasses import dataclass

from overcast import _check
from overcast._check import Array
from overcast.beliefs.base import Generators
from overcast.models.base import Progress
from overcast.policies.base import Policy
from overcast.policies.outlook import Outlook


@dataclass(frozen=True)
class Thompson(Policy):
    """Draw theta ~ N(theta-hat, scale^2 V^-1) and take the action with the highest psi^T theta.

    With a kernel, the policy draws f from the Gaussian process. It takes each action with the probability that it is
    the best, if rewards have normal noise of standard deviation `scale` and theta the prior N(0, scale^2 / lambda I).
    Thompson (1933); linear models: Agrawal & Goyal (2013), whose regret bound needs a scale of order sqrt(d log t),
    and Abeille & Lazaric (2017).

    Parameters
    ----------
    scale : multiplies the widths. Take 1 if the model knows the noise of rewards. If it assumes a noise of one, as with
        a given ridge, take the standard deviation of the noise in the unit of the rewards

    Examples
    --------
    >>> Thompson(scale=0.5)
    Thompson(scale=0.5)
    """

    scale: float = 1.0

    lockstep = True
    additive = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", _check.number("Thompson", "scale", self.scale, at_least=0.0))

    def scores(self, outlook: Outlook, progress: Progress, rng: Generators) -> Array:
        return outlook.drawn(self.scale, rng)
