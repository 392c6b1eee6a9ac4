"""All that `tacit audit private` runs: replays of every way to fit, planted bugs, and a game."""

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
"""Every way to make a single fit."""
LARGE = (WORLDS[0], WORLDS[2], WORLDS[-1])
"""The ways to fit that are also audited on tables of real size: mode "taste", mode "top-items", and
pairs of likes, each in one domain."""
LARGE_BUGS = threshold_bugs(WORLDS[0], WORLDS[-1])
"""Planted bugs that show only on tables of real size."""
AUDITED_WORLDS: tuple[FittedWorld, ...] = (*WORLDS, *PLAN_WORLDS)
"""Every way to fit that is audited, plans of two fits included."""


def make_line(world: FittedWorld) -> AuditedClaim:
    """Audit one way to fit, on small neighbouring tables and, for `LARGE`, on a large pair too."""
    line = audit_line(world)
    for large_world in LARGE:
        if world is large_world:
            line = add_large_pair(line, large_world)
    return line


CLAIMS: tuple[Callable[[], AuditedClaim], ...] = tuple(
    partial(make_line, world) for world in AUDITED_WORLDS
)
"""Functions that each make one line of the audit."""


def audit() -> AuditPlan:
    """Return everything that `tacit audit private` runs."""
    return AuditPlan(
        {"": CLAIMS},
        (*BUGS, *PLAN_BUGS, *LARGE_BUGS),
        studies=(STUDY,),
        conclusion="No violation was found, and that is no proof.",
        next_step="tacit guarantee private --epsilon 1  reads what is promised.",
    )
