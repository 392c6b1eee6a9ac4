"""Helpers of the functions of routes: roles, types of arguments, and checks of what is asked for.

A resource is a subject of the interface, such as models; a route is a function that answers the
requests for one address and method.
"""

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
"""Detail of problems of status 404. It is the same for what does not exist and what is hidden."""
NAME_PATTERN = f"^{NAME.pattern}$"
"""Pattern of a whole name in the OpenAPI document."""

CurrentService = Annotated[Service, FromRequest(lambda request: request.app.state.service)]
"""Type of a route's argument: the service that answers the request."""

CurrentCaller = Annotated[Caller, FromRequest(lambda request: request.state.caller)]
"""Type of a route's argument: who sent the request."""

CurrentMetrics = Annotated[Metrics, FromRequest(lambda request: request.app.state.metrics)]
"""Type of a route's argument: the counts of this worker process for Prometheus."""

PathName = Annotated[str, Path(pattern=NAME_PATTERN)]
"""Type of a part of the path: the name of something that is served, such as a model."""

CustomerPath = Annotated[str, Path(min_length=1, max_length=LONGEST_CUSTOMER_ID, pattern=PRINTABLE)]
"""Type of a part of the path: a person, by their name or by the id that a shop has for them."""

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
"""Type of a route's argument: the header that names a request that changes something."""


def _read_octets(request: Request) -> bytes:
    """Return the body of a request; raise Problem 415 unless its media type is OCTETS."""
    content_type = request.headers.get("content-type", "")
    media_type, _, _ = content_type.partition(";")
    if media_type.strip().lower() != OCTETS:
        raise Problem(415, f"Content of this address is {OCTETS}.")
    body: bytes = request.state.octets
    return body


BodyBytes = Annotated[bytes, FromRequest(_read_octets)]
"""Type of a route's argument: the body of the request as bytes."""

_DOCUMENTED_PROBLEMS = (400, 401, 403, 404, 408, 409, 411, 413, 415, 422, 429, 431, 500, 503)
"""Statuses of the problems that any operation may answer with."""
_PROBLEM_CONTENT = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemBody"}}}
"""Content of a problem, as the OpenAPI document describes it."""
_OCTETS_CONTENT = {OCTETS: {"schema": {"type": "string", "format": "binary"}}}
"""Content that is bytes, as the OpenAPI document describes it."""


def allow(*roles: Role) -> dict[str, Any]:
    """Make keyword arguments for the declaration of a route: roles, and documented problems.

    Args:
        roles: Who may use the route. With ANONYMOUS among them, everybody may, without a key.
    """
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
    """Make keyword arguments for the declaration of a route whose request or answer is bytes.

    Args:
        roles: As for `allow`.
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
    """Give up the request's place while the block waits for another service.

    At the end of the block the request waits for a place again. There is one place for each
    operation that may run at a time (`Middleware.places`).
    """
    places: Semaphore = request.state.places
    places.release()
    try:
        yield
    finally:
        await places.acquire()


def find_served(service: Service, kind: type[Thing], name: str) -> Thing:
    """Find the thing of one class that is served under a name.

    Raises:
        Problem: Status 404; no thing of this class has the name.
    """
    thing = service.deployment.find(kind, name)
    if thing is None:
        raise Problem(404, NOT_FOUND)
    return thing


def check_self(caller: Caller, name: str) -> None:
    """Check that a person asks only about themselves. Callers of other roles may ask about anyone.

    Args:
        caller: Sender of the request.
        name: Name of the person that the request is about.

    Raises:
        Problem: Status 404; a person asks about another one. The answer is the same if nobody has
            the name.
    """
    if caller.role is Role.SUBJECT and caller.name != name:
        raise Problem(404, NOT_FOUND)
