"""An operation: a route that names who may do it, and is given what is no parameter of its request.

FastAPI solves dependencies anew for each request, which takes longer than most operations do. What
every operation needs is therefore taken from the request here: its roles are checked, and where a
signature says `From`, the service, the caller or the body's bytes are filled in.
"""

from __future__ import annotations

import inspect
from asyncio import get_running_loop
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial, wraps
from typing import Annotated, Any, get_args, get_origin

from fastapi import Request, Response
from fastapi.routing import APIRoute

from tacit.errors import ConfigError
from tacit.service.keys import Caller, Role
from tacit.service.problems import Problem

EXTENSION = "x-tacit-roles"
"""In the OpenAPI document: the roles of an operation. The test matrix is made from it."""


@dataclass(frozen=True)
class From:
    """In a signature, as Annotated[T, From(take)]: what `take` finds in the request."""

    take: Callable[[Request], Any]


class Operation(APIRoute):
    """ConfigError for a route that names no roles: a route that no role may use does not exist."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        roles = (options.get("openapi_extra") or {}).get(EXTENSION)
        if roles is None:
            raise ConfigError(f"{path} names no roles: add `**allow(...)` to its route.")
        self._roles = frozenset(map(Role, roles))
        super().__init__(path, _with_request(endpoint), **options)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, behind the check."""
        handler = super().get_route_handler()
        queries = frozenset(one.alias for one in self.dependant.query_params)

        async def handle(request: Request) -> Response:
            _check_caller(request.state.caller, self._roles)
            if request.scope["query_string"]:
                _check_query(request, queries)
            return await handler(request)

        return handle


def _check_caller(caller: Caller, roles: frozenset[Role]) -> None:
    if caller.role not in roles and Role.ANONYMOUS not in roles:
        if caller.role is Role.ANONYMOUS:
            raise Problem(401, "This needs a key:  Authorization: Bearer KEY.")
        raise Problem(403, "The role of this key does not do this.")


def _check_query(request: Request, known: frozenset[str]) -> None:
    """What is not known is not passed over: it would be taken for something that had an effect."""
    given = [name for name, _ in request.query_params.multi_items()]
    if len(set(given)) != len(given):
        raise Problem(400, "A parameter of the query is given once.")
    if not known.issuperset(given):
        raise Problem(422, "Wrong or missing: a parameter of the query that is not known.")


def _with_request(endpoint: Callable[..., Any]) -> Callable[..., Any]:
    """The endpoint as FastAPI calls it: with the request in place of what is `From` it, and one
    that waits for something in a thread of the service's own."""
    signature = inspect.signature(endpoint, eval_str=True)
    takes = {
        name: mark.take
        for name, parameter in signature.parameters.items()
        for mark in _marks(parameter.annotation)
    }

    def filled(request: Request, parameters: dict[str, Any]) -> Callable[[], Any]:
        taken = {name: take(request) for name, take in takes.items()}
        return partial(endpoint, **taken, **parameters)

    @wraps(endpoint)
    async def called(request: Request, **parameters: Any) -> Any:
        call = filled(request, parameters)
        if inspect.iscoroutinefunction(endpoint):
            return await call()
        return await get_running_loop().run_in_executor(request.app.state.threads, call)

    asks = inspect.Parameter("request", inspect.Parameter.KEYWORD_ONLY, annotation=Request)
    rest = [one for name, one in signature.parameters.items() if name not in takes]
    called.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in (asks, *rest)]
    )
    return called


def _marks(annotation: Any) -> tuple[From, ...]:
    if annotation is Request:
        return (From(lambda request: request),)
    marks = get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()
    return tuple(mark for mark in marks if isinstance(mark, From))
