"""Algorithm 3 on rewards from the Hilbert space of a kernel."""

from __future__ import annotations

from overcast.confidence import Kernel
from overcast.environments import RKHS
from overcast.experiments.experiment import CURVES, Curve, Experiment
from overcast.features import Fourier
from overcast.models import KernelModel, LinearModel, MeanContext
from overcast.policies import UCB


def kernel() -> Experiment:
    """Return the kernelised bandit: the seven curves, its Fourier approximation, the shortcut, and Theorem 3.

    No figure of the paper shows this experiment. beta = 0.3 does well in all settings; a grid tunes it.
    """
    env = RKHS()
    model = KernelModel(env.kernel, ridge=1.0)
    return Experiment(
        name="kernel",
        title="Kernelised bandit",
        data="generated from the seed",
        env=env,
        model=model,
        betas=dict.fromkeys(("exact", "observed", "hidden"), (0.3,)),
        trials=50,
        steps=500,
        curves=(
            *CURVES,
            Curve("hidden", None, "Fourier", LinearModel(Fourier(env.kernel, 300), ridge=1.0)),
            Curve("hidden", None, "mean plugged in", MeanContext(model), panel="Why the distribution matters"),
            Curve("hidden", None, "theory", policy=UCB(Kernel(noise=env.noise)), panel="Theorem 3"),
        ),
    )
