"""Figure 1b: movies for users of whom only the demographic group is known."""

from __future__ import annotations

from collections.abc import Sequence

from overcast.datasets.embedding import FACTORS, LIBRARY, Embedding
from overcast.datasets.movielens import MovieLensData
from overcast.environments.movielens import NOISE, MovieLens
from overcast.experiments.experiment import Experiment
from overcast.models import LinearModel


def movielens(data: MovieLensData, embedding: Embedding, noise_values: Sequence[float] = NOISE) -> Experiment:
    """Return figure 1b at paper scale, with the appendix's beta = 1."""
    env = MovieLens(embedding.users, embedding.movies, data.groups, noise_values)
    size = f"{len(data.groups):,} users in {len(set(data.groups))} groups, {len(data.titles):,} movies"
    return Experiment(
        name="movielens",
        title="Generated population, not MovieLens" if data.generated else "MovieLens",
        data=f"generated, not MovieLens ({size})" if data.generated else f"{data.source} ({size})",
        env=env,
        model=LinearModel(env.features, ridge=1.0),
        betas=dict.fromkeys(("exact", "observed", "hidden"), (1.0,)),
        trials=200,
        figure="1b",
        found={
            "generated": data.generated,
            "noise_values": list(noise_values),
            "embedding": {
                "library": LIBRARY,
                "factors": FACTORS,
                "ratings": len(data.stars),
                "rmse": float(embedding.rmse.mean()),
                "rmse_of_folds": embedding.rmse.tolist(),
            },
        },
        notes=(
            f"The embedding of {len(data.stars):,} ratings in {FACTORS} dimensions ({LIBRARY}) has an RMSE of "
            f"{embedding.rmse.mean():.3f} in {len(embedding.rmse)}-fold cross-validation.",
            f"Reward noise is one of {', '.join(f'{value:g}' for value in noise_values)}, dropped where it would leave "
            f"the scale from 0 to 5.",
        ),
    )
