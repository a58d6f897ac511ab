"""Write the results of a run: a summary, figures, and a self-contained HTML page."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup
from matplotlib.figure import Figure

from overcast import _files
from overcast.experiments.engine.outcome import versions


def write_summary(summary: dict[str, Any], folder: Path) -> None:
    _files.write_text(folder / "summary.json", json.dumps(summary, indent=2) + "\n")


def write_figure(figure: Figure, folder: Path) -> None:
    for name in ("figure.png", "figure.pdf"):
        _files.write_figure(figure, folder / name)


def write_page(template: str, title: str, figure: Figure, folder: Path, **values: Any) -> None:
    """Write report.html from a template with the title, the figure and further values."""
    figure.savefig(buffer := io.StringIO(), format="svg")
    svg = Markup(buffer.getvalue()[buffer.getvalue().index("<svg") :])
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("overcast.experiments"), autoescape=True, undefined=jinja2.StrictUndefined
    )
    page = environment.get_template(template).render(title=title, figure=svg, versions=versions(), **values)
    _files.write_text(folder / "report.html", page)
