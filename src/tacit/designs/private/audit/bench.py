"""The design on the audit's bench: neighbours in both modes, in one domain and across two."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tacit.auditing.claims import AuditedClaim, AuditPlan
from tacit.designs.private.audit.membership import STUDY
from tacit.designs.private.model import Private
from tacit.profile_sums.audit.planted_bugs import BUGS
from tacit.profile_sums.audit.real_sizes import add_large_pair, threshold_bugs
from tacit.profile_sums.audit.worlds import TightClips, World, all_worlds, audit_line


class PrivateWithTightClips(TightClips, Private):
    """The design with clips that bind among few people."""


WORLDS = all_worlds(PrivateWithTightClips)
LARGE = (WORLDS[0], WORLDS[2])
"""Worlds that are audited at real sizes, too: both modes, in one domain."""
LARGE_BUGS = threshold_bugs(WORLDS[0])


def make_line(world: World) -> AuditedClaim:
    """Make the line of one way to fit: small neighbours, and large ones that this run draws."""
    line = audit_line(world)
    return add_large_pair(line, world) if world in LARGE else line


LINES: tuple[Callable[[], AuditedClaim], ...] = tuple(partial(make_line, world) for world in WORLDS)


def audit() -> AuditPlan:
    """Everything that `tacit audit private` runs."""
    return AuditPlan(
        {"": LINES},
        (*BUGS, *LARGE_BUGS),
        studies=(STUDY,),
        conclusion="No violation was found, and that is no proof.",
        after="tacit guarantee private --epsilon 1  reads what is promised.",
    )
