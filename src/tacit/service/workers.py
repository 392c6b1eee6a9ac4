"""Several workers of one service, and the process above that replaces those that end."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import parent_process
from pathlib import Path

import uvicorn
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess
from uvicorn.supervisors.multiprocess import Process

from tacit.service.deployment import Service
from tacit.service.settings import FILE, PINNED, PREFIX, Settings

STOPS_WITHIN = 2
"""Seconds that requests in hand get when the service has to stop."""
LEAVES_WITHIN = 0.4
"""Seconds more for whatever a thread still does, such as wait for a store that does not answer."""
_HANGS = 60.0
"""Seconds without a word after which a worker is replaced; a busy machine begins one slowly."""
_ARENAS, _LARGE = -8, -3
"""M_ARENA_MAX and M_MMAP_THRESHOLD of malloc.h."""
METRICS = "PROMETHEUS_MULTIPROC_DIR"
"""The folder of the workers' counts."""
_UP = ".up"


def settings_of_worker() -> Settings:
    """They stand in the environment."""
    return Settings.gather(Path(os.environ[PREFIX + "FOLDER"]), {}, os.environ)


def spare_memory() -> None:
    """glibc gives threads eight arenas for each core, and what one freed the others do not use: as
    many threads as a service has fill all of them in the end. And it learns to keep ever larger
    pieces, such as a checkpoint's, among the small ones. Call it before there are threads."""
    with suppress(OSError, AttributeError):
        glibc = ctypes.CDLL(None)
        glibc.mallopt(_ARENAS, 2)
        glibc.mallopt(_LARGE, 2**18)


def note_up() -> None:
    """Tells the process above that this worker is about to listen."""
    (Path(os.environ[METRICS]) / f"{os.getpid()}{_UP}").touch()


def end_with_the_one_above() -> None:
    """A worker that nobody replaces any more would hold the port of the next service."""

    def watch() -> None:
        if (above := parent_process()) is not None:
            above.join()
            os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()


def leave() -> None:
    """The interpreter waits for its threads; one that hangs on the store must not keep it."""
    watch = threading.Timer(LEAVES_WITHIN, os._exit, (0,))
    watch.daemon = True
    watch.start()


def serve_by_many(
    settings: Settings,
    config: uvicorn.Config,
    bound: socket.socket,
    ready: Callable[[], None],
    stopped: Callable[[], bool],
) -> None:
    """Until SIGTERM or SIGINT. config: of a worker. ready: called when all of them listen.
    stopped: whether such a signal came before this was called."""
    Service.open(settings).close()  # an error is reported once, and no worker makes the ledger
    os.environ.update(settings.environment())
    with tempfile.TemporaryDirectory(prefix="tacit-metrics-") as folder:
        os.environ[METRICS] = folder
        workers = Workers(config, [bound])  # from now on it notes the signals
        if stopped():
            return
        os.environ[PINNED] = folder
        shutil.copy(settings.folder / FILE, folder)
        up = threading.Thread(
            target=_when_up, args=(Path(folder), settings.workers, bound, ready), daemon=True
        )
        up.start()
        try:
            if not workers.stopped():
                workers.run()
        finally:
            del os.environ[PINNED]


def _when_up(folder: Path, workers: int, bound: socket.socket, ready: Callable[[], None]) -> None:
    """Says when every worker listens: earlier connections stay with the first one."""
    while folder.is_dir() and len(list(folder.glob(f"*{_UP}"))) < workers:
        time.sleep(0.05)
    while folder.is_dir():
        with suppress(OSError), socket.create_connection(bound.getsockname()[:2], 1):
            ready()
            return
        time.sleep(0.05)


class Workers(Multiprocess):
    """Never waits for a worker: it notices at once when one is gone, and ends even if one hangs."""

    def __init__(self, config: uvicorn.Config, sockets: list[socket.socket]) -> None:
        super().__init__(config, sockets)
        self._heard: dict[Process, float] = {}

    def stopped(self) -> bool:
        """Whether it was asked to end before it ran."""
        return not {signal.SIGTERM, signal.SIGINT}.isdisjoint(self.signal_queue)

    def keep_subprocess_alive(self) -> None:
        """Every half a second."""
        for at, worker in enumerate(self.processes):
            if worker.process.is_alive() and self._speaks(worker):
                continue
            worker.kill()
            worker.join()
            self._heard.pop(worker, None)
            if worker.exitcode == STARTUP_FAILURE:
                self.should_exit.set()
            if self.should_exit.is_set():
                return
            self.processes[at] = Process(self.config, self.sockets)
            self.processes[at].start()

    def _speaks(self, worker: Process) -> bool:
        """Asked now, it answers by the next time."""
        now = time.monotonic()
        self._heard.setdefault(worker, now)
        with suppress(OSError, EOFError):
            while worker.parent_conn.poll():
                worker.parent_conn.recv()
                self._heard[worker] = now
            worker.parent_conn.send(b"ping")
        return now - self._heard[worker] < _HANGS

    def join_all(self) -> None:
        end = time.monotonic() + STOPS_WITHIN + LEAVES_WITHIN
        for worker in self.processes:
            worker.process.join(max(0.0, end - time.monotonic()))
            worker.process.kill()
        super().join_all()
