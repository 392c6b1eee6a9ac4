"""The page for people: files that were built from client/page, and nothing beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import fastapi
from fastapi import APIRouter, Response

from tacit.service.access import Operation, allow
from tacit.service.keys import Role
from tacit.service.problems import Problem

router = APIRouter(route_class=Operation, include_in_schema=False)

FOLDER = Path(__file__).parent.parent / "page"
KINDS = {
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
Asset = Annotated[str, fastapi.Path(pattern=rf"^[A-Za-z0-9_-]{{1,80}}\.({'|'.join(KINDS)})$")]
"""No slash and no second dot: a name leads nowhere else."""


@router.get("/", **allow(Role.ANONYMOUS))
def page() -> Response:
    """The page itself, which names its assets."""
    content = _content(FOLDER / "index.html")
    if content is None:
        return Response(NOT_BUILT, media_type="text/plain; charset=utf-8", headers=ASK_AGAIN)
    return Response(content, media_type="text/html; charset=utf-8", headers=ASK_AGAIN)


@router.get("/assets/{name}", **allow(Role.ANONYMOUS))
def asset(name: Asset) -> Response:
    """One asset of the page."""
    content = _content(FOLDER / "assets" / name)
    if content is None:
        raise Problem(404, "There is nothing at this address.")
    return Response(content, media_type=KINDS[name.rpartition(".")[2]], headers=FOR_EVER)


def _content(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except OSError:
        return None
