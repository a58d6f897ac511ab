"""Refusals, and the one shape in which every error is answered."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

#: codes of errors, by HTTP status
CODES = {
    400: "bad_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    409: "conflict",
    413: "too_large",
    415: "unsupported_media_type",
    422: "invalid",
    429: "too_many_requests",
    500: "internal",
    503: "unavailable",
}


class Fault(msgspec.Struct, omit_defaults=True):
    """An error: a code, one line for people, and the field that was wrong if one was."""

    code: str
    message: str
    field: str | None = None


class Failure(msgspec.Struct):
    """The body of every answer that is an error."""

    error: Fault


class Refusal(Exception):  # noqa: N818 - it is an answer, not a mistake
    """A request that is answered with an error, and changes nothing."""

    def __init__(
        self, status: int, message: str, field: str | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.field, self.headers = status, message, field, dict(headers or {})

    @property
    def fault(self) -> Fault:
        return Fault(CODES[self.status], self.message, self.field)


def invalid(error: Exception, field: str | None = None) -> Refusal:
    """Return the refusal for what the library refused: its own line, which names what was wrong."""
    return Refusal(422, (str(error).splitlines() or ["the request is not valid"])[0][:500], field)


#: what the library raises for arguments that it does not take
LIBRARY = (ValueError, TypeError, ArithmeticError, RecursionError)


class refusing:  # noqa: N801 - it reads as a part of the statement
    """A context manager that turns what the library refuses into a refusal; every request enters some."""

    __slots__ = ("_field",)

    def __init__(self, field: str | None = None) -> None:
        self._field = field

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, LIBRARY):
            raise invalid(error, self._field) from None
