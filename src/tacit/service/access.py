"""Roles of resources, and the arguments that their signatures take from a request."""

from __future__ import annotations

from asyncio import Semaphore
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any, TypeVar

from fastapi import Header, Path, Request, Response

from tacit.service.http_bodies import OCTETS
from tacit.service.keys import LONGEST_CUSTOMER_ID, NAME, Caller, Role
from tacit.service.metrics import Metrics
from tacit.service.operations import ROLES_EXTENSION, FromRequest
from tacit.service.problems import MEDIA_TYPE, TITLES, Problem
from tacit.service.served_things import ServedThing
from tacit.service.service import Service
from tacit.service.strict_json import PRINTABLE

Thing = TypeVar("Thing", bound=ServedThing)
NOT_FOUND = "There is nothing at this address."
NAME_PATTERN = f"^{NAME.pattern}$"

CurrentService = Annotated[Service, FromRequest(lambda request: request.app.state.service)]
"""The service, in a resource's signature."""

CurrentCaller = Annotated[Caller, FromRequest(lambda request: request.state.caller)]
"""Who sends the request, in a resource's signature."""

CurrentMetrics = Annotated[Metrics, FromRequest(lambda request: request.app.state.metrics)]
"""The worker's counts for Prometheus, in a resource's signature."""

PathName = Annotated[str, Path(pattern=NAME_PATTERN)]
"""The name of a thing or a person, in the path of a resource."""

CustomerPath = Annotated[str, Path(min_length=1, max_length=LONGEST_CUSTOMER_ID, pattern=PRINTABLE)]
"""A person in the path of a resource: their name, or the id that a shop has for them."""

IdempotencyKey = Annotated[
    str,
    Header(
        alias="Idempotency-Key",
        min_length=8,
        max_length=128,
        pattern=r"^[A-Za-z0-9._~-]+$",
        description="Made by the sender for this one request; a retry repeats it.",
    ),
]


def _read_octets(request: Request) -> bytes:
    """Return the body of a request; Problem 415 where it is of another media type."""
    content_type = request.headers.get("content-type", "")
    if content_type.partition(";")[0].strip().lower() != OCTETS:
        raise Problem(415, f"Content of this address is {OCTETS}.")
    body: bytes = request.state.octets
    return body


BodyBytes = Annotated[bytes, FromRequest(_read_octets)]
"""The body of a request as bytes, in a resource's signature."""

_DOCUMENTED_PROBLEMS = (400, 401, 403, 404, 408, 409, 411, 413, 415, 422, 429, 431, 500, 503)
"""Statuses of the problems that any operation may answer with."""
_PROBLEM_CONTENT = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemBody"}}}
_OCTETS_CONTENT = {OCTETS: {"schema": {"type": "string", "format": "binary"}}}


def allow(*roles: Role) -> dict[str, Any]:
    """Make the arguments of a route: its roles, and the problems that it may answer with."""
    responses = {}
    for status in _DOCUMENTED_PROBLEMS:
        responses[status] = {"description": TITLES[status], "content": _PROBLEM_CONTENT}
    security: dict[str, list[str]] = {} if Role.ANONYMOUS in roles else {"key": []}
    return {
        "openapi_extra": {ROLES_EXTENSION: sorted(roles), "security": [security]},
        "responses": responses,
    }


def allow_bytes(
    *roles: Role, request: str | None = None, response: str | None = None
) -> dict[str, Any]:
    """Make the arguments of a route whose request or answer is bytes.

    Args:
        roles: Who may use it.
        request: Description of the bytes of the request; None for a route that takes no bytes.
        response: Description of the bytes of the answer; None for a route that answers in JSON.
    """
    route = allow(*roles)
    if request is not None:
        route["openapi_extra"]["requestBody"] = {
            "description": request,
            "required": True,
            "content": _OCTETS_CONTENT,
        }
    if response is not None:
        route["responses"][200] = {"description": response, "content": _OCTETS_CONTENT}
        route["response_class"] = Response
    return route


@asynccontextmanager
async def release_place(request: Request) -> AsyncIterator[None]:
    """Let other requests use this one's place, and thread, while it waits for another service."""
    places: Semaphore = request.state.places
    places.release()
    try:
        yield
    finally:
        await places.acquire()


def find_served(service: Service, kind: type[Thing], name: str) -> Thing:
    """Find what is served under a name.

    Raises:
        Problem: Status 404; nothing of this kind has the name.
    """
    thing = service.deployment.find(kind, name)
    if thing is None:
        raise Problem(404, NOT_FOUND)
    return thing


def check_self(caller: Caller, name: str) -> None:
    """Check that a person asks about themselves.

    Raises:
        Problem: Status 404, as for a person who does not exist, where they ask about another one.
    """
    if caller.role is Role.SUBJECT and caller.name != name:
        raise Problem(404, NOT_FOUND)
