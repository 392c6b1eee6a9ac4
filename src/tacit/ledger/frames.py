"""Frames between the owner of a ledger's file and the other processes of its user.

They go over a Unix socket that the owner makes beside the file, in a folder that its user alone may
enter: PATH.owner/socket. A frame is a head of fixed length, an object of JSON, and bytes. Whatever
is not exactly one is refused, and ends the connection; the lengths are looked at before anything is
read or set aside for them.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any

from tacit.errors import ConfigError, DataError

_SIZES = struct.Struct(">6sBQII")
_JSON = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False)
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


_KINDS = set(Kind)


@dataclass(frozen=True)
class Frame:
    """number: of the question; its answer has the same."""

    kind: Kind
    number: int
    head: dict[str, Any] = field(default_factory=dict)
    body: bytes = b""

    def encode(self) -> bytes:
        """DataError where it is larger than a frame may be."""
        head = _JSON.encode(self.head).encode()
        if len(head) > LARGEST_HEAD or len(self.body) > LARGEST_BODY:
            raise DataError("This is larger than a frame may be.")
        return (
            _SIZES.pack(_MARK, self.kind, self.number, len(head), len(self.body))
            + head
            + (self.body)
        )


class Reader:
    """Puts together the frames of one connection from the pieces in which they come."""

    def __init__(self) -> None:
        self._left = bytearray()

    def feed(self, data: bytes) -> list[Frame]:
        """Those that are whole now. DataError for anything else, as soon as it shows."""
        left, at, found = self._left, 0, []
        left += data
        while len(left) >= at + _SIZES.size:
            kind, number, head, body = _sizes(left, at)
            first = at + _SIZES.size
            end = first + head + body
            if len(left) < end:
                break
            found.append(
                _frame(
                    kind, number, bytes(left[first : first + head]), bytes(left[end - body : end])
                )
            )
            at = end
        del left[:at]
        return found

    def end(self) -> None:
        """Nothing more comes. DataError in the middle of a frame."""
        if self._left:
            raise DataError("A frame was cut off.")


class Line(asyncio.Protocol):
    """A connection of frames. What is sent in one turn of the loop leaves together."""

    def __init__(self, took: Callable[[Frame], None], ended: Callable[[Exception | None], None]):
        """took: is given each frame. ended: is called once, with what was wrong, if anything."""
        self._took, self._ended = took, ended
        self._reader = Reader()
        self._parts: list[bytes] = []
        self._wrong: Exception | None = None
        self._transport: asyncio.Transport | None = None

    @property
    def open(self) -> bool:
        """Whether something can be sent."""
        return self._transport is not None and not self._transport.is_closing()

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        try:
            for frame in self._reader.feed(data):
                self._took(frame)
        except DataError as error:
            self.close(error)

    def eof_received(self) -> None:
        try:
            self._reader.end()
        except DataError as error:
            self._wrong = error

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended(self._wrong or exc)

    def send(self, octets: bytes) -> None:
        """Soon."""
        if not self._parts:
            asyncio.get_running_loop().call_soon(self._flush)
        self._parts.append(octets)

    def close(self, wrong: Exception | None = None) -> None:
        """After what was sent."""
        self._flush()
        self._wrong = self._wrong or wrong
        if self._transport is not None:
            self._transport.close()

    def _flush(self) -> None:
        parts, self._parts = self._parts, []
        if parts and self._transport is not None and self.open:
            self._transport.writelines(parts)


def receive(connection: socket.socket) -> Frame:
    """The next frame, without a loop; an end is a DataError too."""
    reader = Reader()
    while data := connection.recv(2**16):
        if found := reader.feed(data):
            return found[0]
    raise DataError("A frame was cut off.")


def _sizes(data: bytearray, at: int) -> tuple[Kind, int, int, int]:
    mark, kind, number, head, body = _SIZES.unpack_from(data, at)
    if mark != _MARK or kind not in _KINDS or head > LARGEST_HEAD or body > LARGEST_BODY:
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
