"""A device's memory: what was decided and sent under one account.

In the standard scheme, a device decides once for each rating whether and how it is released. A
device that has an account without its memory treats the memory as lost: it decides nothing, because
decisions may be stored in another memory, and a second decision about a rating would reveal more.
"""

from __future__ import annotations

import copy
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tacit.client.private_files import lock_file, replace_file, report_file_errors
from tacit.client.strict_json import read_json
from tacit.designs.standard_scheme.memory import State
from tacit.designs.standard_scheme.messages import is_integer
from tacit.errors import DataError

_VERSION = 2
"""Version of the file's format."""


@dataclass
class MemoryContent:
    """The content of a memory: reports of sketches, and letters of the standard scheme."""

    account: str | None = None
    """Mark of the account (`account_mark`); None in a new memory; "" after its account was
    forgotten."""
    reports: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    """For each report, its epsilon for everything the owner rated, in millionths, and its bytes; by
    the campaign's digest in hexadecimal digits."""
    name: str | None = None
    """Name of the disclosure that the account answers; None until the account answers one."""
    state: State | None = None
    """State of the standard scheme's device; None in a new memory."""
    is_lost: bool = False
    """Whether the account may have another memory elsewhere, so that this one decides nothing."""
    forgotten: str | None = None
    """Mark of the account that was forgotten here; None: none was."""
    last_attempt: int = 0
    """Unix second of the last attempt to send a letter; 0 before the first."""
    settled_epoch: int = -1
    """Number of the last epoch for which no letter remains to be sent: the service accepted it or
    refused it for good, or the epoch has none; -1 before the first."""
    disclosure_data: bytes = b""
    """Bytes of the disclosure that the letter to be sent was made for; if there is no such letter,
    of the disclosure that was fetched last; empty before the first was fetched."""
    last_answer: tuple[bytes, bytes] = (b"", b"")
    """Bytes of the disclosure of the last answered letter, and of the scores that answered it;
    empty before the first answer."""


class Memory:
    """A memory that is not stored in a file: for tests, and for trying things out.

    Args:
        content: Content at the start; None: the content of a new memory.
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
    """One account's memory in a file that only its owner can read.

    Processes take turns to open it, by a lock on a second file, PATH.lock. The memory's file
    reveals which items were rated and not released, so it needs the same protection as the
    ratings.

    Args:
        path: The file. Without a file, the memory is new.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)

    @contextmanager
    def transaction(self) -> Iterator[MemoryContent]:
        """Open the memory for changes, as `Memory.transaction` does; other processes wait, too.

        Raises:
            DataError: The file is not as this program writes it.
            OutputError: The file cannot be read or written.
        """
        with lock_file(self._path):
            with report_file_errors(self._path):
                old_data = self._read()
            content = _decode_memory(old_data, self._path)
            yield content
            new_data = _encode_memory(content)
            if new_data != old_data:
                with report_file_errors(self._path):
                    replace_file(self._path, new_data)

    def _read(self) -> bytes:
        """Return the content of the file; if there is no file, the content of a new memory."""
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

    Args:
        data: The content.
        path: The file, for errors.

    Raises:
        DataError: The content is not what `_encode_memory` makes.
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
            fix="Restore it from a copy: a device that forgets may reveal more than it should.",
        ) from None


def _parse_content(fields: dict[str, Any]) -> MemoryContent:
    """Make the content of a memory from the fields in its file.

    Raises:
        ValueError, TypeError, KeyError or AttributeError: A field is missing or malformed.
    """
    reports = {}
    for digest, (epsilon, report) in fields["reports"].items():
        reports[digest] = (_require_integer(epsilon, 0), bytes.fromhex(report))
    state = fields["state"]
    answered_disclosure, scores = fields["answer"]
    return MemoryContent(
        account=_require_text_or_none(fields["account"]),
        reports=reports,
        name=_require_text_or_none(fields["name"]),
        state=None if state is None else State.decode(state.encode()),
        is_lost=_require_truth_value(fields["lost"]),
        forgotten=_require_text_or_none(fields["forgotten"]),
        last_attempt=_require_integer(fields["tried"], 0),
        settled_epoch=_require_integer(fields["settled"], -1),
        disclosure_data=fields["tables"].encode(),
        last_answer=(answered_disclosure.encode(), scores.encode()),
    )


def _require_integer(value: Any, lowest: int) -> int:
    """Return a value that is a whole number from `lowest` to LARGEST; ValueError for others."""
    if not is_integer(value, lowest):
        raise ValueError
    return int(value)


def _require_truth_value(value: Any) -> bool:
    """Return a value that is True or False; ValueError for others."""
    if type(value) is not bool:
        raise ValueError
    return value


def _require_text_or_none(value: Any) -> str | None:
    """Return a value that is a text or None; ValueError for others."""
    if not isinstance(value, str | None):
        raise ValueError
    return value
