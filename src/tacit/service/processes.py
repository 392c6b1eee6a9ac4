"""The processes of a service under uvicorn: one worker, or several that share a port."""

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
"""Seconds that running requests get when the service has to stop."""
THREAD_GRACE_SECONDS = 0.4
"""Further seconds for threads that still run, such as one that waits for a database."""
_RESTART_SECONDS = 1.0
"""Seconds before a worker that ended is replaced."""
_POLL_SECONDS = 0.1
"""Most seconds between two checks whether a signal came or all workers are ready."""
_KEEP_ALIVE_SECONDS = 30
"""Seconds after which a connection without a request is closed."""
_M_ARENA_MAX = -8
"""Parameter of glibc's mallopt, as malloc.h names it: the most arenas."""
_M_MMAP_THRESHOLD = -3
"""Parameter of glibc's mallopt: bytes from which on an allocation has pages of its own."""
_MALLOC_ARENAS = 2
"""Number of arenas that the threads of a worker share."""
_LARGE_ALLOCATION = 2**18
"""Bytes of an allocation from which on its memory is returned to the system when it is freed."""

ReportReady = Callable[[], object]
"""Function that is called once, when the service answers."""
IsStopped = Callable[[], bool]
"""Function that says whether a signal to stop has come."""


def serve(settings: Settings, report_address: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT.

    Args:
        settings: How the service runs.
        report_address: Called once with the address, when the service answers.

    Raises:
        ConfigError: The address cannot be listened on, what is served cannot be read, or one of
            several workers does not start.
    """
    _limit_malloc()
    with _open_listener(settings) as listener, _record_stop_signals() as is_stopped:
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
    # Opened once here, so that an error is reported only once, and the ledger exists before the
    # workers open it.
    open_service(settings).close()
    with tempfile.TemporaryDirectory(prefix="tacit-metrics-") as folder:
        os.environ[COUNTS_FOLDER] = folder
        shutil.copy(settings.folder / TOML, folder)  # the workers read this copy: PINNED_FOLDER
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
    """The processes of a service that has several; a process that ends is replaced."""

    def __init__(self, settings: Settings, listener: socket.socket) -> None:
        self._settings = settings
        self._address = (listener.family, listener.getsockname())
        """Family of the service's address, and its host and port."""
        self._context: SpawnContext = get_context("spawn")
        self._ready = self._context.Semaphore(0)
        """Released by each worker when it is ready to answer."""
        self._starting = settings.workers
        """Number of the workers of `start_all` that are not ready yet."""
        self._processes: list[BaseProcess] = []

    def start_all(self) -> None:
        """Start as many processes as the settings say."""
        self._processes = [self._start() for _ in range(self._settings.workers)]

    def are_all_up(self) -> bool:
        """Say whether as many workers as `start_all` started have become ready to answer."""
        while self._starting and self._ready.acquire(timeout=0):
            self._starting -= 1
        return self._starting == 0

    def replace_ended(self) -> None:
        """Start a new worker in the place of each that ended.

        It waits up to _POLL_SECONDS for one to end, and _RESTART_SECONDS before new ones start.

        Raises:
            ConfigError: A worker ended before all were ready.
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
            process.kill()  # does nothing to a process that has ended
            process.join()

    def _start(self) -> BaseProcess:
        """Start one worker process."""
        arguments = (self._settings, self._address, self._ready)
        process = self._context.Process(target=_run_worker_process, args=arguments)
        process.start()
        return process


def _run_worker_process(
    settings: Settings, address: tuple[socket.AddressFamily, Any], ready: Semaphore
) -> None:
    """Run one of several workers, as the main function of its process.

    The process ends with its parent: if it went on, it would share the port with the next service.

    Args:
        settings: How the service runs.
        address: Family of the service's address, and its host and port.
        ready: Released when the worker is ready to answer.
    """
    _limit_malloc()

    def stop_with_parent() -> None:
        """Wait until the parent process ends, then stop this one."""
        parent = parent_process()
        if parent is not None:
            parent.join()
            os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=stop_with_parent, daemon=True).start()
    os.environ[PINNED_FOLDER] = os.environ[COUNTS_FOLDER]
    family, name = address
    try:
        listener = _bind(family, name, is_shared=True)
        # A signal before uvicorn handles signals ends this process, so none has to be recorded.
        _run_worker(settings, listener, ready.release, lambda: False)
    except TacitError as error:
        EventLog().write_fault("worker", error)
        os._exit(1)
    exit_soon()


def _limit_malloc() -> None:
    """Make glibc keep less freed memory. It is called before there are threads.

    By default glibc has eight arenas for each core, and memory that is freed in one arena is not
    used by the others: the many threads of a service would fill all of them. When a large
    allocation is freed, such as that of a checkpoint, glibc also raises the size from which on it
    returns memory to the system. Setting that size here keeps it fixed.
    """
    with suppress(OSError, AttributeError):
        glibc = ctypes.CDLL(None)
        glibc.mallopt(_M_ARENA_MAX, _MALLOC_ARENAS)
        glibc.mallopt(_M_MMAP_THRESHOLD, _LARGE_ALLOCATION)


def exit_soon() -> None:
    """End the process after THREAD_GRACE_SECONDS at the latest.

    Without this the interpreter would wait for a thread that still waits for the database.
    """
    timer = threading.Timer(THREAD_GRACE_SECONDS, os._exit, (0,))
    timer.daemon = True
    timer.start()


class _Server(uvicorn.Server):
    """uvicorn's server, which reports when it is up, and stops if a signal had come before."""

    def __init__(
        self, config: uvicorn.Config, report_ready: ReportReady, is_stopped: IsStopped
    ) -> None:
        super().__init__(config)
        self._report_ready = report_ready
        self._is_stopped = is_stopped

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the server, then stop it if a signal had come, or else report that it is up."""
        await super().startup(sockets=sockets)
        if self._is_stopped():
            self.should_exit = True
        if self.started and not self.should_exit:
            self._report_ready()


def server_config(settings: Settings, app: FastAPI) -> uvicorn.Config:
    """Make the configuration with which uvicorn runs the application."""
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
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )


@contextmanager
def _open_listener(settings: Settings) -> Iterator[socket.socket]:
    """Yield a socket at the service's address.

    With several workers the socket only holds the port, also one that the system chose: each worker
    binds a socket of its own.

    Raises:
        ConfigError: The address cannot be listened on.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        listener = _bind(family, (settings.host, settings.port))
    except (OSError, UnicodeError) as error:
        reason = "no such address"
        if isinstance(error, OSError) and error.strerror:
            reason = error.strerror
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
        name: Host and port, as `socket.bind` takes them for the family.
        is_shared: Whether several sockets may be bound to the address: one of each worker. If
            workers shared one socket, one that happens to be awake would take every waiting
            connection.
    """
    # The protocol TCP is named, since asyncio sets TCP_NODELAY only on sockets that name it.
    # Without TCP_NODELAY the body of each answer would wait for 40 ms (Nagle's algorithm).
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
def _record_stop_signals() -> Iterator[IsStopped]:
    """Record SIGTERM and SIGINT in the block, which would otherwise end the process.

    With one worker, uvicorn handles the signals that come while its server runs, and raises them
    again when the server has stopped: they are recorded then. With several workers, all signals to
    this process are recorded at once.

    Yields:
        Function that says whether such a signal came.
    """
    received_signals: list[int] = []

    def record(number: int, _: object) -> None:
        received_signals.append(number)

    earlier_handlers = {}
    for number in (signal.SIGTERM, signal.SIGINT):
        earlier_handlers[number] = signal.signal(number, record)
    try:
        yield lambda: bool(received_signals)
    finally:
        for number, handler in earlier_handlers.items():
            signal.signal(number, handler)
