"""Campaigns, the reports of devices, and what they add up to."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Response

from tacit.designs.sketches.serve.campaigns import ServedCampaign
from tacit.ledger import KeyReused
from tacit.service.access import (
    Asking,
    Here,
    IdempotencyKey,
    Octets,
    Operation,
    allow,
    allow_octets,
)
from tacit.service.deployment import Service
from tacit.service.idempotency import OCTETS, salting, step, unsalted
from tacit.service.keys import NAME, Role
from tacit.service.problems import Problem

router = APIRouter(route_class=Operation, prefix="/api/campaigns", tags=["campaigns"])
Name = Annotated[str, Path(pattern=f"^{NAME.pattern}$")]


@router.get("", **allow(Role.ANONYMOUS))
def campaigns(service: Here) -> dict[str, list[dict[str, Any]]]:
    """What is asked of devices, and what a report costs."""
    served = service.deployment.all(ServedCampaign).values()
    return {"campaigns": [one.described(_kept(service, one)) for one in served]}


@router.get("/{name}", **allow_octets(Role.ANONYMOUS, gives="A campaign, in 96 bytes."))
def campaign(service: Here, name: Name) -> Response:
    """The question, as devices read it."""
    return Response(_named(service, name).campaign.encode(), media_type=OCTETS)


@router.get("/{name}/catalogue", **allow(Role.ANONYMOUS))
def catalogue(service: Here, name: Name) -> dict[str, list[int | str]]:
    """Ids of the items that the question is about, in its order."""
    return {"items": list(_named(service, name).items)}


@router.get(
    "/{name}/clusters", **allow_octets(Role.ANONYMOUS, gives="A label and a score of every item.")
)
def clusters(service: Here, name: Name) -> Response:
    """What was learned, once the campaign is closed: devices recommend from it."""
    served = _named(service, name)
    made = served.counts(_kept(service, served)).clusters
    if not made:
        raise Problem(409, "The clusters of this campaign are made when it is closed.")
    return Response(made, media_type=OCTETS)


@router.post(
    "/{name}/reports",
    **allow_octets(Role.SUBJECT, takes="A report, in 22 bytes, as a device made it."),
    response_model=dict[str, bool],
)
def reports(
    service: Here,
    caller: Asking,
    key: IdempotencyKey,  # noqa: ARG001  # as for every POST; what counts once is the campaign
    name: Name,
    report: Octets,
) -> Response:
    """Count a person's report, once: the same one is answered the same whatever its key is."""
    served = _named(service, name)
    served.check(report)
    try:  # the ledger's own rule is the campaign's: one key of one person takes one payload
        return step(
            service,
            caller,
            "POST /api/campaigns/reports",
            served.campaign.id.hex(),
            report,
            state=served.state,
            charges=[served.charge(caller.name)],
            take=salting(lambda _, kept: served.take(report, kept)),
        )
    except KeyReused:
        raise Problem(
            409, "Another report of yours came to this campaign. It takes one from each person."
        ) from None


@router.post("/{name}/close", **allow(Role.OPERATOR, Role.ANALYST), response_model=dict[str, Any])
def close(service: Here, caller: Asking, key: IdempotencyKey, name: Name) -> Response:
    """Take no more reports, and make the clusters. Closing a closed one gives what was made."""
    served = _named(service, name)
    operation = f"POST /api/campaigns/{name}/close"
    step(
        service,
        caller,
        operation,
        key,
        b"",
        state=served.state,
        take=salting(lambda _, kept: served.close(kept)),
    )
    closed = served.counts(_kept(service, served))
    made = closed.clusters or closed.clustered()
    return step(
        service,
        caller,
        f"{operation} clusters",
        key,
        b"",
        state=served.state,
        take=salting(lambda _, kept: served.keep_clusters(made, kept)),
    )


@router.get("/{name}/counts", **allow(Role.OPERATOR, Role.ANALYST))
def counts(service: Here, name: Name) -> dict[str, Any]:
    """How many reported, and what the answers say of every item, with the noise's error."""
    served = _named(service, name)
    return served.counts(_kept(service, served)).told(served.items)


def _kept(service: Service, served: ServedCampaign) -> bytes | None:
    return unsalted(service.ledger.state(f"{served.tenant}/{served.state}"))


def _named(service: Service, name: str) -> ServedCampaign:
    found = service.deployment.all(ServedCampaign).get(name)
    if found is None:
        raise Problem(404, "There is nothing at this address.")
    return found
