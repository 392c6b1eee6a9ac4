"""Campaigns, the reports of devices, and what they add up to."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from tacit.designs.sketches.serve.campaigns import ServedCampaign
from tacit.ledger import KeyReused
from tacit.service.access import (
    Asking,
    Here,
    IdempotencyKey,
    Name,
    Octets,
    Operation,
    allow,
    allow_octets,
    in_thread,
    kept,
    named,
)
from tacit.service.idempotency import OCTETS, salting, step
from tacit.service.keys import Role
from tacit.service.problems import Problem

router = APIRouter(route_class=Operation, prefix="/api/campaigns", tags=["campaigns"])


@router.get("", **allow(Role.ANONYMOUS))
def campaigns(service: Here) -> dict[str, list[dict[str, Any]]]:
    """What is asked of devices, and what a report costs."""
    served = service.deployment.all(ServedCampaign).values()
    return {"campaigns": [one.described(kept(service, one.state)) for one in served]}


@router.get("/{name}", **allow_octets(Role.ANONYMOUS, gives="A campaign, in 96 bytes."))
def campaign(service: Here, name: Name) -> Response:
    """The question, as devices read it."""
    return Response(named(service, ServedCampaign, name).campaign.encode(), media_type=OCTETS)


@router.get("/{name}/catalogue", **allow(Role.ANONYMOUS))
def catalogue(service: Here, name: Name) -> dict[str, list[int | str]]:
    """Ids of the items that the question is about, in its order."""
    return {"items": list(named(service, ServedCampaign, name).items)}


@router.get(
    "/{name}/clusters", **allow_octets(Role.ANONYMOUS, gives="A label and a score of every item.")
)
def clusters(service: Here, name: Name) -> Response:
    """What was learned, once the campaign is closed: devices recommend from it."""
    served = named(service, ServedCampaign, name)
    made = served.counts(kept(service, served.state)).clusters
    if not made:
        raise Problem(409, "The clusters of this campaign are made when it is closed.")
    return Response(made, media_type=OCTETS)


@router.post(
    "/{name}/reports",
    **allow_octets(Role.SUBJECT, takes="A report, in 22 bytes, as a device made it."),
    response_model=dict[str, bool],
)
async def reports(
    service: Here,
    caller: Asking,
    key: IdempotencyKey,  # noqa: ARG001  # as for every POST; what counts once is the campaign
    name: Name,
    report: Octets,
) -> Response:
    """Count a person's report, once: the same one is answered the same whatever its key is."""
    served = named(service, ServedCampaign, name)
    served.check(report)
    try:  # the ledger's own rule is the campaign's: one key of one person takes one payload
        return await step(
            service,
            caller,
            "POST /api/campaigns/reports",
            served.campaign.id.hex(),
            report,
            state=served.state,
            charges=[served.charge(caller.name)],
            take=salting(lambda _, before: served.take(report, before)),
        )
    except KeyReused:
        raise Problem(
            409, "Another report of yours came to this campaign. It takes one from each person."
        ) from None


@router.post("/{name}/close", **allow(Role.OPERATOR, Role.ANALYST), response_model=dict[str, Any])
async def close(
    service: Here, request: Request, caller: Asking, key: IdempotencyKey, name: Name
) -> Response:
    """Take no more reports, and make the clusters. Closing a closed one gives what was made."""
    served = named(service, ServedCampaign, name)
    operation = f"POST /api/campaigns/{name}/close"
    take = salting(lambda _, before: served.close(before))
    await step(service, caller, operation, key, b"", state=served.state, take=take)

    def clusters() -> bytes:
        closed = served.counts(kept(service, served.state))
        return closed.clusters or closed.clustered()

    made = await in_thread(request, clusters)
    take = salting(lambda _, before: served.keep_clusters(made, before))
    operation = f"{operation} clusters"
    return await step(service, caller, operation, key, b"", state=served.state, take=take)


@router.get("/{name}/counts", **allow(Role.OPERATOR, Role.ANALYST))
def counts(service: Here, name: Name) -> dict[str, Any]:
    """How many reported, and what the answers say of every item, with the noise's error."""
    served = named(service, ServedCampaign, name)
    return served.counts(kept(service, served.state)).report(served.items)
