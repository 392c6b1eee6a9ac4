"""An operation: a route that names who may do it; without roles it is not served.

FastAPI describes the operations and makes the schemas that check them; it does not run them, which
took more than half of the processor's time. What an operation needs is put together once, when it
is made: its roles, what its signature takes from the path, the query, the headers and the body, and
where it says `From`, the service, the caller or the body's bytes.
"""

from __future__ import annotations

import inspect
import json
from asyncio import Future, Semaphore, create_task, get_running_loop
from collections.abc import AsyncIterator, Callable, Iterable, MutableMapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial, wraps
from typing import Annotated, Any, TypeVar, get_args

from fastapi import Header, Path, Request, Response
from fastapi.routing import APIRoute
from starlette.datastructures import QueryParams

from tacit.errors import ConfigError
from tacit.service.deployment import Service
from tacit.service.http_bodies import MISSING
from tacit.service.idempotency import JSON, OCTETS, unsalted
from tacit.service.keys import NAME, Caller, Role
from tacit.service.problems import MEDIA_TYPE, TITLES, Invalid, Problem

S = TypeVar("S")
T = TypeVar("T")
E = TypeVar("E", bound=Callable[..., Any])
EXTENSION = "x-tacit-roles"
"""In the OpenAPI document: the roles of an operation. The test matrix is made from it."""


Take = Callable[[Request], Any]


@dataclass(frozen=True)
class From:
    """In a signature, as Annotated[T, From(take)]: what `take` finds in the request."""

    take: Take


class Operation(APIRoute):
    """ConfigError for a route that names no roles: a route that no role may use does not exist."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        roles = (options.get("openapi_extra") or {}).get(EXTENSION)
        if roles is None:
            raise ConfigError(f"{path} names no roles: add `**allow(...)` to its route.")
        self._roles = frozenset(map(Role, roles))
        self._takes, described = _taken(endpoint)
        self._does = endpoint
        self._waits = inspect.iscoroutinefunction(endpoint)
        self.at_once: bool = getattr(endpoint, "at_once", False)
        super().__init__(path, described, **options)
        asked = self.dependant
        parts: dict[str, list[Any]] = {
            "path": asked.path_params,
            "query": asked.query_params,
            "header": asked.header_params,
            "body": [self.body_field] if self.body_field else [],
        }
        self._parameters = [  # looked up once: fields make these anew each time
            (place, one.name, one.alias, one.validate, one.field_info.is_required(), one.default)
            for place, fields in parts.items()
            for one in fields
        ]
        self._queries = {one.alias for one in asked.query_params}

    def check_role(self, caller: Caller) -> None:
        """Problem 401 or 403 unless they may do this."""
        if caller.role not in self._roles and Role.ANONYMOUS not in self._roles:
            if caller.role is Role.ANONYMOUS:
                raise Problem(401, "This needs a key:  Authorization: Bearer KEY.")
            raise Problem(403, "The role of this key does not do this.")

    def prepare(self, request: Request) -> Callable[[], Any]:
        """The call, with all that it takes; Invalid or Problem for what is refused."""
        given = self._given(request)
        taken = {name: take(request) for name, take in self._takes.items()}
        return partial(self._does, **taken, **given)

    def begin(self, request: Request, call: Callable[[], Any]) -> Future[Response]:
        """In a thread, or on the loop what is a coroutine."""
        if self._waits:

            async def awaited() -> Response:
                return self.response(await call())

            return create_task(awaited())
        return in_thread(request, lambda: self.response(call()))

    def _given(self, request: Request) -> dict[str, Any]:
        scope = request.scope
        queries = _queries(scope["query_string"], self._queries) if scope["query_string"] else {}
        parts = {"path": scope["path_params"], "query": queries, "header": request.headers}
        values: dict[str, Any] = {}
        errors: list[Any] = []
        for part, name, alias, check, required, default in self._parameters:
            place: tuple[str, ...] = (part,)
            if part == "body":
                value = request.state.value
            else:
                place, value = (part, alias), parts[part].get(alias, MISSING)
            if value is not MISSING:
                values[name], wrong = check(value, {}, loc=place)
                errors += wrong
            elif required:
                errors.append({"type": "missing", "loc": place})
            else:
                values[name] = default
        if errors:
            raise Invalid(errors)
        return values

    def response(self, made: Any) -> Response:
        """What the operation made, as the document says it; what does not fit that is a fault."""
        if isinstance(made, Response):
            return made
        field = self.response_field
        if field is None:
            return Response(json.dumps(made), media_type=JSON)
        value, errors = field.validate(made, {}, loc=("response",))
        if errors:
            raise TypeError("an answer is not as the document says")
        return Response(field.serialize_json(value, by_alias=True), media_type=JSON)


def in_thread(request: Request, call: Callable[[], T]) -> Future[T]:
    """Runs in one of the service's own threads: what waits or computes holds up nobody."""
    return get_running_loop().run_in_executor(request.app.state.threads, call)


