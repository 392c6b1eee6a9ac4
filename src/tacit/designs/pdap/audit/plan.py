"""The plan of `tacit audit pdap`: all audits of P-DAP."""

from __future__ import annotations

from collections.abc import Callable

from tacit.auditing.claims import AuditedClaim, AuditPlan
from tacit.designs.pdap.audit import joint, published_policies
from tacit.designs.pdap.audit.devices import lives_claim, visits_claim
from tacit.designs.pdap.audit.forwarded_messages import forwards_claim
from tacit.designs.pdap.audit.planted_bugs import BUGS

SOUND: tuple[Callable[[], AuditedClaim], ...] = (
    visits_claim,
    lives_claim,
    forwards_claim,
    *joint.CLAIMS,
)
"""Audits of this library's claims."""
SAMPLES = 5_000
"""Number of samples of each audited claim, by default."""


def audit() -> AuditPlan:
    """Return all audits and planted bugs of `tacit audit pdap`."""
    return AuditPlan(
        {"published": published_policies.CLAIMS, "sound": SOUND},
        BUGS,
        SAMPLES,
        conclusion="All results are as expected. Finding no violation is not a proof.",
        next_step="tacit simulate pdap  shows what privacy costs in clicks.",
    )
