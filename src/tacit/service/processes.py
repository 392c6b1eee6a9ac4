"""The processes of a service under uvicorn: one worker, or several with a port in common."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from multiprocessing.context import SpawnContext
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Semaphore
from typing import Any

import uvicorn
from fastapi import FastAPI

from tacit.errors import ConfigError, TacitError
from tacit.service.application import create_app
from tacit.service.event_log import EventLog, redirect_library_warnings
from tacit.service.http_protocol import BoundedHttpProtocol
from tacit.service.kinds import open_service
from tacit.service.metrics import COUNTS_FOLDER
from tacit.service.setting_tables import PINNED_FOLDER, TOML
from tacit.service.settings import Settings

GRACE_SECONDS = 2
"""Time that running requests get when the service has to stop."""
THREAD_GRACE_SECONDS = 0.4
"""Time more for whatever a thread still does, such as wait for a store that does not answer."""
_RESTART_SECONDS = 1.0
"""Pause before a worker that ended is replaced."""
_POLL_SECONDS = 0.1
_M_ARENA_MAX = -8
_M_MMAP_THRESHOLD = -3
"""Parameters of glibc's mallopt, as malloc.h names them."""
_MALLOC_ARENAS = 2
_LARGE_ALLOCATION = 2**18
"""Bytes from which on a piece of memory is given back to the system when it is freed."""

ReportReady = Callable[[], object]
"""Called once, when the service answers."""
IsStopped = Callable[[], bool]
"""Whether the service was asked to stop before there was a server."""


def serve(settings: Settings, report_address: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT.

    Args:
        settings: How the service runs.
        report_address: Called once with the address, when the service answers.

    Raises:
        ConfigError: The address cannot be taken, or what is served cannot be read.
    """
    _limit_malloc()
    with _listen(settings) as listener, _note_stop_signals() as is_stopped:
        host, port = listener.getsockname()[:2]
        address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

        def report_ready() -> None:
            report_address(address)

        if settings.workers == 1:
            _run_worker(settings, listener, report_ready, is_stopped)
        else:
            _run_workers(settings, listener, report_ready, is_stopped)
    exit_soon()


def _run_worker(
    settings: Settings,
    listener: socket.socket,
    report_ready: ReportReady,
    is_stopped: IsStopped,
) -> None:
    """Open the service and answer requests in this process."""
    log = EventLog()
    redirect_library_warnings(log)
    app = create_app(open_service(settings), log=log)
    server = _Server(server_config(settings, app), report_ready, is_stopped)
    server.run(sockets=[listener])


def _run_workers(
    settings: Settings,
    listener: socket.socket,
    report_ready: ReportReady,
    is_stopped: IsStopped,
) -> None:
    """Run several processes, each with a socket of its own at the port, until a signal to stop."""
    open_service(settings).close()  # an error is reported once, and no worker makes the ledger
    with tempfile.TemporaryDirectory(prefix="tacit-metrics-") as folder:
        os.environ[COUNTS_FOLDER] = folder
        shutil.copy(settings.folder / TOML, folder)
        workers = _Workers(settings, listener)
        try:
            if not is_stopped():
                workers.start_all()
            has_reported = False
            while not is_stopped():
                if not has_reported and workers.are_all_up():
                    report_ready()
                    has_reported = True
                workers.replace_ended()
        finally:
            workers.stop_all()


class _Workers:
    """The processes of a service that has several. One that ends is replaced."""

    def __init__(self, settings: Settings, listener: socket.socket) -> None:
        self._settings = settings
        self._address = (listener.family, listener.getsockname())
        self._context: SpawnContext = get_context("spawn")
        self._came_up = self._context.Semaphore(0)
        """Released by each worker when it answers."""
        self._starting = settings.workers
        """Workers that have not answered yet, of those that were started at first."""
        self._processes: list[BaseProcess] = []

    def start_all(self) -> None:
        """Start as many processes as the settings say."""
        self._processes = [self._start() for _ in range(self._settings.workers)]

    def are_all_up(self) -> bool:
        """Whether every worker that was started at first has answered."""
        while self._starting and self._came_up.acquire(timeout=0):
            self._starting -= 1
        return self._starting == 0

    def replace_ended(self) -> None:
        """Wait a little for workers that end, and start others in their place.

        Raises:
            ConfigError: One ended before all were up.
        """
        sentinels = [process.sentinel for process in self._processes]
        ended = wait(sentinels, timeout=_POLL_SECONDS)
        if not ended:
            return
        if self._starting:
            raise ConfigError("A worker of the service does not start: its log says why.")
        time.sleep(_RESTART_SECONDS)
        for number, process in enumerate(self._processes):
            if process.sentinel in ended:
                self._processes[number] = self._start()

    def stop_all(self) -> None:
        """Stop all workers, and kill those that take too long."""
        end = time.monotonic() + GRACE_SECONDS + THREAD_GRACE_SECONDS
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            process.join(max(0.0, end - time.monotonic()))
            process.kill()
            process.join()

    def _start(self) -> BaseProcess:
        arguments = (self._settings, self._address, self._came_up)
        process = self._context.Process(target=_worker_process, args=arguments)
        process.start()
        return process


def _worker_process(
    settings: Settings, address: tuple[socket.AddressFamily, Any], came_up: Semaphore
) -> None:
    """One of several workers. It ends with its parent: it would hold the next service's port."""
    _limit_malloc()

    def stop_with_parent() -> None:
        parent = parent_process()
        if parent is not None:
            parent.join()
            os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=stop_with_parent, daemon=True).start()
    os.environ[PINNED_FOLDER] = os.environ[COUNTS_FOLDER]
    family, name = address
    try:
        listener = _bind(family, name, is_shared=True)
        _run_worker(settings, listener, came_up.release, lambda: False)
    except TacitError as error:
        EventLog().write_fault("worker", error)
        os._exit(1)
    exit_soon()


