"""The ASGI application of a service, with all its resources."""

from __future__ import annotations

import gc
import os
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import cache
from importlib.metadata import version
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.routing import BaseRoute
from starlette.types import Receive, Scope, Send

from tacit.ledger.inspection import serve_copies
from tacit.service.event_log import EventLog
from tacit.service.kinds import installed_routers
from tacit.service.metrics import Metrics
from tacit.service.middleware import Middleware
from tacit.service.model_watch import watch_models
from tacit.service.operations import Operation
from tacit.service.problems import ProblemBody, documented_names
from tacit.service.resources import (
    budgets,
    feedback,
    guarantees,
    health,
    log_overview,
    models,
    page,
    people,
    recommendations,
    splits,
    users,
)
from tacit.service.service import Service
from tacit.service.split_releases import release_by_clock

READING_RULES = (
    "JSON that parsers may read differently is refused with 400: NaN and infinity, a key that an "
    "object has twice, whole numbers beyond 64 bits, more than 32 levels, and texts that have more "
    "than 4,096 characters, are not in Unicode's composed form (NFC), or hold control, format, "
    "private-use or unassigned characters. A field or a query parameter that is not in this "
    "document is refused with 422. HEAD is answered wherever GET is."
)
"""Rules by which every operation reads its request. The OpenAPI document has them as its
description."""
GARBAGE_THRESHOLDS = (10_000, 20, 20)
"""Arguments of `gc.set_threshold`: allocations before a collection of the youngest objects, and
collections of one generation before one of the next. A request leaves few cycles of references, so
Python's default, a collection after some hundred allocations, is too often."""


class Application(FastAPI):
    """The ASGI application of a service.

    FastAPI handles start and stop. It does not handle requests: these are passed to
    `middleware_app`.
    """

    middleware_app: Middleware
    """Answers the requests."""
    document: dict[str, Any]
    """The OpenAPI document."""

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI document."""
        return self.document

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle what the server passes on: a request, or the start and stop of the service."""
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
            return
        scope["app"] = self
        await self.middleware_app(scope, receive, send)


def create_app(service: Service, *, log: EventLog | None = None) -> Application:
    """Create the ASGI application of an opened service, which it closes when it stops.

    Args:
        service: The opened service.
        log: Log of events; None: one that writes to standard error.
    """
    log = EventLog() if log is None else log
    metrics = Metrics()
    settings = service.settings
    threads = ThreadPoolExecutor(settings.threads, "operation")

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        """Run background work while the service answers requests, and close the service."""
        log.write("started", serves=len(service.deployment.served), process=os.getpid())
        gc.collect()
        gc.freeze()  # served models stay: scanning them again would delay every request
        gc.set_threshold(*GARBAGE_THRESHOLDS)

        def log_copy_fault(error: BaseException) -> None:
            log.write_fault("copy", error)

        def log_model_fault(error: BaseException) -> None:
            log.write_fault("model", error)

        def log_model(address: str) -> None:
            log.write("model", address=address)

        def log_release_fault(error: BaseException) -> None:
            log.write_fault("split", error)

        try:
            with serve_copies(service.ledger, settings.ledger_file, log_copy_fault):
                async with (
                    watch_models(service.deployment, log_model_fault, log_model),
                    release_by_clock(service, log_release_fault),
                ):
                    yield
        finally:  # also after an error of what ran beside the requests
            threads.shutdown(wait=False, cancel_futures=True)
            service.close()
        log.write("stopped")

    app = Application(
        openapi_url=None,  # FastAPI's documentation pages load scripts from other hosts
        lifespan=lifespan,
    )
    app.router.route_class = Operation
    app.state.service = service
    app.state.threads = threads
    app.state.metrics = metrics
    app.router.routes.extend(_list_routes())
    operations = [route for route in app.routes if isinstance(route, Operation)]
    app.document = _make_document()
    names_in_document = documented_names(app.document)
    app.middleware_app = Middleware(operations, service, metrics, log, names_in_document)
    return app


@cache
def _make_document() -> dict[str, Any]:
    """Make the OpenAPI document: FastAPI's, with the form of problems and of keys added.

    All services of a process have the same one. It is made once, since that takes longer than all
    else that a new application needs.
    """
    document = get_openapi(
        title="tacit",
        summary="Private recommendation.",
        description=READING_RULES,
        version=version("tacit-rec"),
        routes=_list_routes(),
    )
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    schemas["ProblemBody"] = ProblemBody.model_json_schema()
    components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    return document


@cache
def _list_routes() -> tuple[BaseRoute, ...]:
    """List the routes of all routers, once in a process."""
    routes: list[BaseRoute] = []
    for router in _list_routers():
        routes += router.routes
    return tuple(routes)


def _list_routers() -> Iterator[APIRouter]:
    """Yield the routers of all resources and of the installed designs.

    If several operations fit a request, the one whose router comes first answers it.
    """
    yield health.router
    yield models.router
    yield recommendations.router
    yield splits.router
    yield feedback.router
    yield guarantees.router
    yield budgets.router
    yield log_overview.router
    yield users.router
    yield people.router
    yield health.document_router
    yield from installed_routers()
    yield page.router
