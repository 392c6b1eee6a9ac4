"""Who may do what: every operation names its roles, and an operation without them is not served."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Header, Request
from fastapi.routing import APIRoute

from tacit.errors import ConfigError
from tacit.service.keys import ANONYMOUS, Caller, Role
from tacit.service.problems import Problem, ProblemBody
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
    documented = (400, 401, 403, 404, 408, 409, 413, 415, 422, 429, 500, 503)
    return {
        "dependencies": [Depends(_check(frozenset(roles)))],
        "openapi_extra": {
            EXTENSION: sorted(roles),
            "security": [{}] if Role.ANONYMOUS in roles else [{"key": []}],
        },
        "responses": {status: _problem(status) for status in documented},
    }


def _problem(status: int) -> dict[str, Any]:
    from tacit.service.problems import MEDIA_TYPE, TITLES

    schema = {"$ref": "#/components/schemas/ProblemBody"}
    return {"description": TITLES[status], "content": {MEDIA_TYPE: {"schema": schema}}}


def _check(roles: frozenset[Role]) -> Callable[[Request], None]:
    def check(request: Request) -> None:
        caller: Caller = request.state.caller
        if caller.role in roles or Role.ANONYMOUS in roles:
            return
        if caller.role is Role.ANONYMOUS:
            raise Problem(401, "This needs a key:  Authorization: Bearer KEY.")
        raise Problem(403, "The role of this key does not do this.")

    return check


def asking(request: Request) -> Caller:
    """Who asks; found at the door."""
    caller: Caller = request.state.caller
    return caller


Asking = Annotated[Caller, Depends(asking)]


def own(caller: Caller, name: str) -> None:
    """A person asks about herself alone; about others she is told what she is told of nobody."""
    if caller.role is Role.SUBJECT and caller.name != name:
        raise Problem(404, "There is nothing at this address.")


def check_all_guarded(app: FastAPI) -> None:
    """No operation without roles; raised when the application is made, not when it is asked."""
    for route in _routes(app):
        if EXTENSION not in (route.openapi_extra or {}):
            raise ConfigError(f"{route.path} names no roles: add `**allow(...)` to its route.")


def _routes(app: FastAPI) -> Iterator[APIRoute]:
    return (route for route in app.routes if isinstance(route, APIRoute))


__all__ = ["ANONYMOUS", "Asking", "Here", "IdempotencyKey", "ProblemBody", "allow", "own"]
