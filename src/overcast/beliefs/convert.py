"""Turn arrays, tables, labelled arrays, scipy distributions and JSON into beliefs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from overcast import _check
from overcast.beliefs.base import Belief
from overcast.beliefs.ensemble import Ensemble
from overcast.beliefs.gaussian import Gaussian
from overcast.beliefs.independent import Independent
from overcast.beliefs.point import PointMass
from overcast.beliefs.scipy_stats import Frozen, is_scipy
from overcast.beliefs.serialise import belief_from_json

# Names that forecast archives give to the axis of ensemble members.
MEMBER_DIMS = ("member", "number", "realization", "ensemble", "sample")


def as_belief(obj: Any) -> Belief:
    """Return `obj` as a belief about the context.

    Parameters
    ----------
    obj : one of
        a belief: itself;
        a number or (c,) sequence, a pandas Series: a context known exactly;
        an (n, c) array, a pandas DataFrame: an ensemble with one member per row, columns taken by position;
        an xarray DataArray or Dataset: an ensemble along the dimension named member, number, realization,
        ensemble or sample, the other dimensions flattened into the context;
        a frozen scipy.stats distribution; a dictionary from names of dimensions to numbers, or to beliefs of dimension
        one, which are independent; or a dictionary in the form of `to_json`

    Examples
    --------
    >>> as_belief([21.0, 0.4])
    PointMass([21.0, 0.4])
    >>> as_belief([[19.0, 0.1], [23.0, 0.3], [22.0, 0.2]])
    Ensemble(3 points, dim=2)
    """
    if isinstance(obj, Belief):
        return obj
    if isinstance(obj, (np.ndarray, list, tuple)):
        return _from_array(obj)
    if isinstance(obj, dict):
        return belief_from_json(obj) if "type" in obj or not obj else _from_mapping(obj)
    if _is_from(obj, "pandas", "Series"):
        return _called(PointMass(obj.tolist() if obj.dtype.kind == "O" else obj.to_numpy()), obj.index)
    if _is_from(obj, "pandas", "DataFrame"):
        return _called(Ensemble(_check.table("as_belief", "obj", obj)), obj.columns)
    if _is_from(obj, "xarray", "DataArray"):
        return _from_labelled([obj])
    if _is_from(obj, "xarray", "Dataset"):
        return _from_labelled(list(obj.data_vars.values()))
    if is_scipy(obj):
        return _from_scipy(obj)
    return _from_array(obj)


def _is_from(obj: object, package: str, name: str) -> bool:
    """Return whether `obj` is of that class; the package need not be installed."""
    return any(base.__name__ == name and base.__module__.split(".")[0] == package for base in type(obj).__mro__)


def _from_array(obj: Any) -> Belief:
    is_number = isinstance(obj, (int, float)) and not isinstance(obj, bool)
    is_sequence = isinstance(obj, Sequence) and not isinstance(obj, (str, bytes))
    if not (is_number or is_sequence or hasattr(obj, "__array__")):
        expected = "a belief, array, table, scipy distribution or JSON object"
        raise TypeError(f"as_belief: obj must be {expected}, got {_check.short(obj)}")
    if is_sequence and any(isinstance(item, Belief) for item in obj):
        raise TypeError("as_belief: obj must be one belief, got a sequence of beliefs; use Mixture or Independent")
    array = _check.floats("as_belief", "obj", obj)
    if array.ndim > 2:
        raise ValueError(f"as_belief: obj must have shape (c,) or (n, c), got {array.shape}")
    return Ensemble(array) if array.ndim == 2 else PointMass(array)


def _called(belief: Belief, names: Iterable[Any]) -> Belief:
    """Return the belief with these names, if all are strings."""
    found = list(names)
    return belief.named(found) if all(isinstance(name, str) for name in found) else belief


def _from_mapping(obj: dict[Any, Any]) -> Belief:
    """Return the belief of numbers or beliefs by the names of their dimensions."""
    names, parts = _check.distinct_names("as_belief", "obj", obj), []
    for name, value in obj.items():
        if not isinstance(value, Belief) and np.ndim(value):
            must = 'map names to numbers or beliefs, or have the "type" of a belief'
            raise TypeError(f"as_belief: obj must {must}, got {_check.short(value)} under {name!r}")
        parts.append(as_belief(value))
    if all(isinstance(part, PointMass) for part in parts):
        return PointMass(np.concatenate([part.mean() for part in parts])).named(names)
    return Independent([part.named(name) for name, part in zip(names, parts, strict=True)])


def _from_labelled(variables: list[Any]) -> Belief:
    """Return the belief of xarray variables, side by side."""
    dims = list(dict.fromkeys(str(dim) for variable in variables for dim in variable.dims))
    members = [dim for dim in dims if dim in MEMBER_DIMS]
    if not variables or len(members) > 1 or (not members and len(dims) > 1):
        known = ", ".join(MEMBER_DIMS)
        raise ValueError(f"as_belief: obj must have one dimension among {known}, got ({', '.join(dims)})")
    if not members:
        return PointMass(np.concatenate([np.atleast_1d(variable.values) for variable in variables]))
    member = members[0]
    n = next(variable.sizes[member] for variable in variables if member in variable.dims)
    if not n:
        raise ValueError(f"as_belief: obj must have at least one member, got none along {member!r}")
    # A variable without the member dimension is the same for all members.
    columns = [
        variable.transpose(member, ...).values.reshape(n, -1)
        if member in variable.dims
        else np.tile(np.ravel(variable.values), (n, 1))
        for variable in variables
    ]
    return Ensemble(np.concatenate(columns, axis=1))


def _from_scipy(obj: Any) -> Belief:
    kind = type(obj).__name__
    if kind == "multivariate_normal_frozen":
        return Gaussian(obj.mean, obj.cov)
    if kind == "Normal" and hasattr(obj, "variance"):
        moments = obj.mean(), obj.variance()
    elif type(getattr(obj, "dist", None)).__name__ == "norm_gen":
        moments = obj.stats("mv")
    else:
        return Frozen(obj)
    return Gaussian(*np.broadcast_arrays(*map(np.atleast_1d, moments)))  # independent coordinates, one per entry
