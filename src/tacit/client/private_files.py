"""Files that only their owner can read, and that are complete after a crash.

`report_file_errors` makes errors of the operating system into errors of tacit.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tacit.errors import OutputError

OPEN_FLAGS = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
"""Flags that open a file for reading and writing, and create it if there is none."""
OWNER_ONLY = 0o600
"""Permissions of a file that only its owner can read and write."""


@contextmanager
def report_file_errors(path: Path) -> Iterator[None]:
    """Raise errors of the operating system in the block as OutputError, which names the file."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"{path}: cannot be read or written: {error.strerror}.") from None


@contextmanager
def lock_file(path: Path) -> Iterator[None]:
    """Run the block while no other program or thread runs such a block for the same file.

    The lock is on a second file, PATH.lock, because the file itself is replaced.

    Raises:
        OutputError: The second file cannot be opened.
    """
    with report_file_errors(path):
        lock = os.open(path.with_name(path.name + ".lock"), OPEN_FLAGS, OWNER_ONLY)
    try:
        with report_file_errors(path):
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def create_file(path: Path, data: bytes) -> None:
    """Create a file for its owner only, complete and durable once it has its name.

    Raises:
        FileExistsError: There is a file of this name already.
    """
    draft = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}.new")
    try:
        _write_durably(draft, data)
        os.link(draft, path)
        _sync_folder(path.parent)
    finally:
        draft.unlink(missing_ok=True)


def replace_file(path: Path, data: bytes) -> None:
    """Replace a file durably. After a crash it has either the new or the old content, complete."""
    draft = path.with_name(path.name + ".new")
    draft.unlink(missing_ok=True)  # a file that was there would keep its permissions
    _write_durably(draft, data)
    draft.replace(path)
    _sync_folder(path.parent)


def _write_durably(path: Path, data: bytes) -> None:
    """Write a file for its owner only, and wait until its content is on the disk."""
    descriptor = os.open(path, OPEN_FLAGS | os.O_TRUNC, OWNER_ONLY)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Wait until the names of a folder's files are on the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
