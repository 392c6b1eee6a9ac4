"""P-DAP on the audit's bench: what the paper claims, and what this library claims."""

from __future__ import annotations

from collections.abc import Callable

from tacit.auditing import pdap_joint, pdap_local, pdap_published
from tacit.auditing.xmap_lines import LEAST_SAMPLES, Line, as_expected, run

__all__ = ["LEAST_SAMPLES", "PUBLISHED", "SAMPLES", "SOUND", "as_expected", "run"]

SAMPLES = 5_000
PUBLISHED: tuple[Callable[[], Line], ...] = pdap_published.LINES
SOUND: tuple[Callable[[], Line], ...] = (*pdap_local.LINES, *pdap_joint.LINES)
