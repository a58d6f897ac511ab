"""The names that forecasting tools give to columns of summaries, and what each says."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

_PERCENT = r"(?P<percent>\d{1,2}(?:\.\d+)?|100)"
_SHARE = r"(?P<share>0?\.\d+)"
#: how much lies between a lower and an upper bound: lower 80%, Lo.80, lower_0.8, lower PI (alpha=0.2)
_WITHIN = (
    r"(?:[_\-. ](?:pi|ci|bound|limit))?[_\-. ]?\(?"
    rf"(?:{_SHARE}|{_PERCENT} ?%?|alpha ?= ?(?P<alpha>0?\.\d+))\)?"
)


class Column(NamedTuple):
    """What a column holds.

    model : of which model, "" if the name does not tell
    kind : a key of the table below
    level : of a quantile, or the coverage of an interval, in (0, 1); None for other kinds
    """

    model: str
    kind: str
    level: float | None = None


#: kind -> pattern of the whole name; the first that fits counts
TABLE: tuple[tuple[str, str], ...] = (
    # Nixtla: statsforecast, mlforecast, neuralforecast, TimeGPT
    ("lo", rf"(?P<model>.+)-lo-{_PERCENT}"),
    ("hi", rf"(?P<model>.+)-hi-{_PERCENT}"),
    ("median", r"(?P<model>.+)-median"),
    ("quantile", rf"(?P<model>.+)[-_]ql{_SHARE}"),
    ("quantile", rf"(?P<model>.+)-q-{_PERCENT}"),
    # Prophet
    ("yhat", r"yhat"),
    ("yhat lower", r"yhat_lower"),
    ("yhat upper", r"yhat_upper"),
    # statsmodels
    ("mean se", r"mean_se"),
    ("mean lower", r"mean_ci_lower"),
    ("mean upper", r"mean_ci_upper"),
    ("obs lower", r"obs_ci_lower"),
    ("obs upper", r"obs_ci_upper"),
    ("pi lower", r"pi_lower"),
    ("pi upper", r"pi_upper"),
    # AutoGluon and Chronos (0.1), and names in use everywhere
    ("quantile", rf"(?:q|p|quantile|ql)?[_=\- ]?{_SHARE}"),
    ("quantile", rf"{_PERCENT} ?%"),
    ("percentile", rf"(?:q|p|quantile|percentile|perc|pct)[_\- ]?{_PERCENT}"),
    ("median", r"median"),
    ("mean", r"mean|average|avg"),
    ("sd", r"std|sd|stdev|stddev|std_dev|sigma"),
    ("variance", r"var|variance"),
    # Darts' components of quantiles, and the like
    ("quantile", rf"(?P<model>.+?)[_\-](?:q|quantile_?){_SHARE}"),
    ("percentile", rf"(?P<model>.+?)[_\-](?:q|p){_PERCENT}"),
    ("lo", rf"(?:lower|lo|lwr){_WITHIN}"),
    ("hi", rf"(?:upper|hi|upr){_WITHIN}"),
    ("lo", rf"{_PERCENT} ?% (?:(?:pi|ci) )?lower"),
    ("hi", rf"{_PERCENT} ?% (?:(?:pi|ci) )?upper"),
    ("point", r"point[_. ]forecast"),
    ("lower", r"lower(?: .+)?"),
    ("upper", r"upper(?: .+)?"),
    # what only summaries have, though nobody says of what
    ("other", r".+[_\-]0\.\d+|quantiles?|quantile_levels?|percentiles?|(?:.+[_\-. ])?uncertainty"),
    ("other", r"se|stderr|(?:.+[_\-. ])?(?:lower|upper|lo|hi|lwr|upr|lcl|ucl|ci|se|stderr)(?:[_\-. ]?\d+%?)?"),
)
#: a centre and a spread of one forecast, such as wind_mean and wind_std; either alone may be a quantity of its own
_CENTRES, _SPREADS = ("mean", "avg", "average"), ("sd", "std", "stdev", "stddev", "std_dev", "sigma")
#: parameters of a distribution, of a family that they do not tell
_PARAMETERS = ({"loc", "scale"}, {"mu", "sigma"})
#: spreads that may be several things
_VAGUE = ("spread", "error", "err", "iqr")
#: bounds of what they do not tell, and what may stand between them
_ENDS, _MIDDLES = {"low", "high"}, ("mid", "middle", "central")
#: names in front of bounds that are those of a forecast; the high of a day or of a price is a quantity
_FORECAST = ("", "p", "q", "pi", "ci", "fc", "forecast", "pred", "prediction", "yhat")
_PAIRED = re.compile(
    r"(?:(?P<model>.+?)[_\-. ])?"
    rf"(?P<what>{'|'.join([*_CENTRES, *_SPREADS, 'loc', 'scale', 'mu', *_VAGUE, *sorted(_ENDS), *_MIDDLES])})",
    re.IGNORECASE,
)
_PATTERNS = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in TABLE)

#: columns that tell rows apart, or what came
KEYS = frozenset(
    (
        *("unique_id", "ds", "cutoff", "y", "item_id", "id", "timestamp", "time", "date", "datetime", "target_name"),
        *(
            "target",
            "predictions",
            "index",
            "series_id",
            "horizon",
            "step",
            "lead_time",
            "valid_time",
            "fold",
            "window",
        ),
    )
)


def read(label: Any) -> Column | None:
    """Return what a column says about a forecast, None if it is no column of a summary.

    Examples
    --------
    >>> read("AutoARIMA-lo-80")
    Column(model='AutoARIMA', kind='lo', level=0.8)
    >>> read("q0.1"), read("rain")
    (Column(model='', kind='quantile', level=0.1), None)
    """
    if isinstance(label, float) and 0.0 < label < 1.0:
        return Column("", "quantile", float(label))
    if not isinstance(label, str):
        return None
    for kind, pattern in _PATTERNS:
        found = pattern.fullmatch(label.strip())
        if found:
            groups = found.groupdict()
            level, model = None, groups.get("model") or ""
            if groups.get("alpha") is not None:
                level = 1.0 - float(groups["alpha"])
            elif groups.get("share") is not None:
                level = float(groups["share"])
            elif groups.get("percent") is not None:
                level = float(groups["percent"]) / 100.0
            if kind in ("lo", "hi") and not model and level is not None and not 0.5 <= level < 1.0:
                return Column("", "other")  # lower 5% is a quantile, or an interval that hardly anybody asks for
            return Column(model, kind, None if level is None else round(level, 9))
    return None


def read_all(labels: Any) -> dict[Any, Column]:
    """Return the columns of summaries among these labels.

    A letter and a number, such as p1, is a percentile only beside others that go up to the median at least; wind_mean
    is a mean only beside wind_std or the like, and so is wind.

    Examples
    --------
    >>> list(read_all(["wind_mean", "wind_std", "rain_mean"]))
    ['wind_mean', 'wind_std']
    """
    found = {label: column for label in labels if (column := read(label)) is not None}
    found = _pairs(labels) | found
    found = {label: found[label] for label in labels if label in found}
    percentiles = [column.level or 0.0 for column in found.values() if column.kind == "percentile"]
    if percentiles and (len(percentiles) < 2 or max(percentiles) < 0.5):
        return {label: column for label, column in found.items() if column.kind != "percentile"}
    return found


def _pairs(labels: Any) -> dict[Any, Column]:
    """Return centres that stand beside a spread, and the other way round, and parameters that stand together."""
    at: dict[str, dict[str, Any]] = {}
    for label in labels:
        match = _PAIRED.fullmatch(label.strip()) if isinstance(label, str) else None
        if match:
            at.setdefault(match["model"] or "", {})[match["what"].lower()] = label
    out: dict[Any, Column] = {}
    for model, own in at.items():
        centre, spread = ([label for what, label in own.items() if what in kind] for kind in (_CENTRES, _SPREADS))
        if not centre and model in labels:
            centre = [model]
        vague = [label for what, label in own.items() if what in _VAGUE]
        if centre and vague:
            out |= {label: Column(model, "other") for label in (centre[0], *vague)}
        if own.keys() >= _ENDS and model.lower() in _FORECAST and not {"open", "close"} & set(labels):
            out |= {label: Column("", "other") for what, label in own.items() if what in (*_ENDS, *_MIDDLES)}
        if centre and spread:
            out |= {centre[0]: Column(model, "mean"), spread[0]: Column(model, "sd")}
        for both in _PARAMETERS:
            if both <= own.keys():
                out |= {own[what]: Column(model, "other") for what in both}
    return out
