"""Distributions: stand-ins with the attributes of torch 2.15, NGBoost 0.5 and skpro 2.16; scipy itself.

`tests/adapters/real.py` checks the real ones, and NumPyro's and TensorFlow Probability's.
"""

from __future__ import annotations

import contextlib
import sys
import types
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats

import overcast as oc
from support import refused


def stand_in(module: str, name: str, **attributes: Any) -> Any:
    return type(name, (), {"__module__": module, **attributes})()


def torch_normal(mean: Any, sd: Any, event: int = 0) -> Any:
    mean, sd = np.broadcast_arrays(np.asarray(mean, dtype=np.float32), np.asarray(sd, dtype=np.float32))
    shape = mean.shape
    cut = len(shape) - event
    inner = stand_in(
        "torch.distributions.normal", "Normal", batch_shape=shape, event_shape=(), mean=mean, variance=sd**2
    )
    if not event:
        return inner
    parts = {
        "batch_shape": shape[:cut],
        "event_shape": shape[cut:],
        "base_dist": inner,
        "mean": mean,
        "variance": sd**2,
    }
    return stand_in("torch.distributions.independent", "Independent", **parts)


def test_normal_tensors() -> None:
    assert repr(oc.as_belief(torch_normal(1.0, 2.0))) == "Gaussian(mean=[1.0], cov=[4.0])"
    batch = torch_normal([1.0, 2.0], [1.0, 3.0])
    assert [repr(belief) for belief in oc.as_beliefs(batch)] == [
        "Gaussian(mean=[1.0], cov=[1.0])",
        "Gaussian(mean=[2.0], cov=[9.0])",
    ]
    with refused(ValueError, "as_belief", "got 2 distributions in one object", "Independent(distribution, 1)"):
        oc.as_belief(batch)
    assert (
        repr(oc.as_belief(torch_normal([1.0, 2.0], [1.0, 3.0], event=1))) == "Gaussian(mean=[1.0, 2.0], cov=[1.0, 9.0])"
    )
    assert len(oc.as_beliefs(torch_normal(np.zeros((4, 2)), 1.0, event=1))) == 4
    cov = np.array([[2.0, 0.5], [0.5, 1.0]])
    parts = {"batch_shape": (), "event_shape": (2,), "mean": np.array([1.0, 2.0]), "covariance_matrix": cov}
    np.testing.assert_array_equal(
        oc.as_belief(stand_in("torch.distributions.multivariate_normal", "MultivariateNormal", **parts)).cov(), cov
    )
    with refused(ValueError, "as_belief", "numbers or vectors, got draws of shape (2, 2)"):
        oc.as_belief(stand_in("torch.distributions.wishart", "Wishart", batch_shape=(), event_shape=(2, 2)))


def test_other_tensors_are_drawn_from_by_the_generator_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draws of a batch follow from the seed, and the package's own stream goes on where it was."""
    state = np.random.default_rng(1)

    @contextlib.contextmanager
    def fork(devices: list[Any]) -> Any:
        nonlocal state
        before = state
        yield
        state = before

    def seed(value: int) -> None:
        nonlocal state
        state = np.random.default_rng(value)

    fake: Any = types.ModuleType("torch")
    fake.random, fake.manual_seed = types.SimpleNamespace(fork_rng=fork), seed
    monkeypatch.setitem(sys.modules, "torch", fake)
    shape = np.array([2.0, 8.0])
    draw = {"sample": lambda _, n: state.gamma(shape, size=(*n, 2))}
    beliefs = oc.as_beliefs(stand_in("torch.distributions.gamma", "Gamma", batch_shape=(2,), event_shape=(), **draw))
    assert [type(belief) for belief in beliefs] == [oc.Sampler, oc.Sampler]
    first = beliefs[1].sample(5, np.random.default_rng(3))
    np.testing.assert_array_equal(first, beliefs[1].sample(5, np.random.default_rng(3)))
    assert beliefs[1].mean()[0] == pytest.approx(8.0, abs=5 * np.sqrt(8 / 10_000))  # five standard errors, fixed draws


