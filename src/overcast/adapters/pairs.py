"""Columns that are part of a summary only beside others: tmean beside tsd, temp_min beside temp_max."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple


class Column(NamedTuple):
    """The role of a column in a summary.

    model : the name of the model, "" if the column's name has none
    kind : a kind in `columns.TABLE`, or one that `read_pairs` returns
    level : the level of a quantile, or the coverage of an interval, in (0, 1); None for other kinds
    """

    model: str
    kind: str
    level: float | None = None


#: role -> words for it
ROLES: dict[str, tuple[str, ...]] = {
    "mean": (
        *("mean", "avg", "average", "pred", "prediction", "predicted", "forecast", "fcst", "hat", "yhat", "expected"),
    ),
    "sd": ("sd", "std", "stdev", "stddev", "std_dev", "sigma"),
    "variance": ("var", "variance"),
    # ambiguous spreads
    "vague": (
        *("spread", "error", "err", "iqr", "unc", "uncertainty", "precision", "mad", "rmse", "se", "stderr", "sem"),
        *("std_err", "std_error", "std.error"),
    ),
    # a point forecast between bounds
    "middle": ("median", "mid", "middle", "central", "point", "fit", "fitted", "value", "estimate", "est", "likely"),
    "parameter": (
        *("loc", "location", "scale", "mu", "shape", "rate", "alpha", "beta", "concentration", "concentration0"),
        *("concentration1", "total_count", "probs"),
    ),
}
#: words for the lower and the upper bound
ENDS = (
    ("lower", "upper"),
    ("lo", "hi"),
    ("lwr", "upr"),
    ("low", "high"),
    ("min", "max"),
    ("lcl", "ucl"),
    ("lb", "ub"),
    ("worst", "best"),
)
#: names of parameters that several families share -> how one of the families is written
FAMILIES: dict[tuple[str, ...], str] = {
    ("loc", "scale"): "scipy.stats.norm({loc}, {scale})",
    ("location", "scale"): "scipy.stats.norm({location}, {scale})",
    ("mu", "sigma"): "scipy.stats.norm({mu}, {sigma})",
    ("shape", "rate"): "scipy.stats.gamma({shape}, scale=1 / {rate})",
    ("shape", "scale"): "scipy.stats.gamma({shape}, scale={scale})",
    ("concentration", "rate"): "scipy.stats.gamma({concentration}, scale=1 / {rate})",
    ("alpha", "beta"): "scipy.stats.beta({alpha}, {beta})",
    ("concentration1", "concentration0"): "scipy.stats.beta({concentration1}, {concentration0})",
    ("total_count", "probs"): "scipy.stats.nbinom({total_count}, 1 - {probs})",
}
#: prefixes of a logarithm, whose mean and deviation are those of a lognormal distribution
LOGARITHM, LOGNORMAL = ("log", "ln"), "scipy.stats.lognorm({sd}, scale=np.exp({mean}))"
#: prefixes of bounds that name no variable or model
FORECAST = frozenset(
    (
        *("", "p", "q", "pi", "ci", "fc", "fcst", "forecast", "pred", "prediction", "predicted", "yhat", "y", "y_pred"),
        *("y_hat", "conf", "conf_int", "confidence", "interval", "hdi", "eti", "hpd", "value", "estimate", "fit"),
        *("bound", "limit"),
    )
)
_ROLE = {word: role for role, words in ROLES.items() for word in words}
_END = {word: end for pair in ENDS for end, word in zip(("lower", "upper"), pair, strict=True)}
_WORD = "|".join(re.escape(word) for word in sorted({*_ROLE, *_END}, key=len, reverse=True))
_BOUND = "|".join(_END)
#: temp_mean, temp(mean), lower_bound; mean; mean_temp, mean(temp); and tmean, which stands beside tsd
_AFTER = re.compile(rf"(?:(?P<model>.+?)?[_\-. (]+)?(?P<word>{_WORD})\)?", re.IGNORECASE)
_LIMIT = re.compile(
    rf"(?:(?P<model>.+?)?[_\-. (]+)?(?P<word>{_BOUND})[_\-. ]?(?:bound|limit|ci|pi|conf|conf_int)\)?", re.IGNORECASE
)
_ALONE = re.compile(rf"(?P<model>)[_\-. ]*(?P<word>{_WORD})", re.IGNORECASE)
_BEFORE = re.compile(rf"(?P<word>{_WORD})[_\-. (]+(?P<model>.+?)\)?", re.IGNORECASE)
_GLUE = "mean|avg|sd|std|stdev|sigma|var|err|error|stderr|min|max|low|high|lower|upper|lwr|upr"
_GLUED = (
    re.compile(rf"(?P<model>.*[^_\-. (])(?P<word>{_GLUE})", re.IGNORECASE),
    re.compile(r"(?P<word>mean|avg|sd|std|stdev|var|min|max)(?P<model>[^_\-. (].*)", re.IGNORECASE),
)
#: a name as short as this may end in "sd" by chance, so that t beside tsd is no pair
SHORT = 2
#: words in which hardly any name ends by chance, so that y beside yerr is a pair
RARE = frozenset(("err", "error", "stderr"))
#: l95 beside u95, and X2.5 beside X97.5, as R calls columns 2.5%
_END_AT = re.compile(r"(?:(?P<model>.+?)[_\-. ])?(?P<end>[lu])[_\-. ]?(?P<percent>\d{2}(?:\.\d+)?)", re.IGNORECASE)
_R = re.compile(r"X(?P<percent>\d{1,2}(?:\.\d+)?)\.?", re.IGNORECASE)


class _Group(NamedTuple):
    """The columns that share a name.

    model : the name
    words : word, such as "mean" -> column
    apart : the words that a separator divides from the name
    """

    model: str
    words: dict[str, Any]
    apart: set[str]

    def of(self, *roles: str) -> list[Any]:
        """Return the columns with one of these roles."""
        return [label for word, label in self.words.items() if _ROLE.get(word) in roles]


def read_pairs(labels: Iterable[Any]) -> dict[Any, Column]:
    """Return the roles that columns have only beside others.

    Their kinds are "mean" beside "sd" or "variance"; "lower", "upper" and a "point" between them; "parameter" for
    parameters of a distribution; and "other" for a centre beside an ambiguous spread.

    Examples
    --------
    >>> read_pairs(["tmean", "tsd", "rain"])
    {'tmean': Column(model='t', kind='mean', level=None), 'tsd': Column(model='t', kind='sd', level=None)}
    >>> [column.kind for column in read_pairs(["lower_bound", "pred", "upper_bound"]).values()]
    ['lower', 'upper', 'point']
    """
    known = [label for label in labels if isinstance(label, str)]
    groups = _groups(known)
    out = _paired_levels(known)
    for group in groups.values():
        parameters = family(group.model, group.words)
        if parameters:
            out |= {label: Column(group.model, "parameter") for label in parameters[1].values()}
            continue
        out |= _bounds(group, groups.get("", group), known)
        centre, vague = _centre(group, known), group.of("vague")
        if centre is not None and vague:
            out |= {label: Column(group.model, "other") for label in (centre, *vague)}
        for kind in ("sd", "variance"):
            if centre is not None and group.of(kind):
                out |= {centre: Column(group.model, "mean"), group.of(kind)[0]: Column(group.model, kind)}
                break
    return out


def is_vague(label: Any) -> bool:
    """Return whether a column's name is that of an ambiguous spread, such as "error"."""
    return any(group.of("vague") for group in _groups([label] if isinstance(label, str) else []).values())


