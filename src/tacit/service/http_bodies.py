"""What is refused of a request before its operation is looked for.

JSON has one meaning: no NaN, no infinity, no repeated keys, bounded in every direction. Plain
parsers let through `NaN`, which passes a clip; of two equal keys the last wins silently; a number
of five thousand digits or a deep nesting raises errors that nobody catches.
"""

from __future__ import annotations

import asyncio
import json
import math
import sys
import unicodedata
from typing import Any

from starlette.types import Receive, Scope

from tacit.service.problems import Problem

ARRIVES_WITHIN = 10.0  # seconds for the whole body of a request
LONGEST_HEAD = 16 * 1024  # bytes of a request's line and headers together
READ = ("application/json", "application/octet-stream")
_ONCE = (b"authorization", b"content-encoding", b"content-type", b"idempotency-key")
"""Headers that two of would have two meanings."""
MISSING: Any = object()
"""In place of what a request left out."""


async def body_of(scope: Scope, receive: Receive, most: int) -> tuple[bytes, Any]:
    """The whole body, and what it says in JSON; of another content the bytes again. It is read and
    parsed once. Problem otherwise."""
    if scope["http_version"] not in ("1.0", "1.1"):
        raise Problem(400, "This is not a request of HTTP/1.1.", last=True)
    headers = _headers(scope)
    if b"transfer-encoding" in headers:  # beside a length, or in odd chunks, it has two meanings
        raise Problem(411, "A request says how long it is, in Content-Length.", last=True)
    if headers.get(b"content-encoding", b"identity").lower() != b"identity":
        raise Problem(415, "Requests are sent without compression.")
    length = headers.get(b"content-length", b"")
    if length.isdigit() and int(length) > most:
        raise _too_large(most)
    if not length:  # in HTTP/1.1, a request that states no length has no body
        return b"", MISSING
    try:
        async with asyncio.timeout(ARRIVES_WITHIN):
            body = await _read(receive, most)
    except TimeoutError:
        raise Problem(408, "The request did not arrive in time.", last=True) from None
    return body, _checked(headers, body) if body else MISSING


def head_too_large() -> Problem:
    """It is not read to its end."""
    return Problem(431, f"A request's head has at most {LONGEST_HEAD} bytes.", last=True)


def _headers(scope: Scope) -> dict[bytes, bytes]:
    """By name, the first of each; Problem for too many bytes, and for two where one has a meaning.
    The size is that of the line and the headers, as they were sent."""
    first: dict[bytes, bytes] = {}
    twice = None
    size = len(scope.get("raw_path") or b"") + len(scope["query_string"])
    for name, value in scope["headers"]:
        size += len(name) + len(value) + 4
        if name not in first:
            first[name] = value
        elif name in _ONCE:
            twice = name
    if size > LONGEST_HEAD:
        raise head_too_large()
    if twice is not None:
        raise Problem(400, f"The header {twice.decode()} is given once.")
    return first


async def _read(receive: Receive, most: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Problem(400, "The request ended too early.")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > most:
            raise _too_large(most)
        if not message.get("more_body", False):
            return b"".join(parts)


def _too_large(most: int) -> Problem:
    return Problem(413, f"A request has at most {most} bytes.", last=True)


def _checked(headers: dict[bytes, bytes], body: bytes) -> Any:
    kind = headers.get(b"content-type", b"").decode("latin-1").partition(";")[0].strip().lower()
    if kind not in READ:
        raise Problem(415, f"Content is one of: {', '.join(READ)}.")
    if kind != "application/json":
        return body
    try:
        return parse(body)
    except Refused as refused:
        raise Problem(400, f"The body is not read: {refused}.") from None


DEEPEST = 32
_TOO_DEEP = f"JSON is at most {DEEPEST} levels deep"
MOST_DIGITS = 300
LARGEST = 2**63 - 1
SMALLEST = sys.float_info.min  # of full precision; nearer to zero is zero
LONGEST_TEXT = 4096
PRINTABLE = r"^[^\x00-\x1f\x7f-\x9f]*$"
"""What the interface's document says of a text: no control characters. More is refused here."""


class Refused(ValueError):
    """Not JSON as it is read here. The message says which rule, and nothing of the content."""


def parse(data: bytes) -> Any:
    """The value, or Refused."""
    if data.startswith(b"\xef\xbb\xbf"):
        raise Refused("JSON begins without a byte order mark")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise Refused("JSON is UTF-8") from None
    try:
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=_no_constant,
            parse_int=_integer,
            parse_float=_number,
        )
    except Refused:
        raise
    except RecursionError:
        raise Refused(_TOO_DEEP) from None
    except ValueError:
        raise Refused("this is not JSON") from None
    _check(value)
    return value


def spelled(value: Any) -> bytes:
    """A value that was parsed, written again: the next reader reads what was checked."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode("ascii")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise Refused("an object names a key twice")
    return value


def _short(digits: str) -> str:
    if len(digits) > MOST_DIGITS:
        raise Refused(f"a number has at most {MOST_DIGITS} digits")
    return digits


def _no_constant(_: str) -> Any:
    raise Refused("numbers are finite")


def _integer(digits: str) -> int:
    number = int(_short(digits))
    if not -LARGEST - 1 <= number <= LARGEST:
        raise Refused("a whole number has at most 64 bits")
    return number


def _number(digits: str) -> float:
    number = float(_short(digits))
    if not math.isfinite(number):
        raise Refused("numbers are finite")
    return number if abs(number) >= SMALLEST else 0.0  # also instead of minus zero


def _check(value: Any) -> None:
    """Not too deep, and texts that can be written again and do not look like another one."""
    waiting = [(value, 1)]
    while waiting:
        one, depth = waiting.pop()
        if isinstance(one, str):
            check_text(one)
        elif isinstance(one, dict | list):
            if depth > DEEPEST:
                raise Refused(_TOO_DEEP)
            waiting += [(part, depth + 1) for part in one]
            waiting += [(part, depth + 1) for part in one.values()] if isinstance(one, dict) else ()


def check_text(text: str) -> None:
    """Bounded, in Unicode's composed form, without control signs; Refused otherwise."""
    if len(text) > LONGEST_TEXT:
        raise Refused(f"a text has at most {LONGEST_TEXT} signs")
    if text.isascii() and text.isprintable():
        return
    if not unicodedata.is_normalized("NFC", text):
        raise Refused("texts are in Unicode's composed form (NFC)")
    if any(unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Cn", "Co") for sign in text):
        raise Refused("texts hold no control signs")
