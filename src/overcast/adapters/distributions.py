"""Distributions of torch, NumPyro, TensorFlow Probability, NGBoost, skpro and scipy as beliefs.

Normal distributions are converted exactly. A batch of distributions is one forecast per entry. None of these packages
is imported here.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import numpy as np

from overcast import _check
from overcast._check import Array
from overcast.adapters.forecasts import Forecasts, is_from, members, quantiles, refuse, single
from overcast.beliefs import Belief, Frozen, Gaussian, Sampler
from overcast.beliefs.scipy_stats import is_scipy

#: packages whose distributions have batch_shape, event_shape and sample
TENSORS = ("torch", "numpyro", "tensorflow_probability")
#: classes of univariate normal distributions in these packages
NORMAL = ("Normal",)
MULTIVARIATE = (
    *("MultivariateNormal", "LowRankMultivariateNormal", "MultivariateNormalTriL", "MultivariateNormalDiag"),
    *("MultivariateNormalFullCovariance",),
)
#: levels at which the inverse distribution function of skpro's distributions is taken
LEVELS = np.concatenate([[0.001, 0.005], np.arange(0.01, 0.995, 0.01), [0.995, 0.999]])


def forecasts(obj: Any) -> Forecasts | None:
    """Return the forecasts of a distribution, None for objects of unknown classes."""
    if is_scipy(obj):
        return _scipy(obj)
    if is_from(obj, "ngboost") and hasattr(obj, "params"):
        return _ngboost(obj)
    if is_from(obj, "skpro", "BaseDistribution") or is_from(obj, "sktime", "BaseDistribution"):
        return _skpro(obj)
    if any(is_from(obj, package) for package in TENSORS) and hasattr(obj, "batch_shape"):
        return _tensors(obj)
    return None


def _batch(n: int, make: Any, write: str) -> Forecasts:
    """Return the forecasts of a batch of n distributions."""
    return Forecasts(n, make, "distributions in one object", write)


def _scipy(obj: Any) -> Forecasts:
    """Return one forecast for each entry of a frozen scipy.stats distribution."""
    kind = type(obj).__name__
    if kind == "gaussian_kde":
        write = "write oc.Sampler(lambda n, rng: kde.resample(n, seed=rng).T, dim=kde.d)"
        raise refuse("obj must be a distribution with parameters", "gaussian_kde", write)
    if kind == "multivariate_normal_frozen":
        return single(Gaussian(obj.mean, obj.cov))
    if kind == "Normal" and hasattr(obj, "variance"):
        mean, sd = np.broadcast_arrays(obj.mean(), np.sqrt(obj.variance()))
        return _normals(mean, sd)
    if type(getattr(obj, "dist", None)).__name__ == "norm_gen":
        try:
            moments = obj.mean(), obj.std()
        except OverflowError:  # of whole numbers beyond all floating-point ones
            raise ValueError("as_belief: obj must have parameters in its domain, got others for norm") from None
        return _normals(*np.broadcast_arrays(*moments))
    if not hasattr(obj, "dist"):
        return single(Frozen(obj))
    arrays = [*obj.args, *obj.kwds.values()]
    shape = np.broadcast_shapes(*(np.shape(value) for value in arrays))
    n = int(np.prod(shape))
    if n == 1 and not shape:
        return single(Frozen(obj))
    rows = [np.broadcast_to(value, shape).ravel() for value in arrays]
    cut = len(obj.args)

    def make(i: int) -> Belief:
        values = [float(row[i]) for row in rows]
        return Frozen(obj.dist(*values[:cut], **dict(zip(obj.kwds, values[cut:], strict=True))))

    return _batch(n, make, "use as_beliefs for one each, or Independent for one context of several dimensions")


def _normals(mean: Any, sd: Any) -> Forecasts:
    centre, spread = np.ravel(np.asarray(mean, dtype=np.float64)), np.ravel(np.asarray(sd, dtype=np.float64))
    write = "use as_beliefs for one each, or Gaussian(mean, sd=sd) for one context of several dimensions"
    return _batch(len(centre), lambda i: Gaussian([centre[i]], sd=[spread[i]]), write)


def _ngboost(obj: Any) -> Forecasts:
    distribution = getattr(obj, "dist", None)
    if distribution is not None:
        return _scipy(distribution)
    if hasattr(obj, "cov") and np.ndim(obj.loc) == 2:
        cov = obj.cov() if callable(obj.cov) else obj.cov
        return _batch(len(obj.loc), lambda i: Gaussian(obj.loc[i], cov[i]), "use as_beliefs for one for each row")
    name = type(obj).__name__
    raise refuse(
        "obj must be a distribution of numbers",
        f"NGBoost's {name}",
        "give each class a number: Ensemble(values, probabilities)",
    )


def _skpro(obj: Any) -> Forecasts:
    """Return one forecast for each row: normal distributions and members exactly, others by their quantiles."""
    n = obj.shape[0] if obj.shape else 1
    names = [name for name in obj.columns if isinstance(name, str)] if obj.shape else []

    def make(i: int) -> Belief:
        row = obj.iloc[[i]] if obj.shape else obj
        belief = _skpro_row(row, type(obj).__name__)
        return belief.named(names) if len(names) == belief.dim else belief

    return _batch(n, make, "pick a row, obj.iloc[[0]], or use as_beliefs")


def _skpro_row(row: Any, kind: str) -> Belief:
    if kind == "Normal":
        mean, variance = (np.ravel(np.asarray(value, dtype=np.float64)) for value in (row.mean(), row.var()))
        return Gaussian(mean, variance)
    if kind == "Empirical" and row.weights is None:
        return members(np.asarray(row.spl, dtype=np.float64).reshape(len(row.spl), -1))
    c = row.shape[1] if row.shape else 1
    values = np.asarray(row.quantile(LEVELS.tolist()), dtype=np.float64).reshape(c, len(LEVELS))
    return quantiles(LEVELS, values.T)


def _tensors(obj: Any) -> Forecasts:
    batch, event = tuple(obj.batch_shape), tuple(obj.event_shape)
    if len(event) > 1:
        raise refuse(
            "obj must be a distribution of numbers or vectors", f"draws of shape {event}", "flatten its events"
        )
    n, dim = int(np.prod(batch, dtype=int)), int(np.prod(event, dtype=int))
    name, base = type(obj).__name__, obj
    while name in ("Independent", "ExpandedDistribution"):  # these only rearrange the axes of another distribution
        base = getattr(base, "base_dist", None) or base.distribution
        name = type(base).__name__
    write = "use as_beliefs for one each, or Independent(distribution, 1) for one context of several dimensions"
    if name in NORMAL:
        mean, variance = (_parameter(obj, key).reshape(n, dim) for key in ("mean", "variance"))
        return _batch(n, lambda i: Gaussian(mean[i], variance[i]), write)
    if name in MULTIVARIATE and base is obj:
        mean = _parameter(obj, "mean").reshape(n, dim)
        key = "covariance_matrix" if hasattr(obj, "covariance_matrix") else "covariance"
        cov = np.broadcast_to(_parameter(obj, key), (*batch, dim, dim)).reshape(n, dim, dim)
        return _batch(n, lambda i: Gaussian(mean[i], (cov[i] + cov[i].T) / 2.0), write)
    return _batch(n, lambda i: Sampler(partial(_draw, obj, i), dim), write)


def _parameter(obj: Any, key: str) -> Array:
    """Return an attribute, or the result of a method, as an array."""
    value = getattr(obj, key)
    value = value() if callable(value) else value
    return _array(value)


def _array(value: Any) -> Array:
    detached = value.detach().cpu() if hasattr(value, "detach") else value
    return np.asarray(detached, dtype=np.float64)


def _draw(obj: Any, i: int, n: int, rng: np.random.Generator) -> Array:
    """Return n draws of entry i of a batch, (n, c), which depend on the generator alone."""
    seed = int(rng.integers(2**31))
    if is_from(obj, "torch"):
        torch = sys.modules["torch"]
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            draws = _array(obj.sample((n,)))
    elif is_from(obj, "numpyro"):
        draws = _array(obj.sample(sys.modules["jax"].random.PRNGKey(seed), (n,)))
    else:
        on_jax = any(".substrates.jax" in base.__module__ for base in type(obj).__mro__)
        key: Any = sys.modules["jax"].random.PRNGKey(seed) if on_jax else [seed, 0]
        draws = _array(obj.sample(n, seed=key))
    dim = _check.integer("as_belief", "event_shape", int(np.prod(tuple(obj.event_shape), dtype=int)))
    return draws.reshape(n, -1, dim)[:, i]
