"""The spend log as a hash chain: every entry's hash covers all entries before it.

Epochs advance by tokens that only the operator can make; no clock grants anything.

Source     Lamport, Password authentication with insecure communication (1981): a chain of hashes
           whose end is known to everybody, and whose earlier links are shown one by one.
Runs at    `anchor_of`, `token_of`: the operator's; `follows`: the ledger and any auditor's.

The second place of the chain's head: how a ledger knows that its store went back in time.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tacit.errors import ConfigError
from tacit.ledger.refusals import LedgerRefused, explained_second

START = "0" * 64  # the hash before the first entry


@dataclass(frozen=True)
class Head:
    """The last entry of a chain: which ledger, how many entries, and the hash over all of them."""

    ledger: str
    sequence: int
    hash: str


def fingerprint(answer: bytes | None) -> str | None:
    """SHA-256 of an answer or a state; None where there is none."""
    return None if answer is None else hashlib.sha256(answer).hexdigest()


def body_of(facts: Mapping[str, Any]) -> str:
    """What an entry says, as the text that is hashed and stored."""
    return json.dumps(facts, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def link(before: str, sequence: int, kind: str, body: str) -> str:
    """The hash of an entry that follows `before`."""
    return hashlib.sha256(f"{before}\n{sequence}\n{kind}\n{body}".encode()).hexdigest()


MOST = 10_000  # epochs in the life of one key; a key serves one ledger

SHORTEST_KEY = 32  # bytes, from the operating system's generator:  secrets.token_bytes(32)


def anchor_of(key: bytes) -> str:
    """What the ledger is given when it is made: it tells the key's tokens, and cannot make them."""
    return token_of(key, 0)


def token_of(key: bytes, epoch: int) -> str:
    """Advances a ledger from `epoch - 1` to `epoch`, 1 to 10,000, else ConfigError. In order."""
    if len(key) < SHORTEST_KEY:
        raise ConfigError(f"An operator's key has at least {SHORTEST_KEY} random bytes.")
    if not 0 <= epoch <= MOST:
        raise ConfigError(f"A key serves {MOST} epochs.")
    token = hashlib.sha256(b"tacit epochs\n" + key).hexdigest()
    for _ in range(MOST - epoch):
        token = _next(token)
    return token


def follows(token: str, before: str) -> bool:
    return hmac.compare_digest(_next(token).encode(), before.encode())


def _next(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


HashAt = Callable[[int], str | None]
"""The hash of the store's own entry of that number, or None where it has none."""

_SLOT = 512  # bytes, one sector: what a disk writes whole or not at all
_APART = 4096  # bytes between the slots, so that tearing one page leaves the other


class HeadStore(Protocol):
    """The second place: holds the newest head that was ever reported. Never goes back."""

    def read(self) -> Head | None:
        """What was last recorded, or None if nothing ever was."""

    def advance(self, head: Head, hash_at: HashAt) -> None:
        """Record `head` unless a newer one is there; return when it is on disk. LedgerRefused if
        what is there is not on the store's chain."""


class FileHead:
    """A file of two slots, written in turn, so that one is whole at every moment. Keep it where a
    restored backup of the store does not bring back an older one."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._named = False  # whether this process knows that the file's name is on disk

    def read(self) -> Head | None:
        """LedgerRefused if the file is there and no slot of it is whole; LedgerUnavailable if it
        cannot be read."""
        try:
            with self._locked(os.O_RDONLY) as file:
                return _newest(file)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise explained_second(error) from None

    def advance(self, head: Head, hash_at: HashAt) -> None:
        """LedgerUnavailable if the file cannot be written, LedgerFailed if its disk failed."""
        try:
            with self._locked(os.O_RDWR | os.O_CREAT) as file:
                known = None if os.fstat(file).st_size == 0 else _newest(file)
                if known is not None:
                    check_known(known, head, hash_at)
                unsure = known == head and not self._named  # an earlier sync may have failed
                if known is None or known.sequence < head.sequence or unsure:
                    os.pwrite(file, _slot(head), _APART * (head.sequence % 2))
                    os.fsync(file)
            if known is None or not self._named:  # who made it may have failed to sync it
                sync_folder(self.path.parent)
                self._named = True
        except OSError as error:
            raise explained_second(error) from None

    @contextmanager
    def _locked(self, flags: int) -> Iterator[int]:
        """Closing the file gives the lock back."""
        file = os.open(self.path, flags | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_SH if flags == os.O_RDONLY else fcntl.LOCK_EX)
            yield file
        finally:
            os.close(file)


def check_known(known: Head, head: Head, hash_at: HashAt) -> None:
    """LedgerRefused unless the head in the second place is an entry of this store's chain."""
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
    text = f"tacit head 1 {head.ledger} {head.sequence} {head.hash}"
    check = hashlib.sha256(text.encode()).hexdigest()
    return f"{text} {check}\n".encode().ljust(_SLOT)


def _newest(file: int) -> Head:
    heads = [head for offset in (0, _APART) if (head := _parsed(os.pread(file, _SLOT, offset)))]
    if not heads:
        raise LedgerRefused(
            "The second place of the ledger's head is damaged, so nobody can tell whether the "
            "store is the newest. It is not used."
        )
    return max(heads, key=lambda head: head.sequence)


def _parsed(raw: bytes) -> Head | None:
    words = raw.decode("ascii", "replace").split()
    try:
        head = Head(words[3], int(words[4]), words[5])
    except (IndexError, ValueError):
        return None
    return head if _slot(head) == raw else None


def sync_folder(folder: Path) -> None:
    """A new file's name is on disk only after its folder is."""
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
