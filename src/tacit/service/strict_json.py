"""JSON that has one meaning: no NaN, no infinity, no repeated keys, bounded in every direction.

What plain parsers let through, and what it costs: `NaN` passes a clip, of two equal keys the last
wins silently, a number of five thousand digits or a nesting of a hundred thousand raises errors
that nobody catches, a lone surrogate fails only when it is written again.
"""

from __future__ import annotations

import json
import math
import re
import sys
import unicodedata
from typing import Any

DEEPEST = 32
MOST_DIGITS = 300
LARGEST = 2**63 - 1
SMALLEST = sys.float_info.min
"""Of full precision; nearer to zero is zero."""
LONGEST_TEXT = 4096
PRINTABLE = r"^[^\x00-\x1f\x7f-\x9f]*$"
"""What the interface's document says of a text: no control characters. More is refused here."""
_BRACKET = re.compile(r'"(?:[^"\\]+|\\.)*+(?:"|\\?\Z)|[\[{]|[\]}]', re.DOTALL)
"""A text as one piece, or a bracket. From every quote it finds an end, so it never goes back."""


class Refused(ValueError):
    """Not JSON as it is read here. The message says which rule, and nothing of the content."""


def parse(data: bytes) -> Any:
    """The value, or Refused."""
    if data.startswith(b"\xef\xbb\xbf"):
        raise Refused("JSON begins without a byte order mark")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise Refused("JSON is UTF-8") from None
    _check_depth(text)
    try:
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=_no_constant,
            parse_int=_integer,
            parse_float=_number,
        )
    except Refused:
        raise
    except (ValueError, RecursionError):
        raise Refused("this is not JSON") from None
    _check_texts(value)
    return value


def spelled(value: Any) -> bytes:
    """A value that was parsed, written again: the next reader reads what was checked."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode("ascii")


def _check_depth(text: str) -> None:
    """Before the parser sees it: parsers recurse."""
    depth = 0
    for found in _BRACKET.finditer(text):
        sign = text[found.start()]
        if sign in "[{":
            depth += 1
            if depth > DEEPEST:
                raise Refused(f"JSON is at most {DEEPEST} levels deep")
        elif sign in "]}":
            depth -= 1


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Refused("an object names a key twice")
    return found


def _no_constant(_: str) -> Any:
    raise Refused("numbers are finite")


def _integer(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise Refused(f"a number has at most {MOST_DIGITS} digits")
    number = int(digits)
    if not -LARGEST - 1 <= number <= LARGEST:
        raise Refused("a whole number has at most 64 bits")
    return number


def _number(digits: str) -> float:
    if len(digits) > MOST_DIGITS:
        raise Refused(f"a number has at most {MOST_DIGITS} digits")
    number = float(digits)
    if not math.isfinite(number):
        raise Refused("numbers are finite")
    return number if abs(number) >= SMALLEST else 0.0  # also instead of minus zero


def _check_texts(value: Any) -> None:
    """Texts that can be written again and that do not look like another one."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            check_text(one)
        elif isinstance(one, dict):
            waiting.extend(one)
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)


def check_text(text: str) -> None:
    """Bounded, in Unicode's composed form, without control signs; Refused otherwise."""
    if len(text) > LONGEST_TEXT:
        raise Refused(f"a text has at most {LONGEST_TEXT} signs")
    if text.isascii() and text.isprintable():
        return
    if not unicodedata.is_normalized("NFC", text):
        raise Refused("texts are in Unicode's composed form (NFC)")
    if any(unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Cn", "Co") for sign in text):
        raise Refused("texts hold no control signs")
