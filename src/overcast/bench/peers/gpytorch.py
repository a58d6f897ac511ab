"""GPyTorch: an exact Gaussian process in double precision, with one more observation per round."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from overcast.bench.race import Entry, Racer
from overcast.bench.tasks import BETA, LENGTH, NOISE


class Exact(Racer):
    def start(self) -> None:
        gpytorch, torch = import_module("gpytorch"), import_module("torch")
        torch.set_num_threads(1)
        indices, contexts, rewards = self.task.first()
        points = torch.from_numpy(np.hstack([self.task.actions[indices], contexts]))

        def forward(model: Any, x: Any) -> Any:
            return gpytorch.distributions.MultivariateNormal(model.mean_module(x), model.covar_module(x))

        process = type("Process", (gpytorch.models.ExactGP,), {"forward": forward})
        likelihood = gpytorch.likelihoods.GaussianLikelihood()
        self._torch, self._settings = torch, gpytorch.settings
        self._x, self._y = points, torch.from_numpy(rewards)
        self._model = process(self._x, self._y, likelihood)
        self._model.mean_module, self._model.covar_module = gpytorch.means.ZeroMean(), gpytorch.kernels.RBFKernel()
        self._model.double()
        self._model.covar_module.lengthscale, likelihood.noise = LENGTH, NOISE
        self._model.eval()
        likelihood.eval()

    def step(self, t: int) -> int:
        points = self._torch.from_numpy(self.task.psi(t))
        with self._torch.no_grad(), self._settings.fast_computations(False, False, False):
            posterior = self._model(points)
            i = int((posterior.mean + BETA * posterior.variance.sqrt()).argmax())
            self._x = self._torch.cat([self._x, points[i : i + 1]])
            self._y = self._torch.cat([self._y, self._torch.tensor([self.task.rewards[t, i]])])
            self._model.set_train_data(self._x, self._y, strict=False)
        return i


ENTRIES = [Entry("gpytorch", "gpytorch", "UCB", ("curved",), Exact)]
