"""The first sentences of a page, which say what a result means."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Verdict:
    """The first sentences of a page."""

    state: str
    """CSS class that gives the verdict its colour, such as "good", "worse" or "none"."""
    headline: str
    """Verdict in a few words."""
    sentence: str
    """One or more sentences that explain the verdict."""
