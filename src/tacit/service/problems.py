"""Problem responses (RFC 9457): what went wrong and what to do, without a value of the request.

An error message could reveal data, too. So the detail of a problem is made of fixed sentences, and
of names in the OpenAPI document: it never holds the value that was wrong, nor the holder or an
amount of a budget.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from starlette.responses import Response

from tacit import ledger
from tacit.errors import ConfigError, DataError, PrivacyError, TacitError
from tacit.service.schemas import AnswerModel

MEDIA_TYPE = "application/problem+json"
ADDRESS = "/api/problems"
"""Path of the list of all kinds. The `type` of a problem is ADDRESS#NAME, with the kind's name."""


class KindBody(AnswerModel):
    """One kind of problem."""

    type: str
    """The address of this kind, as the `type` of a problem has it."""
    status: int
    title: str
    do: str
    """What the sender of the request can do about it."""


def _define(name: str, status: int, title: str, do: str) -> KindBody:
    """Make a kind of problem from its name and what answers say of it."""
    return KindBody(type=f"{ADDRESS}#{name}", status=status, title=title, do=do)


KINDS = (
    _define("unreadable", 400, "The request cannot be read", "Mend what the detail names."),
    _define("unknown-key", 401, "Nobody is known by this key", "Send a key that is in use."),
    _define("not-this-role", 403, "Not for this role", "Use a key whose role may do this."),
    _define("nothing-here", 404, "Nothing here", "Check the address; what exists is in the lists."),
    _define("not-this-method", 405, "Not with this method", "See the header Allow."),
    _define("too-slow", 408, "The request took too long to arrive", "Send it again."),
    _define("not-now", 409, "Not now, or not any more", "See the detail."),
    _define("budget-exhausted", 409, "A budget is spent", "Ask for earlier answers by their keys."),
    _define("no-length", 411, "The request does not say how long it is", "Send Content-Length."),
    _define("too-large", 413, "The request is too large", "Send less at once."),
    _define("unknown-content", 415, "Not a kind of content that is read here", "See the detail."),
    _define("not-sound", 422, "The request does not hold together", "See /api/openapi.json."),
    _define("key-reused", 422, "This Idempotency-Key was used before", "Use a new one."),
    _define("too-many", 429, "Too many requests", "Wait as long as Retry-After says."),
    _define("head-too-large", 431, "The request's head is too large", "Send fewer headers."),
    _define("fault", 500, "A fault of the service", "Tell the operator the header X-Request-Id."),
    _define("not-available", 503, "Not available now", "Ask again with the same Idempotency-Key."),
)
"""All kinds of problems. A problem that names no kind has the first kind of its status."""
_BY_TYPE = {kind.type: kind for kind in KINDS}
"""Kinds of problems by their addresses."""
_BY_STATUS = {kind.status: kind for kind in reversed(KINDS)}
"""The first kind of each status: in reversed order the first one overwrites the others."""
TITLES = {status: kind.title for status, kind in _BY_STATUS.items()}
"""Title of the first kind of each status."""


class Problem(Exception):
    """A refusal, raised by a resource and answered as a problem response.

    Args:
        status: HTTP status, 400 or higher.
        detail: A sentence without any value of the request.
        kind: Name of a kind in KINDS; by default the first kind of the status.
        retry_after: Seconds after which the request may be sent again; None: the answer names none.
        closes: Whether the connection ends with this answer, because the rest of the request is
            not read.

    Attributes:
        headers: HTTP headers of the answer.
    """

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        kind: str | None = None,
        retry_after: int | None = None,
        closes: bool = False,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.kind = kind
        self.headers: dict[str, str] = {}
        if retry_after is not None:
            self.headers["Retry-After"] = str(retry_after)
        if status == 401:
            self.headers["WWW-Authenticate"] = "Bearer"
        if closes:
            self.headers["Connection"] = "close"


class InvalidRequest(Exception):
    """Parameters or a body that do not fit the OpenAPI document: a problem of status 422.

    Args:
        errors: pydantic's errors: mappings with "type" and "loc", the place in the request.
    """

    def __init__(self, errors: Iterable[Mapping[str, Any]]) -> None:
        super().__init__()
        self.errors = tuple(errors)


class ProblemBody(AnswerModel):
    """The body of every answer whose status is 400 or higher."""

    type: str
    """The kind of the problem: see /api/problems."""
    title: str
    status: int
    detail: str
    """A sentence: what went wrong, and what to do. It repeats nothing of the request."""


def problem_body(status: int, detail: str, kind: str | None = None) -> dict[str, Any]:
    """Make the JSON object of a problem.

    Args:
        status: HTTP status, 400 or higher.
        detail: A sentence without any value of the request.
        kind: Name of a kind in KINDS; by default the first kind of the status.
    """
    kind_body = _BY_STATUS[status] if kind is None else _BY_TYPE[f"{ADDRESS}#{kind}"]
    return {"type": kind_body.type, "title": kind_body.title, "status": status, "detail": detail}


