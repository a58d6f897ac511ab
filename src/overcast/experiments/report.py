"""The report of an experiment: one HTML page that needs nothing but itself."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup
from matplotlib.figure import Figure

from overcast.experiments.claims import verdicts
from overcast.experiments.figure import final_regrets, notes
from overcast.experiments.outcome import Outcome, versions


def write_report(title: str, outcomes: Sequence[Outcome], figure: Figure, path: Path) -> None:
    """Write the figure, and what was found, experiment by experiment."""
    page = rendered(
        "report.html",
        title,
        figure,
        sections=[
            {
                "outcome": outcome,
                "experiment": outcome.experiment,
                "rows": final_regrets(outcome),
                "notes": notes(outcome),
                "verdicts": verdicts(outcome),
                "grid": _grid(outcome) if outcome.tuned else None,
            }
            for outcome in outcomes
        ],
    )
    path.write_text(page, encoding="utf-8")


def rendered(template: str, title: str, figure: Figure, **given: Any) -> str:
    """Return a page with the figure in it."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("overcast.experiments"), autoescape=True, undefined=jinja2.StrictUndefined
    )
    return environment.get_template(template).render(title=title, figure=_svg(figure), versions=versions(), **given)


def _svg(figure: Figure) -> Markup:
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg")
    text = buffer.getvalue()
    return Markup(text[text.index("<svg") :])


def _grid(outcome: Outcome) -> tuple[list[float], list[tuple[str, list[tuple[float, str]]]]]:
    """Return the betas, and for each curve the mean final regret at each of them and the class of its cell."""
    betas = sorted({line.beta for line in outcome.grid if line.beta is not None})
    rows = []
    for curve, picked in zip(outcome.experiment.curves, outcome.lines, strict=True):
        if curve.policy is not None:
            continue
        of_curve = {line.beta: line for line in outcome.grid if line.curve == curve}
        means = [float(of_curve[beta].regret[:, -1].mean()) for beta in betas]
        marks = [
            " ".join(["picked"] * (beta == picked.beta) + ["least"] * (mean == min(means)))
            for beta, mean in zip(betas, means, strict=True)
        ]
        rows.append((curve.label, list(zip(means, marks, strict=True))))
    return betas, rows
