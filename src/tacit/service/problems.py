"""Problem responses (RFC 9457): what went wrong and what to do, without a word of the request.

An error is a release too. A problem holds a fixed sentence of this file or of a resource, never
the value that was wrong, never whose budget, never an amount.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from pydantic import BaseModel
from starlette.responses import Response

from tacit import ledger
from tacit.errors import ConfigError, DataError, PrivacyError, TacitError

MEDIA_TYPE = "application/problem+json"
ADDRESS = "/api/problems"
"""Where all kinds are listed; a problem's `type` is this with the kind's name behind a #."""


class KindBody(BaseModel):
    """One kind of problem."""

    type: str
    status: int
    title: str
    do: str


def _kind(name: str, status: int, title: str, do: str) -> KindBody:
    """do: what who asked can do about it."""
    return KindBody(type=f"{ADDRESS}#{name}", status=status, title=title, do=do)


KINDS = (
    _kind("unreadable", 400, "The request cannot be read", "Mend what the detail names."),
    _kind("unknown-key", 401, "Nobody is known by this key", "Send a key that is in use."),
    _kind("not-this-role", 403, "Not for this role", "Use a key whose role may do this."),
    _kind("nothing-here", 404, "Nothing here", "Check the address; what exists is in the lists."),
    _kind("not-this-method", 405, "Not with this method", "See the header Allow."),
    _kind("too-slow", 408, "The request took too long to arrive", "Send it again."),
    _kind("not-now", 409, "Not now, or not any more", "See the detail."),
    _kind("budget-exhausted", 409, "A budget is spent", "Ask for earlier answers by their keys."),
    _kind("no-length", 411, "The request does not say how long it is", "Send Content-Length."),
    _kind("too-large", 413, "The request is too large", "Send less at once."),
    _kind("unknown-content", 415, "Not a kind of content that is read here", "See the detail."),
    _kind("not-sound", 422, "The request does not hold together", "See /api/openapi.json."),
    _kind("key-reused", 422, "This Idempotency-Key was used before", "Use a new one."),
    _kind("too-many", 429, "Too many requests", "Wait as long as Retry-After says."),
    _kind("head-too-large", 431, "The request's head is too large", "Send fewer headers."),
    _kind("fault", 500, "A fault of the service", "Tell the operator the header X-Request-Id."),
    _kind("not-available", 503, "Not available now", "Ask again with the same Idempotency-Key."),
)
_BY_TYPE = {kind.type: kind for kind in KINDS}
_BY_STATUS = {kind.status: kind for kind in reversed(KINDS)}
TITLES = {kind.status: kind.title for kind in reversed(KINDS)}


class Problem(Exception):
    """Raised by a resource; `detail` is a fixed sentence.

    kind: a name in KINDS, by default the first of the status. last: the connection ends with it,
    since the rest of the request is not read.
    """

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        kind: str | None = None,
        retry_after: int | None = None,
        last: bool = False,
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
        if last:
            self.headers["Connection"] = "close"


class Invalid(Exception):
    """Parameters or a body that do not fit. errors: as pydantic gives them, with their places."""

    def __init__(self, errors: Iterable[Mapping[str, Any]]) -> None:
        super().__init__()
        self.errors = tuple(errors)


class ProblemBody(BaseModel):
    """The body of every answer from 400 up."""

    type: str
    title: str
    status: int
    detail: str


def body(status: int, detail: str, kind: str | None = None) -> dict[str, Any]:
    known = _BY_STATUS[status] if kind is None else _BY_TYPE[f"{ADDRESS}#{kind}"]
    return {"type": known.type, "title": known.title, "status": status, "detail": detail}


def response_of(problem: Problem) -> Response:
    content = json.dumps(body(problem.status, problem.detail, problem.kind), separators=(",", ":"))
    return Response(content, problem.status, problem.headers, MEDIA_TYPE)


def not_now(detail: str) -> Problem:
    """503, to be asked again in a second."""
    return Problem(503, detail, retry_after=1)


UNAVAILABLE = (
    "The record of budgets cannot be reached now. Nothing was released. Ask again with the same "
    "Idempotency-Key."
)
BUSY = "Too much is asked here now. Nothing was done. Ask again."
LATE = (
    "This was not done in time. It may be done and charged all the same, once: ask again with the "
    "same Idempotency-Key."
)


def of_error(error: Exception) -> Problem:
    """What an error becomes, of the library or not; its own sentence may name things and stays
    inside."""
    if isinstance(error, ledger.LedgerUnavailable) and not isinstance(error, ledger.LedgerFailed):
        return not_now(UNAVAILABLE)
    for known, status, detail, kind in _ERRORS:
        if isinstance(error, known):
            return Problem(status, detail, kind=kind)
    return Problem(500, "Something broke here. It was recorded without your data.")


_ERRORS: tuple[tuple[type[TacitError], int, str, str | None], ...] = (
    (
        ledger.LedgerRefused,
        503,
        "The record of budgets is not used any more: tell the operator.",
        None,
    ),
    (
        ledger.LedgerFailed,
        503,
        "The disk under the record of budgets failed. Nothing was released: tell the operator.",
        None,
    ),
    (
        ledger.BudgetExhausted,
        409,
        (
            "A budget of this request does not cover its cost. Nothing was spent. Earlier answers "
            "can be asked for with their own keys."
        ),
        "budget-exhausted",
    ),
    (
        ledger.KeyReused,
        422,
        "This Idempotency-Key was used for another request. Use a new one for a new request.",
        "key-reused",
    ),
    (ledger.DrawFailed, 409, "This could not be done. Asking again with a new key may help.", None),
    (PrivacyError, 409, "Doing this would break a stated guarantee.", None),
    (DataError, 422, "The content of the request does not fit what is served here.", None),
    (ConfigError, 422, "The request does not fit what is served here.", None),
)


def where(errors: Iterable[Mapping[str, Any]], names: Collection[str]) -> str:
    """Which fields are wrong, by the names they have in the OpenAPI document. A place may also hold
    what the sender made up, such as a key of an object: not repeated."""
    places = set()
    for one in errors:
        named = [part for part in one["loc"][1:] if isinstance(part, str) and part in names]
        unknown = one["type"] == "extra_forbidden"
        places.add("a field that is not known" if unknown else next(iter(named), "the body"))
    return f"Wrong or missing: {', '.join(sorted(places))}. See /api/openapi.json."


def names_of(part: Any) -> frozenset[str]:
    """All parameters and fields of the OpenAPI document, or of a part of it: what an error may
    repeat of a request, since we made it up."""
    if isinstance(part, list):
        return frozenset().union(*map(names_of, part))
    if not isinstance(part, dict):
        return frozenset()
    parameter = {part["name"]} if "in" in part and "name" in part else set()
    fields = part.get("properties")
    own = parameter.union(fields) if isinstance(fields, dict) else parameter
    return frozenset(own).union(*map(names_of, part.values()))
