"""Disclosures: the public tables and their log, letters of devices, and scores for them."""

from __future__ import annotations

from typing import Any

import numpy as np
from fastapi import APIRouter, Request, Response

from tacit.designs.standard_scheme.serve.disclosure import ServedDisclosure
from tacit.ledger import KeyReused
from tacit.service import idempotency
from tacit.service.access import (
    NOT_FOUND,
    BodyBytes,
    CurrentCaller,
    CurrentService,
    IdempotencyKey,
    PathName,
    allow,
    allow_bytes,
    find_served,
)
from tacit.service.http_bodies import OCTETS
from tacit.service.keys import Role
from tacit.service.operations import Operation, run_in_thread
from tacit.service.problems import Problem

router = APIRouter(route_class=Operation, prefix="/api/disclosures", tags=["disclosures"])


@router.get("", **allow(Role.ANONYMOUS))
def disclosures(service: CurrentService) -> dict[str, list[dict[str, Any]]]:
    """List the disclosures, with what each protects."""
    served = service.deployment.find_all(ServedDisclosure).values()
    return {"disclosures": [disclosure.describe() for disclosure in served]}


@router.get("/{name}", **allow_bytes(Role.ANONYMOUS, response="A disclosure, in canonical JSON."))
def disclosure(service: CurrentService, name: PathName) -> Response:
    """Return the public tables by which a device obfuscates."""
    served = find_served(service, ServedDisclosure, name)
    served.enter_present_epoch()
    return Response(served.encoded_disclosure, media_type=OCTETS)


@router.get("/{name}/log", **allow(Role.ANONYMOUS))
def log(service: CurrentService, name: PathName) -> dict[str, list[dict[str, Any]]]:
    """Return the digest of every epoch in which the disclosure was served.

    Entries are only added to the log.
    """
    served = find_served(service, ServedDisclosure, name)
    served.enter_present_epoch()
    return {"log": served.log.entries()}


@router.get(
    "/{name}/item-table",
    **allow_bytes(Role.ANONYMOUS, response="An item table, in canonical JSON."),
)
def item_table(service: CurrentService, name: PathName) -> Response:
    """Return the table by which a device ranks, if the operator publishes it."""
    table = find_served(service, ServedDisclosure, name).encoded_item_table
    if table is None:
        raise Problem(404, NOT_FOUND)
    return Response(table, media_type=OCTETS)


@router.get("/{name}/popular", **allow(Role.ANONYMOUS))
def popular(service: CurrentService, name: PathName) -> dict[str, list[int | str]]:
    """List all items, those that most people like first.

    This is the list for a person who has sent no letter yet.
    """
    model = find_served(service, ServedDisclosure, name).model
    # By likes, which are counted in fives, or by the noisy likes of a private disclosure.
    order = np.argsort(model.fitted_.ease.popularity_rank)
    return {"items": [model.disclosure_.items[number] for number in order]}


@router.get("/{name}/latest", **allow(Role.SUBJECT))
def latest(service: CurrentService, caller: CurrentCaller, name: PathName) -> dict[str, int]:
    """Return the epoch of your latest letter that was accepted, -1 for none.

    If it is later than the last letter of a device, your account has another device.
    """
    served = find_served(service, ServedDisclosure, name)
    stored = service.ledger.state(f"{caller.tenant}/{served.state_name(caller.name)}")
    return {"latest": served.latest_epoch(stored)}


@router.post(
    "/{name}/letters",
    **allow_bytes(
        Role.SUBJECT,
        request="A letter: obfuscated stars and their epoch, as a device made it.",
        response="Scores of all items, without the hidden attribute's effect.",
    ),
)
async def letters(
    service: CurrentService,
    request: Request,
    caller: CurrentCaller,
    key: IdempotencyKey,  # noqa: ARG001  # required as for every POST; the epoch is used in its place
    name: PathName,
    letter: BodyBytes,
) -> Response:
    """Score all items for a letter. One letter is accepted in each epoch.

    The ledger stores only a keyed hash of it.
    """
    served = find_served(service, ServedDisclosure, name)
    release = served.read_letter(letter)
    try:  # the epoch is the idempotency key: the ledger accepts one letter of a person for each key
        stored = await idempotency.answer_once(
            service,
            caller,
            f"POST /api/disclosures/{name}/letters",
            str(release.epoch),
            letter,
            state=served.state_name(caller.name),
            transition=served.acceptance(release),
        )
    except KeyReused:
        raise Problem(
            409, "Another letter of yours came in this epoch. A device sends one letter in each."
        ) from None
    if stored.status_code != 200:
        return stored
    scores = await run_in_thread(request, lambda: served.score(release))
    answer = Response(scores, media_type=OCTETS)
    if "idempotency-replayed" in stored.headers:
        answer.headers["idempotency-replayed"] = stored.headers["idempotency-replayed"]
    return answer
