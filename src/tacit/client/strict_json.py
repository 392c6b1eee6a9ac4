"""A strict parser of JSON, which refuses what two parsers might read differently."""

from __future__ import annotations

import json
from typing import Any, NoReturn


def read_json(data: bytes) -> Any:
    """Parse JSON.

    Raises:
        ValueError: The bytes are not JSON in UTF-8, a key occurs twice in an object, a number is
            NaN or infinite, or the nesting is too deep.
    """
    try:
        return json.loads(
            data.decode("utf-8"), object_pairs_hook=_parse_object, parse_constant=_refuse_constant
        )
    except RecursionError:
        raise ValueError("too deep") from None


def _parse_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of its keys and values; ValueError if a key occurs twice."""
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a key occurs twice")
    return fields


def _refuse_constant(name: str) -> NoReturn:
    """Refuse NaN, Infinity and -Infinity, which `json.loads` would accept."""
    raise ValueError(f"{name} is not a number")
