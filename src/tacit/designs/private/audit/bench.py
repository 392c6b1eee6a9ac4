"""The design on the audit's bench: neighbours in every mode, across domains, and in plans."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tacit.auditing.claims import AuditedClaim, AuditPlan
from tacit.designs.private.audit.membership import STUDY
from tacit.designs.private.audit.plans import PLAN_BUGS, PLAN_WORLDS, PrivateWithTightClips
from tacit.profile_sums.audit.planted_bugs import BUGS
from tacit.profile_sums.audit.worlds import FittedWorld, all_worlds, audit_line

WORLDS = all_worlds(PrivateWithTightClips)
AUDITED_WORLDS: tuple[FittedWorld, ...] = (*WORLDS, *PLAN_WORLDS)
LINES: tuple[Callable[[], AuditedClaim], ...] = tuple(
    partial(audit_line, world) for world in AUDITED_WORLDS
)


def audit() -> AuditPlan:
    """Everything that `tacit audit private` runs."""
    return AuditPlan(
        {"": LINES},
        (*BUGS, *PLAN_BUGS),
        studies=(STUDY,),
        conclusion="No violation was found, and that is no proof.",
        after="tacit guarantee private --epsilon 1  reads what is promised.",
    )
