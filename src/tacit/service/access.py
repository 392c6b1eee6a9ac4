"""An operation: a route that names who may do it, and is given what is no parameter of its request.

FastAPI solves dependencies anew for each request, which takes longer than most operations do. What
every operation needs is therefore taken from the request here: its roles are checked, and where a
signature says `From`, the service, the caller or the body's bytes are filled in.

Who may do what: every operation names its roles, and an operation without them is not served.

Routes whose content is bytes: the messages that devices and vendors exchange, as they are.
"""

from __future__ import annotations

import inspect
from asyncio import Semaphore, get_running_loop
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial, wraps
from typing import Annotated, Any, TypeVar, get_args, get_origin

from fastapi import Header, Path, Request, Response
from fastapi.routing import APIRoute

from tacit.errors import ConfigError
from tacit.service.deployment import Service, running
from tacit.service.idempotency import OCTETS, unsalted
from tacit.service.keys import NAME, Caller, Role
from tacit.service.problems import MEDIA_TYPE, TITLES, Problem

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
            caller: Caller = request.state.caller
            if caller.role not in self._roles and Role.ANONYMOUS not in self._roles:
                if caller.role is Role.ANONYMOUS:
                    raise Problem(401, "This needs a key:  Authorization: Bearer KEY.")
                raise Problem(403, "The role of this key does not do this.")
            if request.scope["query_string"]:
                _check_query(request, queries)
            return await handler(request)

        return handle


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


Here = Annotated[Service, From(running)]
"""The service, in a resource's signature."""

Name = Annotated[str, Path(pattern=f"^{NAME.pattern}$")]
"""What something is served as, in the path of a resource."""

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
    body = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemBody"}}}
    documented = (400, 401, 403, 404, 408, 409, 411, 413, 415, 422, 429, 431, 500, 503)
    return {
        "openapi_extra": {
            EXTENSION: sorted(roles),
            "security": [{}] if Role.ANONYMOUS in roles else [{"key": []}],
        },
        "responses": {
            status: {"description": TITLES[status], "content": body} for status in documented
        },
    }


Asking = Annotated[Caller, From(lambda request: request.state.caller)]
"""Who asks, in a resource's signature; found at the door."""


@asynccontextmanager
async def outside(request: Request) -> AsyncIterator[None]:
    """Gives its place back while a request waits for another service: others need it meanwhile."""
    place: Semaphore = request.state.place
    place.release()
    try:
        yield
    finally:
        await place.acquire()


S = TypeVar("S")


def named(service: Service, kind: type[S], name: str) -> S:
    """What is served of one noun under this name; Problem 404 if there is nothing."""
    found = service.deployment.all(kind).get(name)
    if found is None:
        raise Problem(404, "There is nothing at this address.")
    return found


def kept(service: Service, state: str) -> bytes | None:
    """A state of the tenant's, without its salt; None before its first step."""
    return unsalted(service.ledger.state(f"{service.deployment.tenant}/{state}"))


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


_BYTES = {OCTETS: {"schema": {"type": "string", "format": "binary"}}}


def _octets(request: Request) -> bytes:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != OCTETS:
        raise Problem(415, f"Content of this address is {OCTETS}.")
    body: bytes = request.state.body
    return body


Octets = Annotated[bytes, From(_octets)]
"""The body of a request, in a resource's signature."""


def allow_octets(
    *roles: Role, takes: str | None = None, gives: str | None = None
) -> dict[str, Any]:
    """As `allow`, for a route that takes or gives bytes; the texts describe them."""
    route = allow(*roles)
    if takes is not None:
        body = {"description": takes, "required": True, "content": _BYTES}
        route["openapi_extra"]["requestBody"] = body
    if gives is not None:
        route["responses"][200] = {"description": gives, "content": _BYTES}
        route["response_class"] = Response
    return route
