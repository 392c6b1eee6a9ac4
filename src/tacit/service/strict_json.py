"""JSON that all parsers read alike: finite numbers, no repeated keys, limited size and depth.

Python's own parser accepts `NaN`, which clipping to a range does not remove. Of two equal keys it
silently takes the last. A number of five thousand digits, or deep nesting, raises errors of other
classes than malformed JSON does, and callers easily forget to catch them.
"""

from __future__ import annotations

import json
import math
import sys
import unicodedata
from typing import Any, NoReturn

MOST_LEVELS = 32
"""Most levels of nested lists and objects."""
MOST_NUMBER_CHARACTERS = 300
"""Most characters of a number."""
MOST_CHARACTERS = 4096
"""Most characters of a text."""
LARGEST_INTEGER = 2**63 - 1
"""The largest whole number; the smallest one is -LARGEST_INTEGER - 1."""
SMALLEST_NUMBER = sys.float_info.min
"""The smallest number above zero of full precision. A number nearer to zero is read as zero."""
PRINTABLE = r"^[^\x00-\x1f\x7f-\x9f]*$"
"""Pattern, for the OpenAPI document, of a text without control characters. `check_text` refuses
further characters."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_TOO_DEEP = f"JSON is at most {MOST_LEVELS} levels deep"
_REFUSED_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Cn", "Co"})
"""Unicode categories: control, format, surrogate, unassigned, private use."""
_JOINERS = "\u200c\u200d"
"""Format characters that are allowed: zero-width ones that words of Persian and many emoji need."""


class RefusedContent(ValueError):
    """Content is refused. The message names the rule that it breaks, and nothing of the content."""


def parse_json(data: bytes) -> Any:
    """Parse JSON that all parsers read alike.

    Raises:
        RefusedContent: The bytes are not JSON, another parser may read them differently, or they
            are beyond a limit of this file.
    """
    if data.startswith(_BYTE_ORDER_MARK):
        raise RefusedContent("JSON must not begin with a byte order mark")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise RefusedContent("it is not UTF-8") from None
    try:
        value = json.loads(
            text,
            object_pairs_hook=_parse_object,
            parse_constant=_refuse_constant,
            parse_int=_parse_integer,
            parse_float=_parse_number,
        )
    except RefusedContent:
        raise
    except RecursionError:
        raise RefusedContent(_TOO_DEEP) from None
    except ValueError:
        raise RefusedContent("this is not JSON") from None
    _check_texts_and_depth(value)
    return value


def encode_json(value: Any) -> bytes:
    """Encode a parsed value as ASCII, so that another parser reads exactly what was checked."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode("ascii")


def check_text(text: str) -> None:
    """Check a text's length, that it is in Unicode's composed form, and its characters.

    Raises:
        RefusedContent: It breaks one of these rules.
    """
    if len(text) > MOST_CHARACTERS:
        raise RefusedContent(f"a text has at most {MOST_CHARACTERS} characters")
    if text.isascii() and text.isprintable():
        return
    if not unicodedata.is_normalized("NFC", text):
        raise RefusedContent("a text is not in Unicode's composed form (NFC)")
    for character in text:
        is_refused = unicodedata.category(character) in _REFUSED_CATEGORIES
        if is_refused and character not in _JOINERS:
            raise RefusedContent(
                "a text has a control, format, private-use or unassigned character"
            )


def _parse_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object from its keys and values; raise RefusedContent for a repeated key."""
    value = dict(pairs)
    if len(value) != len(pairs):
        raise RefusedContent("an object names a key twice")
    return value


def _refuse_constant(_: str) -> NoReturn:
    """Refuse NaN, Infinity and -Infinity, which `json.loads` would accept."""
    raise RefusedContent("a number is not finite")


def _parse_integer(digits: str) -> int:
    """Parse a number that has neither a fraction nor an exponent."""
    _check_length(digits)
    number = int(digits)
    if not -LARGEST_INTEGER - 1 <= number <= LARGEST_INTEGER:
        raise RefusedContent("a whole number has at most 64 bits")
    return number


def _parse_number(digits: str) -> float:
    """Parse a number with a fraction or an exponent; one nearer to 0 than SMALLEST_NUMBER is 0."""
    _check_length(digits)
    number = float(digits)
    if not math.isfinite(number):
        raise RefusedContent("a number is not finite")
    if abs(number) < SMALLEST_NUMBER:
        return 0.0  # minus zero becomes zero, too
    return number


def _check_length(digits: str) -> None:
    """Check the number of characters of a number before it is parsed, which could take long."""
    if len(digits) > MOST_NUMBER_CHARACTERS:
        raise RefusedContent(f"a number has at most {MOST_NUMBER_CHARACTERS} characters")


def _check_texts_and_depth(value: Any) -> None:
    """Check every text of a parsed value, keys included, and the depth of its nesting."""
    unchecked: list[tuple[Any, int]] = [(value, 1)]  # parts of the value, each with its level
    while unchecked:
        part, depth = unchecked.pop()
        if isinstance(part, str):
            check_text(part)
            continue
        if not isinstance(part, dict | list):
            continue
        if depth > MOST_LEVELS:
            raise RefusedContent(_TOO_DEEP)
        inner = list(part)  # the entries of a list, the keys of an object
        if isinstance(part, dict):
            inner += part.values()
        unchecked += [(entry, depth + 1) for entry in inner]
