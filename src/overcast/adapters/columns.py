"""The names that forecasting tools give to columns of summaries, and what each says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from overcast.adapters.pairs import ROLES, Column, together

_PERCENT = r"(?P<percent>\d{1,2}(?:\.\d+)?|100)"
_SHARE = r"(?P<share>0?\.\d+)"
#: how much lies between a lower and an upper bound: lower 80%, Lo.80, lower_0.8, lower PI (alpha=0.2)
_WITHIN = (
    r"(?:[_\-. ](?:pi|ci|bound|limit))?[_\-. ]?\(?"
    rf"(?:{_SHARE}|{_PERCENT} ?%?|alpha ?= ?(?P<alpha>0?\.\d+))\)?"
)


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
    # what only summaries have, though nobody says of what
    ("other", r".+[_\-]0\.\d+|quantiles?|quantile_levels?|percentiles?|(?:.+[_\-. ])?uncertainty"),
    ("other", r"\.?se[_.](?:mean|fit|pred)"),
    ("other", r"se|stderr|(?:.+[_\-. ])?(?:lower|upper|lo|hi|lwr|upr|lcl|ucl|ci|se|stderr)(?:[_\-. ]?\d+%?)?"),
)
_PATTERNS = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in TABLE)
#: point forecasts beside quantiles
POINTS = frozenset((*ROLES["mean"], *ROLES["middle"])) - {"value"}

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
    """Read the role of a column in a summary; None if it has none.

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


def read_all(labels: Any, known: Sequence[str] = ()) -> dict[Any, Column]:
    """Return the columns of summaries among these labels; none if all of them are known dimensions of the context.

    A letter and a number, such as p1, is a percentile only beside others that go up to the median at least; wind_mean
    is a mean only beside wind_std or the like, and so is wind.

    Examples
    --------
    >>> list(read_all(["wind_mean", "wind_std", "rain_mean"]))
    ['wind_mean', 'wind_std']
    """
    found = {label: column for label in labels if (column := read(label)) is not None}
    prophet = any(column.kind == "yhat lower" for column in found.values())  # it has bounds of the trend, too
    beside = {} if prophet else together(labels)
    found = beside | {label: column for label, column in found.items() if _outranks(column, beside.get(label))}
    found = {label: found[label] for label in labels if label in found}
    percentiles = [column.level or 0.0 for column in found.values() if column.kind == "percentile"]
    if percentiles and (len(percentiles) < 2 or max(percentiles) < 0.5):
        found = {label: column for label, column in found.items() if column.kind != "percentile"}
    found |= _point(labels, found)
    return {} if found.keys() <= set(known) else found


def _point(labels: Any, found: dict[Any, Column]) -> dict[Any, Column]:
    """Return the point forecast beside quantiles or bounds that tell their level: pred beside q10 and q90."""
    levels = [column for column in found.values() if column.kind in ("quantile", "percentile", "lo", "hi")]
    if len(levels) < 2 or any(column.model for column in levels):
        return {}
    for label in labels:
        if isinstance(label, str) and label.strip().lower() in POINTS and label not in found:
            return {label: Column("", "point")}
    return {}


def _outranks(column: Column, beside: Column | None) -> bool:
    """Return whether what a name says alone counts, and not what it says beside others."""
    if beside is None:
        return True
    if beside.kind == "parameter" or column.kind == "other":
        return False
    return not (column.kind == "yhat" and beside.kind in ("mean", "point"))
