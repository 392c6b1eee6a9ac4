"""What a device stores: an account with its secret, and the memory of what was decided and sent.

An account is at one service; its secret makes all draws, and is never sent. A memory belongs to one
account. A device that finds the account without its memory treats the memory as lost: what another
memory may have decided is not decided again.

Files are read by their owner alone, and are whole after a crash. JSON in them means one thing.
"""

from __future__ import annotations

import copy
import fcntl
import hashlib
import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from tacit.designs.sketches.device import new_secret
from tacit.designs.standard_scheme.memory import State
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
    replaced. OutputError if none can be kept.
    """

    def __init__(self, path: str | os.PathLike[str], now: int | None = None) -> None:
        self._path = Path(path)
        created = int(time.time()) if now is None else now
        new = _account_bytes(new_secret(), created, -1)
        with kept_at(self._path):
            with suppress(FileExistsError):
                create(self._path, new)
            data = self._path.read_bytes()
        super().__init__(*_account_parts(data, self._path))
        self.fresh = data == new

    def speaks(self, epoch: int) -> None:
        with kept_at(self._path):
            replace(self._path, _account_bytes(self.secret, self.created, epoch))
        super().speaks(epoch)


def mark_of(secret: bytes) -> str:
    """Names the account in its memory."""
    return hashlib.sha256(b"tacit account\0" + secret).hexdigest()[:16]


def _account_bytes(secret: bytes, created: int, spoken: int) -> bytes:
    content = {"created": created, "secret": secret.hex(), "spoken": spoken, "version": _VERSION}
    return json.dumps(content, separators=(",", ":")).encode() + b"\n"


def _account_parts(data: bytes, path: Path) -> tuple[bytes, int, int]:
    try:
        content = read_json(data)
        secret = bytes.fromhex(content["secret"])
        created, spoken = content["created"], content["spoken"]
        whole = is_integer(created, 0) and is_integer(spoken, -1)
        if len(secret) < 32 or not whole or content["version"] != _VERSION:
            raise ValueError
    except (ValueError, TypeError, KeyError):
        raise DataError(
            "holds no secret",
            path=path,
            expected="what this program writes",
            fix="Restore it: another secret makes another answer to what was answered already.",
        ) from None
    return secret, created, spoken


@dataclass
class Kept:
    """account: names the account; None for a new memory, "" for one that the next account takes.

    reports: of sketches, by campaign digest. The others are of the standard scheme. name: of the
    disclosure that the account answers. state: of its device. lost: whether another memory of this
    account may exist. forgotten: names an account that was forgotten here. tried: the second of the
    last attempt to speak. settled: the last epoch whose letter the service took or refused, -1 at
    first. tables: the disclosure followed last. answer: a letter's disclosure, and its scores.
    """

    account: str | None = None
    reports: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    name: str | None = None
    state: State | None = None
    lost: bool = False
    forgotten: str | None = None
    tried: int = 0
    settled: int = -1
    tables: bytes = b""
    answer: tuple[bytes, bytes] = (b"", b"")


class Memory:
    """Forgets at the end of the process: for tests, and for trying things out."""

    def __init__(self) -> None:
        self._kept = Kept()
        self._turn = threading.Lock()

    @contextmanager
    def turn(self) -> Iterator[Kept]:
        """One device at a time. What is in it at the end of the block is kept durably, where there
        is a file, before the block is left; after an exception, nothing of it is."""
        with self._turn:
            kept = copy.deepcopy(self._kept)
            yield kept
            self._kept = kept


class FileMemory(Memory):
    """One account's memory in a file that only its owner reads; processes take turns.

    It says which items were rated and held back: keep it where the stars are.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)

    @contextmanager
    def turn(self) -> Iterator[Kept]:
        """DataError for a file that is not as this program writes it; OutputError if none can be
        written."""
        with kept_at(self._path):
            lock = os.open(self._path.with_name(self._path.name + ".lock"), *PRIVATE)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            with kept_at(self._path):
                before = self._read()
            kept = _memory_of(before, self._path)
            yield kept
            after = _memory_bytes(kept)
            if after != before:
                with kept_at(self._path):
                    replace(self._path, after)
        finally:
            os.close(lock)

    def _read(self) -> bytes:
        try:
            return self._path.read_bytes()
        except FileNotFoundError:
            return _memory_bytes(Kept())


def _memory_bytes(kept: Kept) -> bytes:
    content = {
        "version": _VERSION,
        "account": kept.account,
        "reports": {name: [epsilon, sent.hex()] for name, (epsilon, sent) in kept.reports.items()},
        "name": kept.name,
        "state": None if kept.state is None else kept.state.encode().decode(),
        "lost": kept.lost,
        "forgotten": kept.forgotten,
        "tried": kept.tried,
        "settled": kept.settled,
        "tables": kept.tables.decode(),
        "answer": [part.decode() for part in kept.answer],
    }
    return json.dumps(content, separators=(",", ":")).encode()


def _memory_of(data: bytes, path: Path) -> Kept:
    try:
        content = read_json(data)
        if content["version"] != _VERSION:
            raise ValueError
        return _kept_from(content)
    except (ValueError, TypeError, KeyError, AttributeError):
        raise DataError(
            "is no memory of a device",
            path=path,
            expected="what this program writes",
            fix="Restore it from a copy: a device that forgets may spend more than it should.",
        ) from None


def _kept_from(content: dict[str, Any]) -> Kept:
    state = content["state"]
    tables, scores = content["answer"]
    return Kept(
        account=_text(content["account"]),
        reports={
            name: (_whole(epsilon), bytes.fromhex(sent))
            for name, (epsilon, sent) in content["reports"].items()
        },
        name=_text(content["name"]),
        state=None if state is None else State.decode(state.encode()),
        lost=content["lost"] is True,
        forgotten=_text(content["forgotten"]),
        tried=_whole(content["tried"]),
        settled=_whole(content["settled"]),
        tables=content["tables"].encode(),
        answer=(tables.encode(), scores.encode()),
    )


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise ValueError
    return value


def _text(value: Any) -> str | None:
    if not isinstance(value, str | None):
        raise ValueError
    return value


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
    if len(value := dict(pairs)) != len(pairs):
        raise ValueError("a key twice")
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")
