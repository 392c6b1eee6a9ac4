"""Whether the service lives, whether it can answer, and what it counted."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse

from tacit.errors import TacitError
from tacit.service.access import Here, Operation, allow
from tacit.service.keys import Role
from tacit.service.monitoring import CONTENT_TYPE
from tacit.service.problems import Problem

router = APIRouter(route_class=Operation, tags=["health"])


@router.get("/healthz", **allow(Role.ANONYMOUS))
async def healthz() -> dict[str, str]:
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
