"""The description of all operations as OpenAPI 3.1."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Sequence
from typing import Any

import msgspec

import overcast
from overcast.service.errors import CODES, Failure
from overcast.service.http import Operation
from overcast.service.messages import SCHEMAS, Asked, NewDecision, NewOutcomeItem

_JSON = "application/json"
_PARAMETER = re.compile(r"{(\w+)(?::\w+)?}")
#: types of the items of batches, which no operation takes or answers by themselves
ITEMS: tuple[type[Asked], ...] = (NewDecision, NewOutcomeItem)
#: statuses of errors that every operation with a key may answer
COMMON = (400, 401, 403, 404, 413, 415, 422, 429, 500, 503)
#: statuses after which the same request may succeed
LATER = (429, 503)


def document(operations: Sequence[Operation]) -> dict[str, Any]:
    """Return the description of operations."""
    types: list[Any] = [Failure, *ITEMS]
    for one in operations:
        types += [kind for kind in (one.body, *one.answers.values()) if kind is not None and kind not in types]
    schemas, components = msgspec.json.schema_components(types, ref_template=f"{SCHEMAS}{{name}}")
    known = dict(zip(types, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for one in operations:
        path = _PARAMETER.sub(r"{\1}", one.path)
        paths.setdefault(path, {})[one.method.lower()] = _operation(one, known)
    modules = dict.fromkeys(sys.modules[one.handler.__module__] for one in operations)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Overcast", "version": overcast.__version__, "summary": overcast.__doc__},
        "tags": [{"name": _tag(module.__name__), "description": inspect.getdoc(module)} for module in modules],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _tag(module: str) -> str:
    """Return the group of the operations in a module: its name."""
    return module.rpartition(".")[2]


def _raw(media: str) -> dict[str, Any]:
    """Return the schema of content that is not JSON: text or bytes."""
    text = media.startswith("text/") or media == "application/x-ndjson"
    return {"schema": {"type": "string"} if text else {"type": "string", "format": "binary"}}


def _operation(one: Operation, known: dict[Any, Any]) -> dict[str, Any]:
    answers: dict[str, Any] = {}
    for status, kind in one.answers.items():
        content = {media: _raw(media) for media in one.media} if kind is None else {_JSON: {"schema": known[kind]}}
        answers[str(status)] = {"description": "Done", "content": content}
    for status in sorted({*one.errors, *((500,) if one.scope is None else COMMON)}):
        answers[str(status)] = {"description": CODES[status], "content": {_JSON: {"schema": known[Failure]}}}
        if status in LATER:
            answers[str(status)]["headers"] = {
                "Retry-After": {"description": "Seconds to wait", "schema": {"type": "integer"}}
            }
    names = _PARAMETER.findall(one.path)
    out: dict[str, Any] = {
        "operationId": one.handler.__name__,
        "tags": [_tag(one.handler.__module__)],
        "summary": one.summary,
        "parameters": [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
            for name in names
        ]
        + [
            {"name": own.name, "in": own.where, "required": False, "schema": own.schema, "description": own.text}
            for own in one.parameters
        ],
        "responses": answers,
    }
    if one.uploads:
        out["requestBody"] = {"required": True, "content": {form.decode(): _raw(form.decode()) for form in one.uploads}}
    if one.body is not None:
        forms = (_JSON, "application/toml") if one.toml else (_JSON,)
        out["requestBody"] = {"required": True, "content": {form: {"schema": known[one.body]} for form in forms}}
    if one.scope is not None:
        out["security"] = [{"key": []}]
        out["description"] = f"Needs the scope `{one.scope}`."
    return out
