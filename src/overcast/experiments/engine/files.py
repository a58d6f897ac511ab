"""Write what a run found: a summary, figures, and one HTML page that needs no other file."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup
from matplotlib.figure import Figure

from overcast.experiments.engine.outcome import versions


def write_summary(summary: dict[str, Any], folder: Path) -> None:
    (folder / "summary.json").write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")


def write_figure(figure: Figure, folder: Path) -> None:
    figure.savefig(folder / "figure.png", dpi=160)
    figure.savefig(folder / "figure.pdf", metadata={"CreationDate": None})


def write_page(template: str, title: str, figure: Figure, folder: Path, **given: Any) -> None:
    """Write report.html from a template: the title, the figure, and what the template is given."""
    figure.savefig(buffer := io.StringIO(), format="svg")
    svg = Markup(buffer.getvalue()[buffer.getvalue().index("<svg") :])
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("overcast.experiments"), autoescape=True, undefined=jinja2.StrictUndefined
    )
    page = environment.get_template(template).render(title=title, figure=svg, versions=versions(), **given)
    (folder / "report.html").write_text(page, encoding="utf-8")
