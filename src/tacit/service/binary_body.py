"""Routes whose content is bytes: the messages that devices and vendors exchange, as they are."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Request, Response

from tacit.service.access import allow
from tacit.service.idempotency import OCTETS
from tacit.service.keys import Role
from tacit.service.operations import From
from tacit.service.problems import Problem

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
