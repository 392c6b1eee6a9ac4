"""The design on the audit's bench: neighbours in every mode, across domains, and in plans."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tacit.auditing.claims import AuditedClaim, AuditPlan
from tacit.designs.private.audit.membership import STUDY
from tacit.designs.private.audit.plans import PLAN_BUGS, PLAN_WORLDS, PrivateWithTightClips
from tacit.profile_sums.audit.planted_bugs import BUGS
from tacit.profile_sums.audit.real_sizes import add_large_pair, threshold_bugs
from tacit.profile_sums.audit.worlds import FittedWorld, all_worlds, audit_line

WORLDS = all_worlds(PrivateWithTightClips)
LARGE = (WORLDS[0], WORLDS[2], WORLDS[-1])
"""Worlds that are audited at real sizes, too: both modes and pairs of likes, in one domain."""
LARGE_BUGS = threshold_bugs(WORLDS[0], WORLDS[-1])
AUDITED_WORLDS: tuple[FittedWorld, ...] = (*WORLDS, *PLAN_WORLDS)


def make_line(world: FittedWorld) -> AuditedClaim:
    """Make the line of one way to fit: small neighbours, and large ones that this run draws."""
    line = audit_line(world)
    for large in LARGE:
        if world is large:
            line = add_large_pair(line, large)
    return line


LINES: tuple[Callable[[], AuditedClaim], ...] = tuple(
    partial(make_line, world) for world in AUDITED_WORLDS
)


def audit() -> AuditPlan:
    """Everything that `tacit audit private` runs."""
    return AuditPlan(
        {"": LINES},
        (*BUGS, *PLAN_BUGS, *LARGE_BUGS),
        studies=(STUDY,),
        conclusion="No violation was found, and that is no proof.",
        next_step="tacit guarantee private --epsilon 1  reads what is promised.",
    )
