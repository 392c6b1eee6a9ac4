"""The public log of a disclosure: the digest of every epoch in which it was served.

A file of canonical JSON lines that is only ever added to. Each line holds the SHA-256 of itself and
of everything before it, so that a line that was changed, moved or taken out is noticed. Devices
keep the log that they saw and compare it with the next one: what no file can prove, they notice.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tacit.container import refusal, write_whole
from tacit.designs.standard_scheme.messages import is_integer
from tacit.errors import ConfigError

KIND = "tacit digest log"


class DigestLog:
    """One disclosure's log. Processes and threads that share the file take turns.

    epoch_length: seconds; for the log's life. now is a calendar epoch in every method.
    ConfigError from every method for a file that is not as it was written.
    """

    def __init__(self, path: Path, epoch_length: int) -> None:
        self._path = path
        self._first = _line({"epoch_length": epoch_length, "log": KIND})
        self._turn = threading.Lock()
        self._known: dict[int, str] = {}

    def entries(self) -> list[dict[str, Any]]:
        """As they are shown, the earliest first."""
        return [{"epoch": epoch, "digest": digest} for epoch, digest in self._known.items()]

    def serve(self, digest: str, now: int) -> None:
        """This digest is the one of epoch `now`; ConfigError if another one was before."""
        with self._turn:
            if self._known.get(now) != digest:
                with _alone(self._path.parent):
                    self._add(digest, now)

    def _add(self, digest: str, now: int) -> None:
        data = self._path.read_bytes() if self._path.exists() else self._first
        found = self._read(data)
        last = max(found, default=now)
        if last > now:
            raise ConfigError(
                f"{self._path}: has an entry of epoch {last}, and by the clock it is epoch {now}. "
                "Set the clock of this machine."
            )
        served = found.get(now, digest)
        if served != digest:
            raise ConfigError(
                f"{self._path}: the disclosure {served} was served in this epoch, and devices "
                f"accept one in each. Serve that one again, or wait for epoch {now + 1}."
            )
        if now not in found:
            write_whole(self._path, data + _line({"digest": digest, "epoch": now}, data))
        self._known = {**found, now: digest}

    def _read(self, data: bytes) -> dict[int, str]:
        if not data.startswith(self._first):
            raise ConfigError(
                f"{self._path}: is no log of this disclosure's epochs. Name another file, or fit "
                "the model with the epoch_length that the log began with."
            )
        found: dict[int, str] = {}
        before = self._first
        for line in data[len(before) :].splitlines(keepends=True):
            entry = _entry(line, before)
            if entry is None or entry[0] <= max(found, default=-1):
                raise ConfigError(
                    f"{self._path}: its history was changed. Restore it from a copy: devices "
                    "refuse a log that does not go on from the one they saw."
                )
            epoch, digest = entry
            found[epoch] = digest
            before += line
        return found


def _line(content: dict[str, Any], before: bytes | None = None) -> bytes:
    if before is not None:
        seal = hashlib.sha256(before + _canonical(content)).hexdigest()
        content = {**content, "sha256": seal}
    return _canonical(content) + b"\n"


def _canonical(content: dict[str, Any]) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()


def _entry(line: bytes, before: bytes) -> tuple[int, str] | None:
    """Epoch and digest; None for what this file does not write after `before`."""
    try:
        content = json.loads(line)
        epoch, digest = content["epoch"], content["digest"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    if not is_integer(epoch) or line != _line({"digest": digest, "epoch": epoch}, before):
        return None
    return epoch, digest


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """No other process adds to a log of this folder meanwhile; a new name in it is durable."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise refusal(folder, error) from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
        os.fsync(handle)
    finally:
        os.close(handle)
