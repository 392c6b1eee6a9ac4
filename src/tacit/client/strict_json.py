"""JSON in a device's files and in a service's answers, which means one thing to every reader."""

from __future__ import annotations

import json
from typing import Any, NoReturn


def read_json(data: bytes) -> Any:
    """Parse JSON.

    Raises:
        ValueError: The bytes are no JSON, or another reader might read them differently.
    """
    try:
        return json.loads(
            data.decode("utf-8"), object_pairs_hook=_parse_object, parse_constant=_refuse_constant
        )
    except RecursionError:
        raise ValueError("too deep") from None


def _parse_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key twice")
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")