def at_once(endpoint: E) -> E:
    """Marks an operation that neither asks the ledger nor computes: it is answered on the loop, and
    no thread is woken for it."""
    endpoint.at_once = True  # type: ignore[attr-defined]
    return endpoint


def _queries(text: bytes, known: set[str]) -> dict[str, str]:
    """What is not known is not passed over: it would be taken for something that had an effect."""
    given = QueryParams(text).multi_items()
    queries = dict(given)
    if len(queries) != len(given):
        raise Problem(400, "A parameter of the query is given once.")
    if not known.issuperset(queries):
        raise Problem(422, "Wrong or missing: a parameter of the query that is not known.")
    return queries


def _taken(endpoint: Callable[..., Any]) -> tuple[dict[str, Take], Callable[..., Any]]:
    """What its signature takes `From` a request, by name; and the endpoint as FastAPI describes it:
    with the other parameters alone."""

    @wraps(endpoint)
    def described(**_: Any) -> Any:
        raise AssertionError(f"{endpoint.__name__} runs as an operation")

    takes: dict[str, Take] = {}
    rest = []
    signature = inspect.signature(endpoint, eval_str=True)
    for name, parameter in signature.parameters.items():
        marks = get_args(parameter.annotation)[1:]
        if parameter.annotation is Request:
            takes[name] = lambda request: request
        elif found := [mark.take for mark in marks if isinstance(mark, From)]:
            takes[name] = found[0]
        else:
            rest.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
    described.__signature__ = signature.replace(parameters=rest)  # type: ignore[attr-defined]
    return takes, described


def find(operations: Iterable[Operation], scope: MutableMapping[str, Any]) -> Operation:
    """Which one an address and a method are. Noted in the scope, with the path's parameters.
    Problem 404, or 405 with the methods."""
    allowed: set[str] = set()
    for one in operations:
        if (match := one.path_regex.match(scope["path"])) is None:
            continue
        methods = one.methods or set()
        if scope["method"] in methods:
            scope["path_params"], scope["route"] = match.groupdict(), one
            return one
        allowed |= methods
    if not allowed:
        raise Problem(404, "There is nothing at this address.")
    refused = Problem(405, "This address does not take this method.")
    allowed |= {"HEAD"} if "GET" in allowed else set()
    refused.headers["Allow"] = ", ".join(sorted(allowed))
    raise refused


Here = Annotated[Service, From(lambda request: request.app.state.service)]
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


def named(service: Service, kind: type[S], name: str) -> S:
    """What is served of one noun under this name; Problem 404 if there is nothing."""
    served = service.deployment.all(kind).get(name)
    if served is None:
        raise Problem(404, "There is nothing at this address.")
    return served


def kept(service: Service, state: str) -> bytes | None:
    """A state of the tenant's, without its salt; None before its first step."""
    return unsalted(service.ledger.state(f"{service.deployment.tenant}/{state}"))


def own(caller: Caller, name: str) -> None:
    """A person asks about themselves alone; others look like people who do not exist."""
    if caller.role is Role.SUBJECT and caller.name != name:
        raise Problem(404, "There is nothing at this address.")


_BYTES = {OCTETS: {"schema": {"type": "string", "format": "binary"}}}


def _octets(request: Request) -> bytes:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != OCTETS:
        raise Problem(415, f"Content of this address is {OCTETS}.")
    body: bytes = request.state.octets
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
