"""What the service says of itself, the files of its page, and what its operator's page shows.

What was charged on which day follows from the log, which operators and auditors have anyway
(`tacit ledger export`). Charges do not depend on data, no count here is of data, and nothing is
drawn: showing it is no release about anyone.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Annotated, Any
from weakref import WeakKeyDictionary

import fastapi
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse
from pydantic import BaseModel

from tacit.errors import TacitError
from tacit.ledger import Ledger, Unit
from tacit.ledger.addresses import shares_device
from tacit.service.access import Here, Operation, allow, at_once
from tacit.service.keys import Role
from tacit.service.monitoring import CONTENT_TYPE
from tacit.service.problems import ADDRESS, KINDS, KindBody, Problem
from tacit.service.resources.privacy import COUNTED_IN, decimal

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


class Kinds(BaseModel):
    """All of them."""

    problems: list[KindBody]


@router.get(ADDRESS, **allow(Role.ANONYMOUS))
@at_once
def problems() -> Kinds:
    """Every kind of problem an answer may name, and what to do about it."""
    return Kinds(problems=list(KINDS))


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


operations_router = APIRouter(route_class=Operation, prefix="/api/operations", tags=["operations"])

READS_WITHIN = 0.5  # seconds of one answer that go on reading the log
AT_ONCE = 2000  # entries


class Spent(BaseModel):
    """kind: `subject` (people) or `dataset`. amount: their charges of the day together, a decimal
    in text. It is a measure of use: no one's loss is a sum over people."""

    kind: str
    counted_in: str
    charges: int
    amount: str


class Day(BaseModel):
    """day: of UTC, by the service's clock. requests: stored ones, charged or not."""

    day: str
    requests: int
    spent: list[Spent]


class Store(BaseModel):
    """place, second: `file` or `PostgreSQL`. apart: whether the second place is on another device
    or server; together, a restored backup gives budgets back."""

    place: str
    second: str
    apart: bool


class Overview(BaseModel):
    """entries: of the log; read: of them so far. Ask again while it is less: a long log is read on
    from answer to answer."""

    entries: int
    read: int
    days: list[Day]
    store: Store


class Entry(BaseModel):
    """One entry of the log, as `tacit ledger export` has it. body: null for another tenant's."""

    sequence: int
    kind: str
    body: str | None
    hash: str


class Entries(BaseModel):
    """next: what `after` is for the next page, or null at the end."""

    entries: list[Entry]
    next: int | None


@operations_router.get("", **allow(Role.OPERATOR, Role.AUDITOR))
def overview(service: Here) -> Overview:
    """What was charged on each day, and the state of the ledger's places."""
    book = _BOOKS.setdefault(service.ledger, _Book(service.deployment.tenant))
    days = book.read_on(service.ledger, READS_WITHIN)
    settings = service.settings
    store = Store(
        place=_place(settings.ledger),
        second=_place(settings.second or ""),
        apart=not shares_device(settings.ledger, settings.second),
    )
    entries = service.ledger.head.sequence
    return Overview(entries=max(entries, book.seen), read=book.seen, days=days, store=store)


@operations_router.get("/log", **allow(Role.OPERATOR, Role.AUDITOR))
def log(
    service: Here,
    after: Annotated[int, Query(ge=0, le=2**62)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 1000,
) -> Entries:
    """The log, page by page: requests, charges and hashes of answers, and no answer. Anyone checks
    it with SHA-256: see docs/ledger.md."""
    tenant = service.deployment.tenant
    entries = [Entry(**row) for row in service.ledger.entries(after, limit)]
    for entry in entries:
        if json.loads(entry.body or "{}").get("tenant", tenant) != tenant:
            entry.body = None
    return Entries(entries=entries, next=entries[-1].sequence if len(entries) == limit else None)


def _place(address: str) -> str:
    return "PostgreSQL" if "://" in address else "file"


@dataclass(eq=False)
class _Book:
    """The log, added up as far as it was read: charges by day, kind and unit."""

    tenant: str
    seen: int = 0
    lock: Lock = field(default_factory=Lock)
    opened: dict[int, tuple[str, str]] = field(default_factory=dict)
    requests: Counter[str] = field(default_factory=Counter)
    charges: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    amounts: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    def read_on(self, ledger: Ledger, within: float) -> list[Day]:
        """All days, the oldest first."""
        with self.lock:
            end = time.monotonic() + within
            while rows := ledger.entries(self.seen, AT_ONCE):
                for row in rows:
                    self._add(row["kind"], json.loads(row["body"]))
                self.seen = rows[-1]["sequence"]
                if time.monotonic() > end:
                    break
            days = {
                day: Day(day=day, requests=count, spent=[])
                for day, count in sorted(self.requests.items())
            }
            for (day, kind, unit), count in sorted(self.charges.items()):
                amount = decimal(self.amounts[day, kind, unit])
                spent = Spent(kind=kind, counted_in=unit, charges=count, amount=amount)
                days[day].spent.append(spent)
            return list(days.values())

    def _add(self, kind: str, facts: dict[str, Any]) -> None:
        if facts.get("tenant") != self.tenant:
            return
        if kind == "budget":
            self.opened[facts["number"]] = (facts["kind"], COUNTED_IN[Unit(facts["unit"])])
        if kind == "release":
            day = datetime.fromtimestamp(facts["at"], UTC).date().isoformat()
            self.requests[day] += 1
            for number, amount, _ in facts["charges"]:
                self.charges[day, *self.opened[number]] += 1
                self.amounts[day, *self.opened[number]] += amount


_BOOKS: WeakKeyDictionary[Ledger, _Book] = WeakKeyDictionary()
