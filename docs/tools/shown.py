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
    """Return a mean with two standard errors."""
    return f"{found['mean']:,.1f} ± {found['two_se']:,.1f}"


def regrets(experiment: dict[str, Any]) -> Markdown:
    """Return the final regrets of an experiment."""
    rows = [
        (_sees(v), f"{v['beta']:g}", number(v["regret"]), number(v["expected_regret"])) for v in experiment["variants"]
    ]
    return table(("learner sees", "beta", "regret", "expected regret"), rows)


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


def judged(part: str, policy: str = "ucb") -> Markdown:
    """Return the geometric mean of the ratios to tuned opponents by horizon, with the worst one."""
    path = DOCS.parent / "benchmarks" / "untuned" / "results.json"
    found = json.loads(path.read_text(encoding="utf-8"))[policy][part]
    by = {(s["setting"], s["opponent"], s["horizon"]): f"{s['mean']:.2f} ({s['worst']:.2f})" for s in found["scores"]}
    horizons = "30", "100", "1000"
    pairs = dict.fromkeys(key[:2] for key in by)
    rows = [(*pair, *(by[*pair, t] for t in horizons)) for pair in pairs]
    return table(("context", "opponent sees", *(f"T = {t}" for t in horizons)), rows, left=2)
