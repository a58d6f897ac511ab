"""BoTorch: a Gaussian process that is conditioned on one observation per round, and its upper confidence bound."""

from __future__ import annotations

from importlib import import_module

import numpy as np

from overcast.bench.race import Entry, Racer
from overcast.bench.tasks import BETA, LENGTH, NOISE


class Conditioned(Racer):
    def start(self) -> None:
        gpytorch, torch = import_module("gpytorch"), import_module("torch")
        torch.set_num_threads(1)
        indices, contexts, rewards = self.task.first()
        x = torch.from_numpy(np.hstack([self.task.actions[indices], contexts]))
        kernel = gpytorch.kernels.RBFKernel()
        kernel.lengthscale = LENGTH
        y, noise = torch.from_numpy(rewards)[:, None], torch.full((len(rewards), 1), NOISE, dtype=torch.double)
        options = {"covar_module": kernel, "mean_module": gpytorch.means.ZeroMean(), "outcome_transform": None}
        self._model = import_module("botorch.models").SingleTaskGP(x, y, noise, **options).double().eval()
        self._torch, self._bound = torch, import_module("botorch.acquisition").UpperConfidenceBound
        self._model.posterior(x)  # it must be evaluated before it can be conditioned

    def step(self, t: int) -> int:
        torch = self._torch
        with torch.no_grad():
            points = torch.from_numpy(self.task.psi(t))
            i = int(self._bound(self._model, beta=BETA**2)(points[:, None]).argmax())
            y = torch.tensor([[self.task.rewards[t, i]]])
            noise = torch.full((1, 1), NOISE, dtype=torch.double)
            self._model = self._model.condition_on_observations(points[i : i + 1], y, noise=noise)
        return i


ENTRIES = [Entry("botorch", "botorch", "UCB", ("curved",), Conditioned)]
