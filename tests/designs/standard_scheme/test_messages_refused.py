"""Bytes that are no message, and content that does not hold together, are refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tacit.designs.standard_scheme.disclosure import Disclosure, Rule
from tacit.designs.standard_scheme.messages import MICRO, MessageError, Release, Scores

KINDS = {"disclosure": Disclosure, "release": Release, "scores": Scores}
RELEASE = Release("0123456789abcdef", 2810, (("é", 1_250_000), (7, 0)))


def spelled(content, **how):
    how = {"sort_keys": True, "separators": (",", ":"), "ensure_ascii": False} | how
    return json.dumps(content, **how).encode()


CONTENT = json.loads(RELEASE.encode())


@pytest.mark.parametrize(
    "data",
    [
        spelled(dict(reversed(CONTENT.items())), sort_keys=False),
        spelled(CONTENT, separators=(", ", ": ")),
        spelled(CONTENT, indent=1),
        spelled(CONTENT, ensure_ascii=True),
        spelled(CONTENT) + b"\n",
        b" " + spelled(CONTENT),
        b"\xef\xbb\xbf" + spelled(CONTENT),
        spelled(CONTENT).decode().encode("utf-16"),
        spelled(CONTENT).replace(b'"version":2', b'"version":2,"version":2'),
        spelled(CONTENT).replace(b"1250000", b"1250000.0"),
        spelled(CONTENT).replace(b"1250000", b"1.25e6"),
        spelled(CONTENT).replace(b"1250000", b"01250000"),
        spelled(CONTENT).replace(b",0]", b",-0]"),
        spelled(CONTENT).replace(b"1250000", b"NaN"),
        spelled(CONTENT).replace(b"1250000", b"Infinity"),
        spelled(CONTENT).replace(b"1250000", b"9" * 5000),
        spelled(CONTENT).replace(b"1250000", b"9007199254740993"),
    ],
    ids=lambda data: data[:12].hex() + "..." + data[-40:].hex()[:24],
)
def test_other_spellings_are_refused(data):
    """The same content in other words, or with numbers that are no integers, is refused."""
    with pytest.raises(MessageError):
        Release.decode(data)


@pytest.mark.parametrize(
    "change",
    [
        {"version": 1},
        {"version": 3},
        {"version": True},
        {"version": "2"},
        {"version": 2.0},
        {"epoch": -1},
        {"epoch": None},
        {"epoch": 1.0},
        {"message": "scores"},
        {"message": None},
        {"more": 1},
        {"disclosure": None},
        {"disclosure": 7},
        {"disclosure": "\ud800"},
        {"ratings": {}},
        {"ratings": ""},
        {"ratings": None},
        {"ratings": 7},
        {"ratings": ["ab"]},
        {"ratings": [[]]},
        {"ratings": [["a"]]},
        {"ratings": [["a", 1, 2]]},
        {"ratings": [["a", "1"]]},
        {"ratings": [["a", True]]},
        {"ratings": [["a", None]]},
        {"ratings": [[True, 1]]},
        {"ratings": [[None, 1]]},
        {"ratings": [[1.5, 1]]},
        {"ratings": [[["a"], 1]]},
        {"ratings": [["a", 1], ["a", 2]]},
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", ["release", "scores"])
def test_other_content_is_refused(kind, change):
    """Wrong versions, kinds, fields and types are refused, in both lists of items."""
    content = {"version": 2, "message": kind, "disclosure": "x", "epoch": 0, "ratings": [["a", 1]]}
    content |= change
    if kind == "scores":
        del content["epoch"]
        rated = content.pop("ratings")
        lists = isinstance(rated, list) and all(isinstance(row, list) for row in rated)
        content["scores"] = [[*row, 1] for row in rated] if lists else rated
        if change == {"message": "scores"}:
            content["message"] = "release"
        if "epoch" in change:
            content |= change
    data = spelled(content, ensure_ascii=True)
    with pytest.raises(MessageError):
        KINDS[kind].decode(data)


def paths(content, path=()):
    """Every place in nested lists and dicts, the deepest first."""
    if isinstance(content, dict | list):
        for key, child in content.items() if isinstance(content, dict) else enumerate(content):
            yield from paths(child, (*path, key))
    if path:
        yield path


def changed(content, path, value):
    """A copy of the content with one place replaced."""
    content = json.loads(json.dumps(content))
    place = content
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return content


@pytest.mark.parametrize("value", [None, "x", -1.5, {}, [], True], ids=str)
@pytest.mark.parametrize("release", ["scheme+selection+rounding", "coupling"])
def test_disclosure_with_one_wrong_place(disclose, tables, release, value):
    """Whatever single place of a disclosure has the wrong type or length, it is refused.

    Places that may hold the value are left out: names, the two numbers of the scale, switches.
    """
    sent = disclose(release, {"gender": tables(items=2, levels=2)}, levels=2)
    content = json.loads(sent.encode())
    free = {("scale", "minimum"), ("attributes", 0, "name")}
    refused = 0
    for path in paths(content):
        names = path in free or path[:1] == ("items",) or "values" in path
        if (names and value in ("x", -1.5)) or path[0] == "rule" or "coupling" in path[:3:2]:
            continue
        other = changed(content, path, value)
        if other == content and value == []:
            continue
        with pytest.raises(MessageError):
            Disclosure.decode(spelled(other))
        refused += 1
    assert refused > 5


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("rule", "transform"), "other"),
        (("rule", "selection"), 1),
        (("rule", "rounding"), None),
        (("rule", "mix"), MICRO + 1),
        (("rule", "mix"), 0.5),
        (("rule",), {}),
        (("rule",), []),
        (("scale", "levels"), 1),
        (("scale", "levels"), -5),
        (("scale", "levels"), 0),
        (("scale", "levels"), 3),
        (("scale", "step"), 0),
        (("scale", "step"), -1),
        (("items",), ["item 0"] * 6),
        (("items",), []),
        (("attributes",), []),
        (("attributes",), {}),
        (("attributes", 0), {}),
        (("attributes", 0, "values"), ["F", "F"]),
        (("attributes", 0, "values"), ["F"]),
        (("attributes", 0, "values"), ["F", "M", "X"]),
        (("attributes", 0, "keep", 0, 0), MICRO + 1),
        (("attributes", 0, "keep", 0, 0), -1),
        (("attributes", 0, "means"), [[0] * 6, [0] * 6]),
        (("attributes", 0, "bounds"), [[], []]),
        (("epoch_length",), 0),
        (("epoch_length",), 604_800.0),
        (("epoch_length",), None),
        (("attributes", 0, "coupling", 0, 0, 0), [5, 4, 3, 2, MICRO]),
        (("attributes", 0, "coupling", 0, 0, 0), [0, 0, 0, 0, 0]),
        (("attributes", 0, "coupling"), []),
        (("attributes", 0, "coupling"), [[]]),
    ],
    ids=str,
)
def test_disclosure_that_does_not_hold_together(disclose, path, value):
    """Unknown rules, chances above 1, repeated names and tables of another size are refused."""
    content = json.loads(disclose("coupling").encode())
    with pytest.raises(MessageError):
        Disclosure.decode(spelled(changed(content, path, value)))


def test_twice_the_same_attribute(disclose):
    """An attribute is named once."""
    content = json.loads(disclose().encode())
    content["attributes"] *= 2
    with pytest.raises(MessageError, match="once"):
        Disclosure.decode(spelled(content))


def test_coupling_needs_levels(disclose):
    """A rule that couples stars makes no sense on a continuous scale."""
    with pytest.raises(MessageError, match="couple"):
        disclose("coupling", levels=0)


def test_rule_is_checked_when_made():
    """A rule with a mix beyond 1 cannot be made, wherever it comes from."""
    with pytest.raises(MessageError, match="mix"):
        Rule("scheme", selection=True, rounding=True, mix=MICRO + 1)


@given(
    st.binary(max_size=60) | st.text(max_size=60).map(lambda text: text.encode("utf-8", "replace"))
)
@example(b"[" * 100_000)
@example(b'{"message":"release","version":2,"ratings":' + b"[" * 5000 + b"]" * 5000 + b"}")
@example(b"null")
@example(b"")
@pytest.mark.parametrize("kind", KINDS)
def test_arbitrary_bytes_are_refused(kind, data):
    """Any bytes are refused with a MessageError and with nothing else."""
    with pytest.raises(MessageError):
        KINDS[kind].decode(data)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["disclosure", "ratings", "scores", "items"]), json_values))
@pytest.mark.parametrize("kind", KINDS)
def test_arbitrary_content(kind, content):
    """Any JSON under the right heading is refused with a MessageError, or means its own bytes."""
    data = spelled(content | {"version": 2, "message": kind}, ensure_ascii=True)
    try:
        message = KINDS[kind].decode(data)
    except MessageError:
        return
    assert message.encode() == data


def test_a_scale_beyond_every_float_is_refused(disclose):
    """A whole number that no float can hold is no star; it is a refusal, and no overflow."""
    with pytest.raises(MessageError, match="two numbers"):
        disclose(minimum=10**400)
