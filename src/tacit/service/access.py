"""Who may do what: every operation names its roles, and an operation without them is not served."""

from __future__ import annotations

from asyncio import Semaphore
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import Header, Request

from tacit.service.keys import ANONYMOUS, Caller, Role
from tacit.service.operations import EXTENSION, From
from tacit.service.problems import MEDIA_TYPE, TITLES, Problem, ProblemBody
from tacit.service.running import Service, running

Here = Annotated[Service, From(running)]
"""The service, in a resource's signature."""

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


def allow(*roles: Role) -> dict[str, Any]:
    """Arguments of a route: its roles, and the problems any operation may give."""
    documented = (400, 401, 403, 404, 408, 409, 411, 413, 415, 422, 429, 431, 500, 503)
    return {
        "openapi_extra": {
            EXTENSION: sorted(roles),
            "security": [{}] if Role.ANONYMOUS in roles else [{"key": []}],
        },
        "responses": {status: _problem(status) for status in documented},
    }


def _problem(status: int) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/ProblemBody"}
    return {"description": TITLES[status], "content": {MEDIA_TYPE: {"schema": schema}}}


def _asking(request: Request) -> Caller:
    """Found at the door."""
    caller: Caller = request.state.caller
    return caller


Asking = Annotated[Caller, From(_asking)]
"""Who asks, in a resource's signature."""


@asynccontextmanager
async def outside(request: Request) -> AsyncIterator[None]:
    """Gives its place back while a request waits for another service: others need it meanwhile."""
    place: Semaphore = request.state.place
    place.release()
    try:
        yield
    finally:
        await place.acquire()


def own(caller: Caller, name: str) -> None:
    """A person asks about themselves alone; others look like people who do not exist."""
    if caller.role is Role.SUBJECT and caller.name != name:
        raise Problem(404, "There is nothing at this address.")


def names_of(document: dict[str, Any]) -> frozenset[str]:
    """All parameters and fields of the OpenAPI document: what an error may repeat of a request,
    since we made it up."""
    return frozenset(_names(document))


def _names(part: object) -> Iterator[str]:
    if isinstance(part, list):
        for one in part:
            yield from _names(one)
    elif isinstance(part, dict):
        if "in" in part and "name" in part:
            yield part["name"]
        if isinstance(part.get("properties"), dict):
            yield from part["properties"]
        for one in part.values():
            yield from _names(one)


__all__ = ["ANONYMOUS", "Asking", "Here", "IdempotencyKey", "ProblemBody", "allow", "own"]
