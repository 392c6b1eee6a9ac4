"""An account: the secret from which a device derives all its random draws, and which is never sent.

An account belongs to one service, and has one memory. It also holds when it was made, and the epoch
of its last letter, so that an old copy of the memory is noticed.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from contextlib import suppress
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple

from tacit.client.private_files import (
    create_file,
    lock_file,
    replace_file,
    report_file_errors,
)
from tacit.client.strict_json import read_json
from tacit.designs.sketches.device import new_secret
from tacit.designs.standard_scheme.messages import LARGEST, is_integer
from tacit.errors import ConfigError, DataError

_VERSION = 2
"""Version of the file's format."""
_SECRET_BYTES = 32
"""Fewest bytes of a secret."""
_MOST_SHOWN = 100
"""Largest number of characters that an error shows of a refused value."""


class Account:
    """An account that is not stored in a file: for tests, and for trying things out.

    Args:
        secret: At least 32 random bytes.
        created: When the account was made, in Unix seconds; 0 if that is not known.
        last_letter_epoch: Number of the last epoch that a letter was made for; -1 before the first.

    Attributes:
        secret: As passed.
        created: As passed.
        last_letter_epoch: Number of the epoch of the last letter so far; -1 before the first.
        is_fresh: Whether the account was made by this object, so that no earlier memory of it can
            exist. An account of this class, which is in no file, counts as made here.

    Raises:
        ConfigError: The secret is too short, or `created` is no Unix second.
    """

    def __init__(self, secret: bytes, created: int = 0, last_letter_epoch: int = -1) -> None:
        if len(secret) < _SECRET_BYTES:
            raise ConfigError("A secret has at least 32 bytes: make one with new_secret().")
        self.secret = secret
        self.created = require_second("created", created)
        self.last_letter_epoch = last_letter_epoch
        self.is_fresh = True

    def read_letter_epoch(self) -> int:
        """Return the number of the epoch of the last letter; a `FileAccount` reads its file."""
        return self.last_letter_epoch

    def store_letter_epoch(self, epoch: int) -> None:
        """Store the number of the epoch of a letter, unless a later one is stored.

        A `FileAccount` stores it durably.
        """
        self.last_letter_epoch = max(self.last_letter_epoch, epoch)


class FileAccount(Account):
    """An account in a file that only its owner can read. Without a file, a new account is made.

    Several programs may share the file. They take turns to change it, by a lock on a second file,
    PATH.lock.

    Args:
        path: The file.
        now: The time at which a new account is made, in Unix seconds; by default this machine's
            time.

    Raises:
        ConfigError: `now` is no Unix second. No file is made.
        DataError: The file holds no account. It is not replaced.
        OutputError: The file cannot be read or written.
    """

    def __init__(self, path: str | os.PathLike[str], now: int | None = None) -> None:
        self._path = Path(path)
        created = int(time.time()) if now is None else require_second("now", now)
        new_data = _encode_account(new_secret(), created, -1)
        with report_file_errors(self._path):
            with suppress(FileExistsError):
                create_file(self._path, new_data)
            data = self._path.read_bytes()
        content = _decode_account(data, self._path)
        super().__init__(content.secret, content.created, content.last_letter_epoch)
        self.is_fresh = data == new_data

    def read_letter_epoch(self) -> int:
        """Return the number of the epoch of the last letter of all programs that share the file.

        Raises:
            DataError: The file holds no account, or another one.
            OutputError: The file cannot be read.
        """
        super().store_letter_epoch(self._stored_epoch())
        return self.last_letter_epoch

    def store_letter_epoch(self, epoch: int) -> None:
        """Store the number of the epoch of a letter in the file, then in this object.

        A later epoch is kept: another program may have stored it after this object was made.

        Raises:
            DataError: The file holds no account, or another one. It is not replaced.
            OutputError: The file cannot be read or written, or there is no lock file and none can
                be made.
        """
        with lock_file(self._path):
            stored_epoch = self._stored_epoch()
            latest_epoch = max(stored_epoch, self.last_letter_epoch, epoch)
            if latest_epoch > stored_epoch:
                data = _encode_account(self.secret, self.created, latest_epoch)
                with report_file_errors(self._path):
                    replace_file(self._path, data)
        super().store_letter_epoch(latest_epoch)

    def _stored_epoch(self) -> int:
        """Read the epoch of the last letter from the file; -1 if there is no file any more."""
        with report_file_errors(self._path):
            try:
                data = self._path.read_bytes()
            except FileNotFoundError:
                return -1
        content = _decode_account(data, self._path)
        if content.secret != self.secret:
            raise DataError(
                "holds another account than before",
                path=self._path,
                expected="the account with which this program started",
                fix="Restore it, or start the program again with the account that is there now.",
            )
        return content.last_letter_epoch


def require_second(name: str, value: Any) -> int:
    """Return a parameter that is a Unix second, as an int.

    A file in which another value was stored could not be read again.

    Raises:
        ConfigError: It is no whole number, below 0, or larger than a message can hold.
    """
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_whole or not 0 <= value <= LARGEST:
        raise ConfigError(
            f"{name} is a Unix second, a whole number of at least 0 such as int(time.time()); got "
            f"{ascii(value)[:_MOST_SHOWN]}."
        )
    return int(value)


def account_mark(secret: bytes) -> str:
    """Hash a secret to the text by which a memory names its account: 16 hexadecimal digits."""
    return hashlib.sha256(b"tacit account\0" + secret).hexdigest()[:16]


class _AccountContent(NamedTuple):
    """The content of an account's file."""

    secret: bytes
    """The secret, of _SECRET_BYTES or more."""
    created: int
    """When the account was made, in Unix seconds."""
    last_letter_epoch: int
    """Number of the epoch of the last letter; -1 before the first."""


def _encode_account(secret: bytes, created: int, last_letter_epoch: int) -> bytes:
    """Encode the content of an account's file."""
    content = {
        "created": created,
        "secret": secret.hex(),
        "spoken": last_letter_epoch,
        "version": _VERSION,
    }
    return json.dumps(content, separators=(",", ":")).encode() + b"\n"


def _decode_account(data: bytes, path: Path) -> _AccountContent:
    """Decode the content of an account's file.

    Args:
        data: The content.
        path: The file, for errors.

    Raises:
        DataError: The content is not what `_encode_account` makes.
    """
    try:
        content = read_json(data)
        secret = bytes.fromhex(content["secret"])
        created = content["created"]
        last_letter_epoch = content["spoken"]
        has_integers = is_integer(created, 0) and is_integer(last_letter_epoch, -1)
        if len(secret) < _SECRET_BYTES or not has_integers or content["version"] != _VERSION:
            raise ValueError
    except (ValueError, TypeError, KeyError):
        raise DataError(
            "holds no account",
            path=path,
            expected="what this program writes",
            fix="Restore it: with another secret, the device would answer the same questions "
            "again, with other random draws.",
        ) from None
    return _AccountContent(secret, created, last_letter_epoch)
