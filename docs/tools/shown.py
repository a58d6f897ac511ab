"""Tables of the site, from JSON that a command wrote."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from IPython.display import Markdown

DOCS = Path(__file__).parents[1]


def results(name: str) -> dict[str, Any]:
    """Return what `overcast reproduce` found: a file of docs/results."""
    found: dict[str, Any] = json.loads((DOCS / "results" / f"{name}.json").read_text(encoding="utf-8"))
    return found


def table(header: Sequence[str], rows: Iterable[Sequence[object]], left: int = 1) -> Markdown:
    """Return a table whose first columns are flush left and the others flush right."""
    rule = [":--" if i < left else "--:" for i in range(len(header))]
    lines = [header, rule, *rows]
    return Markdown("\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines))


def number(found: dict[str, float]) -> str:
    """Return a mean with two standard errors, on one line."""
    return f"{found['mean']:,.1f}\u00a0±\u00a0{found['two_se']:,.1f}"


def regrets(experiment: dict[str, Any], clairvoyant: str = "") -> Markdown:
    """Return the final regrets of an experiment; `clairvoyant` is the heading of the regret against who knows c_t."""
    measures = ["regret", "expected_regret", *(["clairvoyant_regret"] if clairvoyant else [])]
    rows = [(_sees(v), f"{v['beta']:g}", *(number(v[name]) for name in measures)) for v in experiment["variants"]]
    return table(("learner sees", "beta", "regret", "expected regret", *filter(None, [clairvoyant])), rows)


def further(name: str) -> dict[str, Any]:
    """Return what a run of `make further` found."""
    found: dict[str, Any] = json.loads((DOCS / "results" / "further" / f"{name}.json").read_text(encoding="utf-8"))
    return found


def ended(experiment: dict[str, Any], setting: str, measure: str = "regret") -> str:
    """Return where a setting ends if the learner takes the expectation over forecasts."""
    one = next(v for v in experiment["variants"] if v["setting"] == setting and v["samples"] is None)
    return number(one[measure])


def grid(experiment: dict[str, Any]) -> Markdown:
    """Return the regret for every beta of a grid; the one that is picked is bold, the lowest is marked by a star."""
    betas = sorted({v["beta"] for v in experiment["grid"]})
    rows = []
    for picked in experiment["variants"]:
        own = {v["beta"]: v for v in experiment["grid"] if _sees(v) == _sees(picked)}
        least = min(own.values(), key=lambda v: v["regret"]["mean"])
        cells = [
            ("**{}**" if beta == picked["beta"] else "{}").format(number(own[beta]["regret"]))
            + ("\u00a0⋆" if own[beta] is least else "")
            for beta in betas
        ]
        rows.append((_sees(picked), *cells))
    return table(("learner sees", *(f"β = {beta:g}" for beta in betas)), rows)


def _sees(variant: dict[str, Any]) -> str:
    if variant["setting"] == "exact":
        return "exact"
    samples = "expectation" if variant["samples"] is None else f"L = {variant['samples']}"
    return f"{variant['setting']}, {samples}"


def claims(experiment: dict[str, Any], whose: str = "the paper says") -> Markdown:
    """Return claims, whether the run shows them, and its evidence."""
    rows = [(claim["shown"], claim["claim"], claim["evidence"]) for claim in experiment["claims"]]
    return table(("shown", whose, "this run"), rows, left=3)


def conditions(experiment: dict[str, Any]) -> Markdown:
    """Return how an experiment was run."""
    versions = ", ".join(f"{name} {version}" for name, version in experiment["versions"].items())
    data = str(experiment["data"]).removeprefix("../shared/data/")
    size = f"{experiment['trials']} trials of {experiment['steps']:,} steps, seed {experiment['seed']}"
    return Markdown(f"*{size}; data: {data}; {versions}.*")


def tuned(experiment: dict[str, Any]) -> Markdown:
    """Return the expected regret of UCB with a given ridge for every beta of the grid, and of the untuned default."""
    grid = [v for v in experiment["variants"] if v["beta"] is not None]
    default = [v for v in experiment["variants"] if v["beta"] is None]
    rows = []
    for setting in dict.fromkeys(v["setting"] for v in grid):
        cells = [number(v["expected_regret"]) for v in grid if v["setting"] == setting]
        own = next(v for v in default if v["setting"] == setting)
        rows.append((setting, *cells, f"**{number(own['expected_regret'])}**"))
    betas = dict.fromkeys(f"β = {v['beta']:g}" for v in grid)
    return table(("", *betas, "nothing tuned"), rows)


def rankings(experiment: dict[str, Any], setting: str) -> Markdown:
    """Return the methods from the lowest expected regret to the highest."""
    found = [v for v in experiment["variants"] if v["setting"] == setting]
    found.sort(key=lambda v: v["expected_regret"]["mean"])
    rows = [(v["name"], number(v["expected_regret"]), number(v["regret"]), v["trials"]) for v in found]
    return table((setting, "expected regret", "regret", "trials"), rows)


def tied(found: dict[str, Any]) -> Markdown:
    """Return the methods that are the best of a ranking, or tie with it."""
    rows = [
        (experiment["experiment"], setting, ", ".join(row["name"] for row in ranking if row["tied_with_best"]))
        for experiment in found["experiments"]
        for setting, ranking in experiment["rankings"].items()
    ]
    return table(("problem", "context", "the best and their equals"), rows, left=3)


def span(shares: Iterable[float]) -> str:
    """Return the least and the largest of some shares in percent.

    >>> span([0.9, 0.883, 0.91])
    '88 to 91 %'
    """
    low, *_, high = sorted(f"{100 * share:.0f}" for share in shares)
    return f"{low} %" if low == high else f"{low} to {high} %"


def covered(experiment: dict[str, Any]) -> Markdown:
    """Return how often the confidence set contains theta, for each round."""
    found = {(c["setting"], c["level"], c["round"]): c for c in experiment["coverage"]}
    rounds = sorted({key[2] for key in found})
    rows = [
        (setting, f"{level:.0%}", *(f"{found[setting, level, t]['share']:.0%}" for t in rounds))
        for setting, level in dict.fromkeys(key[:2] for key in found)
    ]
    return table(("context", "stated level", *(f"round {t:,}" for t in rounds)), rows, left=2)


def revealed(experiment: dict[str, Any]) -> Markdown:
    """Return the expected regret of the default by the share of rounds whose context is revealed."""
    own = [v for v in experiment["variants"] if v["beta"] is None]
    by = {0.0 if v["setting"] == "hidden" else v.get("revealed", 1.0): number(v["expected_regret"]) for v in own}
    return table(("revealed", *(f"{share:g}" for share in sorted(by))), [("regret", *(by[s] for s in sorted(by)))])


def opponents() -> Any:
    """Return what `make judge` found."""
    path = DOCS.parent / "benchmarks" / "untuned" / "results.json"
    return json.loads(path.read_text(encoding="utf-8"))["ucb"]


def cases(part: str) -> dict[tuple[str, str], tuple[int, Any]]:
    """Return the trials and the ratios of each problem and setting of a part; where more trials were run, those."""
    found, out = opponents(), {}
    for name in [part, *(name for name in found if name.startswith(f"{part}: "))]:
        for row in found[name]["problems"]:
            out[row["name"], row["setting"]] = found[name]["trials"], row["ratios"]
    return out


def worst(part: str, opponent: str, above: float) -> tuple[int, int, float]:
    """Return the number of problems, how many have a ratio above a number at some horizon, and the largest ratio."""
    ratios: dict[str, float] = {}
    for (name, _), (_, own) in cases(part).items():
        of = [values[0] for values in own.get(opponent, {}).values()]
        ratios[name] = max([ratios.get(name, 0.0), *of])
    return len(ratios), sum(ratio > above for ratio in ratios.values()), max(ratios.values())


def stated(settings: Sequence[str], rounds: Sequence[str]) -> str:
    """Return how often the stated 95 % interval contains the truth, over all problems whose assumptions hold."""
    shares = [
        one["coverage"][t][0]
        for part in opponents().values()
        for one in part["problems"]
        if one["setting"] in settings
        for t in rounds
        if t in one.get("coverage", {})
    ]
    return span(shares)


def paired(part: str, policies: Sequence[str]) -> Markdown:
    """Return over how many trials policies were judged."""
    path = DOCS.parent / "benchmarks" / "untuned" / "results.json"
    found = json.loads(path.read_text(encoding="utf-8"))
    (trials,) = {found[policy][part]["trials"] for policy in policies}
    return Markdown(f"*{trials} paired trials.*")


def judged(part: str, policy: str = "ucb") -> Markdown:
    """Return the geometric mean of the ratios to tuned opponents by horizon, with the worst one."""
    path = DOCS.parent / "benchmarks" / "untuned" / "results.json"
    found = json.loads(path.read_text(encoding="utf-8"))[policy][part]
    by = {(s["setting"], s["opponent"], s["horizon"]): f"{s['mean']:.2f} ({s['worst']:.2f})" for s in found["scores"]}
    horizons = "30", "100", "1000"
    pairs = dict.fromkeys(key[:2] for key in by)
    rows = [(*pair, *(by[*pair, t] for t in horizons)) for pair in pairs]
    return table(("context", "opponent sees", *(f"T = {t}" for t in horizons)), rows, left=2)


def above(part: str, limit: float) -> Markdown:
    """Return where a tuned opponent that is not told the level is ahead by more than a limit, case by case."""
    lines = [
        (*key, opponent, t, f"{r[0]:.2f}", f"{r[1]:.2f} to {r[2]:.2f}", trials)
        for key, (trials, ratios) in cases(part).items()
        for opponent in ("own", "standard")
        for t, r in ratios[opponent].items()
        if r is not None and r[0] > limit
    ]
    return table(("problem", "context", "opponent sees", "T", "ratio", "95 % interval", "trials"), lines, left=3)


def costs_of_learning() -> Markdown:
    """Return a table of the cost of learning: the default with facts that it otherwise has to learn."""
    path = DOCS.parent / "benchmarks" / "untuned" / "told.json"
    found = json.loads(path.read_text(encoding="utf-8"))
    rows = []
    for stage in found["stages"]:
        most, low, high = max(row["ratios"][stage["told"]] for row in found["rows"] if row["ratios"][stage["told"]])
        rows.append((stage["told"], f"{stage['mean']:.2f}", f"{most:.2f} ({low:.2f} to {high:.2f})", stage["above"]))
    mean = f"mean ratio of {found['stages'][0]['problems']} cases, {found['trials']} trials each"
    return table((f"told, T = {found['horizon']}", mean, "worst, with its 95 % interval", "above 1.3"), rows)


def capabilities() -> dict[str, Any]:
    """Return what `benchmarks/capabilities.py` found."""
    path = DOCS.parent / "benchmarks" / "capabilities.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def able() -> Markdown:
    """Return which package can do what, by a mark."""
    found = capabilities()
    packages = list(found["versions"])
    rows = [(row["row"], *("✓" if name in row["by"] else "" for name in packages)) for row in found["rows"]]
    return table(("", *packages), rows)


def instead() -> Markdown:
    """Return which package to take for what this one lacks."""
    by = {row["row"]: ", ".join(row["by"]) for row in capabilities()["rows"]}
    rows = [
        ("to judge, by logs, policies that did not run as a shadow", by["policies judged from logs"]),
        ("a classifier of scikit-learn as the model of rewards", by["any classifier or regressor"]),
        ("millions of sparse features, on one pass over a stream", "vowpalwabbit"),
        ("to optimise a continuous design with few, costly evaluations", "botorch"),
        ("rewards that are counts, clicks or classes with a model of their own", "bayesianbandits"),
    ]
    return table(("you want", "take"), rows, left=2)


def names_of() -> Markdown:
    """Return the names by which each package does what it can."""
    rows = []
    for row in capabilities()["rows"]:
        by = "; ".join(f"{package}: {name}" for package, name in row["by"].items())
        rows.append((f"**{row['row']}**: {row['must']}", by))
    return table(("what counts", "by"), rows, left=2)


def tried() -> Markdown:
    """Return how many programs ran, with which versions."""
    found = capabilities()
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    return Markdown(f"*{found['tried']} programs ran, with {versions}.*")


def race_targets(found: Sequence[Any]) -> Markdown:
    """Return by how much this package is faster than the best others, task by task, and which goals that misses."""
    rows, missed = [], []
    for task in dict.fromkeys(r.task for r in found):
        here = [r for r in found if r.task == task]
        own = next(r.seconds for r in here if r.label == "overcast")
        others = sorted((r for r in here if r.version and not r.label.startswith("overcast")), key=lambda r: r.seconds)
        same = next(r for r in others if r.same)
        rows.append((task, *(f"{r.seconds / own:.1f} ({r.label})" for r in (same, others[0]))))
        for goal, r in ((5, same), (3, others[0])):
            if r.seconds / own < goal:
                missed.append(f"{r.seconds / own:.1f} instead of {goal} ({task}; beside {r.label}, {r.rule})")
    said = f"Missed: {'; '.join(missed)}." if missed else "None is missed."
    return Markdown(f"{table(('', 'best with the same rule: 5', 'fastest of any kind: 3'), rows).data}\n\n{said}")


def importing() -> Markdown:
    """Return how long `import overcast` takes, as `make bench` found."""
    path = DOCS.parent / "benchmarks" / "importing.json"
    found = json.loads(path.read_text(encoding="utf-8"))
    ours, others = (found["milliseconds"][name] for name in ("overcast", "dependencies"))
    return Markdown(
        f"`import overcast` takes {ours:.0f} milliseconds of processor time, NumPy and SciPy {others:.0f} of them "
        f"(the least of {found['turns']} fresh interpreters). Adapters of forecasts, Matplotlib and scipy.stats load "
        "when they are needed."
    )


def chaining() -> Markdown:
    """Return how long `events.chained` takes, as `make bench` found."""
    path = DOCS.parent / "benchmarks" / "chain.json"
    found = json.loads(path.read_text(encoding="utf-8"))["microseconds"]
    return Markdown(
        f"`events.chained` takes {found['normal']:.0f} microseconds for a decision under a normal forecast, and "
        f"{found['ensemble']:.0f} under an ensemble of 50 members."
    )


def against_emos() -> Markdown:
    """Return what `make judge-recalibration` found: scores, and differences to the better EMOS of each window."""
    path = DOCS.parent / "benchmarks" / "recalibration" / "results.json"
    rows = []
    for one in json.loads(path.read_text(encoding="utf-8"))["summary"]:
        name = one["name"] if one["records"] == 1 else f"{one['name']} ({one['records']})"
        cells = [f"{one['crps'][key]:.3f}" for key in ("recalibrated", "as they came", "memory of 500")]
        for days in ("30 days", "365 days"):
            best = min((key for key in one["crps"] if key.endswith(f" {days}")), key=one["crps"].__getitem__)
            mean, low, high = (f"{value:+.3f}".replace("-", "−") for value in one["differences"][best])
            cells += [f"{one['crps'][best]:.3f}", f"{mean} ({low} to {high})"]
        rows.append((name, *cells))
    header = "record", "recalibrated", "as it came", "500 outcomes"
    return table((*header, "EMOS, 30 days", "difference", "EMOS, 365 days", "difference"), rows)


def stranger() -> Markdown:
    """Return how long each step of the first page takes."""
    found = results("stranger")
    rows = [(step["step"], step["printed"], f"{step['seconds']:.1f}") for step in found["steps"]]
    total = sum(step["seconds"] for step in found["steps"])
    said = (
        f"The computer takes {total:.0f} seconds, on Python {found['python']} with the packages at hand. "
        f"The {found['words']} words of the page, code included, take {found['minutes_to_read']:.0f} minutes to read."
    )
    return Markdown(f"{table(('step', 'last line printed', 'seconds'), rows, left=2).data}\n\n{said}")


def coverage() -> Markdown:
    """Return the shares of lines and branches that the tests run, by package, as `make coverage` wrote them."""
    found = results("coverage")
    rows = [
        (name, f"{one['lines']:,}", _share(one, "lines"), f"{one['branches']:,}", _share(one, "branches"))
        for name, one in found["parts"].items()
    ]
    return table(("part", "lines", "run", "branches", "run"), rows)


def _share(one: dict[str, int], what: str) -> str:
    return f"{one[f'{what}_run'] / one[what]:.1%}" if one[what] else ""
