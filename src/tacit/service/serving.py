"""The application with its list of resources, and its processes under uvicorn."""

from __future__ import annotations

import ctypes
import gc
import os
import shutil
import signal
import socket
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from importlib.metadata import version
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Semaphore
from typing import Any

import uvicorn
from fastapi import APIRouter, FastAPI
from starlette.types import Receive, Scope, Send

from tacit.design import served_sections
from tacit.errors import ConfigError, TacitError
from tacit.ledger.inspection import copies_of
from tacit.service.access import Operation
from tacit.service.deployment import Service
from tacit.service.http_protocol import Wire
from tacit.service.middleware import Middleware
from tacit.service.monitoring import METRICS, Logger, Metrics, adopt
from tacit.service.problems import ProblemBody, names_of
from tacit.service.resources import about, models, people, privacy
from tacit.service.settings import FILE, PINNED, Settings

STOPS_WITHIN = 2  # seconds that requests in hand get when the service has to stop
LEAVES_WITHIN = 0.4
"""Seconds more for whatever a thread still does, such as wait for a store that does not answer."""
_RESTS = 1.0  # seconds before a worker that ended is replaced
_ARENAS, _LARGE = -8, -3
"""M_ARENA_MAX and M_MMAP_THRESHOLD of malloc.h."""
READ = (
    "JSON has one meaning here, and what has none is refused with 400: NaN and infinity, a key "
    "that is given twice, whole numbers beyond 64 bits, more than 32 levels, and texts beyond "
    "4,096 characters, outside of Unicode's composed form (NFC), or with control, format, "
    "private-use or unassigned characters. A field or a query parameter that is not in this "
    "document is refused with 422. HEAD is answered wherever GET is."
)
"""For all operations, in the OpenAPI document."""
Ready = Callable[[], object]
Stopped = Callable[[], bool]


def create_app(service: Service, *, log: Logger | None = None) -> Application:
    """The ASGI application of a service that was opened. It is closed with it."""
    logger = Logger() if log is None else log
    metrics = Metrics()
    settings = service.settings
    threads = ThreadPoolExecutor(settings.threads, "operation")

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        logger.event("started", serves=len(service.deployment.served), process=os.getpid())
        gc.collect()
        gc.freeze()  # what is served stays: looking through it again would hold up everybody
        gc.set_threshold(10_000, 20, 20)  # a request leaves few cycles: 700 allocations is often
        with copies_of(service.ledger, settings.store, lambda error: logger.fault("copy", error)):
            yield
        threads.shutdown(wait=False, cancel_futures=True)
        service.close()
        logger.event("stopped")

    app = Application(
        title="tacit",
        summary="Private recommendation.",
        description=READ,
        version=version("tacit-rec"),
        openapi_url=None,  # its pages fetch scripts from elsewhere
        lifespan=lifespan,
    )
    app.router.route_class = Operation
    app.state.service = service
    app.state.threads = threads
    app.state.metrics = metrics
    for router in _routers():
        app.router.routes.extend(router.routes)
    operations = [one for one in app.routes if isinstance(one, Operation)]
    app.answers = Middleware(operations, service, metrics, logger, names_of(app.openapi()))
    return app


