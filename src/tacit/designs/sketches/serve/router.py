"""Campaigns, the reports of devices, and what they add up to."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from tacit.designs.sketches.serve.campaigns import ServedCampaign
from tacit.ledger import KeyReused
from tacit.service.access import (
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
from tacit.service.idempotency import answer_once, read_salted_state, salt_states
from tacit.service.keys import Role
from tacit.service.operations import Operation, run_in_thread
from tacit.service.problems import Problem

router = APIRouter(route_class=Operation, prefix="/api/campaigns", tags=["campaigns"])


@router.get("", **allow(Role.ANONYMOUS))
def campaigns(service: CurrentService) -> dict[str, list[dict[str, Any]]]:
    """List what is asked of devices, and what a report costs."""
    served = service.deployment.find_all(ServedCampaign).values()
    return {"campaigns": [it.describe(read_salted_state(service, it.state)) for it in served]}


@router.get("/{name}", **allow_bytes(Role.ANONYMOUS, response="A campaign, in 96 bytes."))
def campaign(service: CurrentService, name: PathName) -> Response:
    """Return the question, as devices read it."""
    return Response(find_served(service, ServedCampaign, name).campaign.encode(), media_type=OCTETS)


@router.get("/{name}/catalogue", **allow(Role.ANONYMOUS))
def catalogue(service: CurrentService, name: PathName) -> dict[str, list[int | str]]:
    """List the ids of the items that the question is about, in its order."""
    return {"items": list(find_served(service, ServedCampaign, name).items)}


@router.get(
    "/{name}/clusters", **allow_bytes(Role.ANONYMOUS, response="A label and a score of every item.")
)
def clusters(service: CurrentService, name: PathName) -> Response:
    """Return what was learned, once the campaign is closed: devices recommend from it."""
    served = find_served(service, ServedCampaign, name)
    made = served.counts(read_salted_state(service, served.state)).clusters
    if not made:
        raise Problem(409, "The clusters of this campaign are made when it is closed.")
    return Response(made, media_type=OCTETS)


@router.post(
    "/{name}/reports",
    **allow_bytes(Role.SUBJECT, request="A report, in 22 bytes, as a device made it."),
    response_model=dict[str, bool],
)
async def reports(
    service: CurrentService,
    caller: CurrentCaller,
    key: IdempotencyKey,  # noqa: ARG001  # as for every POST; what counts once is the campaign
    name: PathName,
    report: BodyBytes,
) -> Response:
    """Count a person's report, once: the same one is answered the same whatever its key is."""
    served = find_served(service, ServedCampaign, name)
    served.check(report)
    try:  # the ledger's own rule is the campaign's: one key of one person takes one payload
        return await answer_once(
            service,
            caller,
            "POST /api/campaigns/reports",
            served.campaign.id.hex(),
            report,
            state=served.state,
            charges=[served.charge(caller.name)],
            transition=salt_states(lambda _, before: served.count_report(report, before)),
        )
    except KeyReused:
        raise Problem(
            409, "Another report of yours came to this campaign. It takes one from each person."
        ) from None


@router.post("/{name}/close", **allow(Role.OPERATOR, Role.ANALYST), response_model=dict[str, Any])
async def close(
    service: CurrentService,
    request: Request,
    caller: CurrentCaller,
    key: IdempotencyKey,
    name: PathName,
) -> Response:
    """Take no more reports, and make the clusters.

    Closing a closed campaign gives what was made.
    """
    served = find_served(service, ServedCampaign, name)
    operation = f"POST /api/campaigns/{name}/close"
    take = salt_states(lambda _, before: served.close(before))
    await answer_once(service, caller, operation, key, b"", state=served.state, transition=take)

    def clusters() -> bytes:
        closed = served.counts(read_salted_state(service, served.state))
        return closed.clusters or closed.make_clusters()

    made = await run_in_thread(request, clusters)
    take = salt_states(lambda _, before: served.keep_clusters(made, before))
    operation = f"{operation} clusters"
    return await answer_once(
        service, caller, operation, key, b"", state=served.state, transition=take
    )


@router.get("/{name}/counts", **allow(Role.OPERATOR, Role.ANALYST))
def counts(service: CurrentService, name: PathName) -> dict[str, Any]:
    """Return how many reported, and what the answers say of every item, with the noise's error."""
    served = find_served(service, ServedCampaign, name)
    return served.counts(read_salted_state(service, served.state)).report(served.items)