def problem_response(problem: Problem) -> Response:
    """Make the HTTP response of a problem."""
    body = problem_body(problem.status, problem.detail, problem.kind)
    content = json.dumps(body, separators=(",", ":"))
    return Response(content, problem.status, problem.headers, MEDIA_TYPE)


def retry_later(detail: str) -> Problem:
    """Make a problem of status 503: the same request may be sent again after a second."""
    return Problem(503, detail, retry_after=1)


UNAVAILABLE = (
    "The record of budgets cannot be reached now. Nothing was released. Ask again with the same "
    "Idempotency-Key."
)
"""Detail of a problem where the ledger's store cannot be reached."""
BUSY = "The service has too many requests now. Nothing was done. Send this one again."
"""Detail of a problem where an operation was not started."""
LATE = (
    "This was not done in time. It may be done and charged all the same, once: ask again with the "
    "same Idempotency-Key."
)
"""Detail of a problem where an operation did not end in time."""


class _ErrorProblem(NamedTuple):
    """The problem that answers the errors of one class."""

    error_class: type[TacitError]
    status: int
    detail: str
    kind: str | None = None
    """Name of a kind in KINDS; None: the first kind of the status."""


def problem_of_error(error: Exception) -> Problem:
    """Choose the problem that answers an error of tacit, or any other error.

    The error's own sentence may name people or values, so it is not sent.
    """
    # A LedgerFailed is a LedgerUnavailable that a retry does not mend: it is in the table.
    if isinstance(error, ledger.LedgerUnavailable) and not isinstance(error, ledger.LedgerFailed):
        return retry_later(UNAVAILABLE)
    for error_problem in _PROBLEMS_OF_ERRORS:
        if isinstance(error, error_problem.error_class):
            return Problem(error_problem.status, error_problem.detail, kind=error_problem.kind)
    return Problem(500, "Something broke here. It was recorded without your data.")


_PROBLEMS_OF_ERRORS = (
    _ErrorProblem(
        ledger.LedgerRefused,
        503,
        "The record of budgets is closed after a fault: tell the operator.",
    ),
    _ErrorProblem(
        ledger.LedgerFailed,
        503,
        "The disk under the record of budgets failed. Nothing was released: tell the operator.",
    ),
    _ErrorProblem(
        ledger.BudgetExhausted,
        409,
        "A budget of this request does not cover its cost. Nothing was spent. Earlier answers can "
        "be asked for with their own keys.",
        "budget-exhausted",
    ),
    _ErrorProblem(
        ledger.KeyReused,
        422,
        "This Idempotency-Key was used for another request. Use a new one for a new request.",
        "key-reused",
    ),
    _ErrorProblem(
        ledger.DrawFailed, 409, "This could not be done. Asking again with a new key may help."
    ),
    _ErrorProblem(PrivacyError, 409, "Doing this would break a stated guarantee."),
    _ErrorProblem(DataError, 422, "The content of the request does not fit what is served here."),
    _ErrorProblem(ConfigError, 422, "The request does not fit what is served here."),
)
"""Problems of classes of errors. The first class that an error is an instance of decides, so a
subclass stands before its base class."""


def describe_invalid(errors: Iterable[Mapping[str, Any]], names: Collection[str]) -> str:
    """Write a sentence that names the wrong fields of a request.

    Args:
        errors: pydantic's errors. The location of one may hold a key that the sender made up, which
            is not repeated.
        names: The names in the OpenAPI document, which may be repeated.
    """
    fields = set()
    for error in errors:
        if error["type"] == "extra_forbidden":
            fields.add("an unknown field")
        else:
            # A location begins with the part of the request, such as "query".
            _, *path_to_field = error["loc"]
            fields.add(_find_documented_field(path_to_field, names))
    return f"Wrong or missing: {', '.join(sorted(fields))}. See /api/openapi.json."


def _find_documented_field(location: Iterable[Any], names: Collection[str]) -> str:
    """Return the first documented name in an error's location; "the body" if there is none."""
    for part in location:
        if isinstance(part, str) and part in names:
            return part
    return "the body"


def documented_names(part: Any) -> frozenset[str]:
    """Collect all names of parameters and fields in the OpenAPI document, or in a part of it.

    A problem may contain these names, since they do not come from the sender of a request.

    Args:
        part: Any value in the document: an object, a list, or one that holds no names.
    """
    if isinstance(part, list):
        return _collect_names(part)
    if not isinstance(part, dict):
        return frozenset()
    names = set(_collect_names(part.values()))
    if "in" in part and "name" in part:
        names.add(part["name"])
    fields = part.get("properties")
    if isinstance(fields, dict):
        names.update(fields)
    return frozenset(names)


def _collect_names(parts: Iterable[Any]) -> frozenset[str]:
    """Collect the names in several parts of the OpenAPI document."""
    names: set[str] = set()
    for part in parts:
        names |= documented_names(part)
    return frozenset(names)
