"""An operation: a route that names who may do it; without roles it is not served.

FastAPI describes the operations and makes the schemas that check them; it does not run them, which
took more than half of the processor's time. What an operation needs is put together once, when it
is made: its roles, what its signature takes from the path, the query, the headers and the body, and
where it says `FromRequest`, the service, the caller or the body's bytes.
"""

from __future__ import annotations

import inspect
import json
from asyncio import Future, create_task, get_running_loop
from collections import defaultdict
from collections.abc import Callable, Iterable, MutableMapping
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any, TypeVar, get_args
from urllib.parse import parse_qsl

from fastapi import Request, Response
from fastapi.routing import APIRoute

from tacit.errors import ConfigError
from tacit.service.http_bodies import JSON, MISSING
from tacit.service.keys import Caller, Role
from tacit.service.problems import InvalidRequest, Problem
from tacit.service.strict_json import RefusedContent, check_text

T = TypeVar("T")

_NOT_UTF_8 = "\ufffd"
"""Sign that stands for bytes of an address that are no UTF-8."""
Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])
ROLES_EXTENSION = "x-tacit-roles"
"""In the OpenAPI document: the roles of an operation. The test matrix is made from it."""

ReadRequest = Callable[[Request], Any]
IsQuick = Callable[..., bool]
"""Says of an operation's arguments whether their call neither waits nor computes for long."""


@dataclass(frozen=True)
class FromRequest:
    """Mark a parameter, as `Annotated[T, FromRequest(read)]`: its argument is `read(request)`."""

    read: ReadRequest


@dataclass(frozen=True)
class _Parameter:
    """One parameter of an operation that FastAPI describes and checks."""

    part: str
    """Where it is sent: path, query, header or body."""
    name: str
    """Its name in the operation's signature."""
    alias: str
    """Its name in the request."""
    validate: Callable[..., tuple[Any, Any]]
    is_required: bool
    default: Any


class Operation(APIRoute):
    """A route with roles.

    Raises:
        ConfigError: The route names no roles: one that no role may use does not exist.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        roles = (options.get("openapi_extra") or {}).get(ROLES_EXTENSION)
        if roles is None:
            raise ConfigError(f"{path} names no roles: add `**allow(...)` to its route.")
        self._roles = frozenset(map(Role, roles))
        self._readers, description = _split_signature(endpoint)
        self._endpoint = endpoint
        self._is_coroutine = inspect.iscoroutinefunction(endpoint)
        self._is_quick: IsQuick = getattr(endpoint, "is_quick", _is_never_quick)
        super().__init__(path, description, **options)
        # Looked up once: fields make these anew each time.
        self._parameters = self._list_parameters()
        self._query_names = {one.alias for one in self._parameters if one.part == "query"}

    def check_role(self, caller: Caller) -> None:
        """Check that a caller may do this.

        Raises:
            Problem: Status 401 without a key, 403 with a key of another role.
        """
        if caller.role in self._roles or Role.ANONYMOUS in self._roles:
            return
        if caller.role is Role.ANONYMOUS:
            raise Problem(401, "This needs a key:  Authorization: Bearer KEY.")
        raise Problem(403, "The role of this key does not do this.")

    def prepare(self, request: Request) -> partial[Any]:
        """Make the call of the operation, with all its arguments.

        Raises:
            InvalidRequest: A parameter or the body does not fit the document.
            Problem: The request is refused for another reason.
        """
        arguments = self._read_parameters(request)
        for name, read in self._readers.items():
            arguments[name] = read(request)
        return partial(self._endpoint, **arguments)

    def runs_on_loop(self, call: partial[Any]) -> bool:
        """Whether a prepared call neither waits nor computes for long: it needs no thread."""
        return self._is_quick(**call.keywords)

    def start(self, request: Request, call: Callable[[], Any]) -> Future[Response]:
        """Start a prepared call: a coroutine on the loop, a function in a thread."""
        if not self._is_coroutine:
            return run_in_thread(request, lambda: self.make_response(call()))

        async def answer() -> Response:
            return self.make_response(await call())

        return create_task(answer())

    def make_response(self, answer: Any) -> Response:
        """The HTTP response of what the operation returned.

        Raises:
            TypeError: The answer does not fit the document, which is a fault.
        """
        if isinstance(answer, Response):
            return answer
        field = self.response_field
        if field is None:
            return Response(json.dumps(answer), media_type=JSON)
        value, errors = field.validate(answer, {}, loc=("response",))
        if errors:
            raise TypeError("an answer is not as the document says")
        return Response(field.serialize_json(value, by_alias=True), media_type=JSON)

    def _read_query(self, text: bytes) -> dict[str, str]:
        """Read the query. What is in no document, such as the page, may be linked to with any."""
        return _read_query(text, self._query_names) if self.include_in_schema else {}

    def _list_parameters(self) -> list[_Parameter]:
        fields: list[tuple[str, Any]] = []
        fields += [("path", field) for field in self.dependant.path_params]
        fields += [("query", field) for field in self.dependant.query_params]
        fields += [("header", field) for field in self.dependant.header_params]
        if self.body_field:
            fields.append(("body", self.body_field))
        parameters = []
        for part, field in fields:
            parameter = _Parameter(
                part=part,
                name=field.name,
                alias=field.alias,
                validate=field.validate,
                is_required=field.field_info.is_required(),
                default=field.default,
            )
            parameters.append(parameter)
        return parameters

    def _read_parameters(self, request: Request) -> dict[str, Any]:
        scope = request.scope
        sent: dict[str, Any] = {
            "path": scope["path_params"],
            "query": self._read_query(scope["query_string"]),
            "header": request.headers,
        }
        arguments: dict[str, Any] = {}
        errors: list[Any] = []
        for parameter in self._parameters:
            if parameter.part == "body":
                location: tuple[str, ...] = ("body",)
                value = request.state.value
            else:
                location = (parameter.part, parameter.alias)
                value = sent[parameter.part].get(parameter.alias, MISSING)
            if parameter.part in ("path", "query") and not _is_clean_text(value):
                errors.append({"type": "string_pattern_mismatch", "loc": location})
            elif value is not MISSING:
                argument, wrong = parameter.validate(value, {}, loc=location)
                arguments[parameter.name] = argument
                errors += wrong
            elif parameter.is_required:
                errors.append({"type": "missing", "loc": location})
            else:
                arguments[parameter.name] = parameter.default
        if errors:
            raise InvalidRequest(errors)
        return arguments


def _is_clean_text(value: Any) -> bool:
    """Whether a text of an address is UTF-8 without control characters; other values are."""
    if not isinstance(value, str):
        return True
    try:
        check_text(value)
    except RefusedContent:
        return False
    return _NOT_UTF_8 not in value


def run_in_thread(request: Request, call: Callable[[], T]) -> Future[T]:
    """Run a call that waits or computes in one of the service's own threads."""
    return get_running_loop().run_in_executor(request.app.state.threads, call)


