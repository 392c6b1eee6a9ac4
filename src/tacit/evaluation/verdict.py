"""What an experiment found, in one headline and one sentence."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Verdict:
    """What a page says first. state: a word of the design, for its colour."""

    state: str
    headline: str
    sentence: str
