"""Who may do what: every operation names its roles, and an operation without them is not served."""

from __future__ import annotations

from asyncio import Semaphore
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Header, Request
from fastapi.routing import APIRoute

from tacit.errors import ConfigError
from tacit.service.keys import ANONYMOUS, Caller, Role
from tacit.service.problems import MEDIA_TYPE, TITLES, Problem, ProblemBody
from tacit.service.running import Service, running

EXTENSION = "x-tacit-roles"
"""In the OpenAPI document: the roles of an operation. The test matrix is made from it."""

Here = Annotated[Service, Depends(running)]
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
    """Arguments of a route: its roles, their check, and the problems any operation may give."""
    documented = (400, 401, 403, 404, 408, 409, 411, 413, 415, 422, 429, 431, 500, 503)
    return {
        "dependencies": [Depends(_check(frozenset(roles)))],
        "openapi_extra": {
            EXTENSION: sorted(roles),
            "security": [{}] if Role.ANONYMOUS in roles else [{"key": []}],
        },
        "responses": {status: _problem(status) for status in documented},
    }


def _problem(status: int) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/ProblemBody"}
    return {"description": TITLES[status], "content": {MEDIA_TYPE: {"schema": schema}}}


def _check(roles: frozenset[Role]) -> Callable[[Request], Awaitable[None]]:
    async def check(request: Request) -> None:  # not in a thread: there is nothing to wait for
        caller: Caller = request.state.caller
        if caller.role not in roles and Role.ANONYMOUS not in roles:
            if caller.role is Role.ANONYMOUS:
                raise Problem(401, "This needs a key:  Authorization: Bearer KEY.")
            raise Problem(403, "The role of this key does not do this.")
        _check_query(request)

    return check


def _check_query(request: Request) -> None:
    """What is not known is not passed over: it would be taken for something that had an effect."""
    if not request.scope["query_string"]:
        return
    given = [name for name, _ in request.query_params.multi_items()]
    known = request.app.state.interface.queries(request.scope["route"].path, request.method)
    if len(set(given)) != len(given):
        raise Problem(400, "A parameter of the query is given once.")
    if not known.issuperset(given):
        raise Problem(422, "Wrong or missing: a parameter of the query that is not known.")


async def asking(request: Request) -> Caller:
    """Who asks; found at the door."""
    caller: Caller = request.state.caller
    return caller


Asking = Annotated[Caller, Depends(asking)]


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
    """A person asks about herself alone; about others she is told what she is told of nobody."""
    if caller.role is Role.SUBJECT and caller.name != name:
        raise Problem(404, "There is nothing at this address.")


async def refuse_unguarded(request: Request) -> None:
    """Before every operation: one without roles is not there, however it came in."""
    if EXTENSION not in (getattr(request.scope.get("route"), "openapi_extra", None) or {}):
        raise Problem(404, "There is nothing at this address.")


def check_all_guarded(app: FastAPI) -> None:
    """No operation without roles; raised when the application is made, not when it is asked."""
    for route in _routes(app.routes):
        if EXTENSION not in (route.openapi_extra or {}):
            raise ConfigError(f"{route.path} names no roles: add `**allow(...)` to its route.")


def _routes(routes: Iterable[object]) -> Iterator[APIRoute]:
    """Also those of included routers, which FastAPI keeps nested since it does so lazily."""
    for route in routes:
        if isinstance(route, APIRoute):
            yield route
        else:
            inner = getattr(route, "original_router", route)
            yield from _routes(getattr(inner, "routes", None) or ())


class Interface:
    """The OpenAPI document, asked for names."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._queries = {
            (path, method.upper()): frozenset(
                one["name"] for one in operation.get("parameters", ()) if one["in"] == "query"
            )
            for path, operations in document["paths"].items()
            for method, operation in operations.items()
        }
        self.names = frozenset(_names(document))
        """Of all parameters and fields: what an error may repeat, since we made it up."""

    def queries(self, path: str, method: str) -> frozenset[str]:
        """The parameters that an operation takes in the query."""
        return self._queries.get((path, method), frozenset())


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
