"""Change one part of a file's header or arrays, and write it again with a right hash."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import container

VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    2**31,
    2**63,
    10**40,
    0.5,
    -0.25,
    1e308,
    "",
    "x",
    "inf",
    "nan",
    "\ud800",
    "0" * 300,
    [],
    [None],
    [1, "a"],
    [[]],
    {},
    {"a": 1},
)
Arrays = Mapping[str, NDArray[Any]]


def mutants(
    header: Mapping[str, Any], arrays: Arrays, count: int, seed: int
) -> Iterator[tuple[str, bytes]]:
    """Yield what was changed, and the bytes of a file with one or two such changes."""
    random = Random(seed)  # noqa: S311 - of made-up faults
    for _ in range(count):
        changed, tables = copy.deepcopy(dict(header)), dict(arrays)
        said = []
        for _ in range(random.choice((1, 1, 1, 2))):
            if tables and random.random() < 0.35:
                said.append(change_array(tables, random))
            else:
                said.append(change_header(changed, random))
        try:
            yield "; ".join(said), container.pack(changed, tables)
        except (ValueError, UnicodeEncodeError):
            continue


def change_header(header: dict[str, Any], random: Random) -> str:
    """Change one value of a header in place; say where and how."""
    place: Any = header
    path = []
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = random.choice(keys)
        path.append(str(key))
        inner = place[key]
        if isinstance(inner, dict | list) and inner and random.random() < 0.8:
            place = inner
            continue
        break
    way = random.choice(("value", "value", "value", "delete", "repeat"))
    if way == "delete":
        del place[key]
    elif way == "repeat" and isinstance(place, list):
        place.insert(random.randrange(len(place) + 1), inner)
    else:
        place[key] = copy.deepcopy(random.choice(VALUES))
        way = f"becomes {str(place[key])[:20]!r}"
    return f"{'.'.join(path)} {way}"


def change_array(arrays: dict[str, NDArray[Any]], random: Random) -> str:
    """Change one array of a file in place of the old one; say which and how."""
    name = random.choice(list(arrays))
    array = arrays[name].copy()
    way = random.choice(("entry", "entry", "entry", "all", "cut", "more", "type", "turn", "none"))
    if way == "none":
        del arrays[name]
        return f"{name} is gone"
    is_float = array.dtype.kind == "f"
    odd = [np.nan, np.inf, -np.inf, -1.0, 0.0, 1e300] if is_float else [-1, 0, 1, 77, 2**30]
    if array.dtype.itemsize == 1:
        odd = [0, 1, 255]
    if array.dtype.itemsize == 2:
        odd = [-1, 0, 1, 77, 2**14]
    if way == "entry" and array.size:
        array.reshape(-1)[random.randrange(array.size)] = random.choice(odd)
    elif way == "all":
        array[...] = random.choice(odd)
    elif way == "cut":
        array = array[: random.randrange(len(array) + 1)]
    elif way == "more":
        array = np.concatenate([array, array])
    elif way == "type":
        array = np.zeros(array.shape, random.choice(["<f8", "<i8", "<i4", "<i2", "|u1"]))
    elif way == "turn":
        array = array.T if array.ndim > 1 else array[:, None]
    arrays[name] = array
    return f"{name}: {way}"


def with_other_text(file: bytes, seed: int) -> bytes:
    """Change bytes of the header's text, and write the right hash behind the file."""
    random = Random(seed)  # noqa: S311 - of made-up faults
    start = len(container.MAGIC) + 8
    length = int.from_bytes(file[len(container.MAGIC) : start], "little")
    body = bytearray(file[:-32])
    for _ in range(random.randrange(1, 4)):
        body[start + random.randrange(length)] = random.choice(b'[]{},:"0123456789eE-.ntf\\ ')
    return bytes(body) + hashlib.sha256(body).digest()
