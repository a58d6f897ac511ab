"""Tables of the hubverse: one number per row, with its output type and its task."""

from __future__ import annotations

from typing import Any

import numpy as np

from overcast import _check
from overcast.adapters.forecasts import Forecasts, Options, quantiles, refuse
from overcast.beliefs import Belief, Ensemble

#: columns of every table of model output
COLUMNS = {"output_type", "output_type_id", "value"}
#: output types that are distributions, the most informative first
TYPES = ("sample", "quantile", "cdf", "pmf")


def forecasts(frame: Any, options: Options) -> Forecasts:
    """Return one forecast for each task, a combination of the other columns, in order of appearance."""
    if options.model is not None:
        options.used.add("model")
        if "model_id" not in frame.columns:
            raise refuse("obj must have a column model_id to pick a model", "none", "leave out model=")
        frame = frame[frame["model_id"] == options.model]
        if not len(frame):
            raise ValueError(f"as_belief: model must be in the column model_id, got {_check.short(options.model)}")
    tasks = [name for name in frame.columns if name not in COLUMNS]
    keys = list(frame[tasks].astype(object).itertuples(index=False, name=None)) if tasks else [()] * len(frame)
    at: dict[Any, list[int]] = {}
    for i, key in enumerate(keys):
        at.setdefault(tuple(map(str, key)), []).append(i)
    groups = list(at.values())
    vary = [name for name in tasks if frame[name].astype(str).nunique() > 1]
    pick = f"keep the rows of one {' and '.join(vary)}, or use as_beliefs" if vary else "use as_beliefs"
    return Forecasts(len(groups), lambda i: _belief(frame.iloc[groups[i]]), "tasks", pick)


def _belief(frame: Any) -> Belief:
    """Return the belief in the rows of one task."""
    kinds = set(frame["output_type"])
    kind = next((kind for kind in TYPES if kind in kinds), None)
    if kind is None:
        raise refuse(
            f"obj must have an output_type among {', '.join(TYPES)}",
            ", ".join(sorted(map(str, kinds))),
            "ask for one",
        )
    rows = frame[frame["output_type"] == kind]
    value = np.asarray(rows["value"], dtype=np.float64)
    if kind == "sample":
        return Ensemble(value[:, None])
    try:
        at = np.asarray(rows["output_type_id"], dtype=np.float64)
    except (TypeError, ValueError):
        names = _check.short(rows["output_type_id"].iloc[0])
        raise refuse(f"output_type_id of {kind} must be numbers", names, "give each category a number") from None
    if kind == "quantile":
        return quantiles(at, value)
    if kind == "cdf":
        order = np.argsort(at)
        return quantiles(*_increasing_part(value[order], at[order]))
    return Ensemble(at[:, None], value / value.sum())


def _increasing_part(levels: Any, values: Any) -> tuple[Any, Any]:
    """Return the points of a distribution function at which it increases."""
    keep = np.concatenate([[True], np.diff(levels) > 0.0])
    return levels[keep], values[keep]
