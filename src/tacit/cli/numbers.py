"""Several numbers in one option: `--k 10,20,50`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tacit.errors import ConfigError

Number = TypeVar("Number", int, float)


def integers(text: str, option: str) -> tuple[int, ...]:
    """`"10,20"` as (10, 20), in the order typed."""
    return _numbers(text, option, int, "10,20,50")


def decimals(text: str, option: str) -> tuple[float, ...]:
    """`"0.5,1"` as (0.5, 1.0); inf is a number, nan is none."""
    return _numbers(text, option, float, "0.2,0.5,1")


def _numbers(
    text: str, option: str, kind: Callable[[str], Number], example: str
) -> tuple[Number, ...]:
    try:
        found = tuple(kind(part) for part in text.split(",") if part.strip())
    except ValueError:
        found = ()
    if not found or any(value != value for value in found):
        raise ConfigError(f"{option} takes numbers with commas, such as {example}; got {text!r}.")
    return tuple(dict.fromkeys(found))
