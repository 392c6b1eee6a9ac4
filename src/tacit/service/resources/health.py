"""State of the process and the service, counts, kinds of problems, and the OpenAPI document."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse

from tacit.errors import TacitError
from tacit.service.access import CurrentService, allow
from tacit.service.keys import Role
from tacit.service.metrics import CONTENT_TYPE, Metrics
from tacit.service.operations import Operation, run_on_loop
from tacit.service.problems import ADDRESS, KINDS, KindBody, Problem
from tacit.service.schemas import AnswerModel
from tacit.service.served_models import ServedModel

router = APIRouter(route_class=Operation, tags=["health"])


@router.get("/healthz", **allow(Role.ANONYMOUS))
@run_on_loop
def healthz() -> dict[str, str]:
    """Say that the process runs."""
    return {"status": "lives"}


class ModelFile(AnswerModel):
    """The file of a served model."""

    name: str
    digest: str
    """SHA-256 of the file that is served now."""
    previous_digest: str | None
    """SHA-256 of the file that it replaced while this worker ran; null if it replaced none."""


class ReadyState(AnswerModel):
    """State of a service that can answer requests."""

    status: str
    models: list[ModelFile]


@router.get("/readyz", **allow(Role.ANONYMOUS))
def readyz(service: CurrentService) -> ReadyState:
    """Check that the ledger answers, and list the model files that are served."""
    try:
        service.ledger.epoch  # noqa: B018  # a query, whose answer is not needed
    except TacitError:
        raise Problem(503, "The record of budgets cannot be reached.", retry_after=1) from None
    models = []
    for name, served in service.deployment.find_all(ServedModel).items():
        previous_digest = None if served.previous is None else served.previous.digest
        models.append(ModelFile(name=name, digest=served.digest, previous_digest=previous_digest))
    return ReadyState(status="ready", models=models)


@router.get("/metrics", response_class=PlainTextResponse, **allow(Role.OPERATOR, Role.AUDITOR))
def metrics(request: Request) -> Response:
    """Show counts of requests and lists, in Prometheus's text format."""
    counts: Metrics = request.app.state.metrics
    return Response(counts.text(), media_type=CONTENT_TYPE)


class Kinds(AnswerModel):
    """All kinds of problems."""

    problems: list[KindBody]


@router.get(ADDRESS, **allow(Role.ANONYMOUS))
@run_on_loop
def problems() -> Kinds:
    """List every kind of problem that an answer may name, and what to do about it."""
    return Kinds(problems=list(KINDS))


document_router = APIRouter(route_class=Operation, include_in_schema=False)


@document_router.get("/api/openapi.json", **allow(Role.ANONYMOUS))
@run_on_loop
def document(request: Request) -> Response:
    """Show the description of all operations, in OpenAPI 3.1."""
    return JSONResponse(request.app.openapi())
