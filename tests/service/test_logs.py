"""The log of the process."""

from __future__ import annotations

import json
import logging
import sys

import pytest

from overcast.service.logs import JsonLines, log_to_stderr

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
    logger = logging.getLogger("overcast.service")
    before = logger.handlers[:], logger.level, logger.propagate
    try:
        log_to_stderr()
        logger.warning("something is odd")
    finally:
        logger.handlers, logger.level, logger.propagate = before
    assert json.loads(capsys.readouterr().err)["message"] == "something is odd"