def test_scipy_batches_are_forecasts_of_their_own() -> None:
    """NGBoost's .dist is such a batch: one entry for each row."""
    batch = scipy.stats.norm(loc=[1.0, 2.0], scale=[1.0, 3.0])
    assert [belief.variance()[0] for belief in oc.as_beliefs(batch)] == pytest.approx([1.0, 9.0])
    with refused(ValueError, "as_belief", "got 2 distributions in one object", "Gaussian(mean, sd=sd)"):
        oc.as_belief(batch)
    skewed = oc.as_beliefs(scipy.stats.lognorm(s=[0.5, 0.2], scale=np.array([1.0, 2.0])))
    assert [belief.mean()[0] for belief in skewed] == pytest.approx(
        [scipy.stats.lognorm(0.5, scale=1.0).mean(), scipy.stats.lognorm(0.2, scale=2.0).mean()]
    )
    with refused(ValueError, "as_belief", "got 2 distributions", "Independent"):
        oc.as_belief(scipy.stats.gamma([1.0, 2.0]))
    assert repr(oc.as_belief(scipy.stats.norm([1.0], [2.0]))) == "Gaussian(mean=[1.0], cov=[4.0])"


def test_ngboost() -> None:
    rows = stand_in("ngboost.distns.normal", "Normal", params={}, dist=scipy.stats.norm([1.0, 2.0], [1.0, 3.0]))
    assert [belief.variance()[0] for belief in oc.as_beliefs(rows)] == pytest.approx([1.0, 9.0])
    cov = np.stack([np.eye(2), 4.0 * np.eye(2)])
    both = stand_in("ngboost.distns.multivariate_normal", "MVN", params={}, loc=np.zeros((2, 2)), cov=cov)
    assert [belief.variance().tolist() for belief in oc.as_beliefs(both)] == [[1.0, 1.0], [4.0, 4.0]]
    with refused(ValueError, "as_belief", "a distribution of numbers, got NGBoost's Bernoulli"):
        oc.as_belief(stand_in("ngboost.distns.categorical", "Bernoulli", params={}))


class _Rows:
    """What skpro's distributions have, here with normal or Laplace coordinates."""

    def __init__(self, law: Any, shape: tuple[int, ...], columns: list[str]) -> None:
        self._law, self.shape, self.columns = law, shape, columns
        self.iloc = {(i,): self._row(i) for i in range(shape[0])} if len(shape) == 2 and shape[0] > 1 else _Same(self)

    def _row(self, i: int) -> Any:
        return type(self)(
            scipy.stats.norm(self._law.mean()[[i]], self._law.std()[[i]]), (1, self.shape[1]), self.columns
        )

    def mean(self) -> Any:
        return pd.DataFrame(np.atleast_2d(self._law.mean()))

    def var(self) -> Any:
        return pd.DataFrame(np.atleast_2d(self._law.var()))

    def quantile(self, levels: list[float]) -> Any:
        return pd.DataFrame(np.atleast_2d(self._law.ppf(levels)))


class _Same:
    def __init__(self, own: Any) -> None:
        self._own = own

    def __getitem__(self, _: Any) -> Any:
        return self._own


def test_skpro() -> None:
    base = type("BaseDistribution", (_Rows,), {"__module__": "skpro.distributions.base"})
    normal = type("Normal", (base,), {"__module__": "skpro.distributions.normal"})
    belief = oc.as_belief(normal(scipy.stats.norm([[1.0, 2.0]], [[1.0, 3.0]]), (1, 2), ["load", "wind"]))
    assert belief.names == ("load", "wind")
    assert belief.variance().tolist() == [1.0, 9.0]
    laplace = type("Laplace", (base,), {"__module__": "skpro.distributions.laplace"})
    other = oc.as_belief(laplace(scipy.stats.laplace(3.0, 1.0), (), []))
    assert isinstance(other, oc.Quantiles)
    assert np.sqrt(other.variance()[0]) == pytest.approx(np.sqrt(2.0), rel=0.02)
    empirical = type(
        "Empirical", (base,), {"__module__": "skpro.distributions.empirical", "weights": None, "spl": [[1.0], [5.0]]}
    )
    assert (
        repr(oc.as_belief(empirical(scipy.stats.norm([[0.0]], 1.0), (1, 1), ["load"]))) == "Ensemble(2 points, dim=1)"
    )
