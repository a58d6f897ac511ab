"""HTML tables for notebooks: escaped, without scripts, in the page's colours."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_TABLE = "border-collapse: collapse; font-variant-numeric: tabular-nums; color: inherit; background: transparent"
_LINE = "border: 0; border-bottom: 1px solid rgba(128, 128, 128, 0.4); padding: 0.2em 0.8em; background: transparent"


def numbers(*values: float) -> list[str]:
    """Format numbers to four digits."""
    return [f"{value:.4g}" for value in values]


def table(
    title: str, head: Sequence[str], rows: Sequence[Sequence[str]], note: str = "", bold: int | None = None
) -> str:
    """Return a title, a table and a note as HTML; without a head all columns are flush left.

    bold : index of the bold row
    """
    parts = [f'<div style="margin: 0.3em 0"><strong>{escape(title)}</strong></div>']
    if rows:
        lines = [_row("th", head)] if head else []
        lines += [_row("td", row, at == bold, bool(head)) for at, row in enumerate(rows)]
        parts.append(f'<table style="{_TABLE}">{"".join(lines)}</table>')
    if note:
        parts.append("".join(f'<div style="margin: 0.3em 0">{escape(line)}</div>' for line in note.splitlines()))
    return f'<div style="color: inherit; max-width: 60em">{"".join(parts)}</div>'


def _row(kind: str, cells: Sequence[str], bold: bool = False, right: bool = True) -> str:
    weight = "; font-weight: bold" if bold else "; font-weight: normal" if kind == "td" else ""
    sides = ["left", *["right" if right else "left"] * (len(cells) - 1)]
    inner = "".join(
        f'<{kind} style="{_LINE}; text-align: {side}{weight}">{escape(cell)}</{kind}>'
        for cell, side in zip(cells, sides, strict=True)
    )
    return f'<tr style="background: transparent">{inner}</tr>'
