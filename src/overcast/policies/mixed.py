"""Policies with a share of uniform choices, so that their logs can be evaluated."""

from __future__ import annotations

from dataclasses import dataclass

from overcast import _check
from overcast._check import Array
from overcast.beliefs.base import Generators
from overcast.confidence import Confidence
from overcast.models.base import Progress
from overcast.policies.base import Policy
from overcast.policies.outlook import Outlook


@dataclass(frozen=True)
class Mixed(Policy):
    """Take any available action, each equally likely, with probability `share`, else what a policy chooses.

    Every available action is then taken with probability share / m or more, if m are available. Evaluation from logs
    needs that. `Decision.probability` is share / m + (1 - share) p, where p is the policy's own probability, and is
    known if p is. For `Thompson` and policies under `samples=`, write Mixed(Repeated(policy, n), share).

    Parameters
    ----------
    policy : any policy that is not mixed itself
    share : of uniform choices, above 0 and at most 1

    Examples
    --------
    >>> import overcast as oc
    >>> policy = Mixed(oc.UCB(), 0.1)
    >>> bandit = oc.Bandit(["a", "b"], oc.LinearModel(oc.features.Disjoint(2)), policy)
    >>> round(bandit.decide([1.0]).probability, 2)
    0.95
    """

    policy: Policy
    share: float

    def __post_init__(self) -> None:
        if getattr(self.policy, "uniform", 1.0):  # no policy at all, or a mixed one
            raise TypeError(f"Mixed: policy must be a policy that is not mixed, got {_check.short(self.policy)}")
        object.__setattr__(self, "share", _check.number("Mixed", "share", self.share, above=0.0, at_most=1.0))

    @property
    def uniform(self) -> float:  # type: ignore[override]
        return self.share

    @property
    def repeats(self) -> int:  # type: ignore[override]
        return self.policy.repeats

    @property
    def random(self) -> bool:  # type: ignore[override]
        """Whether the policy's own choice draws random numbers."""
        return self.policy.random

    @property
    def additive(self) -> bool:  # type: ignore[override]
        return self.policy.additive

    @property
    def confidence(self) -> Confidence | None:
        return self.policy.confidence

    def scores(self, outlook: Outlook, progress: Progress, rng: Generators) -> Array:
        """Return the scores of the policy; the round mixes."""
        return self.policy.scores(outlook, progress, rng)

    def probability(self, outlook: Outlook, progress: Progress, index: int) -> float | None:
        """Return the probability of the policy's own choice; the round mixes."""
        return self.policy.probability(outlook, progress, index)
