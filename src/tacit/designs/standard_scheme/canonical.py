"""One spelling for every message, and the checks that nothing else gets in.

Canonical JSON in UTF-8: sorted keys, no spaces, no NaN or infinity. Whatever is decoded is encoded
again and compared byte by byte, so that equal messages are equal bytes.
Standard library only: the device half reads messages through this file.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from typing import Any, ClassVar, Self, TypeVar

VERSION = 2
"""Of every message."""
LARGEST = 1 << 53
"""Integers up to here are exact in every language that reads JSON."""


class MessageError(ValueError):
    """A message that is not exactly what this version writes."""


class Message:
    """A dataclass with canonical bytes, which hold its fields under their names unless it says
    otherwise. kind: what the bytes say that they are."""

    kind: ClassVar[str]

    def encode(self) -> bytes:
        """The canonical bytes."""
        return encode({"version": VERSION, "message": self.kind, **self._content()})

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Back from them; MessageError for anything but canonical bytes."""
        return decode(data, cls.kind, cls._from_content)

    def _content(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _names(self)}

    @classmethod
    def _from_content(cls, content: dict[str, Any]) -> Self:
        return cls(**{name: frozen(content[name]) for name in _names(cls)})


def decode(data: bytes, kind: str, build: Callable[[dict[str, Any]], M]) -> M:
    """What `build` makes of the content; MessageError for anything but canonical bytes.

    `build` may fail on a content it does not expect in any way that indexing and calling can fail.
    """
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        raise MessageError(f"a {kind} is canonical JSON in UTF-8") from None
    if not isinstance(content, dict) or content.get("message") != kind:
        raise MessageError(f"expected a {kind}")
    found = content.get("version")
    require(is_integer(found), f"a {kind} has a version, a whole number")
    if found != VERSION:
        raise MessageError(
            f"this message is of version {found}; this program reads version {VERSION}: "
            "update the older side"
        )
    try:
        message = build(content)
        again = message.encode()
    except MessageError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        raise MessageError(f"not a {kind} of version {VERSION}") from None
    if again != data:
        raise MessageError("the message is not in canonical form")
    return message


def _names(message: Any) -> list[str]:
    return [each.name for each in fields(message)]


M = TypeVar("M", bound=Message)


def encode(content: dict[str, Any]) -> bytes:
    """The canonical bytes."""
    return json.dumps(
        content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode()


def frozen(value: Any) -> Any:
    """Lists as tuples, at every depth."""
    return tuple(map(frozen, value)) if isinstance(value, list | tuple) else value


def require(true: bool, what: str) -> None:
    """MessageError saying `what` should be so."""
    if not true:
        raise MessageError(what)


def is_id(value: Any) -> bool:
    """An integer or a string; True and False are neither."""
    return type(value) is int or type(value) is str


def is_integer(value: Any, lowest: int = -LARGEST, highest: int = LARGEST) -> bool:
    """A whole number within bounds, ends included; 1.0 and True are none."""
    return type(value) is int and lowest <= value <= highest


def is_table(value: Any, shape: tuple[int, ...], lowest: int, highest: int) -> bool:
    """Tuples nested to this shape, holding whole numbers within bounds."""
    if not isinstance(value, tuple) or len(value) != shape[0]:
        return False
    if len(shape) > 1:
        return all(is_table(row, shape[1:], lowest, highest) for row in value)
    return all(type(entry) is int and lowest <= entry <= highest for entry in value)
