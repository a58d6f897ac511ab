"""Figure 1a: the synthetic example."""

from __future__ import annotations

from overcast.environments import Synthetic
from overcast.experiments.experiment import Experiment
from overcast.models import LinearModel


def synthetic() -> Experiment:
    """Return figure 1a at paper scale, with the appendix's beta: 2 for exact and observed, 10 for hidden."""
    env = Synthetic()
    return Experiment(
        name="synthetic",
        title="Synthetic example",
        data="generated from the seed",
        env=env,
        model=LinearModel(env.features, ridge=1.0),
        figure="1a",
        betas={"exact": (2.0,), "observed": (2.0,), "hidden": (10.0,)},
    )
