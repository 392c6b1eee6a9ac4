"""A process of `tacit serve`."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tacit.ledger.inspection import backup
from tacit.service.demo import TENANT, Demo
from tacit.service.keys import KeyRing, read_secret
from tests.support.service_shop import PATIENT, PEOPLE


@contextmanager
def store_of(folder: Path) -> Iterator[sqlite3.Connection]:
    """A copy of a service's store, made by the service where it runs."""
    with tempfile.TemporaryDirectory() as place:
        backup(folder / "budgets.db", Path(place) / "copy.db")
        with closing(sqlite3.connect(Path(place) / "copy.db")) as connection:
            yield connection


@dataclass
class Running:
    """A process of `tacit serve`. keys: by role, with those of ann and bob."""

    address: str
    folder: Path
    keys: dict[str, str]
    process: subprocess.Popen[str]
    reader: threading.Thread
    lines: list[str] = field(default_factory=list)

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    def log(self) -> str:
        """What it wrote to standard error so far."""
        return "".join(self.lines)

    def stop(self) -> int:
        """SIGTERM; gives the exit code. A process that does not end within minutes is killed."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(300)
        finally:
            self.process.kill()
            self.process.wait()
            self.reader.join()
            for stream in (self.process.stdout, self.process.stderr):
                assert stream is not None
                stream.close()


_FREE = {
    f"TACIT_{name}": "1000000"
    for name in ("PER_SECOND", "BURST", "VISITORS_PER_HOUR", "CHANGES_PER_DAY")
}
_FREE["TACIT_ANSWER_WITHIN"] = str(PATIENT)
"""Processes too are without limits on how often they are asked, and how long they take."""


def start_process(demo: Demo, folder: Path, flags: tuple[str, ...], **settings: str) -> Running:
    """settings: of its environment, such as TACIT_ANSWER_WITHIN="1.8"."""
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "tacit.cli.app", "serve", str(folder)),
            *("--port", "0", "--json", *flags),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", **_FREE, **settings},
    )
    assert process.stdout is not None
    log: list[str] = []
    reader = threading.Thread(target=_follow, args=(process, log), daemon=True)
    reader.start()
    line = process.stdout.readline()
    if not line:
        with process:  # it ended, or it is about to
            reader.join()
        raise AssertionError("".join(log))
    told = json.loads(line)
    ring = KeyRing(folder / "keys.json", read_secret(folder / "service.secret"), TENANT)
    people = {role: ring.person_key(name) for role, name in PEOPLE.items()}
    return Running(told["address"], folder, {**demo.keys, **people}, process, reader, log)


def _follow(process: subprocess.Popen[str], log: list[str]) -> None:
    assert process.stderr is not None
    log.extend(process.stderr)
