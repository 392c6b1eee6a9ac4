"""Reads who is named in a request that is refused, for the comparisons of lists.

A request may name 200 people, and be refused because of the bytes of one of them: a history that is
no history, a control character, a number of 5,000 digits. If the others did not count then, one
person could change a day's figures by 200, and the noise is for 2. So each person of such a request
counts by their own id alone. Nothing else of the request is used.
"""

from __future__ import annotations

import json
import re
from typing import Any

from pydantic import TypeAdapter, ValidationError

from tacit.service.list_requests import CustomerId
from tacit.service.strict_json import MOST_LEVELS, RefusedContent, check_text

_CUSTOMER_ID: TypeAdapter[str] = TypeAdapter(CustomerId)
"""Checks an id as the OpenAPI document describes it."""
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[{]|[\]}]|[^"\[\]{}]+', re.DOTALL)
"""Tokens of JSON: a text, an opening bracket, a closing bracket, or what is between these. A text
may lack its end, so that the time of a search stays proportional to the length."""


def read_object(body: bytes) -> dict[str, Any]:
    """Parse JSON that `parse_json` or a schema refuses, as far as it can be parsed.

    Bytes that are not UTF-8 become lone surrogates, which no customer's id has. Of equal keys the
    last is taken. Numbers are not computed, and what is nested too deep is null.

    Returns:
        The object; {} if the body is no JSON, or no object.
    """
    text = body.decode("utf-8", errors="surrogateescape")
    try:
        value = json.loads(
            _cut_deep_levels(text),
            strict=False,  # control characters in a text are parsed
            parse_int=_read_nothing,
            parse_float=_read_nothing,
        )
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def list_objects(value: Any) -> list[dict[str, Any]]:
    """List the objects in a parsed list; [] if the value is no list."""
    entries = value if isinstance(value, list) else []
    return [entry for entry in entries if isinstance(entry, dict)]


def select_customers(value: Any) -> list[str]:
    """Select the well-formed ids of customers in a parsed list; [] if the value is no list.

    An id is well-formed here exactly if a request that holds nothing else is not refused for it.
    """
    entries = value if isinstance(value, list) else []
    return [entry for entry in entries if _is_customer_id(entry)]


def _is_customer_id(entry: Any) -> bool:
    """Say whether a value is a text that is read as the id of a customer."""
    if not isinstance(entry, str):
        return False
    try:
        check_text(entry)
        _CUSTOMER_ID.validate_python(entry, strict=True)
    except (RefusedContent, ValidationError):
        return False
    return True


def _cut_deep_levels(text: str) -> str:
    """Replace what is nested deeper than MOST_LEVELS by null, so that any parser can parse it."""
    pieces = []
    depth = 0
    for token in _TOKEN.findall(text):
        if token in "[{":
            depth += 1
            if depth == MOST_LEVELS + 1:
                pieces.append("null")
        if depth <= MOST_LEVELS:
            pieces.append(token)
        if token in "]}":
            depth -= 1
    return "".join(pieces)


def _read_nothing(_: str) -> None:
    """Read a number as null: the digits of a long one would take long to compute."""