def family(model: str, words: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """Return how a distribution with these parameters is written, and their columns by word; None for other words."""
    for names, write in FAMILIES.items():
        if all(name in words for name in names):
            return write, {name: words[name] for name in names}
    centre = next((label for word, label in words.items() if _ROLE.get(word) == "mean"), None)
    spread = next((label for word, label in words.items() if _ROLE.get(word) == "sd"), None)
    if model.lower() in LOGARITHM and centre is not None and spread is not None:
        return LOGNORMAL, {"mean": centre, "sd": spread}
    return None


def constructor_call(labels: Iterable[Any]) -> str:
    """Return the Python call that builds a distribution from parameters in these columns, "" if there are none.

    Examples
    --------
    >>> constructor_call(["shape", "rate"])
    "scipy.stats.gamma(row['shape'], scale=1 / row['rate'])"
    """
    for group in _groups([label for label in labels if isinstance(label, str)]).values():
        parameters = family(group.model, group.words)
        if parameters:
            write, by_word = parameters
            return write.format(**{word: f"row[{label!r}]" for word, label in by_word.items()})
    return ""


def _groups(labels: list[str]) -> dict[str, _Group]:
    """Group columns by the name that they share; a column may belong to several groups."""
    out: dict[str, _Group] = {}
    for label in labels:
        for pattern in (_ALONE, _AFTER, _LIMIT, _BEFORE, *_GLUED):
            match = pattern.fullmatch(label.strip())
            if match:
                model, word = (match["model"] or "").strip("._- "), match["word"].lower()
                group = out.setdefault(model.lower(), _Group(model, {}, set()))
                group.words.setdefault(word, label)
                if pattern not in _GLUED:
                    group.apart.add(word)
    return out


def _centre(group: _Group, labels: list[str]) -> str | None:
    """Return the column of the mean: the one with a word for it, or the bare name, such as wind beside wind_sd."""
    means = group.of("mean")
    if means:
        return str(means[0])
    if group.model in labels and (group.apart or len(group.model) > SHORT or RARE & group.words.keys()):
        return group.model
    bare = group.of("middle") if not group.model and group.of("vague") else []
    return str(bare[0]) if bare else None


def _paired_levels(labels: list[str]) -> dict[Any, Column]:
    """Return bounds and quantiles whose levels count only beside the opposite ones: l95 beside u95."""
    out: dict[Any, Column] = {}
    ends = {label: match for label in labels if (match := _END_AT.fullmatch(label.strip()))}
    for label, match in ends.items():
        share, of = float(match["percent"]) / 100.0, (match["model"], match["percent"])
        ends_there = {other["end"].lower() for other in ends.values() if (other["model"], other["percent"]) == of}
        if ends_there == {"l", "u"} and share >= 0.5:
            model = "" if (match["model"] or "").lower() in FORECAST else match["model"]
            out[label] = Column(model, "lo" if match["end"].lower() == "l" else "hi", round(share, 9))
    percents = {label: float(match["percent"]) for label in labels if (match := _R.fullmatch(label.strip()))}
    if any("." in label for label in percents) and {100.0 - number for number in percents.values()} == set(
        percents.values()
    ):
        out |= {label: Column("", "quantile", round(number / 100.0, 9)) for label, number in percents.items()}
    return out


def _bounds(group: _Group, bare: _Group, labels: list[str]) -> dict[Any, Column]:
    """Return the roles of a lower and an upper bound, and of the forecast between them.

    bare : columns whose whole name is such a word
    """
    pair = next((words for words in ENDS if all(word in group.words for word in words)), None)
    if pair is None or group.model == "mean" or {"open", "close"} & {label.lower() for label in labels}:
        return {}  # bounds of a mean say little of what is forecast, and the high of a day's prices is a quantity
    model = "" if group.model.lower() in FORECAST else group.model
    out = {group.words[word]: Column(model, _END[word]) for word in pair}
    centres = [*group.of("mean", "middle"), *([group.model] if group.model in labels else [])]
    if not model:
        centres += bare.of("mean", "middle")
    middle = next((label for label in centres if label not in out and str(label).lower() != "y"), None)
    return out if middle is None else out | {middle: Column(model, "point")}
