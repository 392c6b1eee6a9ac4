"""The web page: its files, which `tools/build_page.py` builds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import fastapi
from fastapi import APIRouter, Response

from tacit.service.access import NOT_FOUND, CurrentService, allow
from tacit.service.keys import Role
from tacit.service.operations import Operation
from tacit.service.problems import Problem
from tacit.service.security_headers import HEADERS
from tacit.service.served_models import ServedModel

router = APIRouter(route_class=Operation, include_in_schema=False)

FOLDER = Path(__file__).parent.parent / "page"
"""Folder of the built page: index.html, and its assets in a folder of their own."""
NOT_BUILT = (
    "This service has no page: it was installed without one. In a checkout, `make page` builds it "
    "(it needs Node 20). Everything else is served; /api/openapi.json says what.\n"
)
"""Answer in place of a page that was not built."""
_MEDIA_TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
"""Media types of assets by the endings of their names."""
_CACHED_FOR_EVER = {"cache-control": "public, max-age=31536000, immutable"}
"""Headers of an asset. Its name holds a digest of its content, so the content never changes."""
_REVALIDATED = {"cache-control": "no-cache"}
"""Headers of the page itself: a browser asks each time whether it changed."""
AssetName = Annotated[
    str, fastapi.Path(pattern=rf"^[A-Za-z0-9_-]{{1,80}}\.({'|'.join(_MEDIA_TYPES)})$")
]
"""Name of an asset. It has no slash and only one dot, so it cannot lead out of the folder."""


@router.get("/", **allow(Role.ANONYMOUS))
def page(service: CurrentService) -> Response:
    """Send the page, which may show pictures from the hosts that the catalogues name."""
    content = _read_file(FOLDER / "index.html")
    if content is None:
        return Response(NOT_BUILT, media_type="text/plain; charset=utf-8", headers=_REVALIDATED)
    hosts: set[str] = set()
    for model in service.deployment.find_all(ServedModel).values():
        hosts |= model.image_origins
    own_images = "img-src 'self' data:"
    all_images = " ".join([own_images, *sorted(hosts)])
    policy = HEADERS["content-security-policy"].replace(own_images, all_images)
    headers = {**_REVALIDATED, "content-security-policy": policy}
    return Response(content, media_type="text/html; charset=utf-8", headers=headers)


@router.get("/assets/{name}", **allow(Role.ANONYMOUS))
def asset(name: AssetName) -> Response:
    """Send one asset of the page."""
    content = _read_file(FOLDER / "assets" / name)
    if content is None:
        raise Problem(404, NOT_FOUND)
    media_type = _MEDIA_TYPES[name.rpartition(".")[2]]
    return Response(content, media_type=media_type, headers=_CACHED_FOR_EVER)


def _read_file(file: Path) -> bytes | None:
    """Return the content of a file; None if it does not exist."""
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return None
