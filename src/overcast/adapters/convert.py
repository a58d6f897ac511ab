"""Turn arrays, tables, labelled arrays, distributions, forecast objects and JSON into beliefs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from overcast import _check
from overcast.adapters import tuples
from overcast.adapters.forecasts import Ask, Forecasts, is_from, one
from overcast.beliefs import Belief, Ensemble, PointMass

# What the user says with no option; it is shared, as nobody asks which of them were used.
_NOTHING = Ask()


def as_belief(
    obj: Any, *, model: str | None = None, level: float | None = None, member_dim: str | None = None
) -> Belief:
    """Return `obj` as a belief about the context; raise if it holds several forecasts, or may mean several things.

    Nothing is imported for it: objects are known by their classes' names and by what they have.

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
        return read(obj, _NOTHING)
    ask = _ask(model, level, member_dim)
    belief = read(obj, ask)
    _check_used(obj, ask)
    return belief


@lru_cache(maxsize=256)
def known_to(names: tuple[str, ...] | None, dim: int | None = None) -> Ask:
    """Return the options of `read` for a bandit that knows the names or the number of its dimensions.

    It is shared: nobody asks which options were used.
    """
    return _NOTHING if names is None and dim is None else Ask(dim=dim or len(names or ()), names=names or ())


def read(obj: Any, ask: Ask) -> Belief:
    """Return the one forecast in an object."""
    if isinstance(obj, Belief):
        return obj
    if isinstance(obj, list) or (isinstance(obj, (np.ndarray, tuple)) and not _has_names(obj)):
        return _from_array(obj, ask)
    found = _found(obj, ask, rows=False)
    if len(found) != 1:
        raise ValueError(f"as_belief: obj must hold one forecast, got {len(found)} {found.what}; {found.pick}")
    return found[0]


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
    return read_all(obj, _ask(model, level, member_dim))


def read_all(obj: Any, ask: Ask) -> Sequence[Belief]:
    """Return the forecasts in an object, one for each row or time step."""
    named = _has_names(obj)
    if isinstance(obj, np.ndarray) and not named:
        if obj.ndim not in (2, 3):
            raise ValueError(f"as_beliefs: obj must have shape (n, c) or (t, n, c), got {obj.shape}")
        tuples.check_cube(obj)
        _check_used(obj, ask)
        return Forecasts(len(obj), lambda i: _from_array(obj[i], ask))
    if isinstance(obj, tuple) and not named:
        tuples.check(obj)
    if (isinstance(obj, (list, tuple)) and not named) or (isinstance(obj, Iterable) and hasattr(obj, "__next__")):
        items = list(obj)
        return Forecasts(len(items), lambda i: _read_item(items[i], ask))
    found = one(obj) if isinstance(obj, Belief) else _found(obj, ask, rows=True)
    _check_used(obj, ask)
    return found


def _read_item(obj: Any, ask: Ask) -> Belief:
    """Return the one forecast in an item of a list, which must have a use for all options."""
    own = replace(ask, used=set())
    belief = read(obj, own)
    _check_used(obj, own)
    return belief


def _ask(model: Any, level: Any, member_dim: Any) -> Ask:
    names = {"model": model, "member_dim": member_dim}
    told = {key: None if value is None else _check.text("as_belief", key, value) for key, value in names.items()}
    share = None
    if level is not None:
        share = _check.number("as_belief", "level", level)
        if not 0.0 < share < 1.0:
            write = f"; write {share / 100:g}" if 1.0 < share < 100.0 else ""
            raise ValueError(f"as_belief: level must lie between 0 and 1, got {level}{write}")
    return Ask(told["model"], share, told["member_dim"])


def _check_used(obj: Any, ask: Ask) -> None:
    """Raise ValueError if the user said something that does not matter for this object."""
    name = ask.needless()
    if name:
        given = _check.short(ask.options()[name])
        what = f"this {type(obj).__name__} tells its own or has no use for one"
        raise ValueError(f"as_belief: {name} must be left out, as {what}, got {given}")


def _found(obj: Any, ask: Ask, rows: bool) -> Forecasts:
    """Return the forecasts in an object that is no belief, list or array; the modules of sources load when needed.

    rows : whether the plain rows of a table are contexts, and not members
    """
    if isinstance(obj, (int, float)):
        return one(_from_array(obj, ask))
    if _has_names(obj):
        obj = _by_name(obj)
    from overcast.adapters import distributions, labelled, mappings, own, tables, timeseries

    found = own.forecasts(obj, ask)
    if found is not None:
        return found
    if is_from(obj, "pandas", "Series"):
        return tables.series(obj, ask)
    if is_from(obj, "pandas", "DataFrame"):
        return tables.rows(obj, ask) if rows else tables.frame(obj, ask)
    if is_from(obj, "arviz", "InferenceData") or is_from(obj, "xarray"):
        found = labelled.forecasts(obj, ask)
    elif isinstance(obj, Mapping):
        found = mappings.forecasts(obj, ask)
    else:
        found = distributions.forecasts(obj) or timeseries.forecasts(obj, ask)
    return one(_from_array(obj, ask)) if found is None else found


def _has_names(obj: Any) -> bool:
    """Return whether an object is a named tuple of numbers or vectors, or a structured array: its fields have names."""
    if isinstance(obj, tuple):
        return hasattr(obj, "_fields") and all(np.ndim(one) < 2 for one in obj if isinstance(one, np.ndarray))
    return bool(getattr(getattr(obj, "dtype", None), "names", 0))


def _by_name(obj: Any) -> dict[str, Any]:
    """Return the fields of a named tuple or a structured array, without the number of a row that pandas adds."""
    fields = obj._asdict() if hasattr(obj, "_asdict") else {name: obj[name] for name in obj.dtype.names}
    return {name: value for name, value in fields.items() if name not in ("Index", "index")}


def _from_array(obj: Any, ask: Ask) -> Belief:
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
        tuples.check(obj, ask.dim)
    array = _check.floats("as_belief", "obj", obj)
    if array.ndim > 2:
        tuples.check_cube(array)
        raise ValueError(f"as_belief: obj must have shape (c,) or (n, c), got {array.shape}")
    return Ensemble(array) if array.ndim == 2 else PointMass(array)
