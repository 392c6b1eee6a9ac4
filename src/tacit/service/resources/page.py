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
NOT_BUILT = (
    "This service has no page: it was installed without one. In a checkout, `make page` builds it "
    "(it needs Node 20). Everything else is served; /api/openapi.json says what.\n"
)
_MEDIA_TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_CACHED_FOR_EVER = {"cache-control": "public, max-age=31536000, immutable"}
"""Headers of an asset, whose name holds a digest of its content."""
_REVALIDATED = {"cache-control": "no-cache"}
"""Headers of the page itself."""
AssetName = Annotated[
    str, fastapi.Path(pattern=rf"^[A-Za-z0-9_-]{{1,80}}\.({'|'.join(_MEDIA_TYPES)})$")
]
"""No slash and no second dot: a name leads nowhere else."""


@router.get("/", **allow(Role.ANONYMOUS))
def page(service: CurrentService) -> Response:
    """The page itself, which names its assets. It may show pictures of the catalogues' hosts."""
    content = _read_file(FOLDER / "index.html")
    if content is None:
        return Response(NOT_BUILT, media_type="text/plain; charset=utf-8", headers=_REVALIDATED)
    hosts: set[str] = set()
    for model in service.deployment.find_all(ServedModel).values():
        hosts |= model.image_hosts
    policy = HEADERS["content-security-policy"]
    images = " ".join(["img-src 'self' data:", *sorted(hosts)])
    headers = {
        **_REVALIDATED,
        "content-security-policy": policy.replace("img-src 'self' data:", images),
    }
    return Response(content, media_type="text/html; charset=utf-8", headers=headers)


@router.get("/assets/{name}", **allow(Role.ANONYMOUS))
def asset(name: AssetName) -> Response:
    """One asset of the page."""
    content = _read_file(FOLDER / "assets" / name)
    if content is None:
        raise Problem(404, NOT_FOUND)
    media_type = _MEDIA_TYPES[name.rpartition(".")[2]]
    return Response(content, media_type=media_type, headers=_CACHED_FOR_EVER)


def _read_file(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except OSError:
        return None
