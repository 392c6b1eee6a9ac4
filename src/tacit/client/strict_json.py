"""A strict parser of JSON, which refuses repeated keys and numbers that are not finite.

Two parsers might read these differently.
"""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn


def read_json(data: bytes) -> Any:
    """Parse JSON.

    Raises:
        ValueError: The bytes are not JSON in UTF-8, a key occurs twice in an object, a number is
            NaN or infinite, one with a decimal point or exponent is too large for a float, or the
            nesting is too deep.
    """
    try:
        return json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_parse_object,
            parse_constant=_refuse_constant,
            parse_float=_parse_finite_float,
        )
    except RecursionError:
        raise ValueError("too deep") from None


def _parse_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of its keys and values; ValueError if a key occurs twice."""
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a key occurs twice")
    return fields


def _parse_finite_float(digits: str) -> float:
    """Parse a number with a fraction or an exponent; ValueError if no float is large enough."""
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


def _refuse_constant(name: str) -> NoReturn:
    """Refuse NaN, Infinity and -Infinity, which `json.loads` would accept."""
    raise ValueError(f"{name} is not a number")
