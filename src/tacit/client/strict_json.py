"""JSON that means one thing: no key twice, no NaN, and an error of one kind."""

from __future__ import annotations

import json
from typing import Any, NoReturn


def read_json(data: bytes) -> Any:
    """The value; ValueError for anything that another reader might read differently."""
    try:
        return json.loads(
            data.decode("utf-8"), object_pairs_hook=_once_each, parse_constant=_no_constant
        )
    except RecursionError:
        raise ValueError("too deep") from None


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key twice")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")
