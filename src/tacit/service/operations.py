"""Operations: routes that name the roles that may use them.

FastAPI describes the operations, and makes the schemas that check their requests. It does not run
them, since that would take more than half of the processor's time. What is needed to run an
operation is found once, when the operation is made: its roles; what its signature takes from the
path, the query, the headers and the body; and how to read the parameters that are marked
`FromRequest`, such as the service or the caller.
"""

from __future__ import annotations

import inspect
import json
from asyncio import Future, create_task, get_running_loop
from collections import defaultdict
from collections.abc import Callable, Iterable, MutableMapping
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any, NoReturn, TypeVar, get_args
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
"""Character that replaces bytes of an address that are not UTF-8."""
Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])
ROLES_EXTENSION = "x-tacit-roles"
"""Key of an operation's roles in the OpenAPI document. Tests try each operation in each role."""

ReadRequest = Callable[[Request], Any]
"""Function that reads an argument from a request."""
IsQuick = Callable[..., bool]
"""Function of an operation's arguments: whether the call neither waits nor computes for long."""
BeforeRefusal = Callable[[Request], None]
"""Function that runs for a request whose content is refused, before the refusal is sent."""


@dataclass(frozen=True)
class FromRequest:
    """Mark of a parameter `Annotated[T, FromRequest(read)]`, whose argument is `read(request)`."""

    read: ReadRequest


@dataclass(frozen=True)
class _Parameter:
    """One parameter of an operation that FastAPI describes and checks."""

    part: str
    """The part of a request that holds it: "path", "query", "header" or "body"."""
    name: str
    """Its name in the operation's signature."""
    alias: str
    """Its name in the request."""
    validate: Callable[..., tuple[Any, Any]]
    """Function that checks a value, and returns the argument and a list of errors."""
    is_required: bool
    """Whether a request without it is refused."""
    default: Any
    """The argument for a request that does not have it."""


