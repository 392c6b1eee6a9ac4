"""JSON that has one meaning, against inputs that plain parsers take or break on."""

from __future__ import annotations

import contextlib
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.service.strict_json import (
    MOST_CHARACTERS,
    MOST_LEVELS,
    RefusedContent,
    encode_json,
    parse_json,
)

REFUSED = {
    "nothing": b"",
    "NaN": b"NaN",
    "NaN inside": b'{"a": NaN}',
    "Infinity": b"[Infinity]",
    "minus Infinity": b"[-Infinity]",
    "beyond doubles": b"1e999",
    "minus beyond doubles": b"-1e999",
    "repeated key": b'{"a": 1, "a": 2}',
    "repeated key, escaped": b'{"a": 1, "\\u0061": 2}',
    "repeated key, deep": b'[{"b": {"a": 1, "a": 1}}]',
    "5,000 digits": b"9" * 5000,
    "5,000 digits of a fraction": b"0." + b"1" * 5000,
    "5,000 digits of an exponent": b"1e" + b"1" * 5000,
    "65 bits": b"9223372036854775808",
    "minus 65 bits": b"-9223372036854775809",
    "33 levels": b"[" * 33 + b"]" * 33,
    "100,000 levels": b"[" * 100_000,
    "100,000 levels of objects": b'{"a":' * 100_000,
    "levels after a text": b'["\\"[", ' + b"[" * 40,
    "lone surrogate": b'"\\ud800"',
    "lone surrogate as a key": b'{"\\udfff": 1}',
    "surrogate in UTF-8": b'"\xed\xa0\x80"',
    "overlong UTF-8": b'"\xc0\xaf"',
    "half of a sign": b'"\xc3',
    "byte order mark": b"\xef\xbb\xbf{}",
    "byte order mark inside": b'"\xef\xbb\xbf"',
    "UTF-16": '{"a": 1}'.encode("utf-16"),
    "NUL in a text": b'"a\\u0000b"',
    "NUL, plain": b'"a\x00b"',
    "newline in a text": b'"a\\nb"',
    "escape sequence": b'"\\u001b[31m"',
    "right to left": '"a\u202eb"'.encode(),
    "zero width": '"a\u200bb"'.encode(),
    "decomposed": '"e\u0301"'.encode(),
    "private use": '"\ue000"'.encode(),
    "unassigned": '"\U000e0080"'.encode(),
    "a megabyte of text": b'"' + b"a" * 2**20 + b'"',
    "a long key": b'{"' + b"a" * (MOST_CHARACTERS + 1) + b'": 1}',
    "two values": b"1 2",
    "comment": b"/* */ 1",
    "comma at the end": b"[1,]",
    "single quotes": b"{'a': 1}",
    "leading zero": b"01",
    "plus": b"+1",
    "hexadecimal": b"0x1",
    "unfinished": b'{"a": ',
    "lone backslash": b'"\\',
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    """Each is refused in a sentence that holds nothing of it."""
    with pytest.raises(RefusedContent) as refused:
        parse_json(REFUSED[name])
    assert len(str(refused.value)) < 80


ACCEPTED = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: abs(x) > 1e-300)
    | st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abcé", max_size=3), inner),
    max_leaves=20,
)


@given(ACCEPTED)
def test_what_others_write_is_read(value):
    """Whatever a plain writer makes of plain values comes back as it was, and again as written."""
    parsed = parse_json(json.dumps(value).encode())
    assert parsed == value
    assert json.loads(encode_json(parsed)) == value


@given(st.binary(max_size=200) | st.text(max_size=100).map(str.encode))
def test_anything_is_read_or_refused(data):
    """No bytes raise anything but Refused."""
    try:
        value = parse_json(data)
    except RefusedContent:
        return
    assert parse_json(encode_json(value)) == value


def test_as_deep_as_is_said():
    """The deepest that is said is read; brackets inside of texts do not count."""
    assert parse_json(b"[" * MOST_LEVELS + b"]" * MOST_LEVELS)
    assert parse_json(json.dumps("[{" * 1000).encode()) == "[{" * 1000
    assert parse_json(json.dumps('"\\[' * 1000).encode()) == '"\\[' * 1000


@pytest.mark.parametrize("text", [b"-0.0", b"-0", b"5e-324", b"-1e-310", b"1e-999"])
def test_nothing_is_zero(text):
    """Minus zero and what is too small for full precision are zero, without a sign."""
    assert encode_json(parse_json(text)) in (b"0", b"0.0")


@pytest.mark.parametrize(
    "data",
    [
        b'"' + b'\\"' * 30_000,
        b'"' + b"\\" * 60_001,
        b'"a' * 30_000,
        b"[]" * 30_000,
        b'{"a":' * 30 + b'"\\' * 30_000,
        json.dumps({f"key{number}": number for number in range(5000)}).encode(),
        b"[" + b"0," * 30_000 + b"0]",
    ],
)
def test_no_input_is_slow(data):
    """64 KiB of the worst input take no more than seconds of processor time, on any machine."""
    begun = time.process_time()
    with contextlib.suppress(RefusedContent):
        parse_json(data)
    assert time.process_time() - begun < 5  # an evil pattern would need minutes
