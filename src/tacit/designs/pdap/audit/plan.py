"""All audits of P-DAP together."""

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
    *joint.LINES,
)
SAMPLES = 5_000


def audit() -> AuditPlan:
    """Collect what `tacit audit pdap` runs."""
    return AuditPlan(
        {"published": published_policies.LINES, "sound": SOUND},
        BUGS,
        SAMPLES,
        conclusion="Nothing is other than expected. That no violation was found is no proof.",
        after="tacit simulate pdap  shows what privacy costs in clicks.",
    )
