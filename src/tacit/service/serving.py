"""Serving on an address: the only file that knows the server, which is uvicorn."""

from __future__ import annotations

import os
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.supervisors import Multiprocess

from tacit.errors import ConfigError
from tacit.service.app import create_app
from tacit.service.deployment import Service
from tacit.service.http_protocol import Wire
from tacit.service.monitoring import Logger, adopt
from tacit.service.settings import PREFIX, Settings

STOPS_WITHIN = 6
"""Seconds that requests in hand get when the service has to stop."""
LEAVES_WITHIN = 1.5
"""Seconds more for whatever a thread still does, such as wait for a store that does not answer."""
_METRICS = "PROMETHEUS_MULTIPROC_DIR"
_UP = ".up"


def serve(settings: Settings, ready: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT. ready: called once with the address that is listened on.

    ConfigError where the address cannot be taken, or what is served cannot be read.
    """
    with _listening(settings) as bound, _stopping_quietly():
        address = _address(bound)
        if settings.workers == 1:
            _serve_here(settings, bound, lambda: ready(address))
        else:
            _serve_by_many(settings, bound, lambda: ready(address))
    _leave_soon()


def from_environment() -> FastAPI:
    """The application of one worker: its settings stand in the environment."""
    folder = Path(os.environ[PREFIX + "FOLDER"])
    log = Logger()
    adopt(log)
    return create_app(
        Service.open(Settings.gather(folder, {}, os.environ)), log=log, ready=_note_up
    )


def _note_up() -> None:
    """Tells the process above that this worker is about to listen."""
    (Path(os.environ[_METRICS]) / f"{os.getpid()}{_UP}").touch()


class _Server(uvicorn.Server):
    """Tells when it is up."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started:
            self._ready()


class _Workers(Multiprocess):
    """Ends even if a worker does not, and notices at once when one is gone."""

    def keep_subprocess_alive(self) -> None:
        """With our copy of its end of the pipe closed, a dead worker's pipe has an end."""
        for worker in self.processes:
            worker.child_conn.close()
        super().keep_subprocess_alive()

    def join_all(self) -> None:
        end = time.monotonic() + STOPS_WITHIN + LEAVES_WITHIN
        for worker in self.processes:
            worker.process.join(max(0.0, end - time.monotonic()))
            worker.process.kill()
        super().join_all()


def _leave_soon() -> None:
    """The interpreter waits for its threads; one that hangs on the store must not keep it."""
    watch = threading.Timer(LEAVES_WITHIN, os._exit, (0,))
    watch.daemon = True
    watch.start()


def _serve_here(settings: Settings, bound: socket.socket, ready: Callable[[], None]) -> None:
    log = Logger()
    adopt(log)
    app = create_app(Service.open(settings), log=log)
    _Server(_config(settings, app), ready).run(sockets=[bound])


def _serve_by_many(settings: Settings, bound: socket.socket, ready: Callable[[], None]) -> None:
    Service.open(settings).close()  # an error is reported once, and no worker makes the ledger
    os.environ.update(settings.environment())
    with tempfile.TemporaryDirectory(prefix="tacit-metrics-") as folder:
        os.environ[_METRICS] = folder
        workers = _Workers(
            _config(settings, "tacit.service.serving:from_environment", factory=True), [bound]
        )
        up = threading.Thread(
            target=_when_up, args=(Path(folder), settings.workers, bound, ready), daemon=True
        )
        up.start()
        workers.run()


def _when_up(folder: Path, workers: int, bound: socket.socket, ready: Callable[[], None]) -> None:
    """Says when every worker listens: earlier connections stay with the first one."""
    while folder.is_dir() and len(list(folder.glob(f"*{_UP}"))) < workers:
        time.sleep(0.05)
    while folder.is_dir():
        with suppress(OSError), socket.create_connection(bound.getsockname()[:2], 1):
            ready()
            return
        time.sleep(0.05)


def _config(settings: Settings, app: FastAPI | str, *, factory: bool = False) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        factory=factory,
        workers=settings.workers,
        http=Wire,
        ws="none",
        loop="uvloop",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=settings.behind_tls,
        forwarded_allow_ips="127.0.0.1,::1",
        timeout_keep_alive=30,
        timeout_graceful_shutdown=STOPS_WITHIN,
        timeout_worker_healthcheck=60,  # a busy machine takes long to begin a worker
    )


@contextmanager
def _listening(settings: Settings) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # Named TCP, or asyncio would not know it for TCP and let each answer's body wait 40 ms (Nagle).
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((settings.host, settings.port))
    except (OSError, UnicodeError) as error:
        bound.close()
        raise ConfigError(
            f"{settings.host} port {settings.port} cannot be listened on "
            f"({getattr(error, 'strerror', None) or 'no such address'}). Take another one with "
            "--port; --port 0 takes any that is free."
        ) from None
    if settings.workers > 1:
        name = bound.getsockname()
        bound.close()
        bound = _port(family, name)
    try:
        yield bound
    finally:
        bound.close()


class _Port(socket.socket):
    """A port of many workers. Sent to one of them it becomes a socket of its own there: from one
    socket of all, a worker that happens to be awake would take every connection that waits."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _port, (self.family, self.getsockname())


def _port(family: socket.AddressFamily, name: Any) -> _Port:
    bound = _Port(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    bound.bind(name)
    return bound


def _address(bound: socket.socket) -> str:
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@contextmanager
def _stopping_quietly() -> Iterator[None]:
    """Being told to stop is not an error: the server stops, and then nothing else happens."""
    asked = (signal.SIGTERM, signal.SIGINT)
    before = {number: signal.signal(number, lambda *_: None) for number in asked}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
