"""Disclosures, their public log, and letters that devices made by them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response

from tacit.designs.standard_scheme.serve.disclosures import ServedDisclosure
from tacit.ledger import KeyReused
from tacit.service.access import (
    Asking,
    Here,
    IdempotencyKey,
    Octets,
    Operation,
    allow,
    allow_octets,
    in_thread,
)
from tacit.service.deployment import Service
from tacit.service.idempotency import OCTETS, step
from tacit.service.keys import NAME, Role
from tacit.service.problems import Problem

router = APIRouter(route_class=Operation, prefix="/api/disclosures", tags=["disclosures"])
Name = Annotated[str, Path(pattern=f"^{NAME.pattern}$")]


@router.get("", **allow(Role.ANONYMOUS))
def disclosures(service: Here) -> dict[str, list[dict[str, Any]]]:
    """What is disclosed to devices, and what that protects."""
    served = service.deployment.all(ServedDisclosure).values()
    return {"disclosures": [one.described() for one in served]}


@router.get("/{name}", **allow_octets(Role.ANONYMOUS, gives="A disclosure, in canonical JSON."))
def disclosure(service: Here, name: Name) -> Response:
    """The public tables that a device obfuscates by."""
    served = _named(service, name)
    served.today()
    return Response(served.encoded, media_type=OCTETS)


@router.get("/{name}/log", **allow(Role.ANONYMOUS))
def log(service: Here, name: Name) -> dict[str, list[dict[str, Any]]]:
    """The digest of every epoch in which the disclosure was served. It is only ever added to."""
    served = _named(service, name)
    served.today()
    return {"log": served.log.entries()}


@router.get(
    "/{name}/item-table",
    **allow_octets(Role.ANONYMOUS, gives="An item table, in canonical JSON."),
)
def item_table(service: Here, name: Name) -> Response:
    """The table by which a device ranks, where the operator publishes it."""
    table = _named(service, name).encoded_item_table
    if table is None:
        raise Problem(404, "There is nothing at this address.")
    return Response(table, media_type=OCTETS)


@router.get("/{name}/popular", **allow(Role.ANONYMOUS))
def popular(service: Here, name: Name) -> dict[str, list[int | str]]:
    """All items, those that most people like first: the list of a person who sent no letter yet."""
    return {"items": _named(service, name).popular()}


@router.get("/{name}/latest", **allow(Role.SUBJECT))
def latest(service: Here, caller: Asking, name: Name) -> dict[str, int]:
    """The epoch of your latest letter that was accepted, -1 for none. A device that knows of none
    so late is not the only one of your account."""
    served = _named(service, name)
    kept = service.ledger.state(f"{caller.tenant}/{served.state(caller.name)}")
    return {"latest": served.latest(kept)}


@router.post(
    "/{name}/letters",
    **allow_octets(
        Role.SUBJECT,
        takes="A letter: obfuscated stars and their epoch, as a device made it.",
        gives="Scores of all items, without the hidden attribute's effect.",
    ),
)
async def letters(
    service: Here,
    request: Request,
    caller: Asking,
    key: IdempotencyKey,  # noqa: ARG001  # as for every POST; what counts once is the epoch
    name: Name,
    letter: Octets,
) -> Response:
    """Scores for a letter, one of each epoch. The ledger keeps a keyed hash of it alone."""
    served = _named(service, name)
    read = served.letter(letter)
    try:  # the ledger's own rule is the calendar's: one key of one person takes one payload
        stored = await step(
            service,
            caller,
            f"POST /api/disclosures/{name}/letters",
            str(read.epoch),
            letter,
            state=served.state(caller.name),
            take=served.take(read),
        )
    except KeyReused:
        raise Problem(
            409, "Another letter of yours came in this epoch. A device sends one letter in each."
        ) from None
    if stored.status_code != 200:
        return stored
    repeated = {
        name: value for name, value in stored.headers.items() if name == "idempotency-replayed"
    }
    scores = await in_thread(request, lambda: served.scores(read))
    return Response(scores, media_type=OCTETS, headers=repeated)


def _named(service: Service, name: str) -> ServedDisclosure:
    found = service.deployment.all(ServedDisclosure).get(name)
    if found is None:
        raise Problem(404, "There is nothing at this address.")
    return found
