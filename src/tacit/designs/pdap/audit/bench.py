"""P-DAP on the audit's bench: what the paper claims, and what this library claims."""

from __future__ import annotations

from collections.abc import Callable

from tacit.auditing.claims import LEAST_SAMPLES, Line, as_expected, run
from tacit.designs.pdap.audit import joint, local, published

__all__ = ["LEAST_SAMPLES", "PUBLISHED", "SAMPLES", "SOUND", "as_expected", "run"]

SAMPLES = 5_000
PUBLISHED: tuple[Callable[[], Line], ...] = published.LINES
SOUND: tuple[Callable[[], Line], ...] = (*local.LINES, *joint.LINES)
