from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import scipy.stats
import xarray as xr

from overcast._check import Array
from overcast.adapters import as_belief, as_beliefs
from overcast.beliefs import Belief, Ensemble, Frozen, Gaussian, PointMass, Sampler
from support import refused


def _points(belief: Belief) -> Array:
    finite = belief.support()
    assert isinstance(belief, Ensemble)
    assert finite is not None
    return finite[0]


def test_a_belief_is_itself() -> None:
    belief = Gaussian([0.0], 1.0)
    assert as_belief(belief) is belief


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (3, [3.0]),
        (2.5, [2.5]),
        (np.float32(2.5), [2.5]),
        (np.array(4.0), [4.0]),
        ([1, 2], [1.0, 2.0]),
        ((1.0,), [1.0]),
        (range(3), [0.0, 1.0, 2.0]),
        (np.array([1, 2]), [1.0, 2.0]),
        (pd.Series({"warm": 21.0, "wet": 0.4}), [21.0, 0.4]),
        (pd.Series([1, 2.5], dtype=object), [1.0, 2.5]),
        (xr.DataArray([1.0, 2.0], dims=["feature"]), [1.0, 2.0]),
        (xr.DataArray(7.0), [7.0]),
        (xr.Dataset({"t": ("site", [1.0, 2.0]), "p": 5.0}), [1.0, 2.0, 5.0]),
    ],
)
def test_contexts_known_exactly(obj: object, expected: list[float]) -> None:
    belief = as_belief(obj)
    assert isinstance(belief, PointMass)
    np.testing.assert_array_equal(belief.mean(), expected)


