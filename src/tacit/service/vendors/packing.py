"""Numbers and arrays as bytes: what a vendor keeps in the ledger. JSON and plain arrays only."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

_LENGTH = struct.Struct(">I")
_KINDS = ("<f8", "<i8", "<i4", "|u1")


def pack(numbers: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Arrays of float64, int64, int32 and bytes, in the order in which they are given."""
    plain = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    table = [[name, array.dtype.str, list(array.shape)] for name, array in plain.items()]
    if any(kind not in _KINDS for _, kind, _ in table):
        raise TypeError("an array of this type is not kept")
    text = json.dumps([numbers, table], separators=(",", ":"), allow_nan=False).encode("ascii")
    return b"".join([_LENGTH.pack(len(text)), text, *(array.tobytes() for array in plain.values())])


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What was packed. The arrays are read-only. ValueError for anything else."""
    (length,) = _LENGTH.unpack_from(data)
    at = _LENGTH.size + length
    numbers, table = json.loads(data[_LENGTH.size : at])
    arrays: dict[str, NDArray[Any]] = {}
    for name, kind, shape in table:
        if kind not in _KINDS:
            raise ValueError("an array of this type is not kept")
        count = int(np.prod(shape, dtype=np.int64))
        arrays[name] = np.frombuffer(data, kind, count, at).reshape(shape)
        at += arrays[name].nbytes
    if at != len(data):
        raise ValueError("bytes follow the last array")
    return numbers, arrays
