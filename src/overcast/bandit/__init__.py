"""The bandit: decide under a belief, learn from the reward."""

from overcast.bandit.bandit import Bandit, Learnt

__all__ = ["Bandit", "Learnt"]
