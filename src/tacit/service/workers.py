"""Several workers of one service, the owner of their ledger, and the process above that replaces
those that end."""

from __future__ import annotations

import asyncio
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
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from pathlib import Path

import uvicorn
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess
from uvicorn.supervisors.multiprocess import Process

from tacit.errors import TacitError
from tacit.ledger import LedgerUnavailable
from tacit.service.deployment import Service
from tacit.service.monitoring import Logger, adopt
from tacit.service.settings import FILE, PINNED, PREFIX, Settings

STOPS_WITHIN = 2
"""Seconds that requests in hand get when the service has to stop."""
LEAVES_WITHIN = 0.4
"""Seconds more for whatever a thread still does, such as wait for a store that does not answer."""
_HANGS = 60.0
"""Seconds without a word after which a worker is replaced; a busy machine begins one slowly."""
_ASKS = 1.0
"""Seconds after which the owner is asked again whether it goes on."""
_RESTS = 0.1, 5.0
"""Seconds before an owner that ended is replaced, if it lived long, and at most."""
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
    owner = None if settings.store is None else OwnerProcess()
    with tempfile.TemporaryDirectory(prefix="tacit-metrics-") as folder:
        os.environ[METRICS] = folder
        workers = Workers(config, [bound])  # from now on it notes the signals
        if stopped():
            return
        os.environ[PINNED] = folder
        shutil.copy(settings.folder / FILE, folder)
        if owner is not None:
            owner.start()
        up = threading.Thread(
            target=_when_up, args=(Path(folder), settings.workers, bound, ready), daemon=True
        )
        up.start()
        try:
            if not workers.stopped():
                workers.run()
        finally:
            del os.environ[PINNED]
            if owner is not None:
                owner.stop()


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


class OwnerProcess:
    """The process that owns the ledger; another one takes its place when it ends.

    What it acknowledged is on disk, and what it was asked in vain is asked again with its key. A
    new one begins as every start does: the log is brought into the file and synced, and replayed.
    """

    def __init__(self) -> None:
        self._log = Logger()
        self._context = get_context("spawn")
        self._ending = threading.Event()
        self._lock = threading.Lock()

    def start(self) -> None:
        """Returns when it can be asked. LedgerUnavailable if it ends before."""
        if not self._begin():
            raise LedgerUnavailable("The owner of the ledger does not start: its log says why.")
        threading.Thread(target=self._watch, daemon=True).start()

    def stop(self) -> None:
        """Calmly, if it is quick."""
        with self._lock:
            self._ending.set()
            self._say(False)
            self.process.join(2 * LEAVES_WITHIN)
            self.process.kill()
            self.process.join()

    def _begin(self) -> bool:
        """Whether it came so far that it can be asked."""
        with self._lock:
            if self._ending.is_set():
                return False
            # Its end of the pipe tells it when this process is gone.
            self._above, its = self._context.Pipe()
            self.process = self._context.Process(target=own, args=(its,), name="owner")
            self.process.start()
            its.close()
        return self._above in wait([self._above, self.process.sentinel]) and self._said()

    def _said(self) -> bool:
        try:
            return self._above.recv() is True
        except (EOFError, OSError):
            return False

    def _say(self, goes_on: bool) -> None:
        with suppress(OSError):
            self._above.send(goes_on)

    def _speaks(self) -> bool:
        with self._lock:
            if not self._ending.is_set():
                self._say(True)
        with suppress(OSError):
            return self._above.poll(_HANGS) and self._said()
        return False

    def _watch(self) -> None:
        rest = _RESTS[0]
        while not self._ending.is_set():
            while not wait([self.process.sentinel], _ASKS) and self._speaks():
                pass
            self.process.kill()
            self.process.join()
            self._above.close()
            if self._ending.wait(rest):
                return
            self._log.event("owner replaced", status=self.process.exitcode)
            rest = _RESTS[0] if self._begin() else min(2 * rest, _RESTS[1])


def own(above: Connection) -> None:
    """The owner's process, until the one above says so, or is gone.

    A terminal and systemd signal all processes of a service at once: workers need it to the end.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    spare_memory()
    log = Logger()
    adopt(log)
    try:
        service = Service.open(settings_of_worker())
    except TacitError as error:
        log.fault("owner", error)
        os._exit(1)
    loop = uvicorn.Config("", loop="uvloop").get_loop_factory()
    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(_owned(service, log, above))
    leave()


async def _owned(service: Service, log: Logger, above: Connection) -> None:
    from tacit.service.serving import create_app

    over = asyncio.Event()
    app = create_app(service, log=log, executes=over.set)
    loop = asyncio.get_running_loop()

    def heard() -> None:
        try:
            if above.recv():
                above.send(True)
                return
        except (EOFError, OSError):
            pass
        loop.remove_reader(above.fileno())
        over.set()

    async with app.router.lifespan_context(app):
        with suppress(OSError):
            above.send(True)
        loop.add_reader(above.fileno(), heard)
        await over.wait()
