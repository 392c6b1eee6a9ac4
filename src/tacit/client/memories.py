"""A device's memory: what was decided and sent under one account.

A device that has an account without its memory treats the memory as lost: it decides nothing,
because the decisions may be stored in another memory.
"""

from __future__ import annotations

import copy
import fcntl
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tacit.client.private_files import (
    OPEN_FLAGS,
    OWNER_ONLY,
    replace_file,
    report_write_errors,
)
from tacit.client.strict_json import read_json
from tacit.designs.standard_scheme.memory import State
from tacit.errors import DataError

_VERSION = 2
"""Version of the file's format."""


@dataclass
class MemoryContent:
    """The content of a memory: reports of sketches, and letters of the standard scheme."""

    account: str | None = None
    """Mark of the account (`account_mark`); None for a new memory, "" after the account was
    forgotten."""
    reports: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    """Epsilon in millionths and bytes of each report, by campaign digest."""
    name: str | None = None
    """Name of the disclosure that the account answers."""
    state: State | None = None
    """State of the standard scheme's device."""
    is_lost: bool = False
    """Whether another memory of this account may exist."""
    forgotten: str | None = None
    """Mark of an account that was forgotten here."""
    last_attempt: int = 0
    """Unix second of the last attempt to send a letter."""
    settled_epoch: int = -1
    """Last epoch whose letter the service accepted or refused, so that it is not sent again; -1 at
    first."""
    disclosure_data: bytes = b""
    """Bytes of the disclosure that the last letter was made for."""
    last_answer: tuple[bytes, bytes] = (b"", b"")
    """Bytes of the disclosure of the last answered letter, and of the scores that answered it."""


class Memory:
    """A memory that is not stored in a file: for tests, and for trying things out.

    Args:
        content: Content at the start; None means that of a new memory.
    """

    def __init__(self, content: MemoryContent | None = None) -> None:
        self._content = MemoryContent() if content is None else content
        self._lock = threading.Lock()

    @contextmanager
    def transaction(self) -> Iterator[MemoryContent]:
        """Open the memory for changes; other threads wait.

        Yields:
            The content, to be changed in the block. It is stored at the end of the block, durably
            in a `FileMemory`; after an exception nothing is stored.
        """
        with self._lock:
            content = copy.deepcopy(self._content)
            yield content
            self._content = content


class FileMemory(Memory):
    """One account's memory in a file that only its owner can read; processes take turns.

    The file reveals which items were rated and not released, so it must be protected like the stars
    themselves.

    Args:
        path: The file. A second file, with `.lock` after its name, makes processes take turns.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)

    @contextmanager
    def transaction(self) -> Iterator[MemoryContent]:
        """Open the memory for changes, as `Memory.transaction` does; other processes wait, too.

        Raises:
            DataError: The file is not as this program writes it.
            OutputError: The file cannot be written.
        """
        with report_write_errors(self._path):
            lock_path = self._path.with_name(self._path.name + ".lock")
            lock = os.open(lock_path, OPEN_FLAGS, OWNER_ONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            with report_write_errors(self._path):
                old_data = self._read()
            content = _decode_memory(old_data, self._path)
            yield content
            new_data = _encode_memory(content)
            if new_data != old_data:
                with report_write_errors(self._path):
                    replace_file(self._path, new_data)
        finally:
            os.close(lock)

    def _read(self) -> bytes:
        """Read the file; without one, return the bytes of a new memory."""
        try:
            return self._path.read_bytes()
        except FileNotFoundError:
            return _encode_memory(MemoryContent())


def _encode_memory(content: MemoryContent) -> bytes:
    """Encode the content of a memory's file."""
    reports = {}
    for digest, (epsilon, report) in content.reports.items():
        reports[digest] = [epsilon, report.hex()]
    fields = {
        "version": _VERSION,
        "account": content.account,
        "reports": reports,
        "name": content.name,
        "state": None if content.state is None else content.state.encode().decode(),
        "lost": content.is_lost,
        "forgotten": content.forgotten,
        "tried": content.last_attempt,
        "settled": content.settled_epoch,
        "tables": content.disclosure_data.decode(),
        "answer": [part.decode() for part in content.last_answer],
    }
    return json.dumps(fields, separators=(",", ":")).encode()


def _decode_memory(data: bytes, path: Path) -> MemoryContent:
    """Decode the content of a memory's file.

    Raises:
        DataError: The content is not what `_encode_memory` writes. It names `path`.
    """
    try:
        fields = read_json(data)
        if fields["version"] != _VERSION:
            raise ValueError
        return _parse_content(fields)
    except (ValueError, TypeError, KeyError, AttributeError):
        raise DataError(
            "is not a device's memory",
            path=path,
            expected="what this program writes",
            fix="Restore it from a copy: a device that forgets may spend more than it should.",
        ) from None


def _parse_content(fields: dict[str, Any]) -> MemoryContent:
    """Read the fields of a memory; an error of several types if one is missing or malformed."""
    reports = {}
    for digest, (epsilon, report) in fields["reports"].items():
        reports[digest] = (_require_integer(epsilon), bytes.fromhex(report))
    state = fields["state"]
    tables, scores = fields["answer"]
    return MemoryContent(
        account=_require_text(fields["account"]),
        reports=reports,
        name=_require_text(fields["name"]),
        state=None if state is None else State.decode(state.encode()),
        is_lost=fields["lost"] is True,
        forgotten=_require_text(fields["forgotten"]),
        last_attempt=_require_integer(fields["tried"]),
        settled_epoch=_require_integer(fields["settled"]),
        disclosure_data=fields["tables"].encode(),
        last_answer=(tables.encode(), scores.encode()),
    )


def _require_integer(value: Any) -> int:
    """Return a value that is a whole number; ValueError for others."""
    if type(value) is not int:
        raise ValueError
    return value


def _require_text(value: Any) -> str | None:
    """Return a value that is a text or None; ValueError for others."""
    if not isinstance(value, str | None):
        raise ValueError
    return value
