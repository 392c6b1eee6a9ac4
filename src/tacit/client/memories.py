"""A device's memory: what was decided and sent under one account.

A device that finds an account without its memory treats the memory as lost: what another memory may
have decided is not decided again.
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


@dataclass
class MemoryContent:
    """The content of a memory: reports of sketches, and letters of the standard scheme."""

    account: str | None = None
    """Mark of the account; None for a new memory, "" for one that the next account takes."""
    reports: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    """Epsilon in millionths and bytes of each report, by campaign digest."""
    name: str | None = None
    """Name of the disclosure that the account answers."""
    state: State | None = None
    """State of the standard scheme's device."""
    lost: bool = False
    """Whether another memory of this account may exist."""
    forgotten: str | None = None
    """Mark of an account that was forgotten here."""
    tried: int = 0
    """Second of the last attempt to send a letter."""
    settled: int = -1
    """Last epoch whose letter the service took or refused; -1 at first."""
    tables: bytes = b""
    """Bytes of the disclosure that was followed last."""
    answer: tuple[bytes, bytes] = (b"", b"")
    """Bytes of the disclosure of the last answered letter, and of its scores."""


class Memory:
    """A memory that lasts as long as the process: for tests, and for trying things out.

    Args:
        content: Content to begin with; that of a new memory if left out.
    """

    def __init__(self, content: MemoryContent | None = None) -> None:
        self._content = MemoryContent() if content is None else content
        self._lock = threading.Lock()

    @contextmanager
    def transaction(self) -> Iterator[MemoryContent]:
        """Change the memory, one device at a time.

        Yields:
            The content. As it is at the end of the block it is stored, durably where there is a
            file, before the block is left. After an exception nothing is stored.
        """
        with self._lock:
            content = copy.deepcopy(self._content)
            yield content
            self._content = content


class FileMemory(Memory):
    """One account's memory in a file that only its owner reads; processes take turns.

    It says which items were rated and held back: keep it where the stars are.

    Args:
        path: The file. A second one, with `.lock` behind its name, keeps processes apart.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)

    @contextmanager
    def transaction(self) -> Iterator[MemoryContent]:
        """Change the memory, as `Memory.transaction` does.

        Raises:
            DataError: The file is not as this program writes it.
            OutputError: No file can be written there.
        """
        with report_write_errors(self._path):
            lock_path = self._path.with_name(self._path.name + ".lock")
            lock = os.open(lock_path, OPEN_FLAGS, OWNER_ONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            with report_write_errors(self._path):
                before = self._read()
            content = _decode_memory(before, self._path)
            yield content
            after = _encode_memory(content)
            if after != before:
                with report_write_errors(self._path):
                    replace_file(self._path, after)
        finally:
            os.close(lock)

    def _read(self) -> bytes:
        try:
            return self._path.read_bytes()
        except FileNotFoundError:
            return _encode_memory(MemoryContent())


def _encode_memory(content: MemoryContent) -> bytes:
    reports = {}
    for digest, (epsilon, sent) in content.reports.items():
        reports[digest] = [epsilon, sent.hex()]
    fields = {
        "version": _VERSION,
        "account": content.account,
        "reports": reports,
        "name": content.name,
        "state": None if content.state is None else content.state.encode().decode(),
        "lost": content.lost,
        "forgotten": content.forgotten,
        "tried": content.tried,
        "settled": content.settled,
        "tables": content.tables.decode(),
        "answer": [part.decode() for part in content.answer],
    }
    return json.dumps(fields, separators=(",", ":")).encode()


def _decode_memory(data: bytes, path: Path) -> MemoryContent:
    try:
        fields = read_json(data)
        if fields["version"] != _VERSION:
            raise ValueError
        return _parse_content(fields)
    except (ValueError, TypeError, KeyError, AttributeError):
        raise DataError(
            "is no memory of a device",
            path=path,
            expected="what this program writes",
            fix="Restore it from a copy: a device that forgets may spend more than it should.",
        ) from None


def _parse_content(fields: dict[str, Any]) -> MemoryContent:
    reports = {}
    for digest, (epsilon, sent) in fields["reports"].items():
        reports[digest] = (_require_integer(epsilon), bytes.fromhex(sent))
    state = fields["state"]
    tables, scores = fields["answer"]
    return MemoryContent(
        account=_require_text(fields["account"]),
        reports=reports,
        name=_require_text(fields["name"]),
        state=None if state is None else State.decode(state.encode()),
        lost=fields["lost"] is True,
        forgotten=_require_text(fields["forgotten"]),
        tried=_require_integer(fields["tried"]),
        settled=_require_integer(fields["settled"]),
        tables=fields["tables"].encode(),
        answer=(tables.encode(), scores.encode()),
    )


def _require_integer(value: Any) -> int:
    if type(value) is not int:
        raise ValueError
    return value


def _require_text(value: Any) -> str | None:
    if not isinstance(value, str | None):
        raise ValueError
    return value
