"""Forecast objects: stand-ins with the attributes of GluonTS 0.17 and Darts 0.48."""

from __future__ import annotations

from typing import Any

import numpy as np

import overcast as oc
from support import refused


def stand_in(module: str, name: str, **attributes: Any) -> Any:
    base = type("Forecast", (), {"__module__": "gluonts.model.forecast"}) if module.startswith("gluonts") else object
    return type(name, (base,), {"__module__": module, **attributes})()


def darts(values: Any, names: list[str]) -> Any:
    cube = np.asarray(values, dtype=np.float64)
    return stand_in("darts.timeseries", "TimeSeries", all_values=lambda _, copy: cube, components=names)


def test_gluonts() -> None:
    samples = np.arange(12.0).reshape(4, 3)
    made = stand_in("gluonts.model.forecast", "SampleForecast", samples=samples)
    assert [belief.mean()[0] for belief in oc.as_beliefs(made)] == [4.5, 5.5, 6.5]
    with refused(ValueError, "as_belief", "got 3 steps ahead", "as_beliefs(obj)[0]"):
        oc.as_belief(made)
    many = stand_in("gluonts.model.forecast", "SampleForecast", samples=np.zeros((4, 1, 2)))
    assert oc.as_belief(many).dim == 2
    arrays = np.array([[1.0, 2.0], [9.0, 9.0], [2.0, 3.0], [4.0, 5.0]])
    keys = ["0.1", "mean", "0.5", "0.9"]
    published = stand_in("gluonts.model.forecast", "QuantileForecast", forecast_array=arrays, forecast_keys=keys)
    assert [belief.quantile(0.5)[0] for belief in oc.as_beliefs(published)] == [2.0, 3.0]
    with refused(ValueError, "as_belief", "samples or quantiles, got DistributionForecast", "to_sample_forecast"):
        oc.as_belief(stand_in("gluonts.torch.model.forecast", "DistributionForecast"))


def test_darts() -> None:
    values = np.random.default_rng(0).normal(size=(3, 2, 50))
    beliefs = oc.as_beliefs(darts(values, ["load", "wind"]))
    assert len(beliefs) == 3
    assert beliefs[0].names == ("load", "wind")
    np.testing.assert_allclose(beliefs[2].mean(), values[2].mean(axis=1))
    levels = oc.as_belief(darts([[[1.0], [2.0], [4.0]]], ["load_q0.10", "load_q0.50", "load_q0.90"]))
    assert isinstance(levels, oc.Quantiles)
    assert levels.names == ("load",)
    assert levels.quantile(0.9)[0] == 4.0
    both = darts([[[1.0], [4.0], [2.0], [3.0]]], ["a_q0.1", "a_q0.9", "b_q0.1", "b_q0.9"])
    assert oc.as_belief(both).quantile(0.1).tolist() == [1.0, 2.0]
    assert oc.as_belief(both, model="b").quantile(0.1).tolist() == [2.0]
    point = oc.as_belief(darts([[[7.0]]], ["load"]))
    assert repr(point) == "PointMass([7.0])"
    with refused(ValueError, "as_belief", "components of quantiles only, got wind"):
        oc.as_belief(darts([[[1.0], [2.0]]], ["load_q0.10", "wind"]))
    with refused(
        ValueError, "as_belief", "samples or quantiles, got the parameters load_mu, load_sigma", "num_samples"
    ):
        oc.as_belief(darts([[[1.0], [2.0]]], ["load_mu", "load_sigma"]))  # of a normal or log-normal likelihood
    with refused(ValueError, "as_belief", "the same levels of all components"):
        oc.as_belief(darts([[[1.0], [2.0], [3.0]]], ["a_q0.1", "a_q0.9", "b_q0.1"]))
