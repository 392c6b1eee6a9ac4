"""Checks the head of a request and reads its body, before its operation is found.

A request that can be read in more than one way is refused.
"""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.types import Receive, Scope

from tacit.service.problems import Problem
from tacit.service.strict_json import RefusedContent, parse_json

JSON = "application/json"
"""Media type of a body in JSON."""
OCTETS = "application/octet-stream"
"""Media type of a body that is bytes, such as a device's message."""
MEDIA_TYPES = (JSON, OCTETS)
"""Media types of the bodies that are read."""
BODY_SECONDS = 10.0
"""Most seconds from a request's headers to the end of its body."""
MOST_HEAD_BYTES = 16 * 1024
"""Most bytes of a request's line and headers together."""
MISSING: Any = object()
"""Stands for the value of a body or a parameter that a request does not have."""
_HEADER_OVERHEAD = 4
"""Bytes of a header's line that are not its name or value: colon, blank, and two at its end."""

_SINGLE_HEADERS = (b"authorization", b"content-encoding", b"content-type", b"idempotency-key")
"""Headers that may be sent once only, because two would have no single meaning."""


class UnreadableContent(Problem):
    """A problem of status 400: the whole body arrived, and its content is refused.

    Args:
        detail: A sentence without any value of the request.
        body: The body that is refused.
    """

    def __init__(self, detail: str, body: bytes) -> None:
        super().__init__(400, detail)
        self.body = body


async def read_body(scope: Scope, receive: Receive, most_bytes: int) -> tuple[bytes, Any]:
    """Read the whole body of a request, and parse it.

    Args:
        scope: The request's ASGI scope.
        receive: ASGI's function that returns the body, piece by piece.
        most_bytes: Most bytes of a body.

    Returns:
        The bytes, and their value: parsed JSON; the bytes themselves for octets; MISSING where
        there is no body.

    Raises:
        UnreadableContent: `parse_json` refuses the body.
        Problem: Status 400, the request is malformed; 408, it is too slow; 411, its body comes in
            chunks; 413, it is too large; 415, it is compressed, or of another media type or
            charset; 431, its head is too large.
    """
    if scope["http_version"] not in ("1.0", "1.1"):
        raise Problem(400, "This is not a request of HTTP/1.1.", closes=True)
    headers = _read_headers(scope)
    if b"transfer-encoding" in headers:  # chunks beside a length, or malformed ones, are ambiguous
        raise Problem(411, "A request says how long it is, in Content-Length.", closes=True)
    if headers.get(b"content-encoding", b"identity").lower() != b"identity":
        raise Problem(415, "Requests are sent without compression.")
    length = headers.get(b"content-length", b"")
    if length.isdigit() and int(length) > most_bytes:
        raise _body_too_large(most_bytes)
    if not length:  # in HTTP/1.1, a request that states no length has no body
        return b"", MISSING
    try:
        async with asyncio.timeout(BODY_SECONDS):
            body = await _receive_all(receive, most_bytes)
    except TimeoutError:
        raise Problem(408, "The request did not arrive in time.", closes=True) from None
    if not body:
        return b"", MISSING
    return body, _decode(headers, body)


def head_too_large() -> Problem:
    """Make the problem that refuses a request whose line and headers are too large."""
    return Problem(431, f"A request's head has at most {MOST_HEAD_BYTES} bytes.", closes=True)


def _read_headers(scope: Scope) -> dict[bytes, bytes]:
    """Check the size of a request's head, and return the headers by name.

    If another header than those of `_SINGLE_HEADERS` is repeated, its first value is returned.

    Raises:
        Problem: Status 431, the path, the query and the headers have more than MOST_HEAD_BYTES;
            400, a header of `_SINGLE_HEADERS` is repeated.
    """
    headers: dict[bytes, bytes] = {}
    repeated = None
    size = len(scope.get("raw_path") or b"") + len(scope["query_string"])
    for name, value in scope["headers"]:
        size += len(name) + len(value) + _HEADER_OVERHEAD
        if name not in headers:
            headers[name] = value
        elif name in _SINGLE_HEADERS:
            repeated = name
    if size > MOST_HEAD_BYTES:
        raise head_too_large()
    if repeated is not None:
        raise Problem(400, f"The header {repeated.decode()} is given more than once.")
    return headers


async def _receive_all(receive: Receive, most_bytes: int) -> bytes:
    """Receive a body to its end.

    Raises:
        Problem: Status 413, it has more than `most_bytes`; 400, the connection ended too early.
    """
    pieces: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Problem(400, "The request ended too early.")
        piece = message.get("body", b"")
        pieces.append(piece)
        size += len(piece)
        if size > most_bytes:
            raise _body_too_large(most_bytes)
        if not message.get("more_body", False):
            return b"".join(pieces)


def _body_too_large(most_bytes: int) -> Problem:
    """Make the problem that refuses a body of more bytes than `most_bytes`."""
    return Problem(413, f"The body of a request has at most {most_bytes} bytes.", closes=True)


def _decode(headers: dict[bytes, bytes], body: bytes) -> Any:
    """Parse a body by the media type in its headers.

    Raises:
        UnreadableContent: `parse_json` refuses the body.
        Problem: Status 415, the media type or the charset is not read here.
    """
    content_type = headers.get(b"content-type", b"").decode("latin-1")
    media_type, _, parameters = content_type.lower().partition(";")
    media_type = media_type.strip()
    if media_type not in MEDIA_TYPES:
        raise Problem(415, f"Content is one of: {', '.join(MEDIA_TYPES)}.")
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip() == "charset" and value.strip().strip('"') != "utf-8":
            raise Problem(415, "Text is read as UTF-8; send no charset, or charset=utf-8.")
    if media_type == OCTETS:
        return body
    try:
        return parse_json(body)
    except RefusedContent as refused:
        raise UnreadableContent(f"The body is not read: {refused}.", body) from None
