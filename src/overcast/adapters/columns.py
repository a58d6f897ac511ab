"""The table of column names that forecasting tools use, and what each name stands for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from overcast.adapters.pairs import ROLES, Column, read_pairs

_PERCENT = r"(?P<percent>\d{1,2}(?:\.\d+)?|100)"
_SHARE = r"(?P<share>0?\.\d+)"
#: the probability between a lower and an upper bound: lower 80%, Lo.80, lower_0.8, lower PI (alpha=0.2)
_WITHIN = (
    r"(?:[_\-. ](?:pi|ci|bound|limit))?[_\-. ]?\(?"
    rf"(?:{_SHARE}|{_PERCENT} ?%?|alpha ?= ?(?P<alpha>0?\.\d+))\)?"
)


#: (kind, pattern of the whole name); the first match counts
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
    ("percentile", rf"p?{_PERCENT}(?:st|nd|rd|th)(?:[_\- ]?(?:percentile|pctl?|quantile))?"),
    # ArviZ's highest density interval, whose ends are no quantiles
    ("other", r"(?:.+_)?(?:hdi|hpd)[_ ]?\d{1,2}(?:\.\d+)? ?%"),
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
    ("quantile", rf"(?P<model>.+?)[_ ]{_PERCENT} ?%"),  # NeuralProphet
    ("point", r"point[_. ]forecast"),
    ("lower", r"lower(?: .+)?"),
    ("upper", r"upper(?: .+)?"),
    # part of a summary, without a name for the part
    ("other", r".+[_\-]0\.\d+|quantiles?|quantile_levels?|percentiles?|(?:.+[_\-. ])?uncertainty"),
    ("other", r"\.?se[_.](?:mean|fit|pred)"),
    ("other", r"se|stderr|(?:.+[_\-. ])?(?:lower|upper|lo|hi|lwr|upr|lcl|ucl|ci|se|stderr)(?:[_\-. ]?\d+%?)?"),
)
_PATTERNS = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in TABLE)
#: point forecasts beside quantiles
POINTS = frozenset((*ROLES["mean"], *ROLES["middle"])) - {"value"}

#: columns that identify rows, or hold the outcome
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
    """Return the role that a column's name gives it in a summary, None for other names.

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
        match = pattern.fullmatch(label.strip())
        if match:
            groups = match.groupdict()
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


def read_all(labels: Any, known: Sequence[str] = ()) -> dict[Any, Column]:
    """Return the role of each label that is part of a summary; {} if all of these are known dimensions of the context.

    A letter and a number, such as p1, is a percentile only beside others that go up to the median at least; wind_mean
    is a mean only beside wind_std or the like, and so is wind.

    Examples
    --------
    >>> list(read_all(["wind_mean", "wind_std", "rain_mean"]))
    ['wind_mean', 'wind_std']
    """
    roles = {label: column for label in labels if (column := read(label)) is not None}
    prophet = any(column.kind == "yhat lower" for column in roles.values())  # it has bounds of the trend, too
    paired = {} if prophet else read_pairs(labels)
    roles = paired | {label: column for label, column in roles.items() if _outranks(column, paired.get(label))}
    roles = {label: roles[label] for label in labels if label in roles}
    percentiles = [column.level or 0.0 for column in roles.values() if column.kind == "percentile"]
    if percentiles and (len(percentiles) < 2 or max(percentiles) < 0.5):
        roles = {label: column for label, column in roles.items() if column.kind != "percentile"}
    roles |= _point_forecast(labels, roles)
    return {} if roles.keys() <= set(known) else roles


def _point_forecast(labels: Any, roles: dict[Any, Column]) -> dict[Any, Column]:
    """Return the point forecast beside quantiles or bounds of known level: pred beside q10 and q90."""
    levels = [column for column in roles.values() if column.kind in ("quantile", "percentile", "lo", "hi")]
    if len(levels) < 2 or any(column.model for column in levels):
        return {}
    for label in labels:
        if isinstance(label, str) and label.strip().lower() in POINTS and label not in roles:
            return {label: Column("", "point")}
    return {}


def _outranks(column: Column, paired: Column | None) -> bool:
    """Return whether the role by the name alone outranks the role beside other columns."""
    if paired is None:
        return True
    if paired.kind == "parameter" or column.kind == "other":
        return False
    return not (column.kind == "yhat" and paired.kind in ("mean", "point"))
