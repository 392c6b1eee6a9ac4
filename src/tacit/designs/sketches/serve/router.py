"""Routes of campaigns: devices fetch them and report; operators close them and read the counts."""

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
    """List the campaigns, with the epsilon of a report to each."""
    all_served = service.deployment.find_all(ServedCampaign).values()
    return {
        "campaigns": [
            served.describe(read_salted_state(service, served.state_name)) for served in all_served
        ]
    }


@router.get("/{name}", **allow_bytes(Role.ANONYMOUS, response="A campaign, in 96 bytes."))
def campaign(service: CurrentService, name: PathName) -> Response:
    """Return the campaign as devices read it."""
    return Response(find_served(service, ServedCampaign, name).campaign.encode(), media_type=OCTETS)


@router.get("/{name}/catalogue", **allow(Role.ANONYMOUS))
def catalogue(service: CurrentService, name: PathName) -> dict[str, list[int | str]]:
    """List the ids of the items that the campaign is about, in its order."""
    return {"items": list(find_served(service, ServedCampaign, name).items)}


@router.get(
    "/{name}/clusters", **allow_bytes(Role.ANONYMOUS, response="A label and a score of every item.")
)
def clusters(service: CurrentService, name: PathName) -> Response:
    """Return the clusters of a closed campaign, from which devices recommend."""
    served = find_served(service, ServedCampaign, name)
    message = served.decode_state(read_salted_state(service, served.state_name)).clusters
    if not message:
        raise Problem(409, "The clusters of this campaign are made when it is closed.")
    return Response(message, media_type=OCTETS)


@router.post(
    "/{name}/reports",
    **allow_bytes(Role.SUBJECT, request="A report, in 22 bytes, as a device made it."),
    response_model=dict[str, bool],
)
async def reports(
    service: CurrentService,
    caller: CurrentCaller,
    key: IdempotencyKey,  # noqa: ARG001  # required as for every POST; the campaign is used instead
    name: PathName,
    report: BodyBytes,
) -> Response:
    """Count a person's report once.

    The same report gets the same answer, whatever idempotency key it is sent with.
    """
    served = find_served(service, ServedCampaign, name)
    served.check(report)
    try:  # the campaign is the key: the ledger accepts one payload for a key of a person
        return await answer_once(
            service,
            caller,
            "POST /api/campaigns/reports",
            served.campaign.id.hex(),
            report,
            state=served.state_name,
            charges=[served.charge(caller.name)],
            transition=salt_states(lambda _, saved: served.count_report(report, saved)),
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
    """Close a campaign to reports, and make its clusters.

    Closing a closed campaign returns its clusters' sizes again.
    """
    served = find_served(service, ServedCampaign, name)
    operation = f"POST /api/campaigns/{name}/close"
    close_step = salt_states(lambda _, saved: served.close(saved))
    await answer_once(
        service, caller, operation, key, b"", state=served.state_name, transition=close_step
    )

    def learn_clusters() -> bytes:
        """Return the stored clusters, or learn them from the counts if none are stored."""
        closed = served.decode_state(read_salted_state(service, served.state_name))
        return closed.clusters or closed.learn_clusters()

    learned = await run_in_thread(request, learn_clusters)
    store_step = salt_states(lambda _, saved: served.store_clusters(learned, saved))
    operation = f"{operation} clusters"
    return await answer_once(
        service, caller, operation, key, b"", state=served.state_name, transition=store_step
    )


@router.get("/{name}/counts", **allow(Role.OPERATOR, Role.ANALYST))
def counts(service: CurrentService, name: PathName) -> dict[str, Any]:
    """Return how many people reported, and for every item an estimate with its standard error."""
    served = find_served(service, ServedCampaign, name)
    return served.decode_state(read_salted_state(service, served.state_name)).report(served.items)