class Operation(APIRoute):
    """A route with roles.

    Args:
        path: Path of the route, with its parameters in braces.
        endpoint: Function that answers a request.
        options: Arguments of FastAPI's `APIRoute`, among them those that `allow` makes.

    Raises:
        ConfigError: The route names no roles.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        roles = (options.get("openapi_extra") or {}).get(ROLES_EXTENSION)
        if roles is None:
            raise ConfigError(f"{path} names no roles: add `**allow(...)` to its route.")
        self._roles = frozenset(map(Role, roles))
        self._readers, endpoint_for_fastapi = _split_signature(endpoint)
        self._endpoint = endpoint
        self._is_coroutine = inspect.iscoroutinefunction(endpoint)
        self._is_quick: IsQuick = getattr(endpoint, "is_quick", _is_never_quick)
        self._before_refusal: BeforeRefusal | None = getattr(endpoint, "before_refusal", None)
        super().__init__(path, endpoint_for_fastapi, **options)
        # Listed once here, since FastAPI's fields compute these at each access.
        self._parameters = self._list_parameters()
        self._query_names = {
            parameter.alias for parameter in self._parameters if parameter.part == "query"
        }

    def check_role(self, caller: Caller) -> None:
        """Check that a caller may use this operation.

        Raises:
            Problem: Status 401 without a key, 403 with a key of another role.
        """
        if caller.role in self._roles or Role.ANONYMOUS in self._roles:
            return
        if caller.role is Role.ANONYMOUS:
            raise Problem(401, "This needs a key:  Authorization: Bearer KEY.")
        raise Problem(403, "The role of this key may not do this.")

    def prepare(self, request: Request) -> partial[Any]:
        """Make the call of the operation, with all its arguments read from the request.

        Raises:
            InvalidRequest: A parameter or the body does not fit the OpenAPI document.
            Problem: The request is refused for another reason.
        """
        arguments = self._read_parameters(request)
        for name, read in self._readers.items():
            arguments[name] = read(request)
        return partial(self._endpoint, **arguments)

    def runs_on_loop(self, call: partial[Any]) -> bool:
        """Say whether a prepared call neither waits nor computes for long, and needs no thread.

        Raises:
            Problem: The request is refused; what was read to tell whether it is quick shows this.
        """
        return self._is_quick(**call.keywords)

    def prepare_refusal(
        self, request: Request, refusal: InvalidRequest | Problem
    ) -> Callable[[], NoReturn]:
        """Make the call that refuses a request after what `run_before_refusal` named has run.

        Args:
            request: The request, whose body arrived.
            refusal: The exception that the call raises.

        Raises:
            InvalidRequest | Problem: The refusal, at once: nothing is to run before it.
        """
        before_refusal = self._before_refusal
        if before_refusal is None:
            raise refusal

        def refuse() -> NoReturn:
            before_refusal(request)
            raise refusal

        return refuse

    def start(self, request: Request, call: Callable[[], Any]) -> Future[Response]:
        """Start a prepared call: a coroutine on the loop, a function in a thread."""
        if not self._is_coroutine:
            return run_in_thread(request, lambda: self.make_response(call()))

        async def answer() -> Response:
            return self.make_response(await call())

        return create_task(answer())

    def make_response(self, answer: Any) -> Response:
        """Make the HTTP response of what the operation returned.

        Raises:
            TypeError: The answer does not fit the OpenAPI document: a fault of the service.
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
        """Read the query's parameters, by name.

        An operation that is not in the OpenAPI document, such as the page, ignores the query.
        """
        return _parse_query(text, self._query_names) if self.include_in_schema else {}

    def _list_parameters(self) -> list[_Parameter]:
        """List the parameters that are sent in the path, the query, the headers and the body."""
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
        """Read and check the arguments of the parameters that FastAPI describes, by name.

        Raises:
            InvalidRequest: A value is missing or wrong.
            Problem: The query has a parameter twice, or one that is unknown.
        """
        scope = request.scope
        values_by_part: dict[str, Any] = {
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
                value = values_by_part[parameter.part].get(parameter.alias, MISSING)
            if parameter.part in ("path", "query") and not _is_clean_text(value):
                errors.append({"type": "string_pattern_mismatch", "loc": location})
            elif value is not MISSING:
                argument, new_errors = parameter.validate(value, {}, loc=location)
                arguments[parameter.name] = argument
                errors += new_errors
            elif parameter.is_required:
                errors.append({"type": "missing", "loc": location})
            else:
                arguments[parameter.name] = parameter.default
        if errors:
            raise InvalidRequest(errors)
        return arguments


def _is_clean_text(value: Any) -> bool:
    """Return False for a text that `check_text` refuses or that has `_NOT_UTF_8`, else True."""
    if not isinstance(value, str):
        return True
    try:
        check_text(value)
    except RefusedContent:
        return False
    return _NOT_UTF_8 not in value


def run_in_thread(request: Request, call: Callable[[], T]) -> Future[T]:
    """Run, in one of the threads of the service, a call that waits or computes."""
    return get_running_loop().run_in_executor(request.app.state.threads, call)


def run_on_loop(endpoint: Endpoint) -> Endpoint:
    """Mark an operation that runs on the event loop, since it never waits or computes for long."""
    return run_on_loop_where(lambda **_: True)(endpoint)


def run_on_loop_where(is_quick: IsQuick) -> Callable[[Endpoint], Endpoint]:
    """Mark an operation whose quick calls run on the event loop; its other calls need a thread.

    Args:
        is_quick: Function of the operation's arguments: whether the call neither waits for the
            ledger nor computes for long.
    """

    def mark(endpoint: Endpoint) -> Endpoint:
        endpoint.is_quick = is_quick  # type: ignore[attr-defined]
        return endpoint

    return mark


def run_before_refusal(act: BeforeRefusal) -> Callable[[Endpoint], Endpoint]:
    """Mark an operation that does something for requests whose content is refused.

    Such a request arrived whole, from a caller who may use the operation; but its body is not the
    JSON that is read here, or does not fit the OpenAPI document.

    Args:
        act: Function of the request. It runs in a thread, and reads the body with care, since
            nothing in it was checked. The endpoint must not be a coroutine.
    """

    def mark(endpoint: Endpoint) -> Endpoint:
        endpoint.before_refusal = act  # type: ignore[attr-defined]
        return endpoint

    return mark


def _is_never_quick(**_: Any) -> bool:
    """Say that a call is not quick: for operations that no decorator marks."""
    return False


class OperationTable:
    """All operations, found by the address and the method of a request.

    Most paths begin with two fixed parts, such as /api/models. Operations are grouped by these, so
    that few patterns are tried for a request.

    Args:
        operations: All operations. A request is answered by the first whose path and method fit;
            operations whose first two parts are fixed come before those with a parameter in them.
    """

    def __init__(self, operations: Iterable[Operation]) -> None:
        self._by_start: dict[str, list[Operation]] = defaultdict(list)
        """Operations by the first two parts of their paths."""
        self._others: list[Operation] = []
        """Operations with a parameter in one of the first two parts."""
        for operation in operations:
            start = _first_two_parts(operation.path)
            group = self._others if "{" in start else self._by_start[start]
            group.append(operation)

    def find(self, scope: MutableMapping[str, Any]) -> Operation:
        """Find the operation of a request.

        Args:
            scope: The request's ASGI scope. The operation and the path's parameters are written
                into it, as "route" and "path_params".

        Raises:
            Problem: Status 404, no operation has the path; 405, none of those that have it takes
                the method. The header Allow names the methods that are taken.
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
    """Return the beginning of a path: /api/models for /api/models/films/items."""
    return "/".join(path.split("/", 3)[:3])


def _parse_query(text: bytes, known_names: set[str]) -> dict[str, str]:
    """Parse the parameters of a query.

    An unknown parameter is refused, since its sender would think that it had an effect.

    Args:
        text: The query, without the question mark.
        known_names: Names of the parameters that the operation takes.

    Raises:
        Problem: Status 400, a parameter is repeated; 422, one is unknown.
    """
    if not text:
        return {}
    pairs = parse_qsl(text.decode("latin-1"), keep_blank_values=True)
    query = dict(pairs)
    if len(query) != len(pairs):
        raise Problem(400, "A parameter of the query is given more than once.")
    if not known_names.issuperset(query):
        raise Problem(
            422, "The query has a parameter that this address does not know. See /api/openapi.json."
        )
    return query


def _split_signature(
    endpoint: Callable[..., Any],
) -> tuple[dict[str, ReadRequest], Callable[..., Any]]:
    """Split an endpoint's parameters into those marked `FromRequest` and those for FastAPI.

    Returns:
        For each marked parameter, and each of the type `Request`, the function that reads its
        argument, by name; and a function for FastAPI to describe, which has the endpoint's name,
        docstring and other parameters.
    """

    @wraps(endpoint)
    def endpoint_for_fastapi(**_: Any) -> Any:
        raise AssertionError(f"{endpoint.__name__} runs as an operation")

    readers: dict[str, ReadRequest] = {}
    other_parameters = []
    signature = inspect.signature(endpoint, eval_str=True)
    for name, parameter in signature.parameters.items():
        read = _find_reader(parameter)
        if read is not None:
            readers[name] = read
        else:
            other_parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
    endpoint_for_fastapi.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=other_parameters
    )
    return readers, endpoint_for_fastapi


def _find_reader(parameter: inspect.Parameter) -> ReadRequest | None:
    """Find the function that reads an argument from the request; None if FastAPI describes it."""
    if parameter.annotation is Request:
        return lambda request: request
    for mark in get_args(parameter.annotation)[1:]:
        if isinstance(mark, FromRequest):
            return mark.read
    return None
