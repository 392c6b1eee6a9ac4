"""Problem responses (RFC 9457): what went wrong and what to do, without a word of the request.

An error is a release too. A problem holds a fixed sentence of this file or of a resource, never
the value that was wrong, never whose budget, never an amount.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from tacit.errors import ConfigError, DataError, NotFittedError, PrivacyError, TacitError
from tacit.ledger import BudgetExhausted, KeyReused, LedgerRefused, LedgerUnavailable

MEDIA_TYPE = "application/problem+json"

TITLES = {
    400: "The request cannot be read",
    401: "Nobody is known by this key",
    403: "Not for this role",
    404: "Nothing here",
    405: "Not with this method",
    408: "The request took too long to arrive",
    409: "Not now, or not any more",
    413: "The request is too large",
    415: "Not a kind of content that is read here",
    422: "The request does not hold together",
    429: "Too many requests",
    500: "A fault of the service",
    503: "Not available now",
}


class Problem(Exception):
    """Raised by a resource; `detail` is a fixed sentence."""

    def __init__(self, status: int, detail: str, *, retry_after: int | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.retry_after = retry_after


class ProblemBody(BaseModel):
    """The body of every answer from 400 up."""

    type: str
    title: str
    status: int
    detail: str


@dataclass(frozen=True)
class _Answer:
    status: int
    detail: str
    headers: dict[str, str] = field(default_factory=dict)


LATER = {"Retry-After": "1"}
UNAVAILABLE = _Answer(
    503,
    "The record of budgets cannot be reached now. Nothing was released. Ask again with the same "
    "Idempotency-Key.",
    LATER,
)
EXHAUSTED = _Answer(
    409,
    "A budget of this request does not cover its cost. Nothing was spent. Earlier answers can be "
    "asked for with their own keys.",
)
REUSED = _Answer(
    422,
    "This Idempotency-Key was used for another request. Use a new one for a new request.",
)
FAULT = _Answer(500, "Something broke here. It was recorded without your data.")


def body(status: int, detail: str) -> dict[str, Any]:
    """The members of a problem, in their order."""
    return {
        "type": "about:blank",
        "title": TITLES.get(status, "Not done"),
        "status": status,
        "detail": detail,
    }


def response(status: int, detail: str, headers: dict[str, str] | None = None) -> JSONResponse:
    """A problem as a response."""
    return JSONResponse(
        body(status, detail), status_code=status, headers=headers, media_type=MEDIA_TYPE
    )


def install(app: FastAPI) -> None:
    """Every error of the application as a problem."""

    @app.exception_handler(Problem)
    def _own(_: Request, problem: Problem) -> JSONResponse:
        headers = None
        if problem.retry_after is not None:
            headers = {"Retry-After": str(problem.retry_after)}
        return response(problem.status, problem.detail, headers)

    @app.exception_handler(HTTPException)
    def _routing(_: Request, error: HTTPException) -> JSONResponse:
        status = error.status_code
        return response(status, _ROUTING.get(status, "Not done."), dict(error.headers or {}))

    @app.exception_handler(RequestValidationError)
    def _invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        return response(422, _where(error))

    @app.exception_handler(TacitError)
    def _told(_: Request, error: TacitError) -> JSONResponse:
        answer = of_error(error)
        return response(answer.status, answer.detail, answer.headers)


_ROUTING = {
    404: "There is nothing at this address.",
    405: "This address does not take this method.",
}


def of_error(error: TacitError) -> _Answer:
    """What an error of the library becomes; its own sentence may name things and stays inside."""
    for kind, answer in _ERRORS:
        if isinstance(error, kind):
            return answer
    return FAULT


_ERRORS: tuple[tuple[type[TacitError], _Answer], ...] = (
    (LedgerUnavailable, UNAVAILABLE),
    (LedgerRefused, _Answer(503, "The record of budgets is not used any more: tell the operator.")),
    (BudgetExhausted, EXHAUSTED),
    (KeyReused, REUSED),
    (PrivacyError, _Answer(409, "Doing this would break a stated guarantee.")),
    (NotFittedError, FAULT),
    (DataError, _Answer(422, "The content of the request does not fit what is served here.")),
    (ConfigError, _Answer(422, "The request does not fit what is served here.")),
)


def _where(error: RequestValidationError) -> str:
    """Which known fields are wrong; names that the sender made up are not repeated."""
    places = {_place(one) for one in error.errors()}
    return f"Wrong or missing: {', '.join(sorted(places))}. See /api/openapi.json."


def _place(one: dict[str, Any]) -> str:
    if one["type"] == "extra_forbidden":
        return "a field that is not known"
    named = [part for part in one["loc"] if isinstance(part, str)]
    return named[-1] if named else "the body"
