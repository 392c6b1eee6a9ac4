"""Frames between the owner of a ledger's file and the other processes of its user.

They go over a Unix socket that the owner makes beside the file, in a folder that its user alone may
enter: PATH.owner/socket. A frame is a head of fixed length, an object of JSON, and bytes. Whatever
is not exactly one is refused, and ends the connection; the lengths are looked at before anything is
read or set aside for them.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import struct
from asyncio import IncompleteReadError, StreamReader
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any

from tacit.errors import ConfigError, DataError

_SIZES = struct.Struct(">6sBQII")
_MARK = b"tacit1"
"""With the version of this format."""
LARGEST_HEAD = 128 * 2**10
LARGEST_BODY = 256 * 2**20
"""Bytes. A head of HTTP has at most 16 KiB, and a byte of it becomes at most six of JSON."""
_LONGEST_ADDRESS = 100
"""Of a Unix socket: the systems have 104 or 108 bytes for it."""


class Kind(IntEnum):
    """What a frame says."""

    ASK = 1
    """An operation that was checked at the door, for the owner to execute."""
    TOLD = 2
    """Its answer."""
    COPY = 3
    """A copy of the store is wanted."""
    COPIED = 4
    """Its file's name, in the owner's folder."""
    REFUSED = 5
    """There is no copy; the owner's log says why."""


@dataclass(frozen=True)
class Frame:
    """number: of the question; its answer has the same."""

    kind: Kind
    number: int
    head: dict[str, Any] = field(default_factory=dict)
    body: bytes = b""

    def encode(self) -> bytes:
        """DataError where it is larger than a frame may be."""
        head = json.dumps(self.head, separators=(",", ":"), ensure_ascii=False).encode()
        if len(head) > LARGEST_HEAD or len(self.body) > LARGEST_BODY:
            raise DataError("This is larger than a frame may be.")
        return (
            _SIZES.pack(_MARK, self.kind, self.number, len(head), len(self.body))
            + head
            + (self.body)
        )


async def read(reader: StreamReader) -> Frame | None:
    """The next frame; None where the other side has ended. DataError for anything else."""
    try:
        first = await reader.readexactly(_SIZES.size)
    except IncompleteReadError as error:
        if not error.partial:
            return None
        raise DataError("A frame was cut off.") from None
    kind, number, head, body = _sizes(first)
    try:
        return _frame(kind, number, await reader.readexactly(head), await reader.readexactly(body))
    except IncompleteReadError:
        raise DataError("A frame was cut off.") from None


def receive(connection: socket.socket) -> Frame:
    """The same without a loop; an end is a DataError too."""
    with connection.makefile("rb") as file:
        first = file.read(_SIZES.size)
        if len(first) < _SIZES.size:
            raise DataError("A frame was cut off.")
        kind, number, head, body = _sizes(first)
        parts = file.read(head), file.read(body)
    if (len(parts[0]), len(parts[1])) != (head, body):
        raise DataError("A frame was cut off.")
    return _frame(kind, number, *parts)


def _sizes(first: bytes) -> tuple[Kind, int, int, int]:
    mark, kind, number, head, body = _SIZES.unpack(first)
    if mark != _MARK or kind not in set(Kind) or head > LARGEST_HEAD or body > LARGEST_BODY:
        raise DataError("This is no frame, or one of another version.")
    return Kind(kind), number, head, body


def _frame(kind: Kind, number: int, head: bytes, body: bytes) -> Frame:
    try:
        found = json.loads(head)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise DataError("The head of a frame is an object of JSON.")
    return Frame(kind, number, found, body)


def folder_of(store: Path) -> Path:
    """Where the owner of a store in a file is found."""
    return store.with_name(store.name + ".owner")


def check_place(store: Path) -> None:
    """ConfigError where something else than an owner's folder is at its place."""
    folder = folder_of(store)
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise ConfigError(
            f"{folder}: is no folder. The service makes one of this name beside its ledger. Move "
            "away what is there."
        )


def listen(store: Path) -> socket.socket:
    """By the owner, who has the store's lock: what an earlier one left in its folder goes."""
    folder = folder_of(store)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with _address(folder / _NAME) as address:
        made.bind(address)
    (folder / _NAME).chmod(0o600)
    made.listen(64)
    return made


def connect(store: Path, patience: float) -> socket.socket:
    """To the owner of a store. OSError where there is none."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    made.settimeout(patience)
    try:
        with _address(folder_of(store) / _NAME) as address:
            made.connect(address)
    except BaseException:
        made.close()
        raise
    return made


def left(store: Path) -> None:
    """The owner goes, and nothing of it stays."""
    with suppress(OSError):
        shutil.rmtree(folder_of(store))


_NAME = "socket"


@contextmanager
def _address(path: Path) -> Iterator[str]:
    """A long path is reached through its folder, where the system can."""
    if len(os.fsencode(path.absolute())) <= _LONGEST_ADDRESS:
        yield str(path.absolute())
        return
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
