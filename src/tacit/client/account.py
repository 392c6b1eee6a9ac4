"""A person's account at one service: the secret of all draws, when it was made, and whether a
letter was ever sent with it. Never sent; without it a second device draws again.

Files are read by their owner alone, and are whole after a crash. JSON in them means one thing.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

from tacit.designs.sketches.device import new_secret
from tacit.designs.standard_scheme.messages import is_integer
from tacit.errors import ConfigError, DataError, OutputError

PRIVATE = (os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
"""Flags and mode of a new file."""
_VERSION = 2


class Account:
    """Forgets at the end of the process: for tests, and for trying things out.

    secret: at least 32 bytes. created: Unix seconds, 0 where it is not known. fresh: made here and
    now, so that no memory of it can be missing. spoken: the label of the last epoch that a letter
    was made for, -1 before the first.
    """

    def __init__(self, secret: bytes, created: int = 0, spoken: int = -1) -> None:
        if len(secret) < 32:
            raise ConfigError("A secret has at least 32 bytes: make one with new_secret().")
        self.secret, self.created, self.spoken = secret, created, spoken
        self.fresh = True

    def speaks(self, epoch: int) -> None:
        """Kept durably before this returns, where there is a file."""
        self.spoken = epoch


class FileAccount(Account):
    """An account in a file that only its owner reads; made at the first visit.

    now: Unix seconds, when a new one is made. DataError for a file that holds no secret: it is not
    replaced. OutputError if none can be kept. A file of version 1 is a secret in hexadecimal digits
    alone; it is read, and written as version 2 with the first letter.
    """

    def __init__(self, path: str | os.PathLike[str], now: int | None = None) -> None:
        self._path = Path(path)
        created = int(time.time()) if now is None else now
        new = _encoded(new_secret(), created, -1)
        with kept_at(self._path):
            with suppress(FileExistsError):
                create(self._path, new)
            data = self._path.read_bytes()
        super().__init__(*_decoded(data, self._path))
        self.fresh = data == new

    def speaks(self, epoch: int) -> None:
        with kept_at(self._path):
            replace(self._path, _encoded(self.secret, self.created, epoch))
        super().speaks(epoch)


def mark_of(secret: bytes) -> str:
    """Names the account in its memory."""
    return hashlib.sha256(b"tacit account\0" + secret).hexdigest()[:16]


def _encoded(secret: bytes, created: int, spoken: int) -> bytes:
    content = {"created": created, "secret": secret.hex(), "spoken": spoken, "version": _VERSION}
    return json.dumps(content, separators=(",", ":")).encode() + b"\n"


def _decoded(data: bytes, path: Path) -> tuple[bytes, int, int]:
    try:
        if data.startswith(b"{"):
            content = read_json(data)
        else:  # of version 1
            secret_alone = {"secret": data.decode("ascii")}
            content = secret_alone | {"created": 0, "spoken": -1, "version": _VERSION}
        secret = bytes.fromhex(content["secret"])
        created, spoken = content["created"], content["spoken"]
        whole = is_integer(created, 0) and is_integer(spoken, -1)
        if len(secret) < 32 or not whole or content["version"] != _VERSION:
            raise ValueError
    except (ValueError, TypeError, KeyError):
        raise DataError(
            "holds no secret",
            path=path,
            expected="what this program writes, or at least 32 bytes in hexadecimal digits",
            fix="Restore it: another secret makes another answer to what was answered already.",
        ) from None
    return secret, created, spoken


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


def read_json(data: bytes) -> Any:
    """The value; ValueError for anything that another reader might read differently."""
    try:
        return json.loads(
            data.decode("utf-8"), object_pairs_hook=_once_each, parse_constant=_no_constant
        )
    except RecursionError:
        raise ValueError("too deep") from None


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key twice")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")
