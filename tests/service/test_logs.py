"""The log of the process."""

from __future__ import annotations

import json
import logging
import sys

import pytest

from overcast.service.logs import LEVELS, JsonLines, log_to_stderr

KEY = f"oc_0123456789abcdef_{'A' * 43}"


def _record(name: str, message: str, *args: object, error: bool = False) -> logging.LogRecord:
    info = sys.exc_info() if error else None
    return logging.LogRecord(name, logging.ERROR, "x.py", 1, message, args, info)


def test_every_line_is_json_without_keys() -> None:
    form = JsonLines()
    line = json.loads(form.format(_record("overcast.service", "two\nlines of %s", KEY)))
    assert (line["level"], line["message"]) == ("error", "two\nlines of oc_0123456789abcdef_...")
    try:
        raise KeyError(KEY)
    except KeyError:
        text = form.format(_record("overcast.service", "failed", error=True))
    assert "\n" not in text
    assert "A" * 43 not in text
    assert "KeyError" in json.loads(text)["trace"]
    assert form.format(_record("overcast.service.requests", '{"a": 1}')) == '{"a": 1}'


def test_it_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    loggers = [logging.getLogger(name) for name in LEVELS]
    before = [(one.handlers[:], one.level, one.propagate) for one in loggers]
    try:
        log_to_stderr()
        logging.getLogger("overcast.service").warning("something is odd")
        logging.getLogger("uvicorn.error").warning("a client sent something that is no request")
        logging.getLogger("asyncio").error("a task failed")
    finally:
        for one, kept in zip(loggers, before, strict=True):
            one.handlers, one.level, one.propagate = kept
    lines = [json.loads(line)["message"] for line in capsys.readouterr().err.splitlines()]
    assert lines == ["something is odd", "a task failed"]
