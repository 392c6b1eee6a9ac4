"""X-Map on the audit's bench: what the paper claims, and what this library claims."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tacit.auditing.claims import LEAST_SAMPLES, SAMPLES, Line, as_expected, run
from tacit.designs.xmap.audit.draws import (
    all_images,
    constant_fit,
    constant_images,
    constant_noise,
    constant_selection,
    one_image,
    published_fit,
    published_noise,
    published_selection,
)
from tacit.designs.xmap.audit.sums import sums, whole_fits

__all__ = ["BENCH", "LEAST_SAMPLES", "SAMPLES", "as_expected", "run"]

BENCH: tuple[Callable[[], Line], ...] = (
    one_image,
    all_images,
    published_selection,
    published_noise,
    published_fit,
    constant_images,
    constant_selection,
    constant_noise,
    constant_fit,
    partial(sums, 1.0, entries=12, share=4),
    partial(sums, 8.0, entries=60, share=80),
    partial(whole_fits, 30.0),
)
"""The published lines first."""
