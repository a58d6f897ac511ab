"""The log of the process: one object of JSON a line."""

from __future__ import annotations

import logging

import msgspec

from overcast.service.keys import redacted

#: what is written, by name of the logger
LEVELS = {"overcast.service": logging.INFO, "uvicorn.error": logging.ERROR, "asyncio": logging.ERROR}


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
    """Write the log of the service to standard error, and errors of what it runs on; not what clients do wrong."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines())
    for name, level in LEVELS.items():
        logger = logging.getLogger(name)
        logger.addHandler(handler)
        logger.setLevel(level)
        logger.propagate = False