def run_on_loop(endpoint: Endpoint) -> Endpoint:
    """Mark an operation that neither asks the ledger nor computes: no thread is woken for it."""
    return run_on_loop_where(lambda **_: True)(endpoint)


def run_on_loop_where(is_quick: IsQuick) -> Callable[[Endpoint], Endpoint]:
    """Mark an operation that some calls of are quick: no thread is woken for those.

    Args:
        is_quick: Says of the operation's arguments whether their call neither asks the ledger nor
            computes for long.
    """

    def mark(endpoint: Endpoint) -> Endpoint:
        endpoint.is_quick = is_quick  # type: ignore[attr-defined]
        return endpoint

    return mark


def _is_never_quick(**_: Any) -> bool:
    return False


class OperationTable:
    """All operations, found by the address and the method of a request.

    Most addresses begin with two fixed parts, such as /api/models: few patterns are tried for each.

    Args:
        operations: All operations; the first that fits an address answers it.
    """

    def __init__(self, operations: Iterable[Operation]) -> None:
        self._by_start: dict[str, list[Operation]] = defaultdict(list)
        self._others: list[Operation] = []
        for operation in operations:
            start = _first_two_parts(operation.path)
            group = self._others if "{" in start else self._by_start[start]
            group.append(operation)

    def find(self, scope: MutableMapping[str, Any]) -> Operation:
        """Find the operation of a request.

        Args:
            scope: The request's ASGI scope. The operation and the path's parameters are noted in
                it.

        Raises:
            Problem: Status 404; or 405, with the methods of the address.
        """
        allowed: set[str] = set()
        path = scope["path"]
        candidates: list[Operation] = [
            *self._by_start.get(_first_two_parts(path), ()),
            *self._others,
        ]
        for operation in candidates:
            match = operation.path_regex.match(path)
            if match is None:
                continue
            methods = operation.methods or set()
            if scope["method"] in methods:
                scope["path_params"] = match.groupdict()
                scope["route"] = operation
                return operation
            allowed |= methods
        if not allowed:
            raise Problem(404, "There is nothing at this address.")
        if "GET" in allowed:
            allowed.add("HEAD")
        problem = Problem(405, "This address does not take this method.")
        problem.headers["Allow"] = ", ".join(sorted(allowed))
        raise problem


def _first_two_parts(path: str) -> str:
    return "/".join(path.split("/", 3)[:3])


def _read_query(text: bytes, known_names: set[str]) -> dict[str, str]:
    """Read the parameters of the query.

    An unknown one is refused, since its sender would take it for something that had an effect.
    """
    if not text:
        return {}
    pairs = parse_qsl(text.decode("latin-1"), keep_blank_values=True)
    query = dict(pairs)
    if len(query) != len(pairs):
        raise Problem(400, "A parameter of the query is given once.")
    if not known_names.issuperset(query):
        raise Problem(422, "Wrong or missing: an unknown parameter of the query.")
    return query


def _split_signature(
    endpoint: Callable[..., Any],
) -> tuple[dict[str, ReadRequest], Callable[..., Any]]:
    """Split an endpoint's signature into what it reads itself and what FastAPI describes.

    Returns:
        The arguments that are made from the request, by name; and a function that has the
        endpoint's name, docstring and other parameters.
    """

    @wraps(endpoint)
    def description(**_: Any) -> Any:
        raise AssertionError(f"{endpoint.__name__} runs as an operation")

    readers: dict[str, ReadRequest] = {}
    other_parameters = []
    signature = inspect.signature(endpoint, eval_str=True)
    for name, parameter in signature.parameters.items():
        read = _reader_of(parameter)
        if read is not None:
            readers[name] = read
        else:
            other_parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
    description.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=other_parameters
    )
    return readers, description


def _reader_of(parameter: inspect.Parameter) -> ReadRequest | None:
    """Find what reads a parameter from the request; None if FastAPI describes it."""
    if parameter.annotation is Request:
        return lambda request: request
    for mark in get_args(parameter.annotation)[1:]:
        if isinstance(mark, FromRequest):
            return mark.read
    return None
