"""Second places of the chain's head: by them a ledger knows that its store went back in time."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from tacit.ledger.chain import Head
from tacit.ledger.refusals import LedgerRefused, explain_head_error

HashAt = Callable[[int], str | None]
"""The hash of the store's own entry of that number, or None where it has none."""

_SLOT_BYTES = 512
"""One sector: what a disk writes whole or not at all."""
_SLOT_DISTANCE = 4096
"""Bytes between the slots, so that tearing one page leaves the other."""


class HeadStore(Protocol):
    """A second place: it holds the newest head that was ever reported, and never goes back."""

    def read(self) -> Head | None:
        """Return the head that was last recorded; None if none ever was."""

    def advance(self, head: Head, hash_at: HashAt) -> None:
        """Record `head` unless a newer one is there; return when it is on disk.

        Raises:
            LedgerRefused: The head that is there is not on the store's chain.
        """


class FileHead:
    """A file of two slots, written in turn, so that one is whole at every moment.

    Keep it where a restored backup of the store does not bring back an older one.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._is_named = False  # whether this process knows that the file's name is on disk

    def read(self) -> Head | None:
        """Return the newest head of both slots; None without a file.

        Raises:
            LedgerRefused: No slot is whole.
            LedgerUnavailable: The file cannot be read.
        """
        try:
            with self._lock_file(os.O_RDONLY) as file:
                return _newest(file)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise explain_head_error(error) from None

    def advance(self, head: Head, hash_at: HashAt) -> None:
        """Record `head` in the slot that is not the newest.

        Raises:
            LedgerRefused: The head that is there is not on the store's chain.
            LedgerUnavailable: The file cannot be written.
            LedgerFailed: Its disk failed.
        """
        try:
            with self._lock_file(os.O_RDWR | os.O_CREAT) as file:
                known = None if os.fstat(file).st_size == 0 else _newest(file)
                if known is not None:
                    check_remembered_head(known, head, hash_at)
                unsure = known == head and not self._is_named  # an earlier sync may have failed
                if known is None or known.sequence < head.sequence or unsure:
                    os.pwrite(file, _slot(head), _SLOT_DISTANCE * (head.sequence % 2))
                    os.fsync(file)
            if known is None or not self._is_named:  # who made it may have failed to sync it
                sync_folder(self.path.parent)
                self._is_named = True
        except OSError as error:
            raise explain_head_error(error) from None

    @contextmanager
    def _lock_file(self, flags: int) -> Iterator[int]:
        """Open the file and lock it; closing it gives the lock back."""
        file = os.open(self.path, flags | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_SH if flags == os.O_RDONLY else fcntl.LOCK_EX)
            yield file
        finally:
            os.close(file)


def check_remembered_head(known: Head, head: Head, hash_at: HashAt) -> None:
    """Compare the head of the second place with this store's chain.

    Args:
        known: The head of the second place.
        head: The store's own.
        hash_at: Reads the hash of one of the store's entries.

    Raises:
        LedgerRefused: The store is an older copy, a second copy, or another ledger.
    """
    if known.ledger != head.ledger:
        raise LedgerRefused(
            "The second place of the head belongs to another ledger. Name this ledger's own."
        )
    stored = hash_at(known.sequence)
    if stored is None:
        raise LedgerRefused(
            "This store is older than what the second place of the head remembers: it was "
            "restored from a copy, and spending that was acknowledged is missing from it. It is "
            "not used. Bring back the newest store."
        )
    if stored != known.hash:
        raise LedgerRefused(
            "This store and the second place of the head tell different histories: two copies "
            "were spent from, or entries were changed. It is not used."
        )


def _slot(head: Head) -> bytes:
    """Return a slot's bytes: the head and a hash of its text."""
    text = f"tacit head 1 {head.ledger} {head.sequence} {head.hash}"
    check = hashlib.sha256(text.encode()).hexdigest()
    return f"{text} {check}\n".encode().ljust(_SLOT_BYTES)


def _newest(file: int) -> Head:
    """Return the newest head of both slots."""
    slots = [_parse_slot(os.pread(file, _SLOT_BYTES, offset)) for offset in (0, _SLOT_DISTANCE)]
    heads = [head for head in slots if head is not None]
    if not heads:
        raise LedgerRefused(
            "The second place of the ledger's head is damaged, so nobody can tell whether the "
            "store is the newest. It is not used."
        )
    return max(heads, key=lambda head: head.sequence)


def _parse_slot(raw: bytes) -> Head | None:
    """Return the head of a whole slot; None for other bytes."""
    words = raw.decode("ascii", "replace").split()
    try:
        head = Head(words[3], int(words[4]), words[5])
    except (IndexError, ValueError):
        return None
    return head if _slot(head) == raw else None


def sync_folder(folder: Path) -> None:
    """Sync a folder: a new file's name is on disk only after that."""
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
