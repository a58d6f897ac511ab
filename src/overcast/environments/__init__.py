"""Environments to simulate in."""

from overcast.environments.adversarial import Adversarial
from overcast.environments.base import Environment, Round, Rounds, Trial, Trials, VectorEnvironment
from overcast.environments.coin_flip import CoinFlip
from overcast.environments.crop_trials import CropTrials
from overcast.environments.drifting import Drifting
from overcast.environments.gym import as_gym, from_gym
from overcast.environments.movielens import MovieLens
from overcast.environments.rkhs import RKHS
from overcast.environments.synthetic import Synthetic

__all__ = [
    "RKHS",
    "Adversarial",
    "CoinFlip",
    "CropTrials",
    "Drifting",
    "Environment",
    "MovieLens",
    "Round",
    "Rounds",
    "Synthetic",
    "Trial",
    "Trials",
    "VectorEnvironment",
    "as_gym",
    "from_gym",
]
