"""Check the types of values in a model file's header against the annotations of a class.

A value in JSON may have any type. A text in place of a number would cause an error much later, when
nothing points at the file. So values are checked before an object is made of them.
"""

from __future__ import annotations

import math
import types
import typing
from collections.abc import Collection, Mapping
from dataclasses import is_dataclass
from typing import Any, TypeVar

ClassT = TypeVar("ClassT")


def make_from_header(cls: type[ClassT], values: Any) -> ClassT:
    """Call a class with the values in a header as arguments.

    Args:
        cls: A dataclass, or a class with an annotated constructor.
        values: Values by the names of arguments, from JSON.

    Raises:
        ValueError: A value is missing or of another type, or the class has no such argument.
    """
    check_types(cls, values)
    try:
        return cls(**values)
    except TypeError as error:
        raise ValueError(str(error)) from None


def check_types(cls: type, values: Any) -> None:
    """Raise ValueError unless each value has the type that the class's annotation of its name says.

    Missing values are not refused.

    Args:
        cls: A dataclass, or a class with an annotated constructor.
        values: Values by the names of arguments, from JSON.
    """
    if not isinstance(values, Mapping):
        raise ValueError(f"its values for {cls.__name__} are no JSON object")
    hints = typing.get_type_hints(cls)
    if not is_dataclass(cls):
        # Only the annotations of the constructor are used; it is not called.
        hints |= typing.get_type_hints(cls.__init__)  # type: ignore[misc]
    for name, value in values.items():
        if name not in hints:
            raise ValueError(f"{cls.__name__} has no {name!r}")
        if not has_type(value, hints[name]):
            raise ValueError(f"{cls.__name__} cannot have this {name!r}")


def has_type(value: Any, hint: Any) -> bool:
    """Return whether a value of JSON has a type.

    Args:
        value: The value; also a tuple of such values, which counts as a list.
        hint: The type, as in an annotation. A whole number has the type float, too; a float must be
            finite. Of a mapping only the values are checked.
    """
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return True
    if origin in (typing.Union, types.UnionType):
        return any(has_type(value, part) for part in parts)
    if origin is typing.Literal:
        return type(value) in (str, int, bool) and value in parts
    if hint in (None, type(None)):
        return value is None
    if hint is float:
        return type(value) in (int, float) and math.isfinite(value)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        is_mapping = isinstance(value, Mapping)
        return is_mapping and all(has_type(entry, parts[1]) for entry in value.values())
    if isinstance(origin, type) and issubclass(origin, Collection):
        return isinstance(value, list | tuple) and _have_types(value, parts)
    return type(value) is hint


def _have_types(values: Collection[Any], parts: tuple[Any, ...]) -> bool:
    """Return whether the values of a list have the types of `tuple[...]` or `Sequence[...]`.

    Args:
        values: The list.
        parts: The types between the brackets. A single type, or a type before an ellipsis, is the
            type of all values.
    """
    if len(parts) == 1 or parts[1:] == (Ellipsis,):
        return all(has_type(value, parts[0]) for value in values)
    pairs = zip(values, parts, strict=False)
    return len(values) == len(parts) and all(has_type(value, part) for value, part in pairs)
