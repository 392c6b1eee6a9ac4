"""Second places, which remember the head of the hash chain, and so reveal an old copy of a store.

The head is the last entry of the chain. A store that was restored from an older copy lacks the
head that its second place remembers.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Protocol

from tacit.ledger.chain import Head
from tacit.ledger.refusals import LedgerRefused, explain_head_error

HashAt = Callable[[int], str | None]
"""Returns the hash of the entry of that number in the store; None if there is no such entry."""

_SLOT_BYTES = 512
"""Bytes of a slot: one sector, which a disk writes whole or not at all."""
_SLOT_DISTANCE = 4096
"""Bytes from the start of a slot to the start of the other: a page, so that a page that is written
only in part damages one slot at most."""


class HeadStore(Protocol):
    """A second place: it holds the newest head that was ever recorded there."""

    def read(self) -> Head | None:
        """Return the head that was last recorded; None if none ever was."""

    def advance(self, head: Head, hash_at: HashAt) -> None:
        """Record `head` unless a newer one is recorded; return when it is on disk.

        Args:
            head: The newest head of the store.
            hash_at: Reads a hash from the store, to check that the recorded head is on its chain.

        Raises:
            LedgerRefused: The recorded head is not on the store's chain.
        """


class FileHead:
    """A second place in a file with two slots; a new head is written over the older head.

    So a write that fails halfway leaves the newest recorded head readable. Keep the file in a place
    that is not restored together with a backup of the store.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._is_folder_synced = False  # by this process, so that the file's name is on disk

    def read(self) -> Head | None:
        """Return the newer head of the two slots; None if there is no file.

        Raises:
            LedgerRefused: No slot is whole.
            LedgerUnavailable: The file cannot be read.
        """
        try:
            with self._lock_file(os.O_RDONLY) as file:
                return _read_newest_slot(file).head
        except FileNotFoundError:
            return None
        except OSError as error:
            raise explain_head_error(error) from None

    def advance(self, head: Head, hash_at: HashAt) -> None:
        """Record `head` in the slot that does not hold the newest head, unless a newer is recorded.

        Raises:
            LedgerRefused: The recorded head is not on the store's chain, or no slot is whole.
            LedgerUnavailable: The file cannot be read or written.
            LedgerFailed: Its disk failed.
        """
        try:
            with self._lock_file(os.O_RDWR | os.O_CREAT) as file:
                is_new_file = os.fstat(file).st_size == 0
                if is_new_file:
                    _write_slot(file, 0, head)
                else:
                    self._replace_older_slot(file, head, hash_at)
            if is_new_file or not self._is_folder_synced:
                sync_folder(self.path.parent)
                self._is_folder_synced = True
        except OSError as error:
            raise explain_head_error(error) from None

    def _replace_older_slot(self, file: int, head: Head, hash_at: HashAt) -> None:
        """Record `head` in a file that holds a head, unless a newer one is recorded.

        Args:
            file: Descriptor of the open file.
            head: The newest head of the store.
            hash_at: Reads a hash from the store.
        """
        newest_slot = _read_newest_slot(file)
        recorded_head = newest_slot.head
        check_remembered_head(recorded_head, head, hash_at)
        if not self._is_folder_synced:
            # The process that recorded this head may have ended before it was on disk, or have
            # failed to sync it. It must be there before the other slot, which may hold the only
            # head on disk, is overwritten. After a failed sync, only a new write is sure to be
            # synced; it changes no byte.
            _write_slot(file, newest_slot.number, recorded_head)
        if recorded_head.sequence < head.sequence:
            _write_slot(file, 1 - newest_slot.number, head)

    @contextmanager
    def _lock_file(self, flags: int) -> Iterator[int]:
        """Open the file with these flags, lock it during the block, and yield its descriptor.

        Readers share the lock; a writer has it alone.
        """
        file = os.open(self.path, flags | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_SH if flags == os.O_RDONLY else fcntl.LOCK_EX)
            yield file
        finally:
            os.close(file)


def check_remembered_head(remembered_head: Head, store_head: Head, hash_at: HashAt) -> None:
    """Check that the head in the second place is on the chain of the store.

    Args:
        remembered_head: The head in the second place.
        store_head: The head of the store.
        hash_at: Reads the hash of one of the store's entries.

    Raises:
        LedgerRefused: The store is an older copy, a second copy, or another ledger, or its entries
            were changed.
    """
    if remembered_head.ledger != store_head.ledger:
        raise LedgerRefused(
            "The second place of the head belongs to another ledger. Name this ledger's own."
        )
    stored_hash = hash_at(remembered_head.sequence)
    if stored_hash is None:
        raise LedgerRefused(
            "This store is older than what the second place of the head remembers: it was "
            "restored from a copy, and spending that was acknowledged is missing from it. It is "
            "not used. Bring back the newest store."
        )
    if stored_hash != remembered_head.hash:
        raise LedgerRefused(
            "This store and the second place of the head tell different histories: two copies "
            "were spent from, or entries were changed. It is not used."
        )


def _encode_slot(head: Head) -> bytes:
    """Encode a head as a slot's bytes: a line of text with the text's SHA-256, and blanks."""
    text = f"tacit head 1 {head.ledger} {head.sequence} {head.hash}"
    checksum = hashlib.sha256(text.encode()).hexdigest()
    return f"{text} {checksum}\n".encode().ljust(_SLOT_BYTES)


class _Slot(NamedTuple):
    """A slot that is whole."""

    number: int
    """0 or 1."""
    head: Head
    """The head in it."""


def _write_slot(file: int, number: int, head: Head) -> None:
    """Write a head into slot 0 or 1 of an open file, and return when it is on disk."""
    os.pwrite(file, _encode_slot(head), _SLOT_DISTANCE * number)
    os.fsync(file)


def _read_newest_slot(file: int) -> _Slot:
    """Read both slots of an open file, and return the one with the newer head.

    Raises:
        LedgerRefused: No slot is whole.
    """
    whole_slots = []
    for number in (0, 1):
        head = _parse_slot(os.pread(file, _SLOT_BYTES, _SLOT_DISTANCE * number))
        if head is not None:
            whole_slots.append(_Slot(number, head))
    if not whole_slots:
        raise LedgerRefused(
            "The second place of the ledger's head is damaged, so nobody can tell whether the "
            "store is the newest. It is not used."
        )
    return max(whole_slots, key=lambda slot: slot.head.sequence)


def _parse_slot(raw: bytes) -> Head | None:
    """Return the head in a slot's bytes; None if they are not a whole slot."""
    words = raw.decode("ascii", "replace").split()
    try:
        head = Head(words[3], int(words[4]), words[5])
    except (IndexError, ValueError):
        return None
    return head if _encode_slot(head) == raw else None


def sync_folder(folder: Path) -> None:
    """Sync a folder to disk; before that, a power cut may lose the name of a new file."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
