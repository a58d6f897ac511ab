"""Checks for tuples such as (mean, standard deviation) or (forecast, bounds), which need another form."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from overcast.adapters.forecasts import refuse

#: how to write bounds in the rows of an array as beliefs
BOUNDS = "[oc.Quantiles([0.1, 0.9], row) for row in {}] with your levels for the bounds of intervals"


def check(obj: Any, dim: int | None = None) -> None:
    """Raise ValueError if a tuple, or a list of pairs, may be anything but a context or an ensemble.

    A tuple of `dim` numbers is a context.

    dim : the dimension of contexts, if it is known
    """
    if isinstance(obj, list):
        if obj and all(isinstance(item, tuple) and _numbers(item) == 2 != dim for item in obj):
            write = "write [oc.Gaussian(m, sd=s) for m, s in obj] for means and standard deviations"
            raise refuse("obj must be one forecast", "a list of pairs", f"{write}, oc.Ensemble(obj) for members")
        return
    n = _numbers(obj)
    if n == dim or n == len(obj) == 1:
        return
    if n == len(obj):
        write = f"list(obj) for a context of {n} dimensions"
        pair = "oc.Gaussian(m, sd=s) with m, s = obj for mean and standard deviation, " if n == 2 else ""
        raise refuse("obj must be one forecast", f"a tuple of {n} numbers", f"write {pair}{write}")
    shapes = [np.shape(item) if _is_array(item) else () for item in obj]
    if all(shapes) and obj:
        got = f"a tuple of {len(obj)} arrays of shapes {', '.join(map(str, shapes))}"
        raise refuse("obj must be one forecast", got, f"write {_advice(shapes)}")


def check_cube(array: Any) -> None:
    """Raise ValueError if an array (t, n, c) may hold intervals, such as MAPIE's (t, 2, levels), and not ensembles."""
    if isinstance(array, np.ndarray) and array.ndim == 3 and array.shape[1] == 2:
        write = f"write {BOUNDS.format(_slices('obj', array.shape))}, [oc.Ensemble(row) for row in obj] for members"
        raise refuse("obj must have three members or more in each ensemble", f"an array {array.shape}", write)


def _advice(shapes: list[tuple[int, ...]]) -> str:
    """Return the expression to write for a tuple of arrays of these shapes."""
    first, last = shapes[0], shapes[-1]
    if len(shapes) == 2 and first == last and len(first) == 1:
        pair, members = "for mean and standard deviation", "oc.Ensemble(obj) for two members"
        if first == (1,):
            return f"oc.Gaussian(m, sd=s) with m, s = obj {pair}, {members}"
        each = f"[oc.Gaussian(m, sd=s) for m, s in zip(*obj)] for {first[0]} forecasts"
        return f"{each} by mean and standard deviation, oc.Gaussian(obj[0], sd=obj[1]) for one, {members}"
    if len(shapes) == 2 and first == last and len(first) == 2:
        each = f"[oc.Gaussian(m, sd=s) for m, s in zip(*map(np.asarray, obj))] for {first[0]} forecasts"
        return f"{each} by mean and standard deviation, oc.as_beliefs(list(obj)) for two of members"
    if len(shapes) == 2 and last[:2] == (first[0], 2):
        square = ", oc.Gaussian(*obj) for mean and covariance" if last == (2, 2) else ""
        return BOUNDS.format(_slices("obj[1]", last)) + square
    if len(shapes) == 2 and last == (first[0], first[0]):
        return "oc.Gaussian(*obj) for mean and covariance"
    if len(shapes) == 3 and len(set(shapes)) == 1 and len(first) <= 2:
        each = "[oc.Quantiles([0.025, 0.5, 0.975], [low, mid, high]) for mid, low, high in zip(*obj)]"
        return f"{each} with your levels for forecasts and bounds, oc.Ensemble(obj[0]) for members"
    return "obj[0] for the first of them, oc.as_beliefs(list(obj)) for one forecast each"


def _slices(name: str, shape: tuple[int, ...]) -> str:
    """Return the expression for the bounds of one level in an array (n, 2) or (n, 2, levels)."""
    return name if len(shape) == 2 or shape[2] == 1 else f"{name}[:, :, 0]"


def _numbers(items: Any) -> int:
    """Count the items that are numbers."""
    return sum(isinstance(item, Real) or (isinstance(item, np.ndarray) and not item.ndim) for item in items)


def _is_array(item: Any) -> bool:
    return hasattr(item, "__array__") or isinstance(item, (list, tuple))
