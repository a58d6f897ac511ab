"""The OpenAPI description as a page: no scripts, nothing from elsewhere, in the style of the dashboard."""

from __future__ import annotations

import html
import json
import re
from typing import Any

_REF = "#/components/schemas/"


def page(described: dict[str, Any]) -> bytes:
    """Return the description as a page."""
    title = f"Overcast {_text(described['info']['version'])}"
    operations = [
        _operation(method.upper(), path, one)
        for path, methods in described["paths"].items()
        for method, one in methods.items()
    ]
    types = [_type(name, schema) for name, schema in described.get("components", {}).get("schemas", {}).items()]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark"><title>API · {title}</title>'
        '<link rel="icon" href="/static/icon.svg" type="image/svg+xml">'
        '<link rel="stylesheet" href="/static/dashboard.css"></head><body>'
        '<a class="skip" href="#main">Skip to the content</a>'
        '<header class="bar"><a class="brand" href="/">'
        '<img src="/static/icon.svg" alt="" width="26" height="26">Overcast</a></header><main id="main">'
        f"<h1>The API of {title}</h1>"
        "<p>Send a key as <code>Authorization: Bearer &lt;key&gt;</code>. Bodies are JSON. Every error has one shape: "
        '<a href="#type-Failure"><code>Failure</code></a>. The whole description for programs is '
        '<a href="/openapi.json">openapi.json</a>.</p>'
        f"<h2>Operations</h2>{''.join(operations)}<h2>Types</h2>{''.join(types)}</main></body></html>"
    ).encode()


def _operation(method: str, path: str, one: dict[str, Any]) -> str:
    parts = [f"<p>{_text(one['description'])}</p>"] if "description" in one else []
    if parameters := one.get("parameters"):
        rows = [
            [f"<code>{_text(p['name'])}</code>", p["in"], _shown(p["schema"]), _text(_about(p))] for p in parameters
        ]
        parts.append(_table("Parameters", ("name", "in", "type", "meaning"), rows))
    if "requestBody" in one:
        rows = [[_text(media), _shown(kind.get("schema", {}))] for media, kind in one["requestBody"]["content"].items()]
        parts.append(_table("Body", ("media type", "type"), rows))
    rows = [
        [f"<code>{status}</code>", _text(answer["description"]), _held(answer.get("content", {}))]
        for status, answer in one.get("responses", {}).items()
    ]
    parts.append(_table("Answers", ("status", "meaning", "body"), rows))
    told = f'<code>{_text(method)} {_text(path)}</code> <span class="quiet">{_text(one["summary"])}</span>'
    return f'<details class="card"><summary>{told}</summary>{"".join(parts)}</details>'


def _type(name: str, schema: dict[str, Any]) -> str:
    needed = schema.get("required", [])
    rows = [
        [
            f"<code>{_text(field)}</code>",
            _shown(kind),
            "required" if field in needed else f"<code>{_text(json.dumps(kind.get('default')))}</code>",
        ]
        for field, kind in schema.get("properties", {}).items()
    ]
    shown = _table("", ("field", "type", "default"), rows) if rows else f"<p>{_shown(schema)}</p>"
    head = f'<section class="card" id="type-{_text(name)}"><h3><code>{_text(name)}</code></h3>'
    return f"{head}{_prose(schema.get('description', ''))}{shown}</section>"


def _prose(text: str) -> str:
    """Return a docstring: paragraphs, and lines of a name and its meaning.

    Examples
    --------
    >>> _prose("A thing.\\n\\nsize : of it, in\\n    metres")
    '<p>A thing.</p><p><code>size</code> of it, in metres</p>'
    """
    out = []
    for part in re.split(r"\n(?=\n|[\w, ]+ : )", text):
        words = " ".join(part.split())
        name, colon, meaning = words.partition(" : ")
        if words:
            out.append(f"<p><code>{_text(name)}</code> {_text(meaning)}</p>" if colon else f"<p>{_text(words)}</p>")
    return "".join(out)


def _about(parameter: dict[str, Any]) -> str:
    return str(parameter.get("description", "" if parameter.get("required") else "may be left out"))


def _held(content: dict[str, Any]) -> str:
    """Return the content of an answer: its type, or its media types if it is not JSON."""
    shown = [_shown(kind["schema"]) if "schema" in kind else _text(media) for media, kind in content.items()]
    return ", ".join(shown)


def _shown(schema: Any) -> str:
    """Return a JSON schema in few words.

    Examples
    --------
    >>> _shown({"anyOf": [{"type": "array", "items": {"type": "number"}}, {"type": "null"}]})
    'list of number, or null'
    """
    if "$ref" in schema:
        name = _text(schema["$ref"].removeprefix(_REF))
        return f'<a href="#type-{name}"><code>{name}</code></a>'
    if "anyOf" in schema:
        return ", or ".join(_shown(one) for one in schema["anyOf"])
    if "enum" in schema:
        return " or ".join(f"<code>{_text(json.dumps(one))}</code>" for one in schema["enum"])
    kind = schema.get("type", "anything")
    if kind == "array":
        inner = _shown(schema["items"]) if schema.get("items") else ""
        return f"list of ({inner})" if ", or " in inner else f"list of {inner}" if inner else "list"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict) and schema["additionalProperties"]:
        return f"object of {_shown(schema['additionalProperties'])} by name"
    limits = {"minimum": "at least", "exclusiveMinimum": "above", "maximum": "at most"}
    told = [f"{words} {_text(schema[name])}" for name, words in limits.items() if name in schema]
    return " ".join([_text(kind), *told])


def _table(caption: str, heads: tuple[str, ...], rows: list[list[str]]) -> str:
    head = "".join(f'<th scope="col">{one}</th>' for one in heads)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    above = f"<caption>{caption}</caption>" if caption else ""
    return f'<div class="scroll"><table>{above}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _text(value: Any) -> str:
    return html.escape(str(value).replace("`", ""))
