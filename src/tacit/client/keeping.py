"""What a device keeps at home: the account's secret, and what it drew and sent before."""

from __future__ import annotations

import copy
import fcntl
import json
import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from tacit.client.strict_json import read_json
from tacit.errors import DataError, OutputError
from tacit.recommenders.sketches.device import new_secret
from tacit.recommenders.standard_scheme.memory import State

_VERSION = 2


@dataclass
class Kept:
    """reports: of sketches, by campaign digest. state: of the standard scheme."""

    reports: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    state: State = field(default_factory=lambda: State(created=0))


class Memory(Protocol):
    """Where a device remembers."""

    def turn(self) -> AbstractContextManager[Kept]:
        """One device at a time. What is in it at the end of the block is kept durably before the
        block is left; after an exception, nothing of it is."""
        ...


class PassingMemory:
    """Forgets at the end of the process: for tests, and for trying things out."""

    def __init__(self) -> None:
        self._kept = Kept()
        self._turn = threading.Lock()

    @contextmanager
    def turn(self) -> Iterator[Kept]:
        with self._turn:
            kept = copy.deepcopy(self._kept)
            yield kept
            self._kept = kept


class FileMemory:
    """One account's memory in a file that only its owner reads; processes take turns.

    It says which items were rated and held back: keep it where the stars are.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)

    @contextmanager
    def turn(self) -> Iterator[Kept]:
        """DataError for a file that is not as this version writes it; OutputError if none can be
        written."""
        with _kept_at(self._path):
            lock = os.open(self._path.with_name(self._path.name + ".lock"), *_PRIVATE)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            with _kept_at(self._path):
                before = self._read()
            kept = _decoded(before, self._path)
            yield kept
            after = _encoded(kept)
            if after != before:
                with _kept_at(self._path):
                    _write(self._path, after)
        finally:
            os.close(lock)

    def _read(self) -> bytes:
        try:
            return self._path.read_bytes()
        except FileNotFoundError:
            return _encoded(Kept())


def secret_in(path: str | os.PathLike[str]) -> bytes:
    """The account's secret in this file; a new one if there is no file yet.

    DataError for a file that holds no secret: it is not replaced. OutputError if none can be kept.
    """
    file = Path(path)
    with _kept_at(file):
        with suppress(FileExistsError):
            _create(file, new_secret().hex().encode() + b"\n")
        text = file.read_bytes()
    try:
        secret = bytes.fromhex(text.decode("ascii"))
    except ValueError:
        secret = b""
    if len(secret) < 32:
        raise DataError(
            "holds no secret",
            path=file,
            expected="at least 32 bytes in hexadecimal digits",
            fix="Restore it: another secret makes another answer to what was answered already.",
        )
    return secret


@contextmanager
def _kept_at(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(f"{path}: nothing can be kept here: {error.strerror}.") from None


_PRIVATE = (os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _encoded(kept: Kept) -> bytes:
    reports = {name: [epsilon, sent.hex()] for name, (epsilon, sent) in kept.reports.items()}
    content = {"version": _VERSION, "reports": reports, "state": kept.state.encode().decode()}
    return json.dumps(content, separators=(",", ":")).encode()


def _decoded(data: bytes, path: Path) -> Kept:
    try:
        content = read_json(data)
        if content["version"] != _VERSION:
            raise ValueError
        reports = {
            name: (_whole(epsilon), bytes.fromhex(sent))
            for name, (epsilon, sent) in content["reports"].items()
        }
        return Kept(reports, State.decode(content["state"].encode()))
    except (ValueError, TypeError, KeyError, AttributeError):
        raise DataError(
            "is no memory of a device",
            path=path,
            expected=f"what version {_VERSION} writes",
            fix="Restore it from a copy: a device that forgets may spend more than it should.",
        ) from None


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise ValueError
    return value


def _create(path: Path, data: bytes) -> None:
    """A new file, durable; FileExistsError if there is one, which is then whole."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}.new")
    try:
        _put(draft, data)
        os.link(draft, path)
        _settle(path.parent)
    finally:
        draft.unlink(missing_ok=True)


def _write(path: Path, data: bytes) -> None:
    """The whole content or, after a crash, the earlier one."""
    draft = path.with_name(path.name + ".new")
    _put(draft, data)
    draft.replace(path)
    _settle(path.parent)


def _put(path: Path, data: bytes) -> None:
    flags, mode = _PRIVATE
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
