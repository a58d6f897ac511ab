"""Rows of the hubverse, with the columns of its documentation (hubUtils' hub_con_output)."""

from __future__ import annotations

import numpy as np
import pandas as pd

import overcast as oc
from support import refused


def rows(kind: str, ids: list[object], values: list[float], location: str = "US", model: str = "base") -> pd.DataFrame:
    n = len(values)
    task = {"forecast_date": "2024-05-04", "horizon": 1, "target": "wk ahead inc flu hosp", "location": location}
    return pd.DataFrame(
        {
            **{name: [value] * n for name, value in task.items()},
            "output_type": kind,
            "output_type_id": ids,
            "value": values,
        }
    ).assign(model_id=model)


QUANTILES = rows("quantile", ["0.1", "0.5", "0.9"], [1.0, 2.0, 4.0])


def test_each_output_type() -> None:
    belief = oc.as_belief(QUANTILES)
    assert isinstance(belief, oc.Quantiles)
    np.testing.assert_array_equal(belief.values[:, 0], [1.0, 2.0, 4.0])
    members = oc.as_belief(rows("sample", ["s1", "s2", "s3"], [1.0, 2.0, 6.0]))
    assert isinstance(members, oc.Ensemble)
    assert members.mean()[0] == 3.0
    steps = oc.as_belief(rows("cdf", [10.0, 20.0, 30.0, 40.0], [0.1, 0.5, 0.9, 0.9]))
    assert steps.quantile([0.1, 0.5, 0.9])[:, 0].tolist() == [10.0, 20.0, 30.0]
    weighted = oc.as_belief(rows("pmf", [1, 2, 3], [0.2, 0.3, 0.5]))
    assert weighted.mean()[0] == 2.3
    both = pd.concat([rows("mean", [None], [2.5]), QUANTILES], ignore_index=True)
    assert isinstance(oc.as_belief(both), oc.Quantiles)


def test_tasks_and_models() -> None:
    many = pd.concat([QUANTILES, rows("quantile", [0.1, 0.9], [5.0, 9.0], "06")], ignore_index=True)
    assert [len(getattr(belief, "levels", [])) for belief in oc.as_beliefs(many)] == [3, 2]
    with refused(ValueError, "as_belief", "got 2 tasks", "keep the rows of one location"):
        oc.as_belief(many)
    models = pd.concat([QUANTILES, rows("quantile", [0.1, 0.9], [5.0, 9.0], model="other")], ignore_index=True)
    assert oc.as_belief(models, model="other").quantile(0.1)[0] == 5.0
    with refused(ValueError, "as_belief", "model must be in the column model_id"):
        oc.as_belief(models, model="third")
    with refused(ValueError, "as_belief", "a column model_id to pick a model"):
        oc.as_belief(QUANTILES.drop(columns="model_id"), model="base")


def test_refusals() -> None:
    with refused(ValueError, "as_belief", "output_type among sample, quantile, cdf, pmf, got mean"):
        oc.as_belief(rows("mean", [None], [2.5]))
    with refused(ValueError, "as_belief", "output_type_id of pmf must be numbers", "'low'"):
        oc.as_belief(rows("pmf", ["low", "high"], [0.4, 0.6]))
