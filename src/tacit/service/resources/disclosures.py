"""Disclosures, and profiles that devices obfuscated by them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Response

from tacit.service.access import Asking, Here, IdempotencyKey, allow
from tacit.service.disclosures import ServedDisclosure
from tacit.service.keys import NAME, Role
from tacit.service.octets import Octets, allow_octets
from tacit.service.operations import Operation
from tacit.service.problems import Problem
from tacit.service.replies import OCTETS, Reply, once
from tacit.service.running import Service

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
    return Response(_named(service, name).encoded, media_type=OCTETS)


@router.post(
    "/{name}/profiles",
    **allow_octets(
        Role.SUBJECT,
        takes="A release: obfuscated stars, as a device made it.",
        gives="Scores of all items, without the hidden attribute's effect.",
    ),
)
def profiles(
    service: Here, caller: Asking, key: IdempotencyKey, name: Name, release: Octets
) -> Response:
    """Scores for an obfuscated profile. Of both the ledger keeps keyed hashes alone."""
    scores = _named(service, name).scores(release)
    seal = service.keys.digest("scores", scores)
    operation = f"POST /api/disclosures/{name}/profiles"
    stored = once(
        service,
        caller,
        operation,
        key,
        release,
        draw=lambda _: Reply(200, OCTETS, seal),
    )
    if stored.body != seal:
        raise Problem(409, "What is served here has changed since. Ask with a new key.")
    repeated = {
        name: value for name, value in stored.headers.items() if name == "idempotency-replayed"
    }
    return Response(scores, media_type=OCTETS, headers=repeated)


def _named(service: Service, name: str) -> ServedDisclosure:
    found = service.deployment.all(ServedDisclosure).get(name)
    if found is None:
        raise Problem(404, "There is nothing at this address.")
    return found
