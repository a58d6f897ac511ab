"""The base of policies with a confidence width."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np

from overcast import _check
from overcast._check import Array
from overcast.confidence import Confidence
from overcast.models.base import Progress
from overcast.policies.base import Policy
from overcast.policies.outlook import Outlook

# The growth of the default beta for actions tried less than their share, the part of it that diverse contexts remove,
# and the diversity that is assumed if it is unknown.
GROWTH, OFFSET, UNKNOWN = 0.75, 0.8, 0.5

Beta = float | Callable[[int], float] | Confidence | None


class WithBeta(Policy):
    """A policy with beta: a number, a function of the round, the paper's beta_t, or None.

    Subclasses are frozen dataclasses.

    None means beta^2 = 1 + g s^2 log(max(1, width^2 / even)): β starts at 1 and grows for actions that have been tried
    less than their share. `even` is the squared width if rewards were spread evenly (`Outlook.even_variance`), so an
    action whose width stays large is tried again in time. s = 1 - gamma / t is the share of the noise variance in the
    residuals (`Outlook.residual_share`): it is near 0 while every reward determines one more parameter. The growth is
    g = GROWTH (1 - OFFSET q) with q the diversity of contexts (`Outlook.diversity`): where contexts differ, decisions
    differ, and all actions are learnt without exploration (Bastani, Bayati & Khosravi, 2021). This default is for
    models that learn their own scale, whose widths are standard deviations. For other models, None means 2.
    """

    beta: Beta

    @property
    def confidence(self) -> Confidence | None:
        return self.beta if isinstance(self.beta, Confidence) else None

    def __post_init__(self) -> None:
        name = type(self).__name__
        if isinstance(self.beta, type):
            raise TypeError(f"{name}: beta must be an instance such as {self.beta.__name__}(), got the class itself")
        if not (self.beta is None or isinstance(self.beta, Confidence) or callable(self.beta)):
            object.__setattr__(self, "beta", _check.number(name, "beta", self.beta, at_least=0.0))

    def __repr__(self) -> str:
        """Show the parameters that are not None."""
        parameters = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]  # see above
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in parameters.items() if v is not None)})"

    def beta_at(self, outlook: Outlook, progress: Progress) -> float | Array:
        """Compute beta_t: a number, or an array (..., k) or (..., 1)."""
        if isinstance(self.beta, float):
            return self.beta
        if self.beta is None:
            return _default_beta(outlook)
        if isinstance(self.beta, Confidence):
            return np.asarray(self.beta.beta(progress))[..., None]
        t = int(progress.round)
        return _check.number(type(self).__name__, f"beta({t})", self.beta(t), at_least=0.0)

    def half_interval(self, outlook: Outlook, progress: Progress) -> Array:
        """Compute half the confidence interval of each action, beta_t times the width, (..., k)."""
        return self.beta_at(outlook, progress) * outlook.width


def _default_beta(outlook: Outlook) -> float | Array:
    """Compute the default beta of each action, (..., k); 2 for models that do not learn their scale."""
    share, even = outlook.residual_share, outlook.even_variance
    if share is None or even is None:
        return 2.0
    diversity = outlook.diversity
    growth: Any = GROWTH * (1.0 - OFFSET * (UNKNOWN if diversity is None else diversity))
    if not isinstance(share, float):
        share, even, growth = share[..., None], np.asarray(even)[..., None], np.asarray(growth)[..., None]
    beta = outlook.width * outlook.width  # in place from here on, since every round runs this
    beta /= even
    np.maximum(beta, 1.0, out=beta)
    np.log(beta, out=beta)
    beta *= growth * share * share
    beta += 1.0
    return np.sqrt(beta, out=beta)
