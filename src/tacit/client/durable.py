"""Files that only their owner reads, and that are whole after a crash."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tacit.errors import OutputError

PRIVATE = (os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
"""Flags and mode of a new file."""


@contextmanager
def kept_at(path: Path) -> Iterator[None]:
    """The system's errors as OutputError."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"{path}: nothing can be kept here: {error.strerror}.") from None


def create(path: Path, data: bytes) -> None:
    """A new file, durable; FileExistsError if there is one, which is then whole."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}.new")
    try:
        _put(draft, data)
        os.link(draft, path)
        _settle(path.parent)
    finally:
        draft.unlink(missing_ok=True)


def replace(path: Path, data: bytes) -> None:
    """The whole content or, after a crash, the earlier one."""
    draft = path.with_name(path.name + ".new")
    _put(draft, data)
    draft.replace(path)
    _settle(path.parent)


def _put(path: Path, data: bytes) -> None:
    flags, mode = PRIVATE
    with os.fdopen(os.open(path, flags | os.O_TRUNC, mode), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _settle(folder: Path) -> None:
    """The names in it, too, outlast a power failure."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