@pytest.mark.parametrize(
    "obj",
    [
        [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]],
        np.array([[1, 2], [3, 4], [5, 6]]),
        pd.DataFrame({"warm": [1.0, 3.0, 5.0], "wet": [2, 4, 6]}),
        pd.DataFrame({"warm": [1.0, 3.0, 5.0], "wet": pd.array([2, 4, 6], dtype="Int64")}),
        xr.DataArray([[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]], dims=["feature", "number"]),
        xr.Dataset({"warm": ("member", [1.0, 3.0, 5.0]), "wet": ("member", [2.0, 4.0, 6.0])}),
    ],
    ids=["list", "array", "frame", "nullable frame", "data array", "data set"],
)
def test_members_of_an_ensemble(obj: object) -> None:
    np.testing.assert_array_equal(_points(as_belief(obj)), [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


@pytest.mark.parametrize("member", ["member", "number", "realization", "ensemble", "sample"])
def test_other_dimensions_are_flattened(member: str) -> None:
    values = np.arange(24.0).reshape(2, 3, 4)
    points = _points(as_belief(xr.DataArray(values, dims=["lat", member, "lon"])))
    np.testing.assert_array_equal(points, values.transpose(1, 0, 2).reshape(3, 8))


def test_variables_without_members_are_the_same_for_all() -> None:
    data = xr.Dataset({"warm": ("member", [1.0, 3.0]), "height": 7.0})
    np.testing.assert_array_equal(_points(as_belief(data)), [[1.0, 7.0], [3.0, 7.0]])


def test_a_lone_member_dimension_gives_one_coordinate() -> None:
    assert _points(as_belief(xr.DataArray([1.0, 2.0, 3.0], dims=["member"]))).shape == (3, 1)


@pytest.mark.parametrize(
    ("obj", "mean", "cov"),
    [
        (scipy.stats.norm(1.0, 2.0), [1.0], [[4.0]]),
        (scipy.stats.multivariate_normal([1.0, 2.0], [[2.0, 0.5], [0.5, 1.0]]), [1.0, 2.0], [[2.0, 0.5], [0.5, 1.0]]),
        (scipy.stats.multivariate_normal(3.0, 4.0), [3.0], [[4.0]]),
    ],
    ids=["norm", "multivariate", "multivariate of one"],
)
def test_normal_distributions(obj: object, mean: list[float], cov: list[list[float]]) -> None:
    belief = as_belief(obj)
    assert isinstance(belief, Gaussian)
    np.testing.assert_allclose(belief.mean(), mean)
    np.testing.assert_allclose(belief.cov(), cov)


def test_normal_random_variable_of_newer_scipy() -> None:
    if not hasattr(scipy.stats, "Normal"):
        pytest.skip("this SciPy has no random variables")
    belief = as_belief(scipy.stats.Normal(mu=1.0, sigma=2.0))
    assert isinstance(belief, Gaussian)
    assert (belief.mean()[0], belief.variance()[0]) == (1.0, 4.0)
    uniform = as_belief(scipy.stats.Uniform(a=0.0, b=6.0))
    assert isinstance(uniform, Frozen)
    assert uniform.variance()[0] == pytest.approx(3.0)


def test_other_distributions() -> None:
    belief = as_belief(scipy.stats.gamma(2.0))
    assert isinstance(belief, Frozen)
    assert belief.mean()[0] == pytest.approx(2.0)


def test_json() -> None:
    belief = as_belief({"type": "Gaussian", "mean": [1.0], "cov": 4.0})
    assert isinstance(belief, Gaussian)
    assert belief.variance()[0] == 4.0


@pytest.mark.parametrize(
    ("obj", "kind", "message"),
    [
        (
            None,
            TypeError,
            "as_belief: obj must be a belief, array, table, forecast, distribution or JSON object, got None",
        ),
        ("sunny", TypeError, "as_belief: obj must be a belief, array, table, forecast, distribution or JSON object"),
        (True, TypeError, "as_belief: obj must be a belief, array"),
        ({1.0, 2.0}, TypeError, "as_belief: obj must be a belief, array"),
        (scipy.sparse.eye_array(2), TypeError, "as_belief: obj must be a belief, array"),
        (["a", "b"], TypeError, "as_belief: obj must be real numbers"),
        ([PointMass(0.0)], TypeError, "got a sequence of beliefs; use Mixture or Independent"),
        (np.zeros((2, 3, 2)), ValueError, "as_belief: obj must have shape (c,) or (n, c), got (2, 3, 2)"),
        ([1.0, np.nan], ValueError, "PointMass: c must be finite, got nan at index 1"),
        ([[1.0, np.nan]], ValueError, "Ensemble: points must be finite, got nan at index (0, 1)"),
        ([[1.0], [2.0, 3.0]], ValueError, "as_belief: obj must be a rectangular array"),
        ({"centre": [0.0]}, TypeError, 'or have the "type" of a belief, got list [0.0] under'),
        (pd.Series([1.0, "wet"], dtype=object), TypeError, "PointMass: c must be real numbers"),
        (pd.DataFrame({"x": [1.0], "city": ["Bern"]}), TypeError, "as_belief: obj must have numeric columns, got"),
        (
            pd.DataFrame({"x": pd.array([1, None], dtype="Int64")}),
            ValueError,
            "Ensemble: points must be finite, got nan at index (1, 0)",
        ),
        (
            xr.DataArray(np.zeros((2, 3)), dims=["lat", "lon"]),
            ValueError,
            "a dimension of members, such as number, member, realization, realisation, got (lat, lon)",
        ),
        (
            xr.DataArray(np.zeros((2, 3)), dims=["member", "sample"]),
            ValueError,
            "one dimension of members, got member, sample",
        ),
        (xr.Dataset(), ValueError, "as_belief: obj must have variables, got none"),
        (scipy.stats.norm, TypeError, "Frozen: distribution must be frozen, such as norm(0, 1)"),
    ],
)
def test_refuses(obj: object, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=re.escape(message)) as caught:
        as_belief(obj)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("option", [{"model": "ETS"}, {"level": 0.8}, {"member_dim": "run"}])
@pytest.mark.parametrize(
    "obj",
    [
        Gaussian([0.0], 1.0),
        np.array([[1.0, 2.0]]),
        {"warm": 21.0},
        pd.DataFrame({"warm": [1.0], "wet": [2.0]}),
        pd.Series({"warm": 1.0}),
        scipy.stats.gamma(2.0),
    ],
    ids=lambda obj: type(obj).__name__,
)
def test_options_that_do_not_matter_are_refused(obj: object, option: dict[str, Any]) -> None:
    (name,) = option
    for read in (as_belief, as_beliefs):
        with refused(ValueError, "as_belief", f"{name} must be left out, as this {type(obj).__name__} "):
            read(obj, **option)


def test_an_option_may_matter_for_one_part_of_a_dictionary() -> None:
    bounds = pd.DataFrame({"lower": [1.0], "upper": [4.0]})
    belief = as_belief({"warm": bounds, "wet": scipy.stats.gamma(2.0), "dry": 1.0}, level=0.8)
    np.testing.assert_allclose(belief.quantile(0.1)[[0, 2]], [1.0, 1.0])


def test_a_density_estimate_is_a_sampler() -> None:
    kde = scipy.stats.gaussian_kde(np.random.default_rng(0).normal(size=(2, 50)))
    with refused(ValueError, "as_belief", "write oc.Sampler(lambda n, rng: kde.resample(n, seed=rng).T, dim=kde.d)"):
        as_belief(kde)
    sampler = Sampler(lambda n, rng: kde.resample(n, seed=rng).T, dim=kde.d)
    assert sampler.sample(3, np.random.default_rng(0)).shape == (3, 2)


def test_a_labelled_array_without_members() -> None:
    for dims in (("member", "site"), ("site", "number")):
        shape = tuple(0 if dim != "site" else 3 for dim in dims)
        with refused(ValueError, "as_belief", "at least one entry along each dimension"):
            as_belief(xr.DataArray(np.empty(shape), dims=dims))
