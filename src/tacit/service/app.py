"""The application: one list of resources behind one door."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from importlib import import_module
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI

from tacit.design import nouns
from tacit.service import problems
from tacit.service.access import Operation, names_of
from tacit.service.deployment import Service
from tacit.service.middleware import Middleware
from tacit.service.monitoring import Logger, Metrics
from tacit.service.problems import ProblemBody

RESOURCES = (
    *("health", "problems", "models", "recommendations", "feedback", "guarantees"),
    *("privacy", "curves", "users", "people", "page"),
)
"""Files of tacit.service.resources; each has a `router`. Those of designs are in the registry."""


READ = (
    "JSON has one meaning here, and what has none is refused with 400: NaN and infinity, a key "
    "that is given twice, whole numbers beyond 64 bits, more than 32 levels, and texts beyond "
    "4,096 characters, outside of Unicode's composed form (NFC), or with control, format, "
    "private-use or unassigned characters. A field or a query parameter that is not in this "
    "document is refused with 422. HEAD is answered wherever GET is."
)
"""For all operations, in the OpenAPI document."""


def create_app(
    service: Service, *, log: Logger | None = None, ready: Callable[[], None] = lambda: None
) -> FastAPI:
    """The ASGI application of a service that was opened. It is closed with it.

    ready: called when it begins to be served.
    """
    logger = Logger() if log is None else log
    metrics = Metrics()
    threads = ThreadPoolExecutor(service.settings.threads, "operation")

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        logger.event("started", serves=len(service.deployment.served))
        gc.collect()
        gc.freeze()  # what is served stays: looking through it again would hold up everybody
        ready()
        yield
        threads.shutdown(wait=False, cancel_futures=True)
        service.close()
        logger.event("stopped")

    app = FastAPI(
        title="tacit",
        summary="Private recommendation.",
        description=READ,
        version=version("tacit-rec"),
        openapi_url="/api/openapi.json",
        docs_url=None,  # its page fetches scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,  # an address has one spelling
        lifespan=lifespan,
    )
    app.router.route_class = Operation
    app.state.service = service
    app.state.threads = threads
    app.state.metrics = metrics
    for router in _routers():
        app.router.routes.extend(router.routes)  # included, each request would look in each router
    _describe(app)
    problems.install(app, logger, names_of(app.openapi()))
    app.add_middleware(
        Middleware, settings=service.settings, keys=service.keys, metrics=metrics, log=logger
    )
    return app


def _routers() -> Iterator[Any]:
    """The page's comes last: what is at no other address may be one of its files."""
    *first, last = [import_module(f"tacit.service.resources.{name}").router for name in RESOURCES]
    yield from first
    for owner, one in nouns().values():
        yield owner.load(one.router)
    yield last


def _describe(app: FastAPI) -> None:
    """The OpenAPI document, with keys and problems."""
    made = app.openapi

    def openapi() -> dict[str, Any]:
        document = made()
        parts = document.setdefault("components", {})
        parts.setdefault("schemas", {})["ProblemBody"] = ProblemBody.model_json_schema()
        parts["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        return document

    app.openapi = openapi  # type: ignore[method-assign]
