"""Turn arrays, tables, labelled arrays, distributions, forecast objects and JSON into beliefs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from overcast import _check
from overcast.adapters import tuples
from overcast.adapters.forecasts import Forecasts, Options, is_from, single
from overcast.beliefs import Belief, Ensemble, PointMass

# Shared, so its record of used options means nothing.
_NO_OPTIONS = Options()


def as_belief(
    obj: Any, *, model: str | None = None, level: float | None = None, member_dim: str | None = None
) -> Belief:
    """Return `obj` as a belief about the context; raise if it holds several forecasts or is ambiguous.

    Objects are recognised by the names of their classes and attributes; no library is imported.

    Parameters
    ----------
    obj : one of
        a belief: itself;
        a number or (c,) sequence: a context known exactly;
        an (n, c) array: an ensemble with one member per row;
        a dictionary from names of dimensions to numbers, or to forecasts of one quantity each, which are independent;
        from the columns of a summary to numbers, {"mean": 20.0, "sd": 2.0} or {0.1: 1.0, 0.9: 4.0}; or in the form of
        `to_json`;
        a pandas Series or DataFrame: a row of a forecast by its columns (quantiles, intervals, mean and standard error,
        members side by side) in the names of Nixtla, statsmodels, Prophet, AutoGluon, Chronos, sktime, Open-Meteo and
        the hubverse; otherwise a context known exactly, or an ensemble with one member per row;
        an xarray or ArviZ object with a dimension of members, draws or quantiles;
        a forecast of GluonTS or Darts; a distribution of scipy.stats, torch, NumPyro, TensorFlow Probability, NGBoost
        or skpro; or Open-Meteo's ensemble JSON.
        The columns of tables that are known, beside keys such as ds, time or unique_id, for one forecast in each row:
        quantiles: 0.1, q0.1, quantile_0.1, load_q0.1, 10%, p10 beside p50, median, NAME-ql0.1, NAME-q-10;
        intervals that tell their probability: NAME-lo-80 and NAME-hi-80, "lower 80%" and "upper 80%", "Lo 80" and
        "Hi 80", lower_80 and upper_80, "lower PI (alpha=0.05)", with the point forecast NAME or "Point Forecast";
        intervals that need `level`: lower and upper, yhat_lower and yhat_upper, pi_lower and pi_upper, lower_bound and
        upper_bound, conf_low and conf_high, NAME_min and NAME_max, with a point forecast such as pred between them;
        mean and sd: mean and sd (std, sigma, var), NAME_mean and NAME_sd, NAME and NAME_sd, tmean and tsd, y_pred and
        y_std, mean and mean_se;
        members: member_1, ens01, NAME_member01, m1 or NAME_m1, NAMEfc.1, ...; or one member in each row, numbered by a
        column member, realization, number, sample, draw, ...;
        levels in two rows of columns: (NAME, 0.1), (NAME, 0.8, "lower"); and the rows of the hubverse.
    model : which of several models in it, by name
    level : the probability between the bounds of an interval that do not tell it, such as 0.8
    member_dim : name of the dimension of ensemble members in an xarray object, if it has an unusual name

    Examples
    --------
    >>> as_belief([21.0, 0.4])
    PointMass([21.0, 0.4])
    >>> as_belief([[19.0, 0.1], [23.0, 0.3], [22.0, 0.2]])
    Ensemble(3 points, dim=2)
    >>> import pandas as pd
    >>> as_belief(pd.DataFrame({"ETS-lo-80": [1.0], "ETS-median": [2.0], "ETS-hi-80": [4.0]}))
    Quantiles(levels=[0.1, 0.5, 0.9], values=[[1.0], [2.0], [4.0]])
    """
    if model is None and level is None and member_dim is None:
        return read(obj, _NO_OPTIONS)
    options = _check_options(model, level, member_dim)
    belief = read(obj, options)
    _check_used(obj, options)
    return belief


@lru_cache(maxsize=256)
def known_to(names: tuple[str, ...] | None, dim: int | None = None) -> Options:
    """Return the cached options of `read` for a bandit with these names or this number of dimensions.

    They are shared, so their record of used options means nothing.
    """
    return _NO_OPTIONS if names is None and dim is None else Options(dim=dim or len(names or ()), names=names or ())


def read(obj: Any, options: Options) -> Belief:
    """Return the forecast in an object that holds exactly one."""
    if isinstance(obj, Belief):
        return obj
    if isinstance(obj, list) or (isinstance(obj, (np.ndarray, tuple)) and not _has_names(obj)):
        return _from_array(obj, options)
    forecasts = _forecasts(obj, options, rows=False)
    if len(forecasts) != 1:
        raise ValueError(
            f"as_belief: obj must hold one forecast, got {len(forecasts)} {forecasts.unit}; {forecasts.pick}"
        )
    return forecasts[0]


def as_beliefs(
    obj: Any, *, model: str | None = None, level: float | None = None, member_dim: str | None = None
) -> Sequence[Belief]:
    """Return the forecasts in `obj`, one for each row or time step, each made when it is asked for.

    Parameters
    ----------
    obj : a table, xarray or forecast object as for `as_belief`, with any number of rows or times; a list of objects;
        or an (n, c) array of contexts that were known, or (t, n, c) of t ensembles
    model, level, member_dim : as for `as_belief`

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"0.1": [1.0, 2.0], "0.5": [2.0, 3.0], "0.9": [4.0, 5.0]})
    >>> [float(belief.quantile(0.5)[0]) for belief in as_beliefs(frame)]
    [2.0, 3.0]
    """
    return read_all(obj, _check_options(model, level, member_dim))


def read_all(obj: Any, options: Options) -> Sequence[Belief]:
    """Return the forecasts in an object, one for each row or time step."""
    named = _has_names(obj)
    if isinstance(obj, np.ndarray) and not named:
        if obj.ndim not in (2, 3):
            raise ValueError(f"as_beliefs: obj must have shape (n, c) or (t, n, c), got {obj.shape}")
        tuples.check_cube(obj)
        _check_used(obj, options)
        return Forecasts(len(obj), lambda i: _from_array(obj[i], options))
    if isinstance(obj, tuple) and not named:
        tuples.check(obj)
    if (isinstance(obj, (list, tuple)) and not named) or (isinstance(obj, Iterable) and hasattr(obj, "__next__")):
        items = list(obj)
        return Forecasts(len(items), lambda i: _read_item(items[i], options))
    forecasts = single(obj) if isinstance(obj, Belief) else _forecasts(obj, options, rows=True)
    _check_used(obj, options)
    return forecasts


def _read_item(obj: Any, options: Options) -> Belief:
    """Return the forecast in an item of a list; raise ValueError unless it uses all options."""
    item_options = replace(options, used=set())
    belief = read(obj, item_options)
    _check_used(obj, item_options)
    return belief


def _check_options(model: Any, level: Any, member_dim: Any) -> Options:
    """Return the user's options after checking them."""
    names = {"model": model, "member_dim": member_dim}
    texts = {key: None if value is None else _check.text("as_belief", key, value) for key, value in names.items()}
    share = None
    if level is not None:
        share = _check.number("as_belief", "level", level)
        if not 0.0 < share < 1.0:
            write = f"; write {share / 100:g}" if 1.0 < share < 100.0 else ""
            raise ValueError(f"as_belief: level must lie between 0 and 1, got {level}{write}")
    return Options(texts["model"], share, texts["member_dim"])


