"""The model file: a JSON header and plain arrays.

Layout   magic (8 bytes) | header length (8 bytes, little endian) | header (canonical JSON, UTF-8)
         | the arrays' bytes, little endian, in the header's order | SHA-256 of all that precedes.
Reading  Lengths are checked before memory is allocated for them, and the hash before any content
         is used. Nothing in the file is ever executed: there is no pickle. The values and brackets
         of the header are counted before it is parsed, because each of them takes up to a hundred
         bytes of memory.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.atomic_writes import write_whole
from tacit.errors import ModelFileError

MAGIC = b"tacit\x00\x01\n"
"""The first bytes of every model file."""
FORMAT = 1
"""Version of the layout."""
_DTYPES = ("<f8", "<f4", "<i8", "<i4", "<i2", "|u1")
"""Types of arrays that a file may hold, as NumPy writes them."""
_MAX_HEADER_BYTES = 1 << 26
"""Longest header: 64 MiB."""
_MAX_HEADER_VALUES = 1 << 22
"""Largest number of commas and colons in a header; a million items with titles need two million."""
_MAX_HEADER_BRACKETS = 1 << 20
"""Largest number of opening brackets and braces in a header; those in titles count too."""
_MAX_EXTENT = 1 << 31
"""Every axis of an array is shorter than this."""
_MAX_DIMENSIONS = 4
"""Most axes of an array."""
_LENGTH_BYTES = 8
"""Bytes of the number that states the header's length."""
_HASH_BYTES = 32
"""Bytes of the SHA-256 at the end of a file."""


@dataclass(frozen=True)
class _ArrayEntry:
    """One array, as the header describes it."""

    name: str
    """Its name, unique in a valid file."""
    dtype: str
    """Its type, one of `_DTYPES` in a valid file."""
    shape: tuple[Any, ...]
    """Its shape, integers from 0 in a valid file."""


