"""Policies: rules that choose an action from estimates and their uncertainty."""

from overcast.policies.base import Policy
from overcast.policies.epsilon_greedy import EpsilonGreedy
from overcast.policies.greedy import Greedy
from overcast.policies.ids import IDS
from overcast.policies.mixed import Mixed
from overcast.policies.mostly_greedy import MostlyGreedy
from overcast.policies.outlook import Outlook
from overcast.policies.perturbed_history import PerturbedHistory
from overcast.policies.proportional import Proportional
from overcast.policies.repeated import Repeated
from overcast.policies.thompson import Thompson
from overcast.policies.ucb import UCB

__all__ = [
    "IDS",
    "UCB",
    "EpsilonGreedy",
    "Greedy",
    "Mixed",
    "MostlyGreedy",
    "Outlook",
    "PerturbedHistory",
    "Policy",
    "Proportional",
    "Repeated",
    "Thompson",
]