def _limit_malloc() -> None:
    """Have glibc keep less memory; called before there are threads.

    It gives threads eight arenas for each core, and what one freed the others do not use: as many
    threads as a service has fill all of them in the end. And it learns to keep ever larger pieces,
    such as a checkpoint's, among the small ones.
    """
    with suppress(OSError, AttributeError):
        glibc = ctypes.CDLL(None)
        glibc.mallopt(_M_ARENA_MAX, _MALLOC_ARENAS)
        glibc.mallopt(_M_MMAP_THRESHOLD, _LARGE_ALLOCATION)


def exit_soon() -> None:
    """End the process after a moment.

    It ends even if a thread hangs on the store, for which the interpreter would wait.
    """
    timer = threading.Timer(THREAD_GRACE_SECONDS, os._exit, (0,))
    timer.daemon = True
    timer.start()


class _Server(uvicorn.Server):
    """uvicorn, which reports when it is up, and ends at once if it was stopped before."""

    def __init__(
        self, config: uvicorn.Config, report_ready: ReportReady, is_stopped: IsStopped
    ) -> None:
        super().__init__(config)
        self._report_ready = report_ready
        self._is_stopped = is_stopped

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self._is_stopped():
            self.should_exit = True
        if self.started and not self.should_exit:
            self._report_ready()


def server_config(settings: Settings, app: FastAPI) -> uvicorn.Config:
    """How uvicorn runs the application."""
    return uvicorn.Config(
        app,
        http=BoundedHttpProtocol,
        ws="none",
        loop="uvloop",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=settings.behind_tls,
        forwarded_allow_ips="127.0.0.1,::1",
        timeout_keep_alive=30,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )


@contextmanager
def _listen(settings: Settings) -> Iterator[socket.socket]:
    """A socket at the service's address; ConfigError where it cannot be taken."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        listener = _bind(family, (settings.host, settings.port))
    except (OSError, UnicodeError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or "no such address"
        raise ConfigError(
            f"{settings.host} port {settings.port} cannot be listened on ({reason}). Take another "
            "one with --port; --port 0 takes any that is free."
        ) from None
    if settings.workers > 1:
        name = listener.getsockname()
        listener.close()
        listener = _bind(family, name, is_shared=True)
    with listener:
        yield listener


def _bind(family: socket.AddressFamily, name: Any, *, is_shared: bool = False) -> socket.socket:
    """Bind a socket to an address.

    Args:
        family: IPv4 or IPv6.
        name: Host and port, as the family has them.
        is_shared: Whether each worker binds one of its own at the port. From one socket of all, a
            worker that happens to be awake would take every connection that waits.
    """
    # Named TCP, or asyncio would not know it for TCP and let each answer's body wait 40 ms (Nagle).
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if is_shared:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        bound.bind(name)
    except BaseException:
        bound.close()
        raise
    return bound


@contextmanager
def _note_stop_signals() -> Iterator[IsStopped]:
    """Note SIGTERM and SIGINT instead of raising an error.

    The server stops, and nothing else happens. A signal that comes before there is a server is
    noted too.

    Yields:
        Whether such a signal came.
    """
    noted: list[int] = []

    def note(number: int, _: object) -> None:
        noted.append(number)

    earlier_handlers = {}
    for number in (signal.SIGTERM, signal.SIGINT):
        earlier_handlers[number] = signal.signal(number, note)
    try:
        yield lambda: bool(noted)
    finally:
        for number, handler in earlier_handlers.items():
            signal.signal(number, handler)
