"""Small objects in the documented form of their sources: of services, and of libraries that take long to install.

Origins: columns of mlforecast, TimeGPT, AutoGluon (TimeSeriesPredictor.predict), Chronos (predict_df) and the
hubverse (hubUtils' hub_con_output), and the answer of Open-Meteo's ensemble API, each as its documentation shows it.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from adapters.real import EXACT, Case, Expected

LEVELS = [i / 10 for i in range(1, 10)]
VALUES = np.sort(np.random.default_rng(0).normal(10.0, 3.0, size=(2, 9)), axis=1)
PUBLISHED = {level: VALUES[:, i] for i, level in enumerate(LEVELS)}
SOME = {0.1: VALUES[:, 0], 0.5: VALUES[:, 4], 0.9: VALUES[:, 8]}


def _frame(names: list[str]) -> pd.DataFrame:
    return pd.DataFrame({"ds": pd.date_range("2024", periods=2), **dict(zip(names, SOME.values(), strict=True))})


def _quantile_columns() -> Expected:
    return Expected(_frame(["NHITS-ql0.1", "NHITS-ql0.5", "NHITS-ql0.9"]), quantiles=SOME)


def _timegpt() -> Expected:
    return Expected(_frame(["TimeGPT-q-10", "TimeGPT-q-50", "TimeGPT-q-90"]), quantiles=SOME)


def _autogluon() -> Expected:
    index = pd.MultiIndex.from_product([["a"], pd.date_range("2024", periods=2)], names=["item_id", "timestamp"])
    frame = pd.DataFrame({"mean": VALUES.mean(axis=1), **{str(level): PUBLISHED[level] for level in LEVELS}}, index)
    return Expected(frame, quantiles=PUBLISHED)


def _chronos() -> Expected:
    keys = {"id": "a", "timestamp": pd.date_range("2024", periods=2), "target_name": "target"}
    frame = pd.DataFrame({**keys, "predictions": SOME[0.5], **{str(level): PUBLISHED[level] for level in LEVELS}})
    return Expected(frame, quantiles=PUBLISHED)


def _open_meteo() -> Expected:
    names = ["rain", *(f"rain_member{i:02d}" for i in range(1, 9))]
    hourly = {"time": ["2024-05-01T00:00", "2024-05-01T01:00"], **dict(zip(names, VALUES.T.tolist(), strict=True))}
    return Expected({"hourly_units": {"rain": "mm"}, "hourly": hourly}, VALUES.mean(axis=1), VALUES.std(axis=1))


def _hubverse(kind: str) -> Expected:
    task = {"forecast_date": "2024-05-04", "target": "wk inc flu hosp", "location": ["US"] * 9 + ["06"] * 9}
    ids = [str(level) for level in LEVELS] * 2 if kind == "quantile" else [f"s{i}" for i in range(18)]
    frame = pd.DataFrame({**task, "output_type": kind, "output_type_id": ids, "value": VALUES.ravel()})
    if kind == "quantile":
        return Expected(frame, quantiles=PUBLISHED)
    return Expected(frame, VALUES.mean(axis=1), VALUES.std(axis=1))


LEVELS_EXACT = "published levels exact"
CASES = [
    Case("recorded", "Nixtla: -ql0.1", "Quantiles", LEVELS_EXACT, _quantile_columns),
    Case("recorded", "Nixtla: TimeGPT (-q-10)", "Quantiles", LEVELS_EXACT, _timegpt),
    Case("recorded", "AutoGluon: predict()", "Quantiles", LEVELS_EXACT, _autogluon),
    Case("recorded", "Chronos: predict_df()", "Quantiles", LEVELS_EXACT, _chronos),
    Case("recorded", "Open-Meteo: ensemble JSON", "Ensemble", EXACT, _open_meteo),
    Case("recorded", "hubverse: rows of quantile", "Quantiles", LEVELS_EXACT, lambda: _hubverse("quantile")),
    Case("recorded", "hubverse: rows of sample", "Ensemble", EXACT, lambda: _hubverse("sample")),
]
