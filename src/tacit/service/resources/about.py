"""What the service says of itself, and the files of its page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import fastapi
from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse
from pydantic import BaseModel

from tacit.errors import TacitError
from tacit.service.access import Here, Operation, allow, at_once
from tacit.service.keys import Role
from tacit.service.monitoring import CONTENT_TYPE
from tacit.service.problems import ADDRESS, KINDS, Problem

router = APIRouter(route_class=Operation, tags=["health"])


@router.get("/healthz", **allow(Role.ANONYMOUS))
@at_once
def healthz() -> dict[str, str]:
    """The process lives."""
    return {"status": "lives"}


@router.get("/readyz", **allow(Role.ANONYMOUS))
def readyz(service: Here) -> dict[str, str]:
    """The ledger answers, so requests can be answered."""
    try:
        service.ledger.epoch  # noqa: B018  # asked for its own sake
    except TacitError:
        raise Problem(503, "The record of budgets cannot be reached.", retry_after=1) from None
    return {"status": "ready"}


@router.get("/metrics", response_class=PlainTextResponse, **allow(Role.OPERATOR, Role.AUDITOR))
def metrics(request: Request) -> Response:
    """Counts by operation, in Prometheus's text format."""
    text: Any = request.app.state.metrics.text()
    return Response(text, media_type=CONTENT_TYPE)


class KindBody(BaseModel):
    """One kind of problem."""

    type: str
    status: int
    title: str
    do: str


class Kinds(BaseModel):
    """All of them."""

    problems: list[KindBody]


@router.get(ADDRESS, **allow(Role.ANONYMOUS))
@at_once
def problems() -> Kinds:
    """Every kind of problem an answer may name, and what to do about it."""
    return Kinds(
        problems=[
            KindBody(type=f"{ADDRESS}#{one.name}", status=one.status, title=one.title, do=one.do)
            for one in KINDS
        ]
    )


document_router = APIRouter(route_class=Operation, include_in_schema=False)


@document_router.get("/api/openapi.json", **allow(Role.ANONYMOUS))
@at_once
def document(request: Request) -> Response:
    """The description of all operations, in OpenAPI 3.1."""
    return JSONResponse(request.app.openapi())


page_router = APIRouter(route_class=Operation, include_in_schema=False)

FOLDER = Path(__file__).parent.parent / "page"
_FILES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
FOR_EVER = {"cache-control": "public, max-age=31536000, immutable"}
"""An asset's name holds a digest of its content."""
ASK_AGAIN = {"cache-control": "no-cache"}
NOT_BUILT = (
    "This service has no page: it was installed without one. In a checkout, `make page` builds it "
    "(it needs Node 20). Everything else is served; /api/openapi.json says what.\n"
)
Asset = Annotated[str, fastapi.Path(pattern=rf"^[A-Za-z0-9_-]{{1,80}}\.({'|'.join(_FILES)})$")]
"""No slash and no second dot: a name leads nowhere else."""


@page_router.get("/", **allow(Role.ANONYMOUS))
def page() -> Response:
    """The page itself, which names its assets."""
    content = _content(FOLDER / "index.html")
    if content is None:
        return Response(NOT_BUILT, media_type="text/plain; charset=utf-8", headers=ASK_AGAIN)
    return Response(content, media_type="text/html; charset=utf-8", headers=ASK_AGAIN)


@page_router.get("/assets/{name}", **allow(Role.ANONYMOUS))
def asset(name: Asset) -> Response:
    """One asset of the page."""
    content = _content(FOLDER / "assets" / name)
    if content is None:
        raise Problem(404, "There is nothing at this address.")
    return Response(content, media_type=_FILES[name.rpartition(".")[2]], headers=FOR_EVER)


def _content(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except OSError:
        return None
