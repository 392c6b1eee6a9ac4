"""Find quantities in the JSON of a result by paths.

The steps of a path are separated by dots:

    tables.loss.mean            a key, a key of its object, and so on
    rows[].accuracy             every entry of a list
    rows[policy=dap].accuracy   entries of a list in which these keys have these values
    bounds[name=Theorem 6,m=2]  several conditions, separated by commas
    curve[0]                    the entry of a list with this number, from 0
    by_seed.*.regret            every key of an object
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tacit.errors import ConfigError

_STEP = re.compile(r"(?P<key>[^.\[\]]*)(?P<selectors>(?:\[[^\]]*\])*)(?:\.|$)")
"""One step of a path: a key, which may be empty, and any number of selectors in brackets."""
_SELECTOR = re.compile(r"\[([^\]]*)\]")
"""One selector; its group is the text inside the brackets."""


Place = tuple[str | int, ...]
"""Keys of objects and indices into lists that lead from the document to a value in it."""


def find_quantities(document: Any, path: str) -> dict[str, Any]:
    """Find every value that a path names.

    Args:
        document: JSON as Python objects.
        path: A path as the module describes it.

    Returns:
        The values, each by a path of its own in which `[]`, `[key=value]` and `*` are replaced by
        numbers and keys. Empty if the document has no such value.

    Raises:
        ConfigError: The path cannot be read.
    """
    value_by_place = locate_quantities(document, path)
    return {_format_path(place): value for place, value in value_by_place.items()}


def locate_quantities(document: Any, path: str) -> dict[Place, Any]:
    """Find every value that a path names, by its place in the document.

    Args:
        document: JSON as Python objects.
        path: A path as the module describes it.

    Raises:
        ConfigError: The path cannot be read.
    """
    value_by_place: dict[Place, Any] = {(): document}
    for key, selectors in _parse_steps(path):
        if key:
            value_by_place = dict(_follow_key(value_by_place, key))
        for selector in selectors:
            value_by_place = dict(_follow_selector(value_by_place, selector))
    return value_by_place


def shows_something(value: Any) -> bool:
    """Return whether a value has content: it is not null, NaN, or an empty list, object or text."""
    if value is None:
        return False
    if isinstance(value, str | Sequence | Mapping):
        return len(value) > 0
    return not (isinstance(value, float) and math.isnan(value))


def _format_path(place: Place) -> str:
    """Format a place as a path: ("rows", 0, "value") as `rows[0].value`."""
    text = ""
    for step in place:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


def _parse_steps(path: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the steps of a path: the key, "" for none, and the texts inside the brackets.

    Raises:
        ConfigError: The path cannot be read.
    """
    position = 0
    while position < len(path):
        step = _STEP.match(path, position)
        if step is None or step.end() == position:
            raise ConfigError(
                f"The path '{path}' cannot be read from its character {position + 1} on. "
                "Write it as in  rows[policy=dap].accuracy"
            )
        yield step["key"], _SELECTOR.findall(step["selectors"])
        position = step.end()


def _follow_key(value_by_place: Mapping[Place, Any], key: str) -> Iterator[tuple[Place, Any]]:
    """Yield the place and the value of a key, or of every key for "*", in each of the objects.

    Values that are no objects, and objects without the key, are skipped.

    Args:
        value_by_place: Values to which the earlier steps of the path lead.
        key: The key, or "*".
    """
    for place, value in value_by_place.items():
        if isinstance(value, Mapping):
            keys = list(value) if key == "*" else [key]
            for name in keys:
                if name in value:
                    yield (*place, name), value[name]


def _follow_selector(
    value_by_place: Mapping[Place, Any], selector: str
) -> Iterator[tuple[Place, Any]]:
    """Yield the place and the value of the selected entries in each of the lists.

    Args:
        value_by_place: Values to which the earlier steps of the path lead; values that are no lists
            are skipped.
        selector: Text inside brackets.
    """
    for place, value in value_by_place.items():
        if isinstance(value, list):
            for number, entry in enumerate(value):
                if _is_selected(number, entry, selector):
                    yield (*place, number), entry


def _is_selected(number: int, entry: Any, selector: str) -> bool:
    """Return whether a selector, the text inside brackets, selects the entry with this number."""
    if selector == "":
        return True
    if selector.isdigit():
        return selector == str(number)
    if not isinstance(entry, Mapping):
        return False
    conditions = [condition.partition("=") for condition in selector.split(",")]
    return all(key in entry and _matches_text(entry[key], text) for key, _, text in conditions)


def _matches_text(value: Any, text: str) -> bool:
    """Return whether a value is the one that a selector writes as a text, as in [key=text].

    A number has to be equal; any other value has to have the same text, apart from upper and lower
    case.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value).lower() == text.lower()
    try:
        return float(text) == value
    except ValueError:
        return False
