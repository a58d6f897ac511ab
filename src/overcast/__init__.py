"""Decide under a forecast: bandits whose context is known only as a distribution."""

from typing import TYPE_CHECKING

from overcast import _guesses, calibration, confidence, environments, events, features, kernels, models, policies
from overcast.adapters import as_belief, as_beliefs
from overcast.bandit import Bandit
from overcast.beliefs import (
    Belief,
    Ensemble,
    Frozen,
    Gaussian,
    Independent,
    Mixture,
    NoClosedForm,
    PointMass,
    Quantiles,
    Sampler,
    belief_from_json,
)
from overcast.calibration import Recalibrated
from overcast.client import AsyncClient, AsyncRemoteBandit, Client, Decided, RemoteBandit, ServiceError
from overcast.decisions.history import History
from overcast.decisions.record import Decision, Option
from overcast.events import replay
from overcast.explain.result import Explanation
from overcast.models import Estimate, KernelModel, LinearModel
from overcast.policies import (
    IDS,
    UCB,
    EpsilonGreedy,
    Greedy,
    Mixed,
    MostlyGreedy,
    PerturbedHistory,
    Proportional,
    Repeated,
    Thompson,
)
from overcast.simulation import Runs, simulate

__version__ = "0.1.0"

__all__ = [
    "IDS",
    "UCB",
    "AsyncClient",
    "AsyncRemoteBandit",
    "Bandit",
    "Belief",
    "Client",
    "Decided",
    "Decision",
    "Ensemble",
    "EpsilonGreedy",
    "Estimate",
    "Explanation",
    "Frozen",
    "Gaussian",
    "Greedy",
    "History",
    "Independent",
    "KernelModel",
    "LinearModel",
    "Mixed",
    "Mixture",
    "MostlyGreedy",
    "NoClosedForm",
    "Option",
    "PerturbedHistory",
    "PointMass",
    "Proportional",
    "Quantiles",
    "Recalibrated",
    "RemoteBandit",
    "Repeated",
    "Runs",
    "Sampler",
    "ServiceError",
    "Thompson",
    "as_belief",
    "as_beliefs",
    "belief_from_json",
    "calibration",
    "confidence",
    "environments",
    "events",
    "features",
    "kernels",
    "models",
    "policies",
    "replay",
    "simulate",
]


def __dir__() -> list[str]:
    """Return the public names alone; modules that no user needs are left out."""
    return [*__all__, "__version__"]


if not TYPE_CHECKING:  # a checker of types would take any name for one that is there

    def __getattr__(name):
        """Raise AttributeError that says what to write for a name from elsewhere."""
        parts = (features, kernels, models, policies, environments, confidence, calibration, events)
        raise _guesses.public(name, {part.__name__.rpartition(".")[2]: part for part in parts})
