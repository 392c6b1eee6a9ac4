"""Golden refusals of the standard scheme: bytes that are no message, rules no device follows."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from golden.scheme import (
    AGE,
    GENDER,
    INTEGERS,
    OWN,
    RULER,
    SECRETS,
    disclosure,
    released,
    safe_rules,
    unsafe,
)
from golden.vectors import completion, message, release
from tacit.designs.standard_scheme.disclosure import CAP, FLOOR, RELEASES, Disclosure
from tacit.designs.standard_scheme.messages import MICRO, Release, Scores

SHOWN = disclosure(RELEASES["coupling+selection"], items=("a", "b"))
RELEASED = Release("0123456789abcdef", 2810, (("é", 1_250_000), (7, 0)))
KINDS: tuple[tuple[Any, str, str], ...] = (
    (Release, "release", "ratings"),
    (Scores, "scores", "scores"),
)

_SPELLINGS: list[tuple[str, Callable[[bytes], bytes]]] = [
    ("a space", lambda data: data.replace(b",", b", ", 1)),
    ("a line at the end", lambda data: data + b"\n"),
    ("a space at the beginning", lambda data: b" " + data),
    ("a byte order mark", lambda data: b"\xef\xbb\xbf" + data),
    ("UTF-16", lambda data: data.decode().encode("utf-16")),
    ("bytes that are no UTF-8", lambda data: data.replace("é".encode(), b"\xe9")),
    ("half a character in three bytes", lambda data: data.replace("é".encode(), b"\xed\xa0\x80")),
    ("half a character, escaped", lambda data: data.replace("é".encode(), b"\\ud800")),
    ("two halves that make one", lambda data: data.replace("é".encode(), b"\\ud83d\\ude00")),
    ("an escape that is not needed", lambda data: data.replace("é".encode(), b"\\u00e9")),
    ("a control character", lambda data: data.replace("é".encode(), b"\x1f")),
    ("a key twice", lambda data: data.replace(b'"version":2', b'"version":2,"version":2')),
    ("keys out of order", lambda data: b'{"version":2,' + data[1:].replace(b',"version":2', b"")),
    ("a key more", lambda data: data.replace(b'"version":2', b'"version":2,"who":7')),
    ("a key less", lambda data: data.replace(b'"disclosure":"0123456789abcdef",', b"")),
    ("a float", lambda data: data.replace(b"1250000", b"1250000.0")),
    ("an exponent", lambda data: data.replace(b"1250000", b"125e4")),
    ("a leading zero", lambda data: data.replace(b"1250000", b"01250000")),
    ("a plus", lambda data: data.replace(b"1250000", b"+1250000")),
    ("minus zero", lambda data: data.replace(b",0]", b",-0]")),
    ("NaN", lambda data: data.replace(b"1250000", b"NaN")),
    ("Infinity", lambda data: data.replace(b"1250000", b"Infinity")),
    ("a float without end", lambda data: data.replace(b"1250000", b"1e999")),
    ("an integer of 5,000 digits", lambda data: data.replace(b"1250000", b"9" * 5000)),
    ("2^53 + 1", lambda data: data.replace(b"1250000", b"9007199254740993")),
    ("-2^53 - 1", lambda data: data.replace(b"1250000", b"-9007199254740993")),
    ("cut short", lambda data: data[:-1]),
    ("an open string", lambda data: data[: data.index("é".encode())]),
    ("a comma at the end", lambda data: data.replace(b"0]]", b"0],]")),
    ("a comment", lambda data: data.replace(b"0]]", b"0]/**/]")),
    ("nothing", lambda _: b""),
    ("null", lambda _: b"null"),
    ("only brackets", lambda _: b"[" * 2000),
]
_CONTENTS: list[dict[str, Any]] = [
    {"version": 1},
    {"version": 3},
    {"version": True},
    {"version": "2"},
    {"version": None},
    {"message": "disclosure"},
    {"message": None},
    {"disclosure": None},
    {"disclosure": 7},
    {"": []},
    {"": {}},
    {"": ""},
    {"": None},
    {"": ["ab"]},
    {"": [[]]},
    {"": [["a"]]},
    {"": [["a", 1, 2]]},
    {"": [["a", "1"]]},
    {"": [["a", True]]},
    {"": [["a", None]]},
    {"": [[True, 1]]},
    {"": [[None, 1]]},
    {"": [[1.5, 1]]},
    {"": [[["a"], 1]]},
    {"": [["a", 1], ["a", 2]]},
    {"": [[2**60, 1], [2**60, 2]]},
]
_EPOCHS: list[dict[str, Any]] = [
    {"epoch": None},
    {"epoch": -1},
    {"epoch": 1.0},
    {"epoch": True},
    {"epoch": "0"},
    {"epoch": 2**53 + 1},
]
_PLACES: list[tuple[tuple[str | int, ...], Any]] = [
    (("rule", "transform"), "other"),
    (("rule", "selection"), 1),
    (("rule", "rounding"), None),
    (("rule", "mix"), 1_000_001),
    (("rule", "mix"), -1),
    (("rule", "mix"), 0.5),
    (("rule",), {}),
    (("rule",), []),
    (("rule", "more"), 1),
    (("scale", "minimum"), "1"),
    (("scale", "minimum"), True),
    (("scale", "levels"), 1),
    (("scale", "levels"), -5),
    (("scale", "levels"), 0),
    (("scale", "levels"), 3),
    (("scale", "levels"), 5.0),
    (("scale", "step"), 0),
    (("scale", "step"), -1.0),
    (("scale",), {}),
    (("items",), ["a", "a"]),
    (("items",), []),
    (("items",), "ab"),
    (("items", 0), None),
    (("items", 0), 1.5),
    (("item_means",), [0]),
    (("item_means",), None),
    (("epoch_length",), 0),
    (("epoch_length",), 604_800.0),
    (("epoch_length",), None),
    (("aliases",), None),
    (("aliases",), {}),
    (("aliases",), ["cd"]),
    (("aliases",), [["c"]]),
    (("aliases",), [["c", "a", "b"]]),
    (("aliases",), [["c", None]]),
    (("aliases",), [["a", "b"]]),
    (("aliases",), [["c", "a"], ["c", "b"]]),
    (("aliases",), [["c", "d"], ["d", "a"]]),
    (("aliases",), [["c", "c"]]),
    (("attributes",), []),
    (("attributes",), {}),
    (("attributes", 0), {}),
    (("attributes", 0, "name"), 7),
    (("attributes", 0, "values"), ["F", "F"]),
    (("attributes", 0, "values"), ["F"]),
    (("attributes", 0, "values"), ["F", "M", "X"]),
    (("attributes", 0, "values"), "FM"),
    (("attributes", 0, "offsets", 0), []),
    (("attributes", 0, "offsets", 0, 0), -(2**53) - 1),
    (("attributes", 0, "means"), None),
    (("attributes", 0, "means"), [[0, 0], [0, 0]]),
    (("attributes", 0, "keep", 0, 0), 1_000_001),
    (("attributes", 0, "keep", 0, 0), -1),
    (("attributes", 0, "keep", 0), []),
    (("attributes", 0, "keep", 0, 0), [950_000]),
    (("attributes", 0, "bounds"), [[], []]),
    (("attributes", 0, "coupling", 0, 0, 0), [5, 4, 3, 2, 1_000_000]),
    (("attributes", 0, "coupling", 0, 0, 0), [0, 0, 0, 0, 0]),
    (("attributes", 0, "coupling"), []),
    (("attributes", 0, "coupling"), [[]]),
    (("attributes", 0, "coupling"), None),
]


def spelled(content: Any) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()


def messages() -> list[dict[str, Any]]:
    data = RELEASED.encode()
    found = [message(Release, spell(data), why) for why, spell in _SPELLINGS]
    for kind, name, field in KINDS:
        more = [] if kind is Release else [1]
        whole = {"version": 2, "message": name, "disclosure": "x", field: [["a", 1, *more]]}
        whole |= {"epoch": 0} if kind is Release else {}
        for change in [*_CONTENTS, *_EPOCHS] if kind is Release else _CONTENTS[:-1]:
            named = {field if key == "" else key: value for key, value in change.items()}
            if more and isinstance(named.get(field), list):
                rows = named[field]
                named[field] = [[*row, *more] if isinstance(row, list) else row for row in rows]
            if named.get(field) != []:
                found.append(message(kind, spelled(whole | named), str(change)))
    for path, value in _PLACES:
        content = json.loads(SHOWN.encode())
        place = content
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        found.append(message(Disclosure, spelled(content), f"{path}: {value}"))
    twice = json.loads(SHOWN.encode())
    twice["attributes"] *= 2
    return [*found, message(Disclosure, spelled(twice), "an attribute twice")]


def releases() -> list[dict[str, Any]]:
    whole = RELEASES["scheme+selection+rounding"]
    found = [
        released(disclosure(rule), INTEGERS, number)
        for number, rule in enumerate(
            [
                *filter(unsafe, RELEASES.values()),
                *(replace(rule, mix=mix) for rule in safe_rules()[:4] for mix in (0, 999_999)),
            ]
        )
    ]
    found += [
        release([shown.encode()], [OWN], [{12: 3.0}], SECRETS[0]) for shown in tables_refused()
    ]
    shown, ruler = disclosure(whole), disclosure(whole, scale=RULER)
    for kind, stars in ((shown, (0.0, 6.0, 3.5, 1.00001, -1e300)), (ruler, (-10.1, 10.1, 1e300))):
        found += [release([kind.encode()], [OWN], [{12: star}], SECRETS[0]) for star in stars]
    for own in ({}, {"gender": "X"}, {"Gender": "F"}):
        found.append(release([shown.encode()], [own], [{12: 3.0}], SECRETS[0]))
    both = disclosure(whole, attributes=(AGE, GENDER))
    for later, own in (
        (shown, {"gender": "M"}),
        (disclosure(RELEASES["scheme+rounding"]), OWN),
        (disclosure(whole, scale=INTEGERS), OWN),
        (disclosure(whole, epoch_length=86_400), OWN),
        (both, OWN),
    ):
        sent = [shown.encode(), later.encode()]
        found.append(release(sent, [OWN, own], [{12: 3.0}, {12: 3.0, 40: 2.0}], SECRETS[1]))
    return found


def tables_refused() -> list[Disclosure]:
    """Messages whose numbers no device follows."""
    plain = disclosure(RELEASES["scheme+selection+rounding"], items=(12,))
    found = [replace(plain, epoch_length=86_399)]
    chances = ((CAP, FLOOR - 1), (CAP - 1, CAP - 1), (CAP + 1, CAP), (MICRO, MICRO), (0, CAP))
    found += [_with(plain, keep=tuple((chance,) for chance in keep)) for keep in chances]
    offsets = (MICRO // 2 + 1, -MICRO // 2 - 1)
    found += [_with(plain, offsets=((0,), (offset,))) for offset in offsets]
    two = disclosure(plain.rule, items=(12,), attributes=(AGE, GENDER))
    large = tuple(
        replace(table, offsets=((260_000,),) * len(table.values)) for table in two.attributes
    )
    found.append(replace(two, attributes=large))
    coupled = disclosure(RELEASES["coupling"], items=(12,))
    all_levels = ((200_000, 400_000, 600_000, 800_000, MICRO),) * 5
    four_levels = ((200_000, 400_000, 600_000, 600_000, MICRO),) * 5
    found.append(_with(coupled, coupling=((all_levels,), (four_levels,))))
    return found


def _with(shown: Disclosure, **tables: Any) -> Disclosure:
    return replace(shown, attributes=(replace(shown.attributes[0], **tables),))


def completions() -> list[dict[str, Any]]:
    shown = disclosure(RELEASES["scheme+rounding"], attributes=(GENDER,))
    others = [
        Scores("0123456789abcdef", ((12, 0, 0),)),
        Scores(shown.digest, ((12, 0, 0), ("elsewhere", 0, 0))),
    ]
    return [completion(shown.encode(), OWN, scores.encode()) for scores in others]


def content() -> dict[str, list[Any]]:
    found = {"messages": messages(), "releases": releases(), "completions": completions()}
    for vector in (*found["releases"], *found["completions"]):
        if vector.get("error") not in ("Refused", "ValueError"):
            raise AssertionError(f"a device carried out what it should refuse: {vector}")
    return found