class Application(FastAPI):
    """FastAPI describes the operations and begins and ends with the process; requests go by it."""

    answers: Middleware

    def openapi(self) -> dict[str, Any]:
        """The OpenAPI document, with keys and problems."""
        document = super().openapi()
        parts = document.setdefault("components", {})
        parts.setdefault("schemas", {})["ProblemBody"] = ProblemBody.model_json_schema()
        parts["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        return document

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
            return
        scope["app"] = self
        await self.answers(scope, receive, send)


def _routers() -> Iterator[APIRouter]:
    """The page's comes last: what is at no other address may be one of its files."""
    yield from (about.router, models.router, models.lists_router, people.feedback_router)
    yield from (privacy.promises_router, privacy.router)
    yield about.operations_router
    yield from (people.users_router, people.router, about.document_router)
    for owner, one in served_sections().values():
        yield owner.load(one.router)
    yield about.page_router


def serve(settings: Settings, ready: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT. ready: called once with the address that is listened on.
    ConfigError where the address cannot be taken, or what is served cannot be read."""
    _spare_memory()
    with _listening(settings) as bound, _stopping_quietly() as stopped:
        host, port = bound.getsockname()[:2]
        address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        run = _work if settings.workers == 1 else _run_workers
        run(settings, bound, lambda: ready(address), stopped)
    leave()


def _work(settings: Settings, bound: socket.socket, ready: Ready, stopped: Stopped) -> None:
    log = Logger()
    adopt(log)
    app = create_app(Service.open(settings), log=log)
    _Server(config_of(settings, app), ready, stopped).run(sockets=[bound])


def _run_workers(settings: Settings, bound: socket.socket, ready: Ready, stopped: Stopped) -> None:
    """In several, each with a socket of its own at the port; who ends is replaced."""
    Service.open(settings).close()  # an error is reported once, and no worker makes the ledger
    context = get_context("spawn")
    up = context.Semaphore(0)

    def begun() -> BaseProcess:
        place = (bound.family, bound.getsockname())
        made = context.Process(target=_worker, args=(settings, place, up))
        made.start()
        return made

    with tempfile.TemporaryDirectory(prefix="tacit-metrics-") as folder:
        os.environ[METRICS] = folder
        shutil.copy(settings.folder / FILE, folder)
        workers = [begun() for _ in range(0 if stopped() else settings.workers)]
        starting = settings.workers
        try:
            while not stopped():
                if starting and up.acquire(timeout=0):
                    starting -= 1
                    if not starting:
                        ready()
                gone = wait([one.sentinel for one in workers], timeout=0.1)
                if gone and starting:
                    raise ConfigError("A worker of the service does not start: its log says why.")
                if gone:
                    time.sleep(_RESTS)
                    workers = [begun() if one.sentinel in gone else one for one in workers]
        finally:
            end = time.monotonic() + STOPS_WITHIN + LEAVES_WITHIN
            for one in workers:
                one.terminate()
            for one in workers:
                one.join(max(0.0, end - time.monotonic()))
                one.kill()
                one.join()


def _worker(settings: Settings, place: tuple[socket.AddressFamily, Any], up: Semaphore) -> None:
    """It ends with the process above: it would hold the port of the next service."""
    _spare_memory()

    def watch() -> None:
        if (above := parent_process()) is not None:
            above.join()
            os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()
    os.environ[PINNED] = os.environ[METRICS]
    try:
        _work(settings, _port(*place, shared=True), up.release, lambda: False)
    except TacitError as error:
        Logger().fault("worker", error)
        os._exit(1)
    leave()


def _spare_memory() -> None:
    """glibc gives threads eight arenas for each core, and what one freed the others do not use: as
    many threads as a service has fill all of them in the end. And it learns to keep ever larger
    pieces, such as a checkpoint's, among the small ones. Call it before there are threads."""
    with suppress(OSError, AttributeError):
        glibc = ctypes.CDLL(None)
        glibc.mallopt(_ARENAS, 2)
        glibc.mallopt(_LARGE, 2**18)


def leave() -> None:
    """The interpreter waits for its threads; one that hangs on the store must not keep it."""
    watch = threading.Timer(LEAVES_WITHIN, os._exit, (0,))
    watch.daemon = True
    watch.start()


class _Server(uvicorn.Server):
    """Tells when it is up, and ends at once where it was stopped before."""

    def __init__(self, config: uvicorn.Config, ready: Ready, stopped: Stopped) -> None:
        super().__init__(config)
        self._ready, self._stopped = ready, stopped

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self.should_exit |= self._stopped()
        if self.started and not self.should_exit:
            self._ready()


def config_of(settings: Settings, app: FastAPI) -> uvicorn.Config:
    return uvicorn.Config(
        app,
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
    )


@contextmanager
def _listening(settings: Settings) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        bound = _port(family, (settings.host, settings.port))
    except (OSError, UnicodeError) as error:
        raise ConfigError(
            f"{settings.host} port {settings.port} cannot be listened on "
            f"({getattr(error, 'strerror', None) or 'no such address'}). Take another one with "
            "--port; --port 0 takes any that is free."
        ) from None
    if settings.workers > 1:
        name = bound.getsockname()
        bound.close()
        bound = _port(family, name, shared=True)
    with bound:
        yield bound


def _port(family: socket.AddressFamily, name: Any, *, shared: bool = False) -> socket.socket:
    """shared: one of many at a port, for each worker. From one socket of all, a worker that happens
    to be awake would take every connection that waits."""
    # Named TCP, or asyncio would not know it for TCP and let each answer's body wait 40 ms (Nagle).
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if shared:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        bound.bind(name)
    except BaseException:
        bound.close()
        raise
    return bound


@contextmanager
def _stopping_quietly() -> Iterator[Callable[[], bool]]:
    """A request to stop is not an error: the server stops, and then nothing else happens. One that
    comes before there is a server is noted; gives whether there was one."""
    asked: tuple[int, ...] = (signal.SIGTERM, signal.SIGINT)
    came: list[int] = []
    before = {number: signal.signal(number, lambda got, _: came.append(got)) for number in asked}
    try:
        yield lambda: bool(came)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
