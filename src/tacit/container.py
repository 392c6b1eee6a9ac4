"""Files written whole or not at all; and the model file, a JSON header and plain arrays.

Layout   magic (8 bytes) | header length (8 bytes, little endian) | header (canonical JSON, UTF-8)
         | the arrays' bytes, little endian, in the header's order | SHA-256 of all that precedes.
Reading  Lengths are checked against the file before anything is allocated, the hash before
         anything is used, and nothing in the file is ever executed: no pickle.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ModelFileError, OutputError


def check_writable(path: str | Path) -> None:
    """OutputError unless a file could be written here: asked before hours of work, not after."""
    target = Path(path)
    try:
        reason = _obstacle(target)
    except OSError as error:
        raise refusal(target, error) from None
    if reason is not None:
        raise OutputError(f"{target}: cannot be written, {reason}")


def write_whole(path: str | Path, content: bytes) -> None:
    """Write all of a file or nothing: what was there stays until the new file is on disk.

    A new file gets the mode of any other new file; one that is replaced hands its mode on.
    """
    check_writable(path)
    target = Path(path)
    part = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        with part.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            part.chmod(stat.S_IMODE(target.stat().st_mode))
        part.replace(target)
    except OSError as error:
        raise refusal(target, error) from None
    finally:
        part.unlink(missing_ok=True)


def refusal(path: str | Path, error: OSError) -> OutputError:
    """The system's own reason, in a sentence."""
    return OutputError(
        f"{path}: cannot be written ({error.strerror}). What was there is untouched. Make room "
        "there, or name another file."
    )


def _obstacle(target: Path) -> str | None:
    if target.is_dir():
        return "this is a folder. Add a file name."
    if not target.parent.is_dir():
        return f"the folder {target.parent} does not exist. Make it, or name another."
    if target.exists() and not target.is_file():
        return "this is no ordinary file. Name another."
    if not os.access(target.parent, os.W_OK | os.X_OK):
        return f"the folder {target.parent} takes no new files. Name another."
    return None


MAGIC = b"tacit\x00\x01\n"
FORMAT = 1
_DTYPES = ("<f8", "<i8", "<i4", "<i2", "|u1")
_MOST_HEADER = 1 << 28
_MOST_EXTENT = 1 << 31
_HASH = 32


def write(path: str | Path, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a whole file or none: the old one stays until the new one is on disk."""
    write_whole(path, pack(header, arrays))


def pack(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """The bytes of a file, to be stored elsewhere."""
    packed = {name: _little_endian(name, array) for name, array in arrays.items()}
    text = canonical_json(
        {
            "format": FORMAT,
            "header": dict(header),
            "arrays": [
                {"name": name, "dtype": array.dtype.str, "shape": list(array.shape)}
                for name, array in packed.items()
            ],
        }
    ).encode()
    body = b"".join(
        [MAGIC, len(text).to_bytes(8, "little"), text]
        + [array.tobytes() for array in packed.values()]
    )
    return body + hashlib.sha256(body).digest()


def read(path: str | Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header and arrays of a file that is intact; anything else raises ModelFileError."""
    file = Path(path)
    try:
        content = file.read_bytes()
    except OSError as error:
        raise ModelFileError(
            f"{file}: cannot be read ({error.strerror}). Check the path, or make the file with  "
            "tacit fit"
        ) from None
    return unpack(content, file)


def unpack(
    content: bytes, file: str | Path = "these bytes"
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The same from bytes; file: what an error calls them."""
    if not content.startswith(MAGIC):
        raise ModelFileError(
            f"{file}: not a tacit model file. Make one with  tacit fit ... -o FILE"
        )
    if len(content) < len(MAGIC) + 8 + _HASH:
        raise ModelFileError(f"{file}: cut short after {len(content)} bytes. Copy or fit it again.")
    body, digest = content[:-_HASH], content[-_HASH:]
    if hashlib.sha256(body).digest() != digest:
        raise ModelFileError(
            f"{file}: damaged, its SHA-256 does not match its content (a changed or missing byte). "
            "Nothing of it was used. Copy or fit it again."
        )
    start = len(MAGIC) + 8
    length = int.from_bytes(body[len(MAGIC) : start], "little")
    if length > min(_MOST_HEADER, len(body) - start):
        raise ModelFileError(f"{file}: its header claims {length} bytes, more than the file has.")
    try:
        text = json.loads(body[start : start + length])
        version, header, table = text["format"], text["header"], text["arrays"]
        shapes = [(str(a["name"]), str(a["dtype"]), tuple(a["shape"])) for a in table]
        if not isinstance(header, dict):
            raise TypeError
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ModelFileError(f"{file}: its header is not one that tacit writes.") from None
    if version != FORMAT:
        raise ModelFileError(
            f"{file}: written in format {version}; this tacit reads format {FORMAT}. Fit it again."
        )
    return header, _arrays(file, body, start + length, shapes)


def canonical_json(value: Any) -> str:
    """The one way to write a value: sorted keys, no spaces, no NaN or infinity."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def _arrays(
    file: str | Path, body: bytes, at: int, shapes: list[tuple[str, str, tuple[Any, ...]]]
) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {}
    for name, dtype, shape in shapes:
        well_formed = all(type(extent) is int and 0 <= extent < _MOST_EXTENT for extent in shape)
        if name in arrays or dtype not in _DTYPES or len(shape) > 4 or not well_formed:
            raise ModelFileError(
                f"{file}: array '{name}' has a name, type or shape that tacit never writes."
            )
        count = math.prod(shape)
        size = count * np.dtype(dtype).itemsize
        if size > len(body) - at:
            raise ModelFileError(f"{file}: array '{name}' claims more bytes than the file has.")
        flat = np.frombuffer(body, dtype=dtype, count=count, offset=at)
        try:
            arrays[name] = flat.reshape(shape)
        except ValueError:  # empty, and even so too big to index
            raise ModelFileError(f"{file}: array '{name}' is of a size nobody can use.") from None
        at += size
    if at != len(body):
        raise ModelFileError(f"{file}: {len(body) - at} bytes follow the last array.")
    return arrays


def _little_endian(name: str, array: NDArray[Any]) -> NDArray[Any]:
    packed = np.ascontiguousarray(array)
    packed = packed.astype(packed.dtype.newbyteorder("<"), copy=False)
    if packed.dtype.str not in _DTYPES:
        raise ModelFileError(f"Array '{name}' of type {packed.dtype} has no place in a model file.")
    return packed
