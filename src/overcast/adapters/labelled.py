"""xarray objects, and groups of ArviZ and PyMC: members, draws or quantiles along dimensions of known names."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from overcast import _check
from overcast._check import Array
from overcast.adapters import columns
from overcast.adapters.forecasts import Forecasts, Options, is_from, members, quantiles, refuse
from overcast.beliefs import Belief, PointMass

#: dimensions of ensemble members
MEMBERS = (
    *("number", "member", "realization", "realisation", "ensemble", "ensemble_member", "ens", "sample", "samples"),
    *("draw", "member_id", "ens_member", "m", "perturbation"),
)
#: dimensions of a sampler's draws, which together number the members
DRAWS = ("chain", "draw")
QUANTILE = "quantile"
#: dimensions that separate forecasts
TIMES = (
    *("time", "valid_time", "step", "lead_time", "leadtime", "lead", "forecast_time", "forecast_reference_time"),
    *("prediction_timedelta", "init_time", "reference_time", "date", "horizon"),
)
#: dimensions within one context
PLACES = (
    *(
        "lat",
        "latitude",
        "lon",
        "longitude",
        "x",
        "y",
        "site",
        "station",
        "location",
        "point",
        "points",
        "values",
        "cell",
    ),
    *("level", "height", "pressure", "isobaricInhPa", "feature", "component", "variable", "band", "region"),
)
#: groups of ArviZ that hold predictions; the first one present counts
GROUPS = ("predictions", "posterior_predictive")


def forecasts(obj: Any, options: Options) -> Forecasts | None:
    """Return the forecasts in an object of xarray or ArviZ, None for other objects."""
    if is_from(obj, "xarray", "DataArray"):
        return _forecasts({str(obj.name) if obj.name is not None else "": obj}, options)
    if is_from(obj, "xarray", "Dataset"):
        return _forecasts({str(name): obj[name] for name in obj.data_vars}, options)
    if is_from(obj, "xarray", "DataTree"):
        return _group(obj, list(obj.children), options) if obj.children else forecasts(obj.to_dataset(), options)
    if is_from(obj, "arviz", "InferenceData"):
        return _group(obj, list(obj.groups()), options)
    return None


def _group(obj: Any, groups: list[str], options: Options) -> Forecasts:
    """Return the forecasts in the group of predictions, one for each observation."""
    name = next((name for name in GROUPS if name in groups), None)
    if name is None:
        write = "write as_belief(obj['posterior']) for a belief about its parameters"
        raise refuse(f"obj must have a group {' or '.join(GROUPS)}", f"{', '.join(groups)}", write)
    data = obj[name]
    data = data.to_dataset() if hasattr(data, "to_dataset") and not hasattr(data, "data_vars") else data
    variables = {str(key): data[key] for key in data.data_vars}
    if options.model is not None and options.model in variables:
        options.used.add("model")
        variables = {options.model: variables[options.model]}
    return _forecasts(variables, options, rows=True)


def _forecasts(variables: dict[str, Any], options: Options, rows: bool = False) -> Forecasts:
    """Return the forecasts of variables side by side.

    rows : whether dimensions of unknown names separate forecasts
    """
    if not variables:
        raise refuse("obj must have variables", "none", "open the file with its data")
    for name, variable in variables.items():
        if variable.dtype.kind not in "fiub":
            write = f"write obj.drop_vars({name!r})"
            raise refuse("obj must have variables of numbers", f"{variable.dtype} in {name!r}", write)
    sizes: dict[str, int] = {}
    summary = list(columns.read_all(list(variables), options.names))
    for variable in variables.values():
        summary = summary or next(
            (parts for dim in variable.dims if len(parts := _summary_parts(variable, dim)) > 1), []
        )
    for variable in variables.values():
        sizes |= {str(dim): int(variable.sizes[dim]) for dim in variable.dims}
    member = _member_dims(list(sizes), options)
    times = [dim for dim in sizes if dim not in member and _separates_forecasts(dim, variables, rows)]
    others = [dim for dim in sizes if dim not in (*member, *times, QUANTILE) and dim not in PLACES and sizes[dim] > 1]
    if len(summary) > 1 and not member and QUANTILE not in sizes:
        raise refuse(
            "obj must have quantities as its variables", f"the summary {', '.join(summary)}", "write obj.to_pandas()"
        )
    levels = [dim for dim in others if any(_are_levels(variable, dim) for variable in variables.values())]
    if levels and QUANTILE not in sizes:
        write = f"write obj.rename({{{levels[0]!r}: 'quantile'}})"
        raise refuse("obj must call its levels 'quantile'", f"{levels[0]!r} of size {sizes[levels[0]]}", write)
    if others:
        write = f"write member_dim={others[0]!r} if it counts members, or obj.to_numpy().ravel() for one context"
        raise refuse("obj must have dimensions of known names", f"{others[0]!r} of size {sizes[others[0]]}", write)
    if member and QUANTILE in sizes:
        raise refuse("obj must have members or quantiles", f"{member[0]!r} and 'quantile'", "pick one of them")
    if any(not size for size in sizes.values()):
        raise refuse("obj must have at least one entry along each dimension", f"{sizes}", "leave empty ones out")
    flat = [dim for dim in sizes if dim in PLACES and sizes[dim] > 1]
    if not member and QUANTILE not in sizes and len(flat) > 1:
        must = f"obj must have a dimension of members, such as {', '.join(MEMBERS[:4])}"
        raise refuse(must, f"({', '.join(flat)})", "write obj.to_numpy().ravel() for one context known exactly")
    long = [dim for dim in times if sizes[dim] > 1]
    if len(long) > 1:
        write = f"pick one of them: obj.isel({long[0]}=0)"
        raise refuse("obj must tell forecasts apart by one dimension", f"{', '.join(long)}", write)
    name = long[0] if long else ""
    first = {dim: 0 for dim in times if sizes[dim] == 1}

    def make(i: int) -> Belief:
        at = first | ({name: i} if name else {})
        picked = {key: item.isel({dim: at[dim] for dim in item.dims if dim in at}) for key, item in variables.items()}
        return _belief(picked, member)

    pick = f"pick one, such as obj.isel({name}=0), or use as_beliefs"
    return Forecasts(sizes[name] if name else 1, make, f"entries along {name!r}", pick)


def _summary_parts(variable: Any, dim: Hashable) -> list[str]:
    """Return the labels along a dimension that are parts of a summary, such as mean and sd."""
    if dim not in variable.coords or variable.coords[dim].dtype.kind not in "OTU":
        return []
    return list(columns.read_all([str(label) for label in variable.coords[dim].values]))


def _are_levels(variable: Any, dim: Hashable) -> bool:
    """Return whether the coordinates of a dimension may be levels of quantiles, as shares or percents."""
    if dim not in variable.coords or variable.coords[dim].dtype.kind not in "fiu":
        return False
    values = np.asarray(variable.coords[dim].values, dtype=np.float64)
    shares = bool(((values > 0.0) & (values < 1.0)).all())
    return shares or (str(dim).lower().startswith(("percent", "pct")) and bool((values < 100.0).all()))


def _member_dims(dims: list[str], options: Options) -> list[str]:
    """Return the dimensions that number the members."""
    if options.member_dim is not None:
        options.used.add("member_dim")
        if options.member_dim not in dims:
            got = _check.short(options.member_dim)
            raise ValueError(f"as_belief: member_dim must be one of {', '.join(dims) or 'none'}, got {got}")
        return [options.member_dim]
    if all(dim in dims for dim in DRAWS):
        return list(DRAWS)
    candidates = [dim for dim in dims if dim.lower() in MEMBERS]
    if len(candidates) > 1:
        known = ", ".join(candidates)
        raise refuse("obj must have one dimension of members", known, f"write member_dim={candidates[0]!r}")
    return candidates


def _separates_forecasts(dim: str, variables: dict[str, Any], rows: bool) -> bool:
    if dim.lower() in TIMES:
        return True
    if dim == QUANTILE or dim.lower() in PLACES:
        return False
    known = (variable.coords[dim] for variable in variables.values() if dim in variable.coords)
    return rows or any(coordinate.dtype.kind in "mM" for coordinate in known)


def _belief(variables: dict[str, Any], member: Sequence[str]) -> Belief:
    """Return one belief from variables whose dimensions are members, levels, or parts of the context."""
    names = [name for key, variable in variables.items() for name in _names(key, variable, member)]
    along: Sequence[str] = member or ([QUANTILE] if any(QUANTILE in item.dims for item in variables.values()) else [])
    n = max(int(np.prod([item.sizes[dim] for dim in along if dim in item.dims])) for item in variables.values())
    values = np.concatenate([_flat(variable, along, n) for variable in variables.values()], axis=1)
    belief: Belief
    if member:
        belief = members(values)
    elif along:
        belief = quantiles(_levels(variables), values)
    else:
        belief = PointMass(values[0])
    return belief.named(names) if all(names) and len(set(names)) == len(names) else belief


def _levels(variables: dict[str, Any]) -> Array:
    """Return the levels of the quantiles."""
    known = next((item.coords[QUANTILE] for item in variables.values() if QUANTILE in item.coords), None)
    if known is None:
        write = "write obj.assign_coords(quantile=[0.1, 0.5, 0.9]) with yours"
        raise refuse("obj must have its levels along 'quantile'", "none", write)
    levels = np.asarray(known.values, dtype=np.float64)
    if (levels > 1.0).any():
        write = "write obj.assign_coords(quantile=obj['quantile'] / 100) for percents"
        raise refuse("levels along 'quantile' must lie between 0 and 1", f"{levels.max():g}", write)
    return levels


def _flat(variable: Any, along: Sequence[str], n: int) -> Array:
    """Return a variable as (n, entries); one without the dimensions `along` is repeated n times."""
    dims = [dim for dim in along if dim in variable.dims]
    if not dims:
        return np.tile(np.ravel(variable.values), (n, 1))
    return np.asarray(variable.transpose(*dims, ...).values.reshape(n, -1))


def _names(key: str, variable: Any, member: Sequence[str]) -> list[str]:
    """Return the name of each entry of a variable: the variable's, with the place if there are several."""
    places = [dim for dim in variable.dims if dim not in member and dim != QUANTILE]
    if not any(variable.sizes[dim] > 1 for dim in places):
        return [key]
    labels = [_labels(variable, dim) for dim in places]
    at = np.indices([len(labels_of_dim) for labels_of_dim in labels]).reshape(len(labels), -1).T
    return [
        f"{key}[{', '.join(labels_of_dim[i] for labels_of_dim, i in zip(labels, row, strict=True))}]" if key else ""
        for row in at
    ]


def _labels(variable: Any, dim: Hashable) -> list[str]:
    """Return the coordinates of a dimension as text."""
    known = variable.coords[dim].values if dim in variable.coords else np.arange(variable.sizes[dim])
    return [f"{item:g}" if isinstance(item, (int, float, np.number)) else str(item) for item in known]
