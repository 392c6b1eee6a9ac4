"""One design's screen of `tacit demo`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Bar:
    """A number between 0 and 1, to be drawn."""

    name: str
    """What was measured, in a few words."""
    value: float
    """Between 0 and 1."""


@dataclass(frozen=True)
class Tour:
    """One screen about a design, of a real run on generated data."""

    headline: str
    """One sentence with the two numbers that matter most."""
    bars: tuple[Bar, ...]
    """Those two numbers, and perhaps one to compare them with."""
    trusted: str
    """Who must be trusted, in a few words."""
    real_data: str
    """How lists did on real data beside popular items, in a few words."""
    asked: str
    """Who asked for what."""
    left: str
    """What was sent, and to whom."""
    learned: str
    """What an attacker learned."""
    cost: str
    """What it cost in privacy and in accuracy."""
    read_on: str
    """Page of the documentation to read next."""
    figures: Mapping[str, Any]
    """Numbers of the sentences above."""
