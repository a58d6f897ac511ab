"""The log of the process: one object of JSON a line."""

from __future__ import annotations

import logging

import msgspec

from overcast.service.keys import redacted


class JsonLines(logging.Formatter):
    """Writes each record as a line of JSON without keys; requests are such lines already."""

    def format(self, record: logging.LogRecord) -> str:
        message = record.getMessage()
        if record.name == "overcast.service.requests":
            return message
        line = {"time": round(record.created, 3), "level": record.levelname.lower(), "message": message}
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return redacted(msgspec.json.encode(line).decode())


def log_to_stderr() -> None:
    """Write the log of the service to standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines())
    logger = logging.getLogger("overcast.service")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
