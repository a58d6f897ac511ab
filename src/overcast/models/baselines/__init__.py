"""Models to compare with: shortcuts past the distribution, and the related work."""

from overcast.models.baselines.exp4 import Exp4
from overcast.models.baselines.fixed_profile import FixedProfile
from overcast.models.baselines.mean_context import MeanContext
from overcast.models.baselines.noisy_context import NoisyContext

__all__ = ["Exp4", "FixedProfile", "MeanContext", "NoisyContext"]
