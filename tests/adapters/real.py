"""Make real objects of a forecasting library, and check what `as_belief` makes of them.

    python tests/adapters/real.py statsmodels results.json

`make test-adapters` runs it for each library in an environment of its own, and collects the results in
`tests/adapters/results.json`. Every case returns an object, and what it must become; the reference is computed from the
library's own answers, never by the adapter.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import json
import logging
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import overcast as oc


class Expected(NamedTuple):
    """What an object must become: one belief for each row.

    mean, sd : (rows,) or (rows, c), None if they are not known
    quantiles : level -> (rows,), which the beliefs must meet
    options : arguments of `as_beliefs`
    """

    obj: Any
    mean: Any = None
    sd: Any = None
    quantiles: dict[float, Any] | None = None
    options: dict[str, Any] | None = None
    rtol: float = 1e-6


class Case(NamedTuple):
    library: str
    source: str
    belief: str
    exact: str
    make: Callable[[], Expected]


CASES: list[Case] = []
EXACT = "exact"


def case(library: str, source: str, belief: str, exact: str = EXACT) -> Callable[[Callable[[], Expected]], None]:
    def add(make: Callable[[], Expected]) -> None:
        CASES.append(Case(library, source, belief, exact, make))

    return add


def use(name: str) -> Any:
    return importlib.import_module(name)


def series(n: int = 80) -> Any:
    pd, rng = use("pandas"), np.random.default_rng(0)
    return pd.Series(
        10.0 + np.cumsum(rng.normal(size=n)), index=pd.date_range("2024-01-01", periods=n, freq="D"), name="load"
    )


@case("statsmodels", "statsmodels: ARIMA get_forecast().summary_frame()", "Gaussian")
def _() -> Expected:
    found = use("statsmodels.api").tsa.ARIMA(series(), order=(1, 1, 0)).fit().get_forecast(3)
    return Expected(found.summary_frame(), found.predicted_mean, found.se_mean)


@case("statsmodels", "statsmodels: AutoReg get_prediction().summary_frame()", "Gaussian")
def _() -> Expected:
    found = use("statsmodels.tsa.ar_model").AutoReg(series(), 1).fit().get_prediction(80, 82)
    return Expected(found.summary_frame(), found.predicted_mean, found.se_mean)


@case(
    "statsmodels",
    "statsmodels: OLS get_prediction().summary_frame()",
    "Gaussian",
    "scale exact; Student's t taken for normal",
)
def _() -> Expected:
    sm, rng = use("statsmodels.api"), np.random.default_rng(0)
    x = sm.add_constant(rng.normal(size=40))
    found = sm.OLS(x[:, 1] * 2.0 + rng.normal(size=40), x).fit().get_prediction(x[:3])
    return Expected(found.summary_frame(), found.predicted_mean, found.se_obs)


@case(
    "statsmodels", "statsmodels: ETS get_prediction().summary_frame(), level=", "Quantiles", "median and bounds exact"
)
def _() -> Expected:
    found = use("statsmodels.tsa.exponential_smoothing.ets").ETSModel(series(), trend="add").fit(disp=0)
    frame = found.get_prediction(start=80, end=82).summary_frame(alpha=0.1)
    exact = {0.05: frame["pi_lower"], 0.5: frame["mean"], 0.95: frame["pi_upper"]}
    return Expected(frame, frame["mean"], (frame["pi_upper"] - frame["mean"]) / 1.6448536, exact, {"level": 0.9}, 1e-3)


@case("statsmodels", "statsmodels: Theta prediction_intervals(), level=", "Quantiles", "bounds exact")
def _() -> Expected:
    frame = use("statsmodels.tsa.forecasting.theta").ThetaModel(series(), period=1).fit().prediction_intervals(3)
    return Expected(frame, None, None, {0.025: frame["lower"], 0.975: frame["upper"]}, {"level": 0.95})


@case("statsforecast", "Nixtla: forecast(level=[80, 95]), model=", "Quantiles", "published levels exact")
def _() -> Expected:
    pd, core, models = use("pandas"), use("statsforecast"), use("statsforecast.models")
    data = pd.DataFrame({"unique_id": "a", "ds": series().index, "y": series().to_numpy()})
    made = core.StatsForecast(models=[models.Naive(), models.HistoricAverage()], freq="D")
    frame = made.forecast(df=data, h=3, level=[80, 95])
    exact = {0.025: frame["Naive-lo-95"], 0.1: frame["Naive-lo-80"], 0.5: frame["Naive"], 0.9: frame["Naive-hi-80"]}
    sd = (frame["Naive-hi-95"] - frame["Naive"]) / 1.959964
    return Expected(frame, frame["Naive"], sd, exact, {"model": "Naive"}, 0.05)


@case(
    "neuralforecast",
    "Nixtla: neuralforecast with MQLoss (-lo-80, -median, -hi-80)",
    "Quantiles",
    "published levels exact",
)
def _() -> Expected:
    losses = use("neuralforecast.losses.pytorch")
    frame = _neuralforecast(losses.MQLoss(level=[80])).predict()
    values = np.sort(frame[["MLP-lo-80", "MLP-median", "MLP-hi-80"]].to_numpy(), axis=1)
    return Expected(frame, quantiles={0.1: values[:, 0], 0.5: values[:, 1], 0.9: values[:, 2]})


@case("neuralforecast", "Nixtla: neuralforecast predict(quantiles=) (_ql0.1)", "Quantiles", "published levels exact")
def _() -> Expected:
    losses = use("neuralforecast.losses.pytorch")
    frame = _neuralforecast(losses.DistributionLoss("Normal")).predict(quantiles=[0.1, 0.5, 0.9])
    return Expected(frame, quantiles={level: frame[f"MLP_ql{level}"] for level in (0.1, 0.5, 0.9)})


def _neuralforecast(loss: Any) -> Any:
    logging.disable(logging.CRITICAL)
    pd, core, models = use("pandas"), use("neuralforecast"), use("neuralforecast.models")
    quiet = {"enable_progress_bar": False, "logger": False, "enable_checkpointing": False, "accelerator": "cpu"}
    made = core.NeuralForecast([models.MLP(h=3, input_size=8, max_steps=3, loss=loss, **quiet)], freq="D")
    made.fit(pd.DataFrame({"unique_id": "a", "ds": series().index, "y": series().to_numpy()}))
    return made


@case("prophet", "Prophet: predict(), level=", "Quantiles", "bounds exact; yhat taken for the median")
def _() -> Expected:
    model, future = _prophet()
    frame = model.predict(future)
    return Expected(frame, None, None, {0.1: frame["yhat_lower"], 0.9: frame["yhat_upper"]}, {"level": 0.8})


@case("prophet", "Prophet: predictive_samples()", "Ensemble")
def _() -> Expected:
    model, future = _prophet()
    draws = model.predictive_samples(future)
    return Expected(draws, draws["yhat"].mean(axis=1), draws["yhat"].std(axis=1))


def _prophet() -> tuple[Any, Any]:
    logging.disable(logging.CRITICAL)
    pd = use("pandas")
    data = pd.DataFrame({"ds": series().index, "y": series().to_numpy()})
    model = use("prophet").Prophet(yearly_seasonality=False, interval_width=0.8).fit(data)
    return model, model.make_future_dataframe(3, include_history=False)


@case("xarray", "xarray: members along number, member, realization, ens, …", "Ensemble")
def _() -> Expected:
    xr, rng = use("xarray"), np.random.default_rng(0)
    values = rng.normal(size=(10, 51, 2))
    times = use("pandas").date_range("2024-01-01", periods=10)
    data = xr.Dataset(
        {"t2m": (("time", "number"), values[..., 0]), "tp": (("time", "number"), values[..., 1])}, {"time": times}
    )
    return Expected(data, values.mean(axis=1), values.std(axis=1))


@case("xarray", "xarray: .quantile([...]) (dimension quantile)", "Quantiles", "published levels exact")
def _() -> Expected:
    data = use("xarray").DataArray(np.random.default_rng(0).normal(size=(4, 60)), dims=["step", "number"], name="t2m")
    published = data.quantile([0.1, 0.5, 0.9], dim="number")
    return Expected(published, quantiles={0.1: published[0], 0.5: published[1], 0.9: published[2]})


@case("xarray", "xarray: chain × draw", "Ensemble")
def _() -> Expected:
    draws = np.random.default_rng(0).normal(size=(4, 50))
    return Expected(use("xarray").DataArray(draws, dims=["chain", "draw"]), [draws.mean()], [draws.std()])


@case("xarray", "xarray: DataTree with posterior_predictive (ArviZ 1, PyMC)", "Ensemble")
def _() -> Expected:
    xr, draws = use("xarray"), np.random.default_rng(0).normal(size=(4, 50, 3))
    group = xr.Dataset({"y": (("chain", "draw", "y_dim_0"), draws)})
    tree = xr.DataTree.from_dict({"posterior": xr.Dataset({"mu": 1.0}), "posterior_predictive": group})
    flat = draws.reshape(200, 3)
    return Expected(tree, flat.mean(axis=0), flat.std(axis=0))


@case("arviz", "ArviZ: InferenceData with posterior_predictive", "Ensemble")
def _() -> Expected:
    draws = np.random.default_rng(0).normal(size=(4, 50, 3))
    data = use("arviz").from_dict(posterior={"mu": draws[..., 0]}, posterior_predictive={"y": draws})
    flat = draws.reshape(200, 3)
    return Expected(data, flat.mean(axis=0), flat.std(axis=0))


@case("gluonts", "GluonTS: SampleForecast", "Ensemble")
def _() -> Expected:
    samples, start = np.random.default_rng(0).normal(size=(100, 3)), use("pandas").Period("2024-01-01", "D")
    made = use("gluonts.model.forecast").SampleForecast(samples=samples, start_date=start)
    return Expected(made, samples.mean(axis=0), samples.std(axis=0))


@case("gluonts", "GluonTS: QuantileForecast", "Quantiles", "published levels exact")
def _() -> Expected:
    values, start = (
        np.sort(np.random.default_rng(0).normal(size=(4, 3)), axis=0),
        use("pandas").Period("2024-01-01", "D"),
    )
    made = use("gluonts.model.forecast").QuantileForecast(
        forecast_arrays=values, start_date=start, forecast_keys=["0.1", "0.5", "mean", "0.9"]
    )
    return Expected(made, quantiles={level: made.quantile(level) for level in (0.1, 0.5, 0.9)})


@case("darts", "Darts: stochastic TimeSeries", "Ensemble")
def _() -> Expected:
    values = np.random.default_rng(0).normal(size=(3, 2, 100))
    made = use("darts").TimeSeries.from_times_and_values(use("pandas").date_range("2024", periods=3), values)
    return Expected(made, values.mean(axis=2), values.std(axis=2))


@case("darts", "Darts: predict(num_samples=) of a fitted model", "Ensemble")
def _() -> Expected:
    pd, darts = use("pandas"), use("darts")
    data = darts.TimeSeries.from_series(series())
    model = use("darts.models").LinearRegressionModel(lags=5, likelihood="quantile", quantiles=[0.1, 0.5, 0.9])
    model.fit(data)
    found = model.predict(3, num_samples=200)
    assert isinstance(found.time_index, pd.DatetimeIndex)
    values = found.all_values()
    return Expected(found, values.mean(axis=2), values.std(axis=2))


@case("darts", "Darts: predict(predict_likelihood_parameters=True)", "Quantiles", "published levels exact")
def _() -> Expected:
    model = use("darts.models").LinearRegressionModel(lags=5, likelihood="quantile", quantiles=[0.1, 0.5, 0.9])
    model.fit(use("darts").TimeSeries.from_series(series()))
    found = model.predict(1, predict_likelihood_parameters=True)
    values = np.sort(found.values(), axis=1)
    return Expected(found, quantiles={0.1: values[:, 0], 0.5: values[:, 1], 0.9: values[:, 2]})


@case("sktime", "sktime: predict_quantiles()", "Quantiles", "published levels exact")
def _() -> Expected:
    frame = _sktime().predict_quantiles(fh=[1, 2, 3], alpha=[0.1, 0.5, 0.9])
    return Expected(frame, quantiles={level: frame.iloc[:, i] for i, level in enumerate([0.1, 0.5, 0.9])})


@case("sktime", "sktime: predict_interval()", "Quantiles", "bounds exact")
def _() -> Expected:
    frame = _sktime().predict_interval(fh=[1, 2, 3], coverage=[0.8])
    return Expected(frame, quantiles={0.1: frame.iloc[:, 0], 0.9: frame.iloc[:, 1]})


@case("sktime", "sktime: predict_proba()", "Gaussian")
def _() -> Expected:
    found = _sktime().predict_proba(fh=[1, 2, 3])
    return Expected(found, found.mean().to_numpy(), np.sqrt(found.var().to_numpy()))


def _sktime() -> Any:
    return (
        use("sktime.forecasting.naive").NaiveVariance(use("sktime.forecasting.naive").NaiveForecaster()).fit(series())
    )


@case("skpro", "skpro: Normal", "Gaussian")
def _() -> Expected:
    made = use("skpro.distributions").Normal(mu=[[1.0], [2.0]], sigma=[[1.0], [3.0]], index=[5, 6], columns=["y"])
    return Expected(made, [1.0, 2.0], [1.0, 3.0])


@case("skpro", "skpro: other distributions", "Quantiles", "at 103 levels")
def _() -> Expected:
    made = use("skpro.distributions").Laplace(mu=[[1.0], [2.0]], scale=1.0, index=[5, 6], columns=["y"])
    levels = {level: made.quantile([level]).iloc[:, 0] for level in (0.01, 0.1, 0.5, 0.9)}
    return Expected(made, [1.0, 2.0], [2.0**0.5] * 2, levels, rtol=0.02)


@case("skpro", "skpro: Empirical", "Ensemble")
def _() -> Expected:
    pd, values = use("pandas"), np.random.default_rng(0).normal(size=(60, 2))
    spl = pd.DataFrame(values.reshape(-1, 1), pd.MultiIndex.from_product([range(60), [5, 6]]), ["y"])
    return Expected(use("skpro.distributions").Empirical(spl), values.mean(axis=0), values.std(axis=0))


@case("ngboost", "NGBoost: pred_dist() with Normal, and its .dist", "Gaussian")
def _() -> Expected:
    made = _ngboost("Normal")
    assert len(oc.as_beliefs(made.dist)) == 3
    return Expected(made, made.loc, made.scale)


@case("ngboost", "NGBoost: pred_dist() with other distributions", "Frozen")
def _() -> Expected:
    made = _ngboost("LogNormal")
    return Expected(made, made.dist.mean(), made.dist.std())


def _ngboost(name: str) -> Any:
    rng, ngboost = np.random.default_rng(0), use("ngboost")
    x = rng.normal(size=(60, 2))
    y = np.exp(0.3 * x[:, 0] + 0.1 * rng.normal(size=60))
    made = ngboost.NGBRegressor(Dist=getattr(use("ngboost.distns"), name), n_estimators=20, verbose=False)
    return made.fit(x, y).pred_dist(x[:3])


@case("torch", "torch: Normal", "Gaussian")
def _() -> Expected:
    torch = use("torch")
    made = torch.distributions.Normal(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 3.0]))
    return Expected(made, [1.0, 2.0], [1.0, 3.0])


@case("torch", "torch: Independent(Normal), MultivariateNormal", "Gaussian")
def _() -> Expected:
    torch = use("torch")
    inner = torch.distributions.Normal(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 3.0]))
    belief = oc.as_belief(torch.distributions.Independent(inner, 1))
    np.testing.assert_allclose(belief.cov(), np.diag([1.0, 9.0]))
    cov = torch.tensor([[2.0, 0.5], [0.5, 1.0]])
    made = torch.distributions.MultivariateNormal(torch.tensor([1.0, 2.0]), cov)
    np.testing.assert_allclose(oc.as_belief(made).cov(), cov.numpy(), rtol=1e-5)
    return Expected(made, [[1.0, 2.0]], [[2.0**0.5, 1.0]])


@case("torch", "torch: other distributions", "Sampler", "draws")
def _() -> Expected:
    torch = use("torch")
    return Expected(torch.distributions.Gamma(torch.tensor(2.0), torch.tensor(1.0)), [2.0], [2.0**0.5], rtol=0.05)


@case("numpyro", "NumPyro: Normal", "Gaussian")
def _() -> Expected:
    made = use("numpyro.distributions").Normal(np.array([1.0, 2.0]), np.array([1.0, 3.0]))
    return Expected(made, [1.0, 2.0], [1.0, 3.0])


@case("numpyro", "NumPyro: MultivariateNormal, Normal.to_event()", "Gaussian")
def _() -> Expected:
    dist = use("numpyro.distributions")
    belief = oc.as_belief(dist.Normal(np.array([1.0, 2.0]), np.array([1.0, 3.0])).to_event(1))
    np.testing.assert_allclose(belief.cov(), np.diag([1.0, 9.0]))
    made = dist.MultivariateNormal(np.array([1.0, 2.0]), np.array([[2.0, 0.5], [0.5, 1.0]]))
    return Expected(made, [[1.0, 2.0]], [[2.0**0.5, 1.0]])


@case("numpyro", "NumPyro: other distributions", "Sampler", "draws")
def _() -> Expected:
    return Expected(use("numpyro.distributions").Gamma(2.0, 1.0), [2.0], [2.0**0.5], rtol=0.05)


def _tfp() -> Any:
    return use("tensorflow_probability.substrates.jax").distributions


@case("tensorflow-probability", "TensorFlow Probability: Normal", "Gaussian")
def _() -> Expected:
    return Expected(
        _tfp().Normal(np.array([1.0, 2.0], dtype=np.float32), np.array([1.0, 3.0], dtype=np.float32)),
        [1.0, 2.0],
        [1.0, 3.0],
    )


@case("tensorflow-probability", "TensorFlow Probability: multivariate normal, Independent(Normal)", "Gaussian")
def _() -> Expected:
    tfd = _tfp()
    belief = oc.as_belief(
        tfd.Independent(tfd.Normal(np.array([1.0, 2.0], dtype=np.float32), np.array([1.0, 3.0], dtype=np.float32)), 1)
    )
    np.testing.assert_allclose(belief.cov(), np.diag([1.0, 9.0]))
    made = tfd.MultivariateNormalDiag(np.array([1.0, 2.0], dtype=np.float32), np.array([1.0, 3.0], dtype=np.float32))
    return Expected(made, [[1.0, 2.0]], [[1.0, 3.0]])


@case("tensorflow-probability", "TensorFlow Probability: other distributions", "Sampler", "draws")
def _() -> Expected:
    return Expected(
        _tfp().Gamma(np.array(2.0, dtype=np.float32), np.array(1.0, dtype=np.float32)), [2.0], [2.0**0.5], rtol=0.05
    )


@case("autogluon.timeseries", "AutoGluon: TimeSeriesPredictor.predict()", "Quantiles", "published levels exact")
def _() -> Expected:
    pd, ts = use("pandas"), use("autogluon.timeseries")
    data = pd.DataFrame({"item_id": "a", "timestamp": series().index, "target": series().to_numpy()})
    past = ts.TimeSeriesDataFrame.from_data_frame(data)
    with tempfile.TemporaryDirectory() as folder:
        made = ts.TimeSeriesPredictor(prediction_length=3, path=str(Path(folder) / "made"), verbosity=0, freq="D")
        frame = made.fit(past, hyperparameters={"Naive": {}}, enable_ensemble=False).predict(past)
    return Expected(frame, quantiles={level: frame[str(level)] for level in (0.1, 0.3, 0.5, 0.9)})


@case(
    "chronos-forecasting",
    "Chronos: predict_df() of Chronos-Bolt, an untrained network",
    "Quantiles",
    "published levels exact",
)
def _() -> Expected:
    pd, bolt = use("pandas"), use("chronos.chronos_bolt")
    use("torch").manual_seed(0)
    sizes = {"d_model": 16, "d_ff": 16, "d_kv": 8, "num_layers": 1, "num_decoder_layers": 1, "num_heads": 2}
    network = use("transformers").T5Config(**sizes, vocab_size=2, pad_token_id=0, decoder_start_token_id=0)
    network.chronos_config = {
        "context_length": 64,
        "prediction_length": 16,
        "input_patch_size": 16,
        "input_patch_stride": 16,
        "quantiles": [i / 10 for i in range(1, 10)],
        "use_reg_token": True,
    }
    made = bolt.ChronosBoltPipeline(model=bolt.ChronosBoltModelForForecasting(network))
    data = pd.DataFrame({"item_id": "a", "timestamp": series().index, "target": series().to_numpy()})
    frame = made.predict_df(data, prediction_length=3, quantile_levels=[0.1, 0.5, 0.9])
    values = np.sort(frame[["0.1", "0.5", "0.9"]].to_numpy(), axis=1)  # those of an untrained network cross
    return Expected(frame, quantiles={0.1: values[:, 0], 0.5: values[:, 1], 0.9: values[:, 2]})


def _skforecast() -> Any:
    estimator = use("sklearn.linear_model").LinearRegression()
    found = use("skforecast.recursive").ForecasterRecursive(estimator=estimator, lags=3)
    found.fit(series(), store_in_sample_residuals=True)
    return found


@case("skforecast", "skforecast: predict_interval(), level=", "Quantiles", "bounds exact; pred taken for the median")
def _() -> Expected:
    frame = _skforecast().predict_interval(3, interval=[0.1, 0.9])
    return Expected(frame, quantiles={0.1: frame["lower_bound"], 0.9: frame["upper_bound"]}, options={"level": 0.8})


@case("skforecast", "skforecast: predict_quantiles()", "Quantiles", "published levels exact")
def _() -> Expected:
    frame = _skforecast().predict_quantiles(3, quantiles=[0.1, 0.5, 0.9])
    return Expected(frame, quantiles={0.1: frame["q_0.1"], 0.5: frame["q_0.5"], 0.9: frame["q_0.9"]})


@case("skforecast", "skforecast: predict_bootstrapping()", "Ensemble")
def _() -> Expected:
    frame = _skforecast().predict_bootstrapping(3, n_boot=20)
    return Expected(frame, frame.mean(axis=1), frame.std(axis=1, ddof=0))


def check(own: Case) -> None:
    """Raise AssertionError unless the object becomes what is expected, row by row."""
    expected = own.make()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if "crossing" not in own.source:
            warnings.filterwarnings("ignore", "as_belief: quantiles cross")
        beliefs = list(oc.as_beliefs(expected.obj, **(expected.options or {})))
    assert beliefs, own.source
    assert all(type(belief).__name__ == own.belief for belief in beliefs), [type(belief) for belief in beliefs]
    if len(beliefs) == 1:
        assert type(oc.as_belief(expected.obj, **(expected.options or {}))).__name__ == own.belief
    else:
        with contextlib.suppress(ValueError):
            oc.as_belief(expected.obj, **(expected.options or {}))
            raise AssertionError(f"{own.source}: {len(beliefs)} forecasts were taken for one")
    for name, wanted in (("mean", expected.mean), ("sd", expected.sd)):
        if wanted is not None:
            found = np.array([b.mean() if name == "mean" else np.sqrt(b.variance()) for b in beliefs])
            np.testing.assert_allclose(
                found, np.reshape(np.asarray(wanted, dtype=float), found.shape), expected.rtol, 1e-9
            )
    for level, values in (expected.quantiles or {}).items():
        met = [belief.quantile(level)[0] for belief in beliefs]
        np.testing.assert_allclose(met, np.asarray(values, dtype=float).ravel(), rtol=1e-6)


def main(library: str, path: Path) -> None:
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    version = importlib.metadata.version(library)
    cases = [own for own in CASES if own.library == library]
    assert cases, f"no case of {library}"
    for own in cases:
        check(own)
        print(f"{library} {version}: {own.source} -> {own.belief}", flush=True)
    made = [
        {"library": f"{library} {version}", "source": own.source, "belief": own.belief, "exact": own.exact}
        for own in cases
    ]
    rest = [row for row in known if row["source"] not in {own.source for own in cases}]
    order = [own.source for own in CASES]
    rows = sorted([*rest, *made], key=lambda row: order.index(row["source"]) if row["source"] in order else len(order))
    path.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
