"""A PostgreSQL server of one's own, for tests and measurements of the ledger.

    with server() as postgres:
        ledger = open_ledger(postgres.database(), second=...)

It listens on a socket in a new folder, and nowhere else; it can be killed as by a power cut.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LOCK_FILE_PID = 0
"""Line of `postmaster.pid` with the server's process number."""
LOCK_FILE_STATUS = 7
"""Line of `postmaster.pid` with the server's status."""


class Server:
    """One PostgreSQL of our own: its folder, its socket, and nobody else's."""

    def __init__(self, programs: Path) -> None:
        self.programs = programs
        self.folder = Path(tempfile.mkdtemp(prefix="tacit-postgres-"))
        self.who: dict[str, Any] = {}
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root
            name = next(n for n in ("postgres", "nobody") if _exists(n))
            entry = pwd.getpwnam(name)
            os.chown(self.folder, entry.pw_uid, entry.pw_gid)
            self.who = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
        self.process: subprocess.Popen[bytes] | None = None
        self.databases = 0
        self._run("initdb", "-D", self.folder / "data", "-U", "tacit", "-A", "trust", "-k")

    def start(self, *settings: str) -> None:
        """Start it and wait until it answers. settings: such as "fsync=off"."""
        options = [part for setting in settings for part in ("-c", setting)]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [
                    *(str(self.programs / "postgres"), "-D", str(self.folder / "data")),
                    *("-k", str(self.folder), "-c", "listen_addresses=", *options),
                ],
                stdout=log,
                stderr=log,
                start_new_session=True,
                **self.who,
            )
        while not self.has_started():
            if self.process.poll() is not None:
                raise AssertionError((self.folder / "log").read_text())
            time.sleep(0.05)

    def kill(self) -> None:
        """As in a power cut, except that the kernel still writes: every process at once."""
        assert self.process is not None
        master = self.process.pid
        os.kill(master, signal.SIGSTOP)
        children = _children(master)
        for child in children:
            _send(child, signal.SIGKILL)
        _send(master, signal.SIGKILL)
        self.process.wait()
        while any(_lives(child) for child in children):
            time.sleep(0.01)  # shared memory is free once the last of them is gone

    def stop(self) -> None:
        """If it runs."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT)  # what it holds is thrown away
            self.process.wait()

    def database(self) -> str:
        """The address of a new and empty schema, which is quicker made than a database."""
        self.databases += 1
        name = f"ledger{self.databases}"
        self.say(f"CREATE SCHEMA {name}")
        where = f"host={self.folder}&options=-csearch_path%3D{name}"
        return f"postgresql://tacit@/postgres?{where}"

    def say(self, statement: str) -> None:
        """One statement, as the owner."""
        self._run("psql", "-h", self.folder, "-U", "tacit", "-d", "postgres", "-qc", statement)

    def asked(self, question: str) -> str:
        """One value, as text."""
        arguments = ("-h", self.folder, "-U", "tacit", "-d", "postgres", "-Atqc", question)
        return self._run("psql", *arguments).strip()

    @contextlib.contextmanager
    def ending(self, waits_for: str) -> Iterator[None]:
        """Meanwhile the first of the server's processes that waits for this event is ended."""
        over = threading.Event()
        question = (
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
            f"WHERE wait_event = '{waits_for}' AND backend_type = 'client backend'"
        )

        def end() -> None:
            while not over.is_set() and self.asked(question) == "0":
                time.sleep(0.05)

        thread = threading.Thread(target=end)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def answers(self) -> bool:
        """Whether it takes connections."""
        command = [str(self.programs / "pg_isready"), "-q", "-h", str(self.folder)]
        return subprocess.run(command, check=False, **self.who).returncode == 0

    def has_started(self) -> bool:
        """Return whether its lock file says so: quicker to ask than `answers`, which is a program.

        The file of a killed server stays until the next one overwrites it.
        """
        assert self.process is not None
        try:
            lines = (self.folder / "data" / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return False
        has_status = len(lines) > LOCK_FILE_STATUS
        is_of_this_process = has_status and lines[LOCK_FILE_PID] == str(self.process.pid)
        return is_of_this_process and lines[LOCK_FILE_STATUS].strip() == "ready"

    def _run(self, program: str, *arguments: object) -> str:
        command = [str(self.programs / program), *map(str, arguments)]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            cwd="/",
            **self.who,
        )
        assert done.returncode == 0, done.stderr
        return str(done.stdout)


@contextlib.contextmanager
def server(folder: Path) -> Iterator[Server]:
    """A running one, from the programs in `folder`; stopped and removed at the end."""
    made = Server(folder)
    try:
        made.start()
        yield made
    finally:
        made.stop()
        shutil.rmtree(made.folder, ignore_errors=True)


def programs() -> Path | None:
    """The folder of PostgreSQL's programs, in the path or where Debian puts them."""
    found = shutil.which("initdb")
    places = [Path(found).resolve().parent] if found else []
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((place for place in places if (place / "postgres").exists()), None)


def _exists(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


def _lives(process: int) -> bool:
    """Whether it is there, and not only its entry for requests about the outcome."""
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] not in "ZX"


def _children(parent: int) -> list[int]:
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it ended while we looked
        if int(fields[1]) == parent:
            found.append(int(status.parent.name))
    return found


def _send(process: int, sent: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, sent)