def write(path: str | Path, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a whole model file or none: an old file stays until the new one is on disk.

    Args:
        path: The file.
        header: Names and values; the values have types of JSON.
        arrays: Arrays by name, of float64, float32, int64, int32, int16 or uint8.

    Raises:
        OutputError: The file cannot be written.
        ModelFileError: An array has another type or more than four axes, or the header is larger
            than `read` accepts.
    """
    write_whole(path, pack(header, arrays))


def pack(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return the bytes of a model file; arguments as in `write`.

    Raises:
        ModelFileError: A model file cannot hold the type or the number of axes of an array, or the
            header is larger than `unpack` accepts.
    """
    packed = {name: _to_little_endian(name, array) for name, array in arrays.items()}
    entries = []
    for name, array in packed.items():
        entries.append({"name": name, "dtype": array.dtype.str, "shape": list(array.shape)})
    text = canonical_json({"format": FORMAT, "header": dict(header), "arrays": entries}).encode()
    _check_header_size(text, "The model")
    parts = [MAGIC, len(text).to_bytes(_LENGTH_BYTES, "little"), text]
    parts += [array.tobytes() for array in packed.values()]
    body = b"".join(parts)
    return body + hashlib.sha256(body).digest()


def read(path: str | Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read a model file.

    Returns:
        The header, and the arrays by name.

    Raises:
        ModelFileError: The file cannot be read, is damaged, or is not a model file of this format.
    """
    return unpack(read_bytes(path), path)


def read_bytes(path: str | Path) -> bytes:
    """Read all bytes of a file, for a caller that both unpacks and hashes the same content.

    Raises:
        ModelFileError: The file cannot be read.
    """
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ModelFileError(
            f"{path}: cannot be read ({error.strerror}). Check the path, or make the file with  "
            "tacit fit"
        ) from None


def unpack(
    content: bytes, file: str | Path = "these bytes"
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read header and arrays from the bytes of a model file.

    Args:
        content: All bytes of the file.
        file: What error messages call the bytes.

    Returns:
        The header, and the arrays by name.

    Raises:
        ModelFileError: The bytes are damaged, or are not a model file of this format.
    """
    body = _check_body(content, file)
    start = len(MAGIC) + _LENGTH_BYTES
    length = int.from_bytes(body[len(MAGIC) : start], "little")
    if length > len(body) - start:
        raise ModelFileError(f"{file}: its header claims {length} bytes, more than the file has.")
    _check_header_size(body[start : start + length], file)
    version, header, entries = _parse_header(body[start : start + length], file)
    if version != FORMAT:
        raise ModelFileError(
            f"{file}: written in format {version}; this tacit reads format {FORMAT}. Fit it again."
        )
    return header, _read_arrays(file, body, start + length, entries)


def _check_body(content: bytes, file: str | Path) -> bytes:
    """Return all bytes before the hash; ModelFileError if magic, length or hash are wrong."""
    if not content.startswith(MAGIC):
        raise ModelFileError(
            f"{file}: not a tacit model file. Make one with  tacit fit ... -o FILE"
        )
    if len(content) < len(MAGIC) + _LENGTH_BYTES + _HASH_BYTES:
        raise ModelFileError(f"{file}: cut short after {len(content)} bytes. Copy or fit it again.")
    body = content[:-_HASH_BYTES]
    if hashlib.sha256(body).digest() != content[-_HASH_BYTES:]:
        raise ModelFileError(
            f"{file}: damaged, its SHA-256 does not match its content (a changed or missing byte). "
            "Nothing of it was used. Copy or fit it again."
        )
    return body


def _check_header_size(text: bytes, file: str | Path) -> None:
    """Raise ModelFileError if parsing the text of this header could take too much memory."""
    values = text.count(b",") + text.count(b":")
    brackets = text.count(b"[") + text.count(b"{")
    for unit, count, limit in (
        ("bytes", len(text), _MAX_HEADER_BYTES),
        ("values", values, _MAX_HEADER_VALUES),
        ("brackets", brackets, _MAX_HEADER_BRACKETS),
    ):
        if count > limit:
            raise ModelFileError(
                f"{file}: its header has {count:,} {unit}; this tacit reads at most {limit:,}."
            )


def _parse_header(text: bytes, file: str | Path) -> tuple[Any, dict[str, Any], list[_ArrayEntry]]:
    """Parse the header's JSON into the layout's version, the header and the array entries.

    Raises:
        ModelFileError: The header is not one that `pack` writes.
    """
    try:
        facts = json.loads(
            text, parse_float=_parse_finite_float, parse_constant=_parse_finite_float
        )
        version = facts["format"]
        header = facts["header"]
        entries = []
        for fields in facts["arrays"]:
            shape = tuple(fields["shape"])
            entries.append(_ArrayEntry(str(fields["name"]), str(fields["dtype"]), shape))
        if not isinstance(header, dict):
            raise TypeError
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ModelFileError(f"{file}: its header is not one that tacit writes.") from None
    return version, header, entries


def _parse_finite_float(text: str) -> float:
    """Parse a number of JSON; ValueError for NaN, infinity and numbers too large for a float."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a header holds only finite numbers")
    return number


def canonical_json(value: Any) -> str:
    """Encode a value as JSON in one way only: sorted keys, no spaces, no NaN or infinity."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def _read_arrays(
    file: str | Path, body: bytes, offset: int, entries: list[_ArrayEntry]
) -> dict[str, NDArray[Any]]:
    """Read the arrays that the entries describe, from byte `offset` of `body` to its end.

    Raises:
        ModelFileError: An entry is malformed, or the arrays do not fill these bytes exactly.
    """
    arrays: dict[str, NDArray[Any]] = {}
    for entry in entries:
        if entry.name in arrays or not _is_well_formed(entry):
            raise ModelFileError(
                f"{file}: array '{entry.name}' has a name, type or shape that tacit never writes."
            )
        count = math.prod(entry.shape)
        size = count * np.dtype(entry.dtype).itemsize
        if size > len(body) - offset:
            raise ModelFileError(
                f"{file}: array '{entry.name}' claims more bytes than the file has."
            )
        flat = np.frombuffer(body, dtype=entry.dtype, count=count, offset=offset)
        try:
            arrays[entry.name] = flat.reshape(entry.shape)
        except ValueError:  # one extent is 0, and the others are too large for NumPy
            raise ModelFileError(
                f"{file}: array '{entry.name}' has a shape that is too large."
            ) from None
        offset += size
    if offset != len(body):
        raise ModelFileError(f"{file}: {len(body) - offset} bytes follow the last array.")
    return arrays


def _is_well_formed(entry: _ArrayEntry) -> bool:
    """Say whether an entry has a type and a shape that a model file may hold."""
    if entry.dtype not in _DTYPES or len(entry.shape) > _MAX_DIMENSIONS:
        return False
    return all(type(extent) is int and 0 <= extent < _MAX_EXTENT for extent in entry.shape)


def _to_little_endian(name: str, array: NDArray[Any]) -> NDArray[Any]:
    """Return the array contiguous and in little endian, if a model file can hold it.

    Raises:
        ModelFileError: A model file cannot hold the type or this many axes.
    """
    if array.ndim > _MAX_DIMENSIONS:
        raise ModelFileError(
            f"Array '{name}' has {array.ndim} axes; a model file holds at most {_MAX_DIMENSIONS}."
        )
    packed = np.asarray(array, order="C")  # `ascontiguousarray` would give a number an axis
    packed = packed.astype(packed.dtype.newbyteorder("<"), copy=False)
    if packed.dtype.str not in _DTYPES:
        raise ModelFileError(
            f"Array '{name}' of type {packed.dtype} cannot be stored in a model file."
        )
    return packed