def _check_used(obj: Any, options: Options) -> None:
    """Raise ValueError if the user gave an option that has no effect on this object."""
    name = options.unused()
    if name:
        value = _check.short(options.by_keyword()[name])
        reason = f"this {type(obj).__name__} tells its own or has no use for one"
        raise ValueError(f"as_belief: {name} must be left out, as {reason}, got {value}")


def _forecasts(obj: Any, options: Options, rows: bool) -> Forecasts:
    """Return the forecasts in an object other than a belief, list or array; imports adapters when needed.

    rows : True if plain rows of a table are contexts, False if they are members
    """
    if isinstance(obj, (int, float)):
        return single(_from_array(obj, options))
    if _has_names(obj):
        obj = _by_name(obj)
    from overcast.adapters import distributions, labelled, mappings, plugins, tables, timeseries

    forecasts = plugins.forecasts(obj, options)
    if forecasts is not None:
        return forecasts
    if is_from(obj, "pandas", "Series"):
        return tables.series(obj, options)
    if is_from(obj, "pandas", "DataFrame"):
        return tables.rows(obj, options) if rows else tables.frame(obj, options)
    if is_from(obj, "arviz", "InferenceData") or is_from(obj, "xarray"):
        forecasts = labelled.forecasts(obj, options)
    elif isinstance(obj, Mapping):
        forecasts = mappings.forecasts(obj, options)
    else:
        forecasts = distributions.forecasts(obj) or timeseries.forecasts(obj, options)
    return single(_from_array(obj, options)) if forecasts is None else forecasts


def _has_names(obj: Any) -> bool:
    """Return whether an object is a named tuple of numbers or vectors, or a structured array."""
    if isinstance(obj, tuple):
        return hasattr(obj, "_fields") and all(np.ndim(item) < 2 for item in obj if isinstance(item, np.ndarray))
    return bool(getattr(getattr(obj, "dtype", None), "names", 0))


def _by_name(obj: Any) -> dict[str, Any]:
    """Return the fields of a named tuple or a structured array, without the row number that pandas adds."""
    fields = obj._asdict() if hasattr(obj, "_asdict") else {name: obj[name] for name in obj.dtype.names}
    return {name: value for name, value in fields.items() if name not in ("Index", "index")}


def _from_array(obj: Any, options: Options) -> Belief:
    """Return a number, sequence or array as a point mass or an ensemble."""
    is_number = isinstance(obj, (int, float)) and not isinstance(obj, bool)
    is_sequence = isinstance(obj, Sequence) and not isinstance(obj, (str, bytes))
    if not (is_number or is_sequence or hasattr(obj, "__array__")):
        expected = "a belief, array, table, forecast, distribution or JSON object"
        write = "; write obj.to_pandas()" if hasattr(obj, "to_pandas") else ""
        raise TypeError(f"as_belief: obj must be {expected}, got {_check.short(obj)}{write}")
    if hasattr(obj, "to_pandas") and hasattr(obj, "columns"):  # its columns have names, which an array would drop
        raise TypeError(f"as_belief: obj must be a pandas table, got {type(obj).__name__}; write obj.to_pandas()")
    if is_sequence and any(isinstance(item, Belief) for item in obj):
        raise TypeError("as_belief: obj must be one belief, got a sequence of beliefs; use Mixture or Independent")
    if isinstance(obj, tuple) or (isinstance(obj, list) and obj and isinstance(obj[0], tuple)):
        tuples.check(obj, options.dim)
    array = _check.floats("as_belief", "obj", obj)
    if array.ndim > 2:
        tuples.check_cube(array)
        raise ValueError(f"as_belief: obj must have shape (c,) or (n, c), got {array.shape}")
    return Ensemble(array) if array.ndim == 2 else PointMass(array)
