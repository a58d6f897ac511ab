"""Posterior sampling."""

from __future__ import annotations

from dataclasses import dataclass

from overcast import _check
from overcast._check import Array
from overcast.models.base import Generators, Outlook, Progress
from overcast.policies.base import Policy


@dataclass(frozen=True)
class Thompson(Policy):
    """Draw theta ~ N(theta-hat, scale^2 V^-1) and take the action with the highest psi^T theta.

    With a kernel, f is drawn from the Gaussian process. Each action is taken as often as it is likely to be the best,
    when rewards have normal noise of standard deviation `scale` and theta the prior N(0, scale^2 / lambda I).
    Thompson (1933); linear models: Agrawal & Goyal (2013), whose regret bound asks for a scale of order sqrt(d log t),
    and Abeille & Lazaric (2017).

    Parameters
    ----------
    scale : multiplies the widths: 1 where the model knows the noise of rewards, and where it takes it for one, as with
        a given ridge, its standard deviation in the unit of the rewards

    Examples
    --------
    >>> Thompson(scale=0.5)
    Thompson(scale=0.5)
    """

    scale: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", _check.number("Thompson", "scale", self.scale, at_least=0.0))

    def scores(self, outlook: Outlook, progress: Progress, rng: Generators) -> Array:
        return outlook.mean + self.scale * outlook.draw(rng)
